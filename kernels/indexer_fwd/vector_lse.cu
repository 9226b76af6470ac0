/*
 * vector_lse.cu - the optional lse of indexer_fwd: a block a row, one read of the columns that the
 * row sees. Bound by memory: 4 bytes a score at 4.3 to 4.65 TB/s, 1/17 of the time of fp8 products
 * at 64 heads.
 */
#include "vector_lse.h"

#include "convert.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr float LOG2_E = 1.4426950408889634f, LN_2 = 0.6931471805599453f;

/* sum 2^(x - top) of what was seen; top in log2 units, -inf: nothing or nothing but -inf */
struct log_sum {
    float top, sum;

    __device__ __forceinline__ void add(float other_top, float other_sum)
    {
        const float next = fmaxf(top, other_top);

        if (next == -INFINITY)
            return;
        sum = sum * sab::exp2_approximate(top - next) +
              other_sum * sab::exp2_approximate(other_top - next);
        top = next;
    }
};

__device__ __forceinline__ log_sum sum_row(const float *row, int64_t limit)
{
    log_sum mine = {-INFINITY, 0.0f};

    for (int64_t i = 4 * static_cast<int64_t>(threadIdx.x); i < limit; i += 4 * THREADS) {
        float x[4], top = -INFINITY, sum = 0.0f;

        if (i + 4 <= limit) {
            const float4 four = *reinterpret_cast<const float4 *>(row + i);
            x[0] = four.x;
            x[1] = four.y;
            x[2] = four.z;
            x[3] = four.w;
        } else {
#pragma unroll
            for (int j = 0; j < 4; j++)
                x[j] = i + j < limit ? row[i + j] : -INFINITY;
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
            top = fmaxf(top, x[j]);
        top *= LOG2_E;
        if (top == -INFINITY)
            continue;
#pragma unroll
        for (int j = 0; j < 4; j++)
            sum += sab::exp2_approximate(fmaf(x[j], LOG2_E, -top));
        mine.add(top, sum);
    }
    return mine;
}

__global__ void __launch_bounds__(THREADS)
    indexer_lse(const __grid_constant__ struct indexer_fwd_call c)
{
    __shared__ log_sum of_warp[THREADS / 32];
    const int64_t row = blockIdx.x;
    const struct indexer_place place = indexer_fwd_place(&c, row);
    const int64_t limit = indexer_fwd_limit(&c, &place);
    log_sum mine = sum_row(c.scores + row * c.stride, limit);

#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        mine.add(__shfl_xor_sync(0xffffffffu, mine.top, step),
                 __shfl_xor_sync(0xffffffffu, mine.sum, step));
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < THREADS / 32; i++)
        mine.add(of_warp[i].top, of_warp[i].sum);
    c.lse[row] = mine.top == -INFINITY ? -INFINITY : LN_2 * (mine.top + log2f(mine.sum));
}

} // namespace

cudaError_t indexer_lse_prepare(void)
{
    struct cudaFuncAttributes attributes;

    return cudaFuncGetAttributes(&attributes, indexer_lse);
}

cudaError_t indexer_lse_launch(const struct indexer_fwd_call *call, cudaStream_t stream)
{
    if (!call->lse || call->rows == 0)
        return cudaSuccess;
    indexer_lse<<<(unsigned)call->rows, THREADS, 0, stream>>>(*call);
    return cudaGetLastError();
}
