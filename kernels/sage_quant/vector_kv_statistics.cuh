/*
 * vector_kv_statistics.cuh - sums of K and largest values of V, by chunks of 256 tokens. A thread
 * has eight channels of a strand of K (quant_call.h), or of every 16th row of V. The group that
 * is last to finish a head's chunks joins them, in their order, not in that of their coming.
 */
#ifndef SAGE_QUANT_VECTOR_KV_STATISTICS_CUH
#define SAGE_QUANT_VECTOR_KV_STATISTICS_CUH

#include <cuda_bf16.h>

#include "vector_kv_ring.cuh"

namespace sage_quant
{

/* Between the stages of a chunk. */
struct kv_sums {
    float strand[8];
    uint4 largest; /* of |V|, pairs of bf16 */
};

/* One of the computing threads. */
struct kv_lane {
    uint32_t group, thread;

    __device__ __forceinline__ int column() const
    {
        return thread % 16;
    }
    __device__ __forceinline__ int row() const /* 0..15 */
    {
        return thread / 16;
    }
};

/* Eight channels of a row of a stage. */
__device__ __forceinline__ uint4 stage8(const uint8_t *stage, int row, int column)
{
    return *reinterpret_cast<const uint4 *>(stage + row * (QUANT_DIM * 2) + column * 16);
}

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

/* A chunk is done: true for the group that did a head's last one, to which what the others wrote is
 * then visible. */
__device__ __forceinline__ bool is_last_chunk(uint32_t *count, uint32_t chunks, kv_group &group,
                                              const kv_lane &lane)
{
    __threadfence();
    group_barrier(lane.group);
    if (lane.thread == 0)
        group.last = atomicAdd(count, 1u) + 1 == chunks;
    group_barrier(lane.group);
    const bool last = group.last != 0;
    if (last)
        __threadfence();
    return last;
}

__device__ __forceinline__ void declare_ready(uint32_t *count, uint32_t chunks, const kv_lane &lane)
{
    cuda::ptx::fence_proxy_async(cuda::ptx::space_global); /* see load_head() */
    __threadfence();
    group_barrier(lane.group);
    if (lane.thread == 0)
        asm volatile("st.release.gpu.global.u32 [%0], %1;"
                     :
                     : "l"(count), "r"(chunks + 1)
                     : "memory");
}

/* The mean of K over a head, channel by channel. */
__device__ __forceinline__ void finish_keys(const quant_kv_call &c, int64_t bh, uint32_t channel)
{
    const float *from = c.sum + bh * c.chunks * QUANT_DIM + channel;
    float sum = __ldcg(from);

#pragma unroll 8
    for (int64_t i = 1; i < c.chunks; i++)
        sum = __fadd_rn(sum, __ldcg(from + i * QUANT_DIM));
    c.mean[bh * QUANT_DIM + channel] = round_bf16(__fdiv_rn(sum, static_cast<float>(c.seqlen)));
}

/* The scales of V over a head. */
__device__ __forceinline__ void finish_values(const quant_kv_call &c, int64_t bh, uint32_t channel)
{
    const float *from = c.largest + bh * c.chunks * QUANT_DIM + channel;
    float largest = 0.0f;

#pragma unroll 8
    for (int64_t i = 0; i < c.chunks; i++)
        largest = fmaxf(largest, __ldcg(from + i * QUANT_DIM));
    const float scale = scale_of(largest, QUANT_E4M3);
    c.v_scale[bh * QUANT_DIM + channel] = scale;
    c.inverse[bh * QUANT_DIM + channel] = __frcp_rn(scale);
}

/* Strands of a chunk, through the stage that was read last, to the workspace. */
__device__ __forceinline__ void join_keys(const kv_sums &sums, uint8_t *stage, float *to,
                                          const kv_lane &lane)
{
    float(*strand)[QUANT_DIM] = reinterpret_cast<float(*)[QUANT_DIM]>(stage);

    group_barrier(lane.group);
    const float *x = sums.strand;
    float4 *at = reinterpret_cast<float4 *>(&strand[lane.row()][8 * lane.column()]);
    at[0] = make_float4(x[0], x[1], x[2], x[3]);
    at[1] = make_float4(x[4], x[5], x[6], x[7]);
    group_barrier(lane.group);
    if (lane.thread < QUANT_DIM) {
        float sum = strand[0][lane.thread];

#pragma unroll
        for (int s = 1; s < QUANT_STRANDS; s++)
            sum = __fadd_rn(sum, strand[s][lane.thread]);
        to[lane.thread] = sum;
    }
}

__device__ __forceinline__ void join_values(const kv_sums &sums, uint8_t *stage, float *to,
                                            const kv_lane &lane)
{
    uint32_t(*row)[QUANT_DIM / 2] = reinterpret_cast<uint32_t(*)[QUANT_DIM / 2]>(stage);

    group_barrier(lane.group);
    *reinterpret_cast<uint4 *>(&row[lane.row()][4 * lane.column()]) = sums.largest;
    group_barrier(lane.group);
    if (lane.thread < QUANT_DIM / 2) {
        uint32_t largest = 0;

#pragma unroll
        for (int r = 0; r < QUANT_STRANDS; r++)
            largest = __vmaxu2(largest, row[r][lane.thread]);
        reinterpret_cast<float2 *>(to)[lane.thread] =
            make_float2(bf16_low(largest), bf16_high(largest));
    }
}

/* A stage of K. The stage is released here. */
__device__ __forceinline__ void key_statistics(const quant_kv_call &c, kv_group &group, uint32_t at,
                                               kv_sums &sums, const kv_lane &lane)
{
    const kv_note note = group.note[at];
    uint8_t *stage = group.stage[at];
    const int64_t left = c.seqlen - static_cast<int64_t>(note.block) * QUANT_BLOCK;

    if (note.block % KV_PARTS == 0)
        for (float &x : sums.strand)
            x = 0.0f;
#pragma unroll
    for (int i = 0; i < QUANT_BLOCK / QUANT_STRANDS; i++) {
        const int row = lane.row() + QUANT_STRANDS * i;

        if (row < left)
            add8(sums.strand, stage8(stage, row, lane.column()));
    }
    const int64_t chunk = static_cast<int64_t>(note.bh) * c.chunks + note.block / KV_PARTS;
    if (note.last)
        join_keys(sums, stage, c.sum + chunk * QUANT_DIM, lane);
    sab::stage_release(&group.empty[at], lane.thread % 32);
    const uint32_t chunks = static_cast<uint32_t>(c.chunks);
    if (note.last && is_last_chunk(c.k_count + note.bh, chunks, group, lane)) {
        if (lane.thread < QUANT_DIM)
            finish_keys(c, note.bh, lane.thread);
        declare_ready(c.k_count + note.bh, chunks, lane);
    }
}

__device__ __forceinline__ void value_statistics(const quant_kv_call &c, kv_group &group,
                                                 uint32_t at, kv_sums &sums, const kv_lane &lane)
{
    const kv_note note = group.note[at];
    uint8_t *stage = group.stage[at];
    const int64_t left = c.seqlen - static_cast<int64_t>(note.block) * QUANT_BLOCK;

    if (note.block % KV_PARTS == 0)
        sums.largest = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < QUANT_BLOCK / QUANT_STRANDS; i++) {
        const int row = lane.row() + QUANT_STRANDS * i;

        if (row < left)
            sums.largest = largest8(sums.largest, stage8(stage, row, lane.column()));
    }
    const int64_t chunk = static_cast<int64_t>(note.bh) * c.chunks + note.block / KV_PARTS;
    if (note.last)
        join_values(sums, stage, c.largest + chunk * QUANT_DIM, lane);
    sab::stage_release(&group.empty[at], lane.thread % 32);
    const uint32_t chunks = static_cast<uint32_t>(c.chunks);
    if (note.last && is_last_chunk(c.v_count + note.bh, chunks, group, lane)) {
        if (lane.thread < QUANT_DIM)
            finish_values(c, note.bh, lane.thread);
        declare_ready(c.v_count + note.bh, chunks, lane);
    }
}

} // namespace sage_quant

#endif
