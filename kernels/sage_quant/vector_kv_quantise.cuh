/*
 * vector_kv_quantise.cuh - the quotients of 64 keys or values. A thread has eight channels of every
 * 16th key; or of the four values whose codes stand side by side in the permuted order
 * (section 3), so that a word of four codes is made in one thread.
 */
#ifndef SAGE_QUANT_VECTOR_KV_QUANTISE_CUH
#define SAGE_QUANT_VECTOR_KV_QUANTISE_CUH

#include "vector_kv_statistics.cuh"

namespace sage_quant
{

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

/* Smallest and largest keys of this thread's channels, pairs of bf16. */
struct key_range {
    __nv_bfloat162 least[4], most[4];
};

__device__ __forceinline__ void widen(key_range &range, const uint4 &x)
{
    const uint32_t word[4] = {x.x, x.y, x.z, x.w};

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const __nv_bfloat162 pair = *reinterpret_cast<const __nv_bfloat162 *>(&word[i]);

        range.least[i] = __hmin2(range.least[i], pair);
        range.most[i] = __hmax2(range.most[i], pair);
    }
}

/* Largest |key - mean| of this thread: that of its smallest and its largest key, since rounding
 * keeps the order of differences. */
__device__ __forceinline__ float largest_key(const uint8_t *stage, int nr,
                                             const float *mean_of_head, const kv_lane &lane)
{
    key_range range;
    float mean[8], low[8], high[8], largest = 0.0f;

    take8(mean, mean_of_head + 8 * lane.column());
    if (lane.row() >= nr)
        return 0.0f;
    const uint4 first = stage8(stage, lane.row(), lane.column());
    *reinterpret_cast<uint4 *>(range.least) = first;
    *reinterpret_cast<uint4 *>(range.most) = first;
#pragma unroll
    for (int i = 1; i < QUANT_BLOCK / QUANT_STRANDS; i++)
        if (lane.row() + QUANT_STRANDS * i < nr)
            widen(range, stage8(stage, lane.row() + QUANT_STRANDS * i, lane.column()));
    centre8(low, *reinterpret_cast<const uint4 *>(range.least), mean);
    centre8(high, *reinterpret_cast<const uint4 *>(range.most), mean);
#pragma unroll
    for (int d = 0; d < 8; d++)
        largest = fmaxf(largest, fmaxf(fabsf(low[d]), fabsf(high[d])));
    return largest;
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

__device__ __forceinline__ void key_quotients(const quant_kv_call &c, kv_group &group, uint32_t at,
                                              const kv_lane &lane)
{
    const kv_note note = group.note[at];
    const uint8_t *stage = group.stage[at];
    const int64_t bh = note.bh, row = static_cast<int64_t>(note.block) * QUANT_BLOCK;
    const int nr = static_cast<int>(c.seqlen - row < QUANT_BLOCK ? c.seqlen - row : QUANT_BLOCK);
    const float *mean_of_head = group.of_head[at][0];
    const uint32_t mine =
        __reduce_max_sync(0xffffffffu, __float_as_uint(largest_key(stage, nr, mean_of_head, lane)));
    float mean[8];

    if (lane.thread % 32 == 0)
        group.largest[lane.thread / 32] = mine;
    group_barrier(lane.group);
    uint32_t largest = 0;
#pragma unroll
    for (int i = 0; i < KV_LANES / 32; i++)
        largest = max(largest, group.largest[i]);
    const float scale = scale_of(__uint_as_float(largest), QUANT_INT8);
    const float reciprocal = __frcp_rn(scale);

    if (lane.thread == 0)
        c.k_scale[bh * c.blocks + note.block] = scale;
    take8(mean, mean_of_head + 8 * lane.column());
    int8_t *to = c.k_int8 + (bh * c.seqlen + row + lane.row()) * QUANT_DIM + 8 * lane.column();
#pragma unroll
    for (int i = 0; i < QUANT_BLOCK / QUANT_STRANDS; i++) {
        float key[8];
        uint32_t n[8];

        centre8(key, stage8(stage, lane.row() + QUANT_STRANDS * i, lane.column()), mean);
        round_keys(n, key, scale, reciprocal);
        if (lane.row() + QUANT_STRANDS * i < nr)
            *reinterpret_cast<uint2 *>(to + i * QUANT_STRANDS * QUANT_DIM) =
                make_uint2(low_bytes(n[0], n[1], n[2], n[3]), low_bytes(n[4], n[5], n[6], n[7]));
    }
    sab::stage_release(&group.empty[at], lane.thread % 32);
    group_barrier(lane.group); /* before `largest` is written again */
}

/* ---- values ---- */

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

/* The four tokens of a quad; those beyond the sequence are 0. */
__device__ __forceinline__ void take_quad(uint4 (&v)[4], const uint8_t *stage, int quad, int nr,
                                          int column, bool shrinks)
{
    const int token = 16 * (quad / 4) + 2 * (quad % 4);

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int row = token + i / 2 * 8 + i % 2;

        v[i] = make_uint4(0, 0, 0, 0);
        if (row < nr)
            v[i] = stage8(stage, row, column);
        if (shrinks)
            v[i] = make_uint4(shrink2(v[i].x), shrink2(v[i].y), shrink2(v[i].z), shrink2(v[i].w));
    }
}

