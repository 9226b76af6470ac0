/*
 * vector_kv.cuh - the two kernels of sage_quant_kv/vector.
 *
 * statistics: a block a chunk of 256 tokens, a thread eight channels of every 16th row (a strand,
 * quant_call.h). The block that is last to finish a head's chunks adds them up, in their order, not
 * in that of their coming.
 *
 * quantise: a block 64 tokens, a thread eight channels of four keys, and of the four values whose
 * codes stand side by side in the permuted order (section 3), so that a word of four codes is made
 * in one thread. Words go through shared memory, swizzled, to leave as 16 bytes of a channel.
 */
#ifndef SAGE_QUANT_VECTOR_KV_CUH
#define SAGE_QUANT_VECTOR_KV_CUH

#include "quant_device.cuh"

namespace sage_quant
{

constexpr int KV_THREADS = 256;

struct statistics_shared {
    float sum[QUANT_STRANDS][QUANT_DIM];
    uint32_t largest[QUANT_STRANDS][QUANT_DIM / 2]; /* pairs of bf16 */
};

__device__ __forceinline__ void add8(float (&sum)[8], const uint4 &x)
{
    const uint32_t word[4] = {x.x, x.y, x.z, x.w};

#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum[2 * i] = __fadd_rn(sum[2 * i], bf16_low(word[i]));
        sum[2 * i + 1] = __fadd_rn(sum[2 * i + 1], bf16_high(word[i]));
    }
}

