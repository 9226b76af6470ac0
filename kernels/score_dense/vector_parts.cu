/*
 * vector_parts.cu - mxfp8 to bf16, and the sums of rows. Both are bound by memory: 3 bytes an
 * element, 4 bytes a visible score, at 3.9 to 4.6 TB/s.
 */
#include "vector_parts.h"

#include "cuda_check.h"
#include "score_math.cuh"

namespace
{

constexpr int THREADS = 256, PART = 4, BLOCKS = 4096;
constexpr int PIECE = 16; /* elements that a thread widens at once; half of those with one scale */

/* 2^(byte - 127); 255: NaN */
__device__ __forceinline__ float e8m0(uint32_t byte)
{
    if (byte == 255)
        return NAN;
    return byte == 0 ? __uint_as_float(0x00400000u) : __uint_as_float(byte << 23);
}

__device__ __forceinline__ uint32_t widen_pair(uint32_t pair, float factor)
{
    const float2 x = sab::e4m3x2_to_float2(pair);

    return sab::bf16x2(x.x * factor, x.y * factor);
}

__global__ void __launch_bounds__(THREADS)
    widen_kernel(const __grid_constant__ score_dense_widening w)
{
    const int64_t pieces = w.from.width / PIECE, all = w.rows * pieces;

    for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < all;
         i += gridDim.x * static_cast<int64_t>(THREADS)) {
        const int64_t row = i / pieces, piece = i % pieces;
        const float factor = e8m0(w.from.exponents[row * (pieces / 2) + piece / 2]);
        const uint4 four = __ldg(static_cast<const uint4 *>(w.from.data) + i);
        const uint32_t in[4] = {four.x, four.y, four.z, four.w};
        uint32_t out[8];

#pragma unroll
        for (int j = 0; j < 8; j++)
            out[j] = widen_pair(in[j / 2] >> (16 * (j % 2)), factor);
        uint4 *to = reinterpret_cast<uint4 *>(w.to) + 2 * i;
        to[0] = make_uint4(out[0], out[1], out[2], out[3]);
        to[1] = make_uint4(out[4], out[5], out[6], out[7]);
    }
}

__device__ __forceinline__ void add_part(sab::score_log_sum &mine, const float (&x)[PART])
{
    float top = -INFINITY, sum = 0.0f;

#pragma unroll
    for (int j = 0; j < PART; j++)
        top = fmaxf(top, x[j]);
    top *= sab::SCORE_LOG2_E;
    if (top == -INFINITY)
        return;
#pragma unroll
    for (int j = 0; j < PART; j++)
        sum += sab::exp2_approximate(fmaf(x[j], sab::SCORE_LOG2_E, -top));
    mine.add(top, sum);
}

/* This thread's share of a row: a log-sum, or a plain sum. */
template <bool ATTENTION>
__device__ __forceinline__ sab::score_log_sum sum_share(const float *row, int64_t limit)
{
    sab::score_log_sum mine = {-INFINITY, 0.0f};

    for (int64_t i = threadIdx.x; i < limit; i += PART * THREADS) {
        float x[PART];

#pragma unroll
        for (int j = 0; j < PART; j++)
            x[j] = i + j * THREADS < limit ? row[i + j * THREADS] : (ATTENTION ? 0.0f : -INFINITY);
        if (ATTENTION)
            mine.sum += (x[0] + x[1]) + (x[2] + x[3]);
        else
            add_part(mine, x);
    }
    return mine;
}

template <bool ATTENTION>
__device__ __forceinline__ void merge(sab::score_log_sum &mine, float top, float sum)
{
    if (ATTENTION)
        mine.sum += sum;
    else
        mine.add(top, sum);
}

template <bool ATTENTION>
__global__ void __launch_bounds__(THREADS) sums_kernel(const __grid_constant__ indexer_dense d)
{
    __shared__ sab::score_log_sum of_warp[THREADS / 32];
    const int64_t row = blockIdx.x;
    const indexer_place place = indexer_dense_place(&d, row);
    sab::score_log_sum mine =
        sum_share<ATTENTION>(d.out + row * d.stride, indexer_dense_limit(&d, &place));

#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        merge<ATTENTION>(mine, __shfl_xor_sync(0xffffffffu, mine.top, step),
                         __shfl_xor_sync(0xffffffffu, mine.sum, step));
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < THREADS / 32; i++)
        merge<ATTENTION>(mine, of_warp[i].top, of_warp[i].sum);
    if (ATTENTION)
        d.sums[row] = mine.sum;
    else
        d.sums[row] =
            mine.top == -INFINITY ? -INFINITY : sab::SCORE_LN_2 * (mine.top + log2f(mine.sum));
}

cudaError_t widen(const score_dense_widening &w, cudaStream_t stream)
{
    const int64_t blocks = (w.rows * (w.from.width / PIECE) + THREADS - 1) / THREADS;

    if (w.rows == 0)
        return cudaSuccess;
    widen_kernel<<<static_cast<unsigned>(blocks < BLOCKS ? blocks : BLOCKS), THREADS, 0, stream>>>(
        w);
    return cudaGetLastError();
}

} // namespace

int score_dense_parts_init(struct score_dense_parts *parts, struct indexer_dense *dense,
                           int64_t keys, void *workspace, struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, widen_kernel);

    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&attributes, sums_kernel<false>);
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&attributes, sums_kernel<true>);
    *parts = {};
    if (dense->q.e4m3) {
        uint8_t *to = static_cast<uint8_t *>(workspace);
        parts->q = {dense->q, reinterpret_cast<uint16_t *>(to), dense->rows * dense->heads};
        to += score_dense_items_bytes_of_q(dense);
        parts->k = {dense->k, reinterpret_cast<uint16_t *>(to), keys * dense->kv_heads};
        dense->q = {parts->q.to, NULL, 0, dense->q.width};
        dense->k = {parts->k.to, NULL, 0, dense->k.width};
    }
    parts->d = *dense;
    return sab_cuda_check(error, "load the kernels beside the dense scores", msg);
}

cudaError_t score_dense_parts_before(const struct score_dense_parts *parts, cudaStream_t stream)
{
    const cudaError_t error = widen(parts->q, stream);

    return error == cudaSuccess ? widen(parts->k, stream) : error;
}

cudaError_t score_dense_parts_after(const struct score_dense_parts *parts, cudaStream_t stream)
{
    const unsigned rows = static_cast<unsigned>(parts->d.rows);

    if (parts->d.attention)
        sums_kernel<true><<<rows, THREADS, 0, stream>>>(parts->d);
    else
        sums_kernel<false><<<rows, THREADS, 0, stream>>>(parts->d);
    return cudaGetLastError();
}
