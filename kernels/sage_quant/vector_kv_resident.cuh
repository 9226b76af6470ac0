/*
 * vector_kv_resident.cuh - the computing warps of a group, and the kernel that keeps K and V on the
 * chip (vector_kv_ring.cuh).
 */
#ifndef SAGE_QUANT_VECTOR_KV_RESIDENT_CUH
#define SAGE_QUANT_VECTOR_KV_RESIDENT_CUH

#include "vector_kv_ring.cuh"

namespace sage_quant
{

/* One of the computing threads of a group. */
struct kv_lane {
    uint32_t group, thread;
    int column, strand;
};

__device__ __forceinline__ void group_barrier(uint32_t group)
{
    asm volatile("bar.sync %0, %1;" : : "r"(group + 1), "n"(KV_COMPUTING) : "memory");
}

/* Eight channels of a row of a stage; 0 where there is no such row. */
__device__ __forceinline__ uint4 stage8(const uint8_t *stage, int row, int column, int nr)
{
    if (row >= nr)
        return make_uint4(0, 0, 0, 0);
    return *reinterpret_cast<const uint4 *>(stage + row * (QUANT_DIM * 2) + column * 16);
}

__device__ __forceinline__ void take_strand(uint4 (&x)[KV_ROWS], const uint8_t *stage,
                                            const kv_lane &lane, int nr)
{
#pragma unroll
    for (int i = 0; i < KV_ROWS; i++)
        x[i] = stage8(stage, lane.strand + QUANT_STRANDS * i, lane.column, nr);
}

/* The partial sums, or largest values, of a block that has arrived, to memory. */
__device__ __forceinline__ void take_statistics(kv_group &group, const uint8_t *stage,
                                                const kv_note &note, const kv_lane &lane)
{
    const bool values = note.values;
    uint4 x[KV_ROWS];
    float part[8];

    take_strand(x, stage, lane, note.nr);
    if (values)
        largest_pair(part, x);
    else
        sum_pair(part, x);
    if (lane.thread % 32 < 16)
        put8(&group.part[lane.thread / 32][8 * lane.column], part);
    group_barrier(lane.group);
    if (lane.thread < QUANT_DIM)
        publish(note.partial + lane.thread,
                join_pairs(group.part, static_cast<int>(lane.thread), values));
}

/* A block on the last of its steps, into registers: four keys, or the four values of a quad. The
 * stage is free then. */
__device__ __forceinline__ void hold(uint4 (&held)[KV_ROWS], const uint8_t *stage, uint64_t *empty,
                                     const kv_note &note, const kv_lane &lane)
{
    if (note.values) {
#pragma unroll
        for (int i = 0; i < KV_ROWS; i++)
            held[i] = stage8(stage, row_of_quad(lane.strand, i), lane.column, note.nr);
    } else {
        take_strand(held, stage, lane, note.nr);
    }
    sab::stage_release(empty, lane.thread % 32);
}

__device__ __forceinline__ void key_quotients(kv_group &group, uint32_t slot,
                                              const uint4 (&k)[KV_ROWS], const kv_lane &lane)
{
    const kv_note &note = group.note[slot];
    int8_t *to = reinterpret_cast<int8_t *>(note.to) + 8 * lane.column;
    uint32_t largest = 0;
    kv_centred keys;
    float mean[8];

    take8(mean, group.of_head[slot][0] + 8 * lane.column);
    const uint32_t mine = centre_keys(keys, k, mean, lane.strand, note.nr);
    if (lane.thread % 32 == 0)
        group.largest[lane.thread / 32] = mine;
    group_barrier(lane.group);
#pragma unroll
    for (int i = 0; i < KV_WARPS; i++)
        largest = max(largest, group.largest[i]);
    const float scale = scale_of(__uint_as_float(largest), QUANT_INT8);
    if (lane.thread == 0)
        *note.k_scale = scale;
    store_keys(to, keys, scale, lane.strand, note.nr);
}

__device__ __forceinline__ void value_quotients(kv_group &group, uint32_t slot, uint4 (&v)[KV_ROWS],
                                                const kv_lane &lane)
{
    float scale[8], inverse[8];
    uint32_t code[8];

    take8(scale, group.of_head[slot][0] + 8 * lane.column);
    take8(inverse, group.of_head[slot][1] + 8 * lane.column);
    encode_quad(code, v, scale, inverse);
    put_codes(group.codes, code, lane.column, lane.strand);
    group_barrier(lane.group);
    store_codes(group.note[slot].to, group.note[slot].width, group.codes,
                static_cast<int>(lane.thread));
    group_barrier(lane.group); /* before `part` is written in the same place */
}

/* On step s: statistics of block s, quotients of block s - lag, and block s - lag + 1 into
 * registers. */
__device__ __forceinline__ void compute_blocks(const quant_kv_call &c, kv_group &group,
                                               uint32_t number, uint32_t lag, const kv_lane &lane)
{
    const uint32_t steps = steps_of(c, number);
    kv_turn ahead = {0, 0}, behind = {0, 0};
    uint4 held[KV_ROWS];

    for (uint32_t step = 0; step < steps + lag; step++) {
        if (step < steps) {
            sab::barrier_wait(&group.full[ahead.stage], ahead.parity);
            take_statistics(group, group.stage[ahead.stage], group.note[slot_of(step)], lane);
            ahead.advance();
        }
        group_barrier(lane.group); /* before `part`, or `codes` in its place, is written again */
        if (step >= lag) {
            const uint32_t slot = slot_of(step - lag);

            sab::barrier_wait(&group.ready[slot], slot_parity(step - lag));
            if (group.note[slot].values)
                value_quotients(group, slot, held, lane);
            else
                key_quotients(group, slot, held, lane);
        }
        /* below `lag` the difference wraps to more than there are */
        if (step + 1 - lag < steps) {
            hold(held, group.stage[behind.stage], &group.empty[behind.stage],
                 group.note[slot_of(step + 1 - lag)], lane);
            behind.advance();
        }
    }
}

/* Warps: the computing ones of group 0, of group 1, then the helpers of each. */
#if __CUDA_ARCH__ >= 1000 /* where the bounds alone leave too few registers */
#    define KV_RING_BOUNDS __maxnreg__(88)
#else
#    define KV_RING_BOUNDS __launch_bounds__(KV_RING_THREADS, 1)
#endif

template <bool ALIGNED>
__global__ void KV_RING_BOUNDS sage_quant_kv_vector_resident(
    const __grid_constant__ quant_kv_call c, uint32_t lag, uint64_t workspace_vectors)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 1200 /* where no block has the shared memory */
    extern __shared__ __align__(128) uint8_t shared[];
    kv_group *groups = reinterpret_cast<kv_group *>(shared);
    const uint32_t helper = threadIdx.x / 32 - KV_GROUPS * KV_WARPS;

