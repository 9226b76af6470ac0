/*
 * vector_kv_math.cuh - what a thread computes of K and V in sage_quant_kv/vector: sums and largest
 * values, and quotients. A thread has eight channels of four keys, rows s, s+16, s+32,
 * s+48 of a block (s: its strand, of 16), and of the four values whose codes stand side by side in
 * the permuted order (section 3), so that a word of four codes is made in one thread.
 */
#ifndef SAGE_QUANT_VECTOR_KV_MATH_CUH
#define SAGE_QUANT_VECTOR_KV_MATH_CUH

#include "quant_device.cuh"

namespace sage_quant
{

constexpr int KV_ROWS = QUANT_BLOCK / QUANT_STRANDS; /* rows of a thread */

/* ---- sums and largest values ---- */

__device__ __forceinline__ void add8(float (&sum)[8], const uint4 &x)
{
    const uint32_t word[4] = {x.x, x.y, x.z, x.w};

#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum[2 * i] = __fadd_rn(sum[2 * i], bf16_low(word[i]));
        sum[2 * i + 1] = __fadd_rn(sum[2 * i + 1], bf16_high(word[i]));
    }
}

__device__ __forceinline__ uint4 largest8(const uint4 &a, const uint4 &b)
{
    return make_uint4(largest2(a.x, b.x), largest2(a.y, b.y), largest2(a.z, b.z),
                      largest2(a.w, b.w));
}

__device__ __forceinline__ void put8(float *to, const float (&x)[8])
{
    reinterpret_cast<float4 *>(to)[0] = make_float4(x[0], x[1], x[2], x[3]);
    reinterpret_cast<float4 *>(to)[1] = make_float4(x[4], x[5], x[6], x[7]);
}

/* The sums of this thread's keys and of those of the other strand of its warp; both threads have
 * them. */
__device__ __forceinline__ void sum_pair(float (&sum)[8], const uint4 (&k)[KV_ROWS])
{
#pragma unroll
    for (int d = 0; d < 8; d++)
        sum[d] = 0.0f;
#pragma unroll
    for (int i = 0; i < KV_ROWS; i++)
        add8(sum, k[i]);
#pragma unroll
    for (int d = 0; d < 8; d++)
        sum[d] = __fadd_rn(sum[d], __shfl_xor_sync(0xffffffffu, sum[d], 16));
}

/* The largest |V| likewise. */
__device__ __forceinline__ void largest_pair(float (&largest)[8], const uint4 (&v)[KV_ROWS])
{
    uint4 x = make_uint4(0, 0, 0, 0);

#pragma unroll
    for (int i = 0; i < KV_ROWS; i++)
        x = largest8(x, v[i]);
    x = largest8(x, make_uint4(__shfl_xor_sync(0xffffffffu, x.x, 16),
                               __shfl_xor_sync(0xffffffffu, x.y, 16),
                               __shfl_xor_sync(0xffffffffu, x.z, 16),
                               __shfl_xor_sync(0xffffffffu, x.w, 16)));
    const uint32_t word[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        largest[2 * i] = bf16_low(word[i]);
        largest[2 * i + 1] = bf16_high(word[i]);
    }
}

/* Channel `channel` of a block: the pairs' sums added up ascending, or their largest. */
__device__ __forceinline__ float join_pairs(const float (*part)[QUANT_DIM], int channel,
                                            bool values)
{
    float x = part[0][channel];

#pragma unroll
    for (int i = 1; i < QUANT_STRANDS / 2; i++)
        x = values ? fmaxf(x, part[i][channel]) : __fadd_rn(x, part[i][channel]);
    return x;
}

/* Channels of two partial results joined. */
__device__ __forceinline__ float4 join4(const float4 &x, const float4 &y, bool values)
{
    if (values)
        return make_float4(fmaxf(x.x, y.x), fmaxf(x.y, y.y), fmaxf(x.z, y.z), fmaxf(x.w, y.w));
    return make_float4(__fadd_rn(x.x, y.x), __fadd_rn(x.y, y.y), __fadd_rn(x.z, y.z),
                       __fadd_rn(x.w, y.w));
}

