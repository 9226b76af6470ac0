/*
 * vector_kv_ring.cuh - K and V kept on the chip between their two looks: what sage_quant_kv/vector
 * does where the blocks of a head fit the device.
 *
 * On an H200 every byte that a multiprocessor reads from the L2 crosses, half of the time, the link
 * between the two halves of the L2, and that link, not the memory, bounds a copy (in `bench ncu`,
 * lts__ltcfabric2ltc_cycles_active stands at 88 %). K and V are two bytes read for one written, so
 * a kernel that reads them twice has 5/3 of the traffic and gets to 3/5 of the copy's rate at most,
 * wherever the second look finds them.
 *
 * So K and V are cut into blocks of 64 tokens, all of K of a head, then all of V, then the next
 * head, and block n goes to group n % groups, on step n / groups. A group has a ring of stages. On
 * step k it takes the statistics of the block that has arrived, and makes the quotients of the one
 * of step k - lag, which has stayed in its stage, and at last in registers, while the statistics of
 * the rest of its head were brought together:
 *
 *   loader warp      fills stages
 *   computing warps  partial sums of a block to memory; quotients
 *   joining warp     adds up the blocks of every span dealt to it, and the spans of a head
 *   waiting warp     waits for the head of a stage, and brings its mean or scales to the stage
 *
 * What goes from group to group this way is words that stand for themselves: the workspace is
 * filled with KV_NOT_YET first, which no arithmetic gives, and whoever needs a word looks until it
 * is another. So no fence waits for all that a multiprocessor has written, but for the one behind
 * that fill, for which the whole grid meets once. The first stages are on their way by then: a fill
 * by a launch of its own would cost as much time as it moves bytes, and a gap.
 *
 * Groups wait for each other, so all must be on the device at once (a cooperative launch), and a
 * head's K must not have more blocks than `lag` steps of all groups: then what a group waits for
 * on step k was, or can be, done by all on theirs.
 */
#ifndef SAGE_QUANT_VECTOR_KV_RING_CUH
#define SAGE_QUANT_VECTOR_KV_RING_CUH

#include <cooperative_groups.h>

#include "stage.cuh"
#include "vector_kv_math.cuh"

namespace sage_quant
{

constexpr int KV_STAGES = 6, KV_SLOTS = 8; /* slots: for what is known of a head */
constexpr int KV_MOST_LAG = 5; /* a stage is free one step earlier, and one more is being filled */
constexpr uint32_t KV_NOT_YET = 0xffffffffu; /* a NaN with a sign */
constexpr int KV_COMPUTING = 256;            /* threads of a group that compute */
constexpr int KV_WARPS = KV_COMPUTING / 32;  /* of those */
constexpr int KV_HELPERS = 3;                /* warps: loader, joining, waiting */
constexpr int KV_GROUPS = 2;                 /* of a block */
constexpr int KV_RING_THREADS = KV_GROUPS * (KV_COMPUTING + 32 * KV_HELPERS);

/* What a group needs to know of the block of a step. */
struct kv_note {
    float *partial;    /* channel 0 of its partial results */
    const float *head; /* channel 0 of its head's mean or scales */
    uint8_t *to;       /* its place in k_int8, or in the first channel of v_fp8 */
    float *k_scale;    /* K alone */
    int64_t width;     /* of a channel of v_fp8 */
    int32_t nr;        /* rows */
    int32_t values;    /* V, or K */
};

struct kv_group {
    alignas(128) uint8_t stage[KV_STAGES][QUANT_BLOCK * QUANT_DIM * 2];
    float of_head[KV_SLOTS][2][QUANT_DIM]; /* mean of K; scales of V, their reciprocals */
    union {
        float part[KV_WARPS][QUANT_DIM];
        kv_codes codes;
    };
    kv_note note[KV_SLOTS];
    uint64_t full[KV_STAGES], empty[KV_STAGES], ready[KV_SLOTS];
    uint32_t largest[KV_WARPS];
};

/* A warp's way round the stages. */
struct kv_turn {
    uint32_t stage, parity;