    if (threadIdx.x < KV_GROUPS) {
        kv_group &group = groups[threadIdx.x];

        for (int i = 0; i < KV_STAGES; i++) {
            sab::barrier_init(&group.full[i], 1);
            sab::barrier_init(&group.empty[i], KV_WARPS + 1);
        }
        for (uint64_t &ready : group.ready)
            sab::barrier_init(&ready, sab::WARP_LANES);
        sab::barriers_publish();
    }
    __syncthreads();
    if (helper < KV_GROUPS)
        load_first<ALIGNED>(c, groups[helper], blockIdx.x * KV_GROUPS + helper);
    blank_words(c.sum, workspace_vectors);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x < KV_GROUPS * KV_COMPUTING) {
        const uint32_t thread = threadIdx.x % KV_COMPUTING;
        const kv_lane lane = {threadIdx.x / KV_COMPUTING, thread, static_cast<int>(thread % 16),
                              static_cast<int>(thread / 16)};

        compute_blocks(c, groups[lane.group], blockIdx.x * KV_GROUPS + lane.group, lag, lane);
        return;
    }
    kv_group &group = groups[helper % KV_GROUPS];
    const uint32_t number = blockIdx.x * KV_GROUPS + helper % KV_GROUPS;

    if (helper / KV_GROUPS == 0)
        load_blocks<ALIGNED>(c, group, number);
    else if (helper / KV_GROUPS == 1)
        join_spans(c, number);
    else
        await_heads(c, group, number);
#endif
}

} // namespace sage_quant

#endif
