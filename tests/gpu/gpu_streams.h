/*
 * gpu_streams.h - streams, captures and traffic for tests of kernels. `stream` is a cudaStream_t.
 * Each returns 0, or the CUDA error (gpu_error() of gpu_kernels.h); graphs are launched and freed
 * by the functions there.
 */
#ifndef TESTS_GPU_GPU_STREAMS_H
#define TESTS_GPU_GPU_STREAMS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stream that nothing else is ordered with. */
int gpu_stream_make(void **stream);
int gpu_stream_wait(void *stream);
void gpu_stream_free(void *stream);
/* Whether something enqueued has not ended; no error code. */
int gpu_stream_busy(void *stream);
/* What is enqueued on `stream` from here on waits for what is on `first` now. */
int gpu_stream_follow(void *stream, void *first);
/* What is enqueued on the stream between the two becomes a graph, and does not run. */
int gpu_capture_begin(void *stream);
int gpu_capture_end(void *stream, void **graph);
/* Enqueues a copy within the device. */
int gpu_copy(void *dst, const void *src, uint64_t bytes, void *stream);

#ifdef __cplusplus
}
#endif
#endif
