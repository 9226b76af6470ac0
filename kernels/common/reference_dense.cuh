/*
 * reference_dense.cuh - a matrix of scores (dense_scores.h) by its definition, for the reference
 * kernels: a block serves a row, a warp a column after the other; products are sums of floats, sums
 * over heads and columns are doubles in a fixed order.
 */
#ifndef SAB_REFERENCE_DENSE_CUH
#define SAB_REFERENCE_DENSE_CUH

#include <cuda_runtime.h>
#include <math.h>

#include "reference_sums.cuh"

namespace sab
{

/* One column of a row, on every lane. */
__device__ inline double dense_score(const indexer_dense &d, int64_t row, int64_t key)
{
    const int64_t group = d.heads / d.kv_heads;
    double sum = 0;

    for (int64_t h = 0; h < d.heads; h++) {
        const int64_t at = row * d.heads + h;
        const float x = warp_dot(d.q, at, d.k, key * d.kv_heads + h / group);
        if (d.attention)
            sum += attention_weight(d.scale, x, d.lse[at]);
        else
            sum += x > 0 ? static_cast<double>(x) * indexer_weight(d.w, d.w_f32, d.q_scale, at) : 0;
    }
    if (d.attention)
        return sum;
    return sum * static_cast<double>(d.scale) *
           (d.k_scale ? static_cast<double>(d.k_scale[key]) : 1.0);
}

__device__ inline void dense_row(const indexer_dense &d, int64_t row, double *shared)
{
    const indexer_place place = indexer_dense_place(&d, row);
    const int64_t limit = indexer_dense_limit(&d, &place);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float *out = d.out + row * d.stride;

    for (int64_t k = warp; k < limit; k += REFERENCE_WARPS) {
        const double x = dense_score(d, row, place.first_k + k);
        if (lane == 0)
            out[k] = static_cast<float>(x);
    }
    for (int64_t k = limit + threadIdx.x; k < d.columns; k += REFERENCE_THREADS)
        out[k] = -INFINITY;
    if (!d.sums)
        return;
    __syncthreads();
    double top = -INFINITY, sum = 0;
    for (int64_t k = threadIdx.x; k < limit; k += REFERENCE_THREADS)
        top = fmax(top, static_cast<double>(out[k]));
    top = block_max(top, shared);
    for (int64_t k = threadIdx.x; k < limit; k += REFERENCE_THREADS)
        sum += d.attention ? static_cast<double>(out[k]) : exp(static_cast<double>(out[k]) - top);
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0)
        d.sums[row] = static_cast<float>(d.attention ? sum
                                         : limit > 0 ? top + log(sum)
                                                     : static_cast<double>(-INFINITY));
}

/* Every row that is this block's; a kernel of REFERENCE_THREADS threads, any number of blocks. */
__device__ inline void dense_rows(const indexer_dense &d)
{
    __shared__ double shared[REFERENCE_WARPS];

    for (int64_t row = blockIdx.x; row < d.rows; row += gridDim.x)
        dense_row(d, row, shared);
}

} // namespace sab

#endif
