/*
 * cuda_kernels.cu - recipes, digests and comparisons on the GPU.
 */
#include "cuda_kernels.h"

#include "difference.h"
#include "digest.h"

#define THREADS         256
#define ROW_THREADS     64
#define COMPARE_THREADS 128
#define MAX_BLOCKS      65536

/* Elements with a wide type each: a thread writes its own. */
__global__ void __launch_bounds__(THREADS)
    generate_elements(const struct recipe r, void *dst, int64_t n)
{
    const int64_t step = (int64_t)gridDim.x * THREADS;

    for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < n; at += step)
        numfmt_store(r.dtype, dst, at, recipe_element(&r, at));
}

__global__ void __launch_bounds__(ROW_THREADS)
    generate_rows(const struct recipe r, int32_t *dst, int64_t rows, int64_t width)
{
    const int64_t step = (int64_t)gridDim.x * ROW_THREADS;

    for (int64_t row = (int64_t)blockIdx.x * ROW_THREADS + threadIdx.x; row < rows; row += step)
        recipe_row(&r, row, dst + row * width);
}

static int blocks_for(int64_t n, int threads)
{
    const int64_t blocks = (n + threads - 1) / threads;

    return (int)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS);
}

cudaError_t cuda_kernel_generate(const struct recipe *r, void *dst, int64_t elements,
                                 cudaStream_t stream)
{
    if (elements <= 0)
        return cudaSuccess;
    if (recipe_by_row(r)) {
        const int64_t width = r->shape[r->rank - 1];
        const int64_t rows = elements / width;

        generate_rows<<<blocks_for(rows, ROW_THREADS), ROW_THREADS, 0, stream>>>(*r, (int32_t *)dst,
                                                                                 rows, width);
    } else {
        generate_elements<<<blocks_for(elements, THREADS), THREADS, 0, stream>>>(*r, dst, elements);
    }
    return cudaGetLastError();
}

__global__ void __launch_bounds__(THREADS)
    shift_ids(int32_t *dst, const int32_t *src, int64_t n, int64_t group, int64_t add)
{
    const int64_t step = (int64_t)gridDim.x * THREADS;

    for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < n; at += step) {
        const int32_t id = src[at];

        dst[at] = id < 0 ? id : (int32_t)(id + at / group * add);
    }
}

cudaError_t cuda_kernel_shift_ids(int32_t *dst, const int32_t *src, int64_t n, int64_t group,
                                  int64_t add, cudaStream_t stream)
{
    if (n <= 0)
        return cudaSuccess;
    shift_ids<<<blocks_for(n, THREADS), THREADS, 0, stream>>>(dst, src, n, group, add);
    return cudaGetLastError();
}

/* Integer sums and minima do not depend on the order, so atomics are fine. */
__global__ void __launch_bounds__(THREADS)
    digest_parts(const unsigned char *data, uint64_t bytes, uint64_t *parts)
{
    __shared__ unsigned long long block_sum;
    const uint64_t words = bytes / 8 + (bytes % 8 != 0);
    const bool aligned = (uintptr_t)data % 8 == 0;
    unsigned long long sum = 0;

    if (threadIdx.x == 0)
        block_sum = 0;
    __syncthreads();
    for (uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x; at < words;
         at += (uint64_t)gridDim.x * THREADS) {
        const uint64_t word =
            aligned && at < bytes / 8 ? ((const uint64_t *)data)[at] : digest_load(data, bytes, at);

        sum += digest_word(at, word);
    }
    atomicAdd(&block_sum, sum);
    __syncthreads();
    if (threadIdx.x == 0)
        parts[blockIdx.x] = block_sum;
}

cudaError_t cuda_kernel_digest(const void *data, uint64_t bytes, uint64_t *parts,
                               cudaStream_t stream)
{
    digest_parts<<<CUDA_PARTS, THREADS, 0, stream>>>((const unsigned char *)data, bytes, parts);
    return cudaGetLastError();
}

__global__ void __launch_bounds__(THREADS)
    count_parts(const unsigned char *data, int byte, uint64_t bytes, struct cuda_count_part *parts)
{
    __shared__ unsigned long long block_count, block_first;
    unsigned long long count = 0, first = ~0ull;

    if (threadIdx.x == 0) {
        block_count = 0;
        block_first = ~0ull;
    }
    __syncthreads();
    for (uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x; at < bytes;
         at += (uint64_t)gridDim.x * THREADS) {
        if (data[at] == byte)
            continue;
        count++;
        first = at < first ? at : first;
    }
    atomicAdd(&block_count, count);
    atomicMin(&block_first, first);
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x].count = block_count;
        parts[blockIdx.x].first = block_first;
    }
}

cudaError_t cuda_kernel_count_other(const void *data, int byte, uint64_t bytes,
                                    struct cuda_count_part *parts, cudaStream_t stream)
{
    count_parts<<<CUDA_PARTS, THREADS, 0, stream>>>((const unsigned char *)data, byte, bytes,
                                                    parts);
    return cudaGetLastError();
}

/* Floating sums: each thread in the order of its elements, then a tree of fixed shape. */
__global__ void __launch_bounds__(COMPARE_THREADS)
    compare_parts(int32_t dtype, const void *got, const void *ref, int64_t n,
                  struct device_difference *parts)
{
    __shared__ struct device_difference thread_part[COMPARE_THREADS];
    struct device_difference d;

    difference_init(&d);
    for (int64_t at = (int64_t)blockIdx.x * COMPARE_THREADS + threadIdx.x; at < n;
         at += (int64_t)gridDim.x * COMPARE_THREADS)
        difference_add(&d, dtype, at, numfmt_load(dtype, got, at), numfmt_load(dtype, ref, at));
    thread_part[threadIdx.x] = d;
    __syncthreads();
    for (unsigned half = COMPARE_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            difference_merge(&thread_part[threadIdx.x], &thread_part[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        parts[blockIdx.x] = thread_part[0];
}

cudaError_t cuda_kernel_compare(int32_t dtype, const void *got, const void *ref, int64_t n,
                                struct device_difference *parts, cudaStream_t stream)
{
    compare_parts<<<CUDA_PARTS, COMPARE_THREADS, 0, stream>>>(dtype, got, ref, n, parts);
    return cudaGetLastError();
}