/* The mean of four channels of K, or the scales of V; for the latter `at` is their place. */
__device__ __forceinline__ float4 finish4(const quant_kv_call &c, const float4 &x, bool values,
                                          int64_t at)
{
    const float n = static_cast<float>(c.seqlen);

    if (!values)
        return make_float4(round_bf16(__fdiv_rn(x.x, n)), round_bf16(__fdiv_rn(x.y, n)),
                           round_bf16(__fdiv_rn(x.z, n)), round_bf16(__fdiv_rn(x.w, n)));
    const float4 scale = make_float4(scale_of(x.x, QUANT_E4M3), scale_of(x.y, QUANT_E4M3),
                                     scale_of(x.z, QUANT_E4M3), scale_of(x.w, QUANT_E4M3));
    *reinterpret_cast<float4 *>(c.v_scale + at) = scale;
    return scale;
}

/* The places of four channels of a head's blocks, of its spans, and of what becomes of them. */
struct kv_results {
    float *block, *span, *head;
    int64_t at; /* of `head` in its tensor */
};

__device__ __forceinline__ kv_results results_of(const quant_kv_call &c, int64_t bh, bool values,
                                                 uint32_t channel)
{
    const int64_t at = bh * QUANT_DIM + channel;

    return {(values ? c.largest : c.sum) + bh * c.blocks * QUANT_DIM + channel,
            (values ? c.span_largest : c.span_sum) + bh * c.spans * QUANT_DIM + channel,
            (values ? c.scale : c.mean) + at, at};
}

__device__ __forceinline__ void take8(float (&to)[8], const float *from)
{
    const float4 low = reinterpret_cast<const float4 *>(from)[0];
    const float4 high = reinterpret_cast<const float4 *>(from)[1];

    to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
    to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

/* ---- keys ---- */

__device__ __forceinline__ void centre8(float (&k)[8], const uint4 &x, const float (&mean)[8])
{
    const uint32_t word[4] = {x.x, x.y, x.z, x.w};

#pragma unroll
    for (int i = 0; i < 4; i++) {
        k[2 * i] = __fsub_rn(bf16_low(word[i]), mean[2 * i]);
        k[2 * i + 1] = __fsub_rn(bf16_high(word[i]), mean[2 * i + 1]);
    }
}

/* A thread's keys without their mean. */
struct kv_centred {
    float key[KV_ROWS][8];
};

/* Centres the keys, and gives the largest |key - mean| of the warp, as bits. Rows that do not exist
 * do not count. */
__device__ __forceinline__ uint32_t centre_keys(kv_centred &to, const uint4 (&k)[KV_ROWS],
                                                const float (&mean)[8], int strand, int nr)
{
    float largest = 0.0f;

#pragma unroll
    for (int i = 0; i < KV_ROWS; i++) {
        float of_row = 0.0f;

        centre8(to.key[i], k[i], mean);
#pragma unroll
        for (int d = 0; d < 8; d++)
            of_row = fmaxf(of_row, fabsf(to.key[i][d]));
        if (strand + QUANT_STRANDS * i < nr)
            largest = fmaxf(largest, of_row);
    }
    return __reduce_max_sync(0xffffffffu, __float_as_uint(largest));
}

/* The codes of eight keys, in the low bytes. */
__device__ __forceinline__ void round_keys(uint32_t (&n)[8], const float (&key)[8], float scale,
                                           float reciprocal)
{
    float farthest = 0.0f;

#pragma unroll
    for (int d = 0; d < 8; d++) {
        float remainder;

        n[d] = nearest(key[d], scale, reciprocal, &remainder);
        farthest = fmaxf(farthest, fabsf(remainder));
    }
    if (farthest < scale * NEAREST_SURE)
        return;
#pragma unroll
    for (int d = 0; d < 8; d++)
        n[d] = round_int8(quotient(key[d], scale, reciprocal));
}

/* Eight channels of this thread's keys, to k_int8 from row `to` of the block on. */
__device__ __forceinline__ void store_keys(int8_t *to, const kv_centred &keys, float scale,
                                           int strand, int nr)
{
    const float reciprocal = __frcp_rn(scale);

    to += strand * QUANT_DIM;
#pragma unroll
    for (int i = 0; i < KV_ROWS; i++) {
        uint32_t n[8];

        round_keys(n, keys.key[i], scale, reciprocal);
        if (strand + QUANT_STRANDS * i < nr)
            *reinterpret_cast<uint2 *>(to + i * QUANT_STRANDS * QUANT_DIM) =
                make_uint2(low_bytes(n[0], n[1], n[2], n[3]), low_bytes(n[4], n[5], n[6], n[7]));
    }
}

/* ---- values ---- */

/* Row of the i-th token of a quad, whose codes make one word. */
__device__ __forceinline__ int row_of_quad(int quad, int i)
{
    return 16 * (quad / 4) + 2 * (quad % 4) + i / 2 * 8 + i % 2;
}

/* Two channels of a token times 2^-64: exact, or so small that their quotients are 0 anyway. */
__device__ __forceinline__ uint32_t shrink2(uint32_t pair)
{
    return sab::bf16x2(bf16_low(pair) * 0x1p-64f, bf16_high(pair) * 0x1p-64f);
}

__device__ __forceinline__ bool needs_shrinking(const float (&scale)[8])
{
    float largest = scale[0];

#pragma unroll
    for (int d = 1; d < 8; d++)
        largest = fmaxf(largest, scale[d]);
    return largest > QUOTIENT_LARGEST;
}

/* Codes of eight channels of four tokens: word d is of channel d. */
__device__ __forceinline__ void encode8x4(uint32_t (&code)[8], const uint4 (&v)[4],
                                          const float (&scale)[8], const float (&inverse)[8])
{
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
        code[d] = sab::e4m3x4(q[0], q[1], q[2], q[3]);
    }
}