    __device__ __forceinline__ void advance()
    {
        if (++stage == KV_STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

__device__ __forceinline__ uint32_t slot_of(uint32_t step)
{
    return step % KV_SLOTS;
}

__device__ __forceinline__ uint32_t slot_parity(uint32_t step)
{
    return step / KV_SLOTS % 2;
}

/* Steps of a group. */
__device__ __forceinline__ uint32_t steps_of(const quant_kv_call &c, uint32_t number)
{
    const uint32_t groups = gridDim.x * KV_GROUPS;
    const uint32_t blocks = 2 * static_cast<uint32_t>(c.batch * c.heads * c.blocks);

    return number < blocks ? (blocks - number - 1) / groups + 1 : 0;
}

/* ---- loader warp ---- */

__device__ __forceinline__ kv_note note_of(const quant_kv_call &c, int64_t bh, bool values,
                                           int64_t block)
{
    const int64_t first = block * QUANT_BLOCK, left = c.seqlen - first;
    const kv_results results = results_of(c, bh, values, 0);
    kv_note note;

    note.partial = results.block + block * QUANT_DIM;
    note.head = results.head;
    note.to = values ? c.v_fp8 + bh * QUANT_DIM * c.blocks * QUANT_BLOCK + first
                     : reinterpret_cast<uint8_t *>(c.k_int8) + (bh * c.seqlen + first) * QUANT_DIM;
    note.k_scale = c.k_scale + bh * c.blocks + block;
    note.nr = static_cast<int32_t>(left < QUANT_BLOCK ? left : QUANT_BLOCK);
    note.values = values;
    note.width = c.blocks * QUANT_BLOCK;
    return note;
}

/* Rows into a stage. Those that begin at a multiple of 16 bytes are copied without the warp. */
template <bool ALIGNED>
__device__ __forceinline__ void fill_stage(uint8_t *stage, uint64_t *full, const uint16_t *from,
                                           int64_t stride, uint32_t nr)
{
    constexpr uint32_t row_bytes = QUANT_DIM * 2;
    const uint32_t lane = threadIdx.x % 32;

    if (!ALIGNED) {
        for (uint32_t i = lane; i < nr * QUANT_DIM; i += 32)
            reinterpret_cast<uint16_t *>(stage)[i] = from[i / QUANT_DIM * stride + i % QUANT_DIM];
        __syncwarp();
    }
    if (lane == 0)
        sab::expect_boxes(full, ALIGNED ? nr * row_bytes : 0);
    __syncwarp();
    if (ALIGNED && stride == QUANT_DIM) {
        if (lane == 0)
            sab::copy_bulk(stage, from, nr * row_bytes, full, sab::evict_first());
    } else if (ALIGNED) {
        for (uint32_t i = lane; i < nr; i += 32)
            sab::copy_bulk(stage + i * row_bytes, from + i * stride, row_bytes, full,
                           sab::evict_first());
    }
}

template <bool ALIGNED>
__device__ __forceinline__ void load_block(const quant_kv_call &c, kv_group &group, uint32_t number,
                                           uint32_t step, uint32_t stage)
{
    const uint32_t blocks = static_cast<uint32_t>(c.blocks), heads = static_cast<uint32_t>(c.heads);
    const uint32_t n = number + step * gridDim.x * KV_GROUPS, part = n / blocks, block = n % blocks;
    const uint32_t bh = part / 2;
    const bool values = part % 2 == 1;
    const quant_rows &rows = values ? c.v : c.k;
    const kv_note note = note_of(c, bh, values, block);

    if (threadIdx.x % 32 == 0)
        group.note[slot_of(step)] = note;
    fill_stage<ALIGNED>(
        group.stage[stage], &group.full[stage],
        rows_of(rows, bh / heads, bh % heads, static_cast<int64_t>(block) * QUANT_BLOCK), rows.row,
        static_cast<uint32_t>(note.nr));
}

/* What fits the stages at first. */
template <bool ALIGNED>
__device__ __forceinline__ void load_first(const quant_kv_call &c, kv_group &group, uint32_t number)
{
    const uint32_t steps = min(steps_of(c, number), static_cast<uint32_t>(KV_STAGES));

#pragma unroll 1
    for (uint32_t step = 0; step < steps; step++)
        load_block<ALIGNED>(c, group, number, step, step);
}

/* The rest. A note has served when the stage of KV_STAGES steps before is free again: the block of
 * KV_SLOTS steps before is done with by then. */
template <bool ALIGNED>
__device__ __forceinline__ void load_blocks(const quant_kv_call &c, kv_group &group,
                                            uint32_t number)
{
    const uint32_t steps = steps_of(c, number);
    kv_turn turn = {0, 1};

    for (uint32_t step = KV_STAGES; step < steps; step++, turn.advance()) {
        sab::barrier_wait(&group.empty[turn.stage], turn.parity ^ 1);
        load_block<ALIGNED>(c, group, number, step, turn.stage);
    }
}

/* ---- words between groups ---- */

/* The whole grid; `nr` vectors of four words. */
__device__ __forceinline__ void blank_words(float *words, uint64_t nr)
{
    const uint64_t threads = static_cast<uint64_t>(gridDim.x) * KV_RING_THREADS;
    uint4 *to = reinterpret_cast<uint4 *>(words);

#pragma unroll 1
    for (uint64_t i = blockIdx.x * KV_RING_THREADS + threadIdx.x; i < nr; i += threads)
        to[i] = make_uint4(KV_NOT_YET, KV_NOT_YET, KV_NOT_YET, KV_NOT_YET);
}

__device__ __forceinline__ void publish(float *to, float x)
{
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" : : "l"(to), "f"(x) : "memory");
}

__device__ __forceinline__ void publish4(float *to, const float4 &x)
{
    asm volatile("st.relaxed.gpu.global.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
                 : "memory");
}

__device__ __forceinline__ float4 look4(const float *from)
{
    float4 x;

    asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "l"(from)
                 : "memory");
    return x;
}

__device__ __forceinline__ bool is_there(float x)
{
    return __float_as_uint(x) != KV_NOT_YET;
}

__device__ __forceinline__ bool are_there(const float4 &x)
{
    return is_there(x.x) && is_there(x.y) && is_there(x.z) && is_there(x.w);
}

/* A warp: until a word is there. Many wait for the same one, so each asks for no more than it. */
__device__ __forceinline__ void await_word(const float *word)
{
    float x = 0.0f;

    do {
        if (threadIdx.x % 32 == 0)
            asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(x) : "l"(word) : "memory");
        x = __shfl_sync(0xffffffffu, x, 0);
    } while (!is_there(x));
}

/* Eight at a time are looked at, so that the way to the L2 is gone once for all of them. */
__device__ __forceinline__ float4 join_published(const float *from, uint32_t nr, uint32_t stride,
                                                 bool values)
{
    constexpr uint32_t LOOKS = 8;
    float4 x = make_float4(0, 0, 0, 0);

    for (uint32_t first = 0; first < nr; first += LOOKS) {
        float4 y[LOOKS];
        bool all;

        do {
            all = true;
#pragma unroll
            for (uint32_t i = 0; i < LOOKS; i++)
                y[i] = look4(from + static_cast<int64_t>(min(first + i, nr - 1)) * stride);
#pragma unroll
            for (uint32_t i = 0; i < LOOKS; i++)
                all = all && are_there(y[i]);
        } while (!all);
#pragma unroll
        for (uint32_t i = 0; i < LOOKS; i++)
            if (first + i < nr)
                x = join4(x, y[i], values);
    }
    return x;
}

/* ---- joining warp ---- */

/* Span `span` of a head, and with the last one the head. */
__device__ __forceinline__ void join_span(const quant_kv_call &c, uint32_t bh, bool values,
                                          uint32_t span)
{
    const uint32_t channel = threadIdx.x % 32 * 4, spans = static_cast<uint32_t>(c.spans);
    const uint32_t left = static_cast<uint32_t>(c.blocks) - span * QUANT_SPAN;
    const uint32_t nr = min(left, static_cast<uint32_t>(QUANT_SPAN));
    const kv_results to = results_of(c, bh, values, channel);
    const float *from = to.block + static_cast<int64_t>(span) * QUANT_SPAN * QUANT_DIM;

    await_word(from - channel + nr * QUANT_DIM - 1);
    publish4(to.span + span * QUANT_DIM, join_published(from, nr, QUANT_DIM, values));
    if (span + 1 == spans)
        publish4(to.head,
                 finish4(c, join_published(to.span, spans, QUANT_DIM, values), values, to.at));
}

/* Spans are dealt out evenly, whoever has their blocks. */
__device__ __forceinline__ void join_spans(const quant_kv_call &c, uint32_t number)
{
    const uint32_t spans = static_cast<uint32_t>(c.spans);
    const uint32_t end = 2 * static_cast<uint32_t>(c.batch * c.heads) * spans;

    for (uint32_t i = number; i < end; i += gridDim.x * KV_GROUPS) {
        const uint32_t part = i / spans;

        join_span(c, part / 2, part % 2 == 1, i % spans);
    }
}

/* ---- waiting warp ---- */

__device__ __forceinline__ void await_heads(const quant_kv_call &c, kv_group &group,
                                            uint32_t number)
{
    const uint32_t steps = steps_of(c, number), channel = threadIdx.x % 32 * 4;
    kv_turn turn = {0, 0};

    for (uint32_t step = 0; step < steps; step++, turn.advance()) {
        const uint32_t slot = slot_of(step);
        const kv_note &note = group.note[slot];
        float4 x;

        /* once the block has arrived, that of KV_SLOTS steps before is done with, and the slot
         * free; the stage is not before this warp has seen it, which it knows by a parity */
        sab::barrier_wait(&group.full[turn.stage], turn.parity);
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            (void)cuda::ptx::mbarrier_arrive(&group.empty[turn.stage]);
        await_word(note.head + QUANT_DIM - 1);
        do
            x = look4(note.head + channel);
        while (!are_there(x));
        *reinterpret_cast<float4 *>(&group.of_head[slot][0][channel]) = x;
        if (note.values)
            *reinterpret_cast<float4 *>(&group.of_head[slot][1][channel]) =
                make_float4(__frcp_rn(x.x), __frcp_rn(x.y), __frcp_rn(x.z), __frcp_rn(x.w));
        sab::warp_arrive(&group.ready[slot]);
    }
}

} // namespace sage_quant

#endif