/* 16 codes of a channel, put back in order, to v_fp8. */
__device__ __forceinline__ void store_codes(uint8_t *to, const uint32_t *code, int channel,
                                            int sixteenth)
{
    const int swizzle = channel / 8;
    uint4 x = reinterpret_cast<const uint4 *>(code)[sixteenth ^ swizzle / 4];

    if (swizzle & 1)
        x = make_uint4(x.y, x.x, x.w, x.z);
    if (swizzle & 2)
        x = make_uint4(x.z, x.w, x.x, x.y);
    *reinterpret_cast<uint4 *>(to + 16 * sixteenth) = x;
}

/* The codes of a chunk leave together: 256 bytes of a channel fill lines of memory, where 64 bytes
 * of many channels would not. */
__device__ __forceinline__ void store_chunk(const quant_kv_call &c, const kv_group &group,
                                            const kv_note &note, const kv_lane &lane)
{
    const int64_t width = c.blocks * QUANT_BLOCK, first = note.block / KV_PARTS * KV_PARTS;
    const int sixteenths = static_cast<int>(note.block - first + 1) * (QUANT_BLOCK / 16);
    uint8_t *to = c.v_fp8 + note.bh * QUANT_DIM * width + first * QUANT_BLOCK;

    if (lane.column() >= sixteenths)
        return;
#pragma unroll
    for (int i = 0; i < QUANT_DIM / QUANT_STRANDS; i++) {
        const int channel = lane.row() + QUANT_STRANDS * i;

        store_codes(to + channel * width, group.code[channel], channel, lane.column());
    }
}

__device__ __forceinline__ void value_quotients(const quant_kv_call &c, kv_group &group,
                                                uint32_t at, const kv_lane &lane)
{
    const kv_note note = group.note[at];
    const int64_t left = c.seqlen - static_cast<int64_t>(note.block) * QUANT_BLOCK;
    const int nr = static_cast<int>(left < QUANT_BLOCK ? left : QUANT_BLOCK);
    float scale[8], inverse[8];
    uint32_t code[8];
    uint4 v[4];

    take8(scale, group.of_head[at][0] + 8 * lane.column());
    take8(inverse, group.of_head[at][1] + 8 * lane.column());
    /* Where a scale is so large that its reciprocal would be subnormal, values and scales of all
     * eight channels are made smaller together: the quotients stay. */
    const bool shrinks = needs_shrinking(scale);
    if (shrinks)
        for (int d = 0; d < 8; d++) {
            scale[d] *= 0x1p-64f;
            inverse[d] = __frcp_rn(scale[d]);
        }
    take_quad(v, group.stage[at], lane.row(), nr, lane.column(), shrinks);
    sab::stage_release(&group.empty[at], lane.thread % 32);
    encode8x4(code, v, scale, inverse);
    const int word = static_cast<int>(note.block % KV_PARTS) * (QUANT_BLOCK / 4) + lane.row();
#pragma unroll
    for (int d = 0; d < 8; d++)
        group.code[8 * lane.column() + d][word ^ lane.column()] = code[d];
    if (!note.last)
        return;
    group_barrier(lane.group);
    store_chunk(c, group, note, lane);
    group_barrier(lane.group); /* before codes are written again */
}

} // namespace sage_quant

#endif
