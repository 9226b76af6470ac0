/*
 * reference_sparse.cuh - scores of selected columns (sparse_scores.h) by their definition, for the
 * reference kernels: a block serves a row, a warp a slot after the other; products are sums of
 * floats, sums over heads and slots are doubles in a fixed order.
 */
#ifndef SAB_REFERENCE_SPARSE_CUH
#define SAB_REFERENCE_SPARSE_CUH

#include "reference_sums.cuh"
#include "sparse_scores.h"

namespace sab
{

/* One slot of a row, on every lane. */
__device__ inline double sparse_score(const indexer_sparse &d, int64_t row, int64_t key)
{
    double sum = 0;

    for (int64_t h = 0; h < d.heads; h++) {
        const int64_t at = row * d.heads + h;
        const float x = warp_dot(d.q, at, d.k, key);
        if (d.attention)
            sum += attention_weight(d.scale, x, d.lse[at]);
        else
            sum += x > 0 ? static_cast<double>(x) * indexer_weight(d.w, 0, nullptr, at) : 0;
    }
    return d.attention ? sum : sum * static_cast<double>(d.scale);
}

/* Raw scores first, NaN where a slot is not active. */
__device__ inline void sparse_row(const indexer_sparse &d, int64_t row, double *shared)
{
    const indexer_place place = indexer_padded_place(d.seqlen_q, d.seqlen_k, row);
    const int64_t length = indexer_slots_length(&d.slots, row), slots = d.slots.slots;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float *out = d.out + row * slots;
    double top = -INFINITY, sum = 0;

    for (int64_t j = warp; j < slots; j += REFERENCE_WARPS) {
        const int64_t key = j < length ? indexer_slots_key(&d.slots, &place, row, j) : -1;
        const double x = key < 0 ? NAN : sparse_score(d, row, key);
        if (lane == 0)
            out[j] = static_cast<float>(x);
    }
    __syncthreads();
    for (int64_t j = threadIdx.x; j < slots; j += REFERENCE_THREADS)
        top = fmax(top, static_cast<double>(out[j]));
    top = block_max(top, shared);
    for (int64_t j = threadIdx.x; j < slots; j += REFERENCE_THREADS) {
        const double x = static_cast<double>(out[j]);
        sum += isnan(x) ? 0 : d.attention ? x : exp(x - top);
    }
    sum = block_sum(sum, shared);
    if (d.attention && sum < 1e-12)
        sum = 1e-12;
    for (int64_t j = threadIdx.x; j < slots; j += REFERENCE_THREADS) {
        const double x = static_cast<double>(out[j]);
        out[j] = static_cast<float>(isnan(x) ? 0 : (d.attention ? x : exp(x - top)) / sum);
    }
}

/* Every row that is this block's; a kernel of REFERENCE_THREADS threads, any number of blocks. */
__device__ inline void sparse_rows(const indexer_sparse &d)
{
    __shared__ double shared[REFERENCE_WARPS];

    for (int64_t row = blockIdx.x; row < d.rows; row += gridDim.x)
        sparse_row(d, row, shared);
}

} // namespace sab

#endif