/* This thread's part of the chunk, to shared memory. */
template <bool ALIGNED>
__device__ __forceinline__ void gather_strand(const quant_kv_call &c, int64_t b, int64_t h,
                                              int64_t chunk, statistics_shared &shared)
{
    const int column = threadIdx.x % 16, strand = threadIdx.x / 16;
    float sum[8] = {};
    uint4 largest = make_uint4(0, 0, 0, 0);

    for (int step = 0; step < QUANT_CHUNK; step += 4 * QUANT_STRANDS) {
        uint4 k[4], v[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int64_t row = chunk * QUANT_CHUNK + step + i * QUANT_STRANDS + strand;

            k[i] = v[i] = make_uint4(0, 0, 0, 0);
            if (row < c.seqlen) {
                k[i] = load8<ALIGNED, READ_AGAIN>(rows_of(c.k, b, h, row) + 8 * column);
                v[i] = load8<ALIGNED, READ_AGAIN>(rows_of(c.v, b, h, row) + 8 * column);
            }
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            add8(sum, k[i]);
            largest.x = largest2(largest.x, v[i].x);
            largest.y = largest2(largest.y, v[i].y);
            largest.z = largest2(largest.z, v[i].z);
            largest.w = largest2(largest.w, v[i].w);
        }
    }
    float4 *to = reinterpret_cast<float4 *>(&shared.sum[strand][8 * column]);
    to[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    to[1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
    *reinterpret_cast<uint4 *>(&shared.largest[strand][4 * column]) = largest;
}

/* The strands of a chunk, to the workspace: threads 0..127 add, 128..191 compare. */
__device__ __forceinline__ void join_strands(const quant_kv_call &c, int64_t at,
                                             const statistics_shared &shared)
{
    const int t = threadIdx.x;

    if (t < QUANT_DIM) {
        float sum = shared.sum[0][t];

        for (int s = 1; s < QUANT_STRANDS; s++)
            sum = __fadd_rn(sum, shared.sum[s][t]);
        c.sum[at * QUANT_DIM + t] = sum;
    } else if (t < QUANT_DIM + QUANT_DIM / 2) {
        const int pair = t - QUANT_DIM;
        uint32_t largest = 0;

        for (int s = 0; s < QUANT_STRANDS; s++)
            largest = __vmaxu2(largest, shared.largest[s][pair]);
        *reinterpret_cast<float2 *>(c.largest + at * QUANT_DIM + 2 * pair) =
            make_float2(bf16_low(largest), bf16_high(largest));
    }
}

/* All chunks of a head: threads 0..127 the mean of K, 128..255 the scales of V. */
__device__ __forceinline__ void finish_head(const quant_kv_call &c, int64_t bh)
{
    const int channel = threadIdx.x % QUANT_DIM;
    const int64_t first = bh * c.chunks * QUANT_DIM + channel;

    if (threadIdx.x < QUANT_DIM) {
        float sum = __ldcg(c.sum + first);

#pragma unroll 8
        for (int64_t i = 1; i < c.chunks; i++)
            sum = __fadd_rn(sum, __ldcg(c.sum + first + i * QUANT_DIM));
        c.mean[bh * QUANT_DIM + channel] = round_bf16(__fdiv_rn(sum, static_cast<float>(c.seqlen)));
    } else {
        float largest = 0.0f;

#pragma unroll 8
        for (int64_t i = 0; i < c.chunks; i++)
            largest = fmaxf(largest, __ldcg(c.largest + first + i * QUANT_DIM));
        const float scale = scale_of(largest, QUANT_E4M3);
        c.v_scale[bh * QUANT_DIM + channel] = scale;
        c.inverse[bh * QUANT_DIM + channel] = __frcp_rn(scale);
    }
}

/* Whether this block is the last of its head; what the others wrote is then visible to it. */
__device__ __forceinline__ bool is_last_chunk(const quant_kv_call &c, int64_t bh)
{
    __shared__ bool last;

    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(c.count + bh, 1u) + 1 == static_cast<uint32_t>(c.chunks);
    __syncthreads();
    if (last)
        __threadfence();
    return last;
}

template <bool ALIGNED>
__global__ void __launch_bounds__(KV_THREADS, ALIGNED ? 4 : 2)
    sage_quant_kv_vector_statistics(const __grid_constant__ quant_kv_call c, int64_t first_head)
{
    __shared__ statistics_shared shared;
    const int64_t bh = first_head + blockIdx.y, chunk = blockIdx.x;

    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
    gather_strand<ALIGNED>(c, bh / c.heads, bh % c.heads, chunk, shared);
    __syncthreads();
    join_strands(c, bh * c.chunks + chunk, shared);
    if (is_last_chunk(c, bh))
        finish_head(c, bh);
}

/* ---- quantise ---- */

struct quantise_shared {
    uint32_t largest[KV_THREADS / 32];
    uint32_t code[QUANT_DIM][QUANT_BLOCK / 4]; /* word `quad ^ column` of a channel */
};

__device__ __forceinline__ void centre8(float (&k)[8], const uint4 &x, const float (&mean)[8])
{
    const uint32_t word[4] = {x.x, x.y, x.z, x.w};

#pragma unroll
    for (int i = 0; i < 4; i++) {
        k[2 * i] = __fsub_rn(bf16_low(word[i]), mean[2 * i]);
        k[2 * i + 1] = __fsub_rn(bf16_high(word[i]), mean[2 * i + 1]);
    }
}

__device__ __forceinline__ void take8(float (&to)[8], const float *from)
{
    const float4 low = __ldcg(reinterpret_cast<const float4 *>(from));
    const float4 high = __ldcg(reinterpret_cast<const float4 *>(from) + 1);

    to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
    to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

/* Two channels of a token times 2^-64: exact, or so small that their quotients are 0 anyway. */
__device__ __forceinline__ uint32_t shrink2(uint32_t pair)
{
    return sab::bf16x2(bf16_low(pair) * 0x1p-64f, bf16_high(pair) * 0x1p-64f);
}

/* Where a scale is so large that its reciprocal would be subnormal, values and scales of all eight
 * channels are made smaller together: the quotients stay. */
__device__ __forceinline__ void shrink(uint4 (&v)[4], float (&scale)[8], float (&inverse)[8])
{
    float largest = scale[0];

#pragma unroll
    for (int d = 1; d < 8; d++)
        largest = fmaxf(largest, scale[d]);
    if (largest <= QUOTIENT_LARGEST)
        return;
#pragma unroll
    for (int d = 0; d < 8; d++) {
        scale[d] *= 0x1p-64f;
        inverse[d] = __frcp_rn(scale[d]);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        v[i] = make_uint4(shrink2(v[i].x), shrink2(v[i].y), shrink2(v[i].z), shrink2(v[i].w));
}

/* The codes of this thread's four tokens, to shared memory. */
__device__ __forceinline__ void encode_values(const quant_kv_call &c, int64_t bh, uint4 (&v)[4],
                                              quantise_shared &shared)
{
    const int column = threadIdx.x % 16, quad = threadIdx.x / 16;
    float scale[8], inverse[8];

    take8(scale, c.v_scale + bh * QUANT_DIM + 8 * column);
    take8(inverse, c.inverse + bh * QUANT_DIM + 8 * column);
    shrink(v, scale, inverse);
#pragma unroll
    for (int d = 0; d < 8; d++) {
        float q[4];

#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t word = d / 2 == 0   ? v[i].x
                                  : d / 2 == 1 ? v[i].y
                                  : d / 2 == 2 ? v[i].z
                                               : v[i].w;

            q[i] = quotient_bf16(d % 2 ? bf16_high(word) : bf16_low(word), scale[d], inverse[d]);
        }
        shared.code[8 * column + d][quad ^ column] = sab::e4m3x4(q[0], q[1], q[2], q[3]);
    }
}

/* Two times 16 codes of a channel, put back in order, to v_fp8. */
__device__ __forceinline__ void store_values(const quant_kv_call &c, int64_t bh, int64_t block,
                                             const quantise_shared &shared)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int channel = threadIdx.x / 4 + i * KV_THREADS / 4, group = threadIdx.x % 4;
        const int swizzle = channel / 8;
        uint4 x =
            *reinterpret_cast<const uint4 *>(&shared.code[channel][4 * (group ^ (swizzle >> 2))]);

        if (swizzle & 1)
            x = make_uint4(x.y, x.x, x.w, x.z);
        if (swizzle & 2)
            x = make_uint4(x.z, x.w, x.x, x.y);
        uint8_t *to =
            c.v_fp8 + ((bh * QUANT_DIM + channel) * c.blocks + block) * QUANT_BLOCK + 16 * group;
        __stcs(reinterpret_cast<uint4 *>(to), x);
    }
}

/* Largest |key| of the warp, as bits; rows beyond the sequence do not count. */
__device__ __forceinline__ uint32_t largest_key(const uint4 (&k)[4], const float (&mean)[8],
                                                int64_t row, int64_t seqlen)
{
    float largest = 0.0f;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        float key[8], of_row = 0.0f;

        centre8(key, k[i], mean);
#pragma unroll
        for (int d = 0; d < 8; d++)
            of_row = fmaxf(of_row, fabsf(key[d]));
        if (row + 16 * i < seqlen)
            largest = fmaxf(largest, of_row);
    }
    return __reduce_max_sync(0xffffffffu, __float_as_uint(largest));
}

