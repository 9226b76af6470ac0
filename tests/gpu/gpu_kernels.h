/*
 * gpu_kernels.h - launches that the GPU tests time. `stream` is a cudaStream_t. Each returns 0, or
 * the CUDA error.
 */
#ifndef TESTS_GPU_GPU_KERNELS_H
#define TESTS_GPU_GPU_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thread, about so long, no memory. */
int gpu_spin(uint64_t ns, void *stream);
/* Reads `bytes` (a multiple of 16) once; `sink` is 4 bytes. */
int gpu_read(const void *data, uint64_t bytes, void *sink, void *stream);
int gpu_memset(void *data, int byte, uint64_t bytes, void *stream);
/* Tensor cores and memory at full power: `rounds` of about 0.1 us. `bytes` of random data. */
int gpu_burn(const void *data, uint64_t bytes, int rounds, void *sink, void *stream);
/* A graph of two spins, kept in *graph until gpu_graph_free(). */
int gpu_graph_make(uint64_t ns, void **graph, void *stream);
int gpu_graph_launch(void *graph, void *stream);
void gpu_graph_free(void *graph);
/* Text of an error. */
const char *gpu_error(int rc);

#ifdef __cplusplus
}
#endif
#endif
