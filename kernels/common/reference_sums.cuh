/*
 * reference_sums.cuh - products and sums of the reference kernels of the indexer's operators.
 */
#ifndef SAB_REFERENCE_SUMS_CUH
#define SAB_REFERENCE_SUMS_CUH

#include <math.h>

#include "convert.cuh"
#include "dense_scores.h"

namespace sab
{

constexpr int REFERENCE_THREADS = 256, REFERENCE_WARPS = REFERENCE_THREADS / 32;
constexpr unsigned REFERENCE_BLOCKS = 65535; /* rows beyond these: one block after the other */
constexpr unsigned REFERENCE_ALL = 0xffffffffu;

__device__ inline float matrix_at(const indexer_matrix &m, int64_t row, int64_t i)
{
    const int64_t at = row * m.width + i;

    if (!m.e4m3)
        return __uint_as_float(static_cast<uint32_t>(static_cast<const uint16_t *>(m.data)[at])
                               << 16);
    const float x = e4m3x2_to_float2(static_cast<const uint8_t *>(m.data)[at]).x;
    if (!m.exponents)
        return x;
    const uint32_t e = m.exponents[row * ((m.width + 31) / 32) + i / 32];
    return x * (e == 255 ? NAN : e == 0 ? 0x1p-127f : __uint_as_float(e << 23));
}

/* The product of two rows, on every lane. */
__device__ inline float warp_dot(const indexer_matrix &a, int64_t a_row, const indexer_matrix &b,
                                 int64_t b_row)
{
    float sum = 0;

    for (int64_t i = threadIdx.x % 32; i < a.width; i += 32)
        sum = fmaf(matrix_at(a, a_row, i), matrix_at(b, b_row, i), sum);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(REFERENCE_ALL, sum, step);
    return sum;
}

/* e^(scale * x - lse); +inf: nothing. */
__device__ inline double attention_weight(float scale, float x, float lse)
{
    if (lse == INFINITY)
        return 0;
    return exp(static_cast<double>(scale) * static_cast<double>(x) - static_cast<double>(lse));
}

/* w * q_scale. */
__device__ inline double indexer_weight(const void *w, int w_f32, const float *q_scale, int64_t at)
{
    const float x =
        w_f32 ? static_cast<const float *>(w)[at]
              : __uint_as_float(static_cast<uint32_t>(static_cast<const uint16_t *>(w)[at]) << 16);

    return static_cast<double>(x) * (q_scale ? static_cast<double>(q_scale[at]) : 1.0);
}

/* Of all threads of a block, on every thread; `shared` holds a value a warp. */
__device__ inline double block_max(double x, double *shared)
{
    for (int step = 16; step > 0; step /= 2)
        x = fmax(x, __shfl_xor_sync(REFERENCE_ALL, x, step));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads();
    for (int i = 0; i < REFERENCE_WARPS; i++)
        x = fmax(x, shared[i]);
    return x;
}

__device__ inline double block_sum(double x, double *shared)
{
    double sum = 0;

    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(REFERENCE_ALL, x, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads();
    for (int i = 0; i < REFERENCE_WARPS; i++)
        sum += shared[i];
    return sum;
}

/* Rows that a grid serves one after the other beyond its size. */
inline unsigned reference_blocks(int64_t rows)
{
    return rows < static_cast<int64_t>(REFERENCE_BLOCKS) ? static_cast<unsigned>(rows)
                                                         : REFERENCE_BLOCKS;
}

} // namespace sab

#endif
