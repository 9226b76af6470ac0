/*
 * cuda_kernels.h - the GPU code of this folder, as calls that enqueue on a stream.
 *
 * Each returns what the launch returned. `blocks` is the grid where it is the caller's to choose.
 * Part results are arrays of CUDA_PARTS on the device, one a block, summed on the host in order:
 * the same bits whatever the scheduling.
 */
#ifndef BENCH_DEVICE_CUDA_KERNELS_H
#define BENCH_DEVICE_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "device.h"
#include "probe.h"

#define CUDA_PARTS 1024

struct cuda_count_part {
    uint64_t count;
    uint64_t first; /* UINT64_MAX: none */
};

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cuda_kernel_generate(const struct recipe *r, void *dst, int64_t elements,
                                 cudaStream_t stream);
cudaError_t cuda_kernel_shift_ids(int32_t *dst, const int32_t *src, int64_t n, int64_t group,
                                  int64_t add, cudaStream_t stream);
cudaError_t cuda_kernel_digest(const void *data, uint64_t bytes, uint64_t *parts,
                               cudaStream_t stream);
cudaError_t cuda_kernel_count_other(const void *data, int byte, uint64_t bytes,
                                    struct cuda_count_part *parts, cudaStream_t stream);
cudaError_t cuda_kernel_compare(int32_t dtype, const void *got, const void *ref, int64_t n,
                                struct device_difference *parts, cudaStream_t stream);

/* Reads, changes and writes back every word; random data stays random. `bytes` is a multiple of 16.
 */
cudaError_t cuda_kernel_modify(void *data, uint64_t bytes, int blocks, cudaStream_t stream);
/* Reads every word through L2. `sink` (4 bytes) is written with negligible probability. */
cudaError_t cuda_kernel_read(const void *data, uint64_t bytes, uint32_t *sink, int blocks,
                             cudaStream_t stream);
/* One reading a block, one warp a block. */
cudaError_t cuda_kernel_probe(struct probe_reading *out, int blocks, cudaStream_t stream);
/* Keeps one thread busy for about so long. Touches no memory. Ends by itself. */
cudaError_t cuda_kernel_delay(uint64_t ns, cudaStream_t stream);
/* The same, and its multiprocessor stays open to blocks that want all the shared memory: how that
 * is split from the L1 changes only while nothing runs there, and a grid whose blocks must all be
 * there at once would wait for the end. Not beside samples: the split outlasts it. */
cudaError_t cuda_kernel_busy(uint64_t ns, cudaStream_t stream);
/* Smallest step of the global timer seen in `readings` readings. */
cudaError_t cuda_kernel_timer_step(uint64_t *step_ns, int readings, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