__device__ __forceinline__ void store_keys(const quant_kv_call &c, int64_t bh, int64_t block,
                                           const uint4 (&k)[4], const float (&mean)[8],
                                           uint32_t largest)
{
    const int column = threadIdx.x % 16;
    const int64_t row = block * QUANT_BLOCK + threadIdx.x / 16;
    const float scale = scale_of(__uint_as_float(largest), QUANT_INT8);
    const float reciprocal = __frcp_rn(scale);

    if (threadIdx.x == 0)
        c.k_scale[bh * c.blocks + block] = scale;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float key[8];
        uint32_t n[8];

        centre8(key, k[i], mean);
#pragma unroll
        for (int d = 0; d < 8; d++)
            n[d] = round_int8(quotient(key[d], scale, reciprocal));
        if (row + 16 * i < c.seqlen)
            __stcs(
                reinterpret_cast<uint2 *>(c.k_int8 + (bh * c.seqlen + row + 16 * i) * QUANT_DIM +
                                          8 * column),
                make_uint2(low_bytes(n[0], n[1], n[2], n[3]), low_bytes(n[4], n[5], n[6], n[7])));
    }
}

/* Keys of rows r, r+16, r+32, r+48, and values of the rows of one quad. Inputs: no kernel before
 * this one writes them, so they need not wait for it. */
template <bool ALIGNED>
__device__ __forceinline__ void load_block(const quant_kv_call &c, int64_t bh, int64_t block,
                                           uint4 (&k)[4], uint4 (&v)[4])
{
    const int column = threadIdx.x % 16, quad = threadIdx.x / 16;
    const int64_t first = block * QUANT_BLOCK, b = bh / c.heads, h = bh % c.heads;
    const int token = 16 * (quad / 4) + 2 * (quad % 4);

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int64_t k_row = first + quad + 16 * i, v_row = first + token + i / 2 * 8 + i % 2;

        k[i] = v[i] = make_uint4(0, 0, 0, 0);
        if (k_row < c.seqlen)
            k[i] = load8<ALIGNED, READ_ONCE>(rows_of(c.k, b, h, k_row) + 8 * column);
        if (v_row < c.seqlen)
            v[i] = load8<ALIGNED, READ_ONCE>(rows_of(c.v, b, h, v_row) + 8 * column);
    }
}

template <bool ALIGNED>
__global__ void __launch_bounds__(KV_THREADS, 3)
    sage_quant_kv_vector_quantise(const __grid_constant__ quant_kv_call c, int64_t first_head)
{
    __shared__ quantise_shared shared;
    const int64_t bh = first_head + blockIdx.y, block = blockIdx.x;
    const int64_t row = block * QUANT_BLOCK + threadIdx.x / 16;
    uint4 k[4], v[4];
    float mean[8];

    cudaTriggerProgrammaticLaunchCompletion();
    load_block<ALIGNED>(c, bh, block, k, v);
    cudaGridDependencySynchronize();
    take8(mean, c.mean + bh * QUANT_DIM + threadIdx.x % 16 * 8);
    const uint32_t mine = largest_key(k, mean, row, c.seqlen);
    if (threadIdx.x % 32 == 0)
        shared.largest[threadIdx.x / 32] = mine;
    encode_values(c, bh, v, shared);
    __syncthreads();
    uint32_t largest = 0;
#pragma unroll
    for (int i = 0; i < KV_THREADS / 32; i++)
        largest = max(largest, shared.largest[i]);
    store_keys(c, bh, block, k, mean, largest);
    store_values(c, bh, block, shared);
}

} // namespace sage_quant

#endif