/* The codes of a quad. Where a scale is so large that its reciprocal would be subnormal, values and
 * scales of all eight channels are made smaller together: the quotients stay. */
__device__ __forceinline__ void encode_quad(uint32_t (&code)[8], uint4 (&v)[4], float (&scale)[8],
                                            float (&inverse)[8])
{
    if (needs_shrinking(scale)) {
#pragma unroll
        for (int d = 0; d < 8; d++) {
            scale[d] *= 0x1p-64f;
            inverse[d] = __frcp_rn(scale[d]);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            v[i] = make_uint4(shrink2(v[i].x), shrink2(v[i].y), shrink2(v[i].z), shrink2(v[i].w));
    }
    encode8x4(code, v, scale, inverse);
}

/* Codes of a block in shared memory, swizzled: word `quad ^ channel / 8` of a channel. */
typedef uint32_t kv_codes[QUANT_DIM][QUANT_BLOCK / 4];

__device__ __forceinline__ void put_codes(kv_codes &codes, const uint32_t (&code)[8], int column,
                                          int quad)
{
#pragma unroll
    for (int d = 0; d < 8; d++)
        codes[8 * column + d][quad ^ column] = code[d];
}

/* 256 threads: two times 16 codes of a channel each, put back in order; `to` is the block's place
 * in the first channel, channels are `width` bytes apart. */
__device__ __forceinline__ void store_codes(uint8_t *to, int64_t width, const kv_codes &codes,
                                            int thread)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int channel = thread / 4 + i * QUANT_DIM / 2, sixteenth = thread % 4;
        const int swizzle = channel / 8;
        uint4 x =
            *reinterpret_cast<const uint4 *>(&codes[channel][4 * (sixteenth ^ (swizzle >> 2))]);

        if (swizzle & 1)
            x = make_uint4(x.y, x.x, x.w, x.z);
        if (swizzle & 2)
            x = make_uint4(x.z, x.w, x.x, x.y);
        *reinterpret_cast<uint4 *>(to + channel * width + 16 * sixteenth) = x;
    }
}

} // namespace sage_quant

#endif
