/*
 * vector_kv_passes.cuh - sage_quant_kv/vector where a head does not fit the chip: statistics of
 * every block of 64 tokens, those of every head, quotients; three launches that read K and V twice.
 */
#ifndef SAGE_QUANT_VECTOR_KV_PASSES_CUH
#define SAGE_QUANT_VECTOR_KV_PASSES_CUH

#include "vector_kv_math.cuh"

namespace sage_quant
{

constexpr int KV_PASS_THREADS = 256;

/* Where a block of the grid is: x goes over the blocks of all heads. */
struct kv_spot {
    uint32_t b, h, bh, block;
    int nr; /* rows */
};

__device__ __forceinline__ kv_spot spot_of(const quant_kv_call &c)
{
    const uint32_t blocks = static_cast<uint32_t>(c.blocks), bh = blockIdx.x / blocks;
    const uint32_t heads = static_cast<uint32_t>(c.heads), block = blockIdx.x % blocks;
    const int64_t left = c.seqlen - static_cast<int64_t>(block) * QUANT_BLOCK;

    return {bh / heads, bh % heads, bh, block,
            static_cast<int>(left < QUANT_BLOCK ? left : QUANT_BLOCK)};
}

template <bool ALIGNED, reuse REUSE>
__device__ __forceinline__ uint4 load_row(const quant_rows &rows, const kv_spot &at, int row)
{
    if (row >= at.nr)
        return make_uint4(0, 0, 0, 0);
    return load8<ALIGNED, REUSE>(
        rows_of(rows, at.b, at.h, static_cast<int64_t>(at.block) * QUANT_BLOCK + row) +
        threadIdx.x % 16 * 8);
}

template <bool ALIGNED, reuse REUSE>
__device__ __forceinline__ void load_strand(uint4 (&x)[KV_ROWS], const quant_rows &rows,
                                            const kv_spot &at)
{
#pragma unroll
    for (int i = 0; i < KV_ROWS; i++)
        x[i] = load_row<ALIGNED, REUSE>(rows, at, threadIdx.x / 16 + QUANT_STRANDS * i);
}

template <bool ALIGNED>
__global__ void __launch_bounds__(KV_PASS_THREADS)
    sage_quant_kv_vector_statistics(const __grid_constant__ quant_kv_call c)
{
    __shared__ float part[2][QUANT_STRANDS / 2][QUANT_DIM];
    const kv_spot at = spot_of(c);
    const int column = threadIdx.x % 16, warp = threadIdx.x / 32;
    uint4 k[KV_ROWS], v[KV_ROWS];
    float sum[8], largest[8];

    load_strand<ALIGNED, READ_AGAIN>(k, c.k, at);
    load_strand<ALIGNED, READ_AGAIN>(v, c.v, at);
    sum_pair(sum, k);
    largest_pair(largest, v);
    if (threadIdx.x % 32 < 16) {
        put8(&part[0][warp][8 * column], sum);
        put8(&part[1][warp][8 * column], largest);
    }
    __syncthreads();
    const int channel = threadIdx.x % QUANT_DIM;
    const bool values = threadIdx.x >= QUANT_DIM;
    (values ? c.largest : c.sum)[(at.bh * c.blocks + at.block) * QUANT_DIM + channel] =
        join_pairs(part[values], channel, values);
}

/* Four channels of `nr` partial results. */
__device__ __forceinline__ float4 join(const float *from, uint32_t nr, bool values)
{
    float4 x = make_float4(0, 0, 0, 0);

#pragma unroll 16
    for (uint32_t i = 0; i < nr; i++)
        x = join4(x, *reinterpret_cast<const float4 *>(from + i * QUANT_DIM), values);
    return x;
}

/* A block a head; half of the warps K, half V. */
__global__ void __launch_bounds__(2 * KV_PASS_THREADS)
    sage_quant_kv_vector_heads(const __grid_constant__ quant_kv_call c)
{
    const bool values = threadIdx.x >= KV_PASS_THREADS;
    const uint32_t warp = threadIdx.x % KV_PASS_THREADS / 32;
    const uint32_t blocks = static_cast<uint32_t>(c.blocks), spans = static_cast<uint32_t>(c.spans);
    const kv_results to = results_of(c, blockIdx.x, values, threadIdx.x % 32 * 4);

    for (uint32_t span = warp; span < spans; span += KV_PASS_THREADS / 32) {
        const uint32_t first = span * QUANT_SPAN, left = blocks - first;

        *reinterpret_cast<float4 *>(to.span + span * QUANT_DIM) =
            join(to.block + static_cast<int64_t>(first) * QUANT_DIM,
                 min(left, static_cast<uint32_t>(QUANT_SPAN)), values);
    }
    __syncthreads();
    if (warp == 0)
        *reinterpret_cast<float4 *>(to.head) =
            finish4(c, join(to.span, spans, values), values, to.at);
}

template <bool ALIGNED>
__global__ void __launch_bounds__(KV_PASS_THREADS, 2)
    sage_quant_kv_vector_quotients(const __grid_constant__ quant_kv_call c)
{
    __shared__ kv_codes codes;
    __shared__ uint32_t found[KV_PASS_THREADS / 32];
    const kv_spot at = spot_of(c);
    const int column = threadIdx.x % 16, strand = threadIdx.x / 16;
    const int64_t head = static_cast<int64_t>(at.bh) * QUANT_DIM + 8 * column;
    const int64_t width = c.blocks * QUANT_BLOCK;
    float mean[8], scale[8], inverse[8];
    uint32_t code[8], largest = 0;
    uint4 k[KV_ROWS], v[4];
    kv_centred keys;

#pragma unroll
    for (int i = 0; i < 4; i++)
        v[i] = load_row<ALIGNED, READ_ONCE>(c.v, at, row_of_quad(strand, i));
    load_strand<ALIGNED, READ_ONCE>(k, c.k, at);
    take8(scale, c.scale + head);
#pragma unroll
    for (int d = 0; d < 8; d++)
        inverse[d] = __frcp_rn(scale[d]);
    encode_quad(code, v, scale, inverse);
    put_codes(codes, code, column, strand);
    take8(mean, c.mean + head);
    const uint32_t mine = centre_keys(keys, k, mean, strand, at.nr);
    if (threadIdx.x % 32 == 0)
        found[threadIdx.x / 32] = mine;
    __syncthreads();
    store_codes(c.v_fp8 + at.bh * QUANT_DIM * width + at.block * QUANT_BLOCK, width, codes,
                static_cast<int>(threadIdx.x));
#pragma unroll
    for (uint32_t x : found)
        largest = max(largest, x);
    const float k_scale = scale_of(__uint_as_float(largest), QUANT_INT8);
    if (threadIdx.x == 0)
        c.k_scale[at.bh * c.blocks + at.block] = k_scale;
    store_keys(c.k_int8 +
                   (at.bh * c.seqlen + static_cast<int64_t>(at.block) * QUANT_BLOCK) * QUANT_DIM +
                   8 * column,
               keys, k_scale, strand, at.nr);
}

} // namespace sage_quant

#endif
