/*
 * vector_kv_ring.cuh - how K and V reach the blocks of sage_quant_kv/vector.
 *
 * Work is cut into items of 256 tokens: the statistics of K or of V, the quotients of K or of V. A
 * group of eight warps takes items by ticket, in one order for all: the quotients of a chunk come a
 * `lead` of chunks behind its statistics. So memory is read for some items while others compute and
 * write, and the second look at K and V finds them in the L2. The group's own loader warp draws the
 * tickets and fills a ring of stages of 64 rows, each with a note of what it holds.
 *
 * Quotients wait for the statistics of their head, which have lower tickets, and the lowest ticket
 * of those still open is always being served: nothing depends on how many blocks run at a time.
 */
#ifndef SAGE_QUANT_VECTOR_KV_RING_CUH
#define SAGE_QUANT_VECTOR_KV_RING_CUH

#include "quant_device.cuh"
#include "stage.cuh"

namespace sage_quant
{

constexpr int KV_LANES = 256;             /* of a group, without its loader warp */
constexpr int KV_THREADS = KV_LANES + 32; /* with it */
constexpr int KV_STAGES = 3;              /* of a group */
constexpr int KV_STAGE_BYTES = QUANT_BLOCK * QUANT_DIM * 2;
constexpr uint32_t KV_PARTS = QUANT_CHUNK / QUANT_BLOCK;
constexpr uint32_t KV_STEP = 4; /* items of a chunk */

enum kv_kind : uint32_t { K_STATISTICS, V_STATISTICS, K_QUOTIENTS, V_QUOTIENTS, KV_END };

struct kv_order {
    uint32_t chunks; /* of all heads */
    uint32_t lead;   /* chunks whose statistics come before the first quotients */
    uint32_t items;  /* tickets; some are of nothing */
};

/* What a stage holds: rows of one block of 64. */
struct kv_note {
    uint32_t kind; /* enum kv_kind */
    uint32_t bh;
    uint32_t block;
    uint32_t last; /* of the chunk */
};

struct kv_group {
    alignas(128) uint8_t stage[KV_STAGES][KV_STAGE_BYTES];
    float of_head[KV_STAGES][2][QUANT_DIM];    /* mean of K; scales of V, reciprocals */
    uint32_t code[QUANT_DIM][QUANT_CHUNK / 4]; /* of V; word `w ^ channel / 8` of a channel */
    uint64_t full[KV_STAGES], empty[KV_STAGES];
    kv_note note[KV_STAGES];
    uint32_t largest[KV_LANES / 32];
    uint32_t last;
};

/* The place in a ring, of its filler or its reader. */
struct kv_place {
    uint32_t stage, parity;

    __device__ __forceinline__ void advance()
    {
        if (++stage == KV_STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

struct kv_item {
    uint32_t kind, chunk;
};

/* `lead` chunks of statistics, then those of one more and the quotients of one in turn. */
__device__ __forceinline__ kv_item item_of(const kv_order &order, uint32_t ticket)
{
    if (ticket >= order.items)
        return {KV_END, 0};
    if (ticket < 2 * order.lead)
        return {ticket % 2, ticket / 2};
    const uint32_t step = (ticket - 2 * order.lead) / KV_STEP;
    const uint32_t kind = (ticket - 2 * order.lead) % KV_STEP;

    return {kind, kind < K_QUOTIENTS ? step + order.lead : step};
}

/* A warp or one thread: until the mean, or the scales, of a head stand. A head's count is of its
 * chunks that are done, and one more once that is so. */
__device__ __forceinline__ void await_ready(const uint32_t *count, uint32_t chunks)
{
    uint32_t done;

    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(done) : "l"(count) : "memory");
    } while (done <= chunks);
}

/* What a stage is to be filled with. */
struct kv_load {
    const uint16_t *from;
    int64_t stride;
    const float *first, *second; /* of_head of the stage; NULL: nothing */
    uint64_t policy;
    uint32_t nr; /* rows */
};

/* A warp: rows that begin at a multiple of 16 bytes, copied without the warp's help. */
__device__ __forceinline__ void copy_rows(uint8_t *stage, uint64_t *full, const kv_load &load,
                                          uint32_t lane)
{
    constexpr uint32_t row_bytes = QUANT_DIM * 2;

    if (load.stride == QUANT_DIM) {
        if (lane == 0)
            sab::copy_bulk(stage, load.from, load.nr * row_bytes, full, load.policy);
        return;
    }
    for (uint32_t i = lane; i < load.nr; i += 32)
        sab::copy_bulk(stage + i * row_bytes, load.from + i * load.stride, row_bytes, full,
                       load.policy);
}

/* A warp: rows that begin anywhere. */
__device__ __forceinline__ void take_rows(uint8_t *stage, const kv_load &load, uint32_t lane)
{
    for (uint32_t i = lane; i < load.nr * QUANT_DIM; i += 32)
        reinterpret_cast<uint16_t *>(stage)[i] =
            load.from[i / QUANT_DIM * load.stride + i % QUANT_DIM];
    __syncwarp();
}

template <bool ALIGNED>
__device__ __forceinline__ void fill_stage(kv_group &group, uint32_t at, const kv_load &load,
                                           uint32_t lane)
{
    constexpr uint32_t head_bytes = QUANT_DIM * sizeof(float);
    uint64_t *full = &group.full[at];
    uint32_t bytes = ALIGNED ? load.nr * QUANT_DIM * 2 : 0;

    if (!ALIGNED)
        take_rows(group.stage[at], load, lane);
    bytes += (load.first ? head_bytes : 0) + (load.second ? head_bytes : 0);
    if (lane == 0)
        sab::expect_boxes(full, bytes);
    __syncwarp();
    if (ALIGNED)
        copy_rows(group.stage[at], full, load, lane);
    if (lane == 0 && load.first)
        sab::copy_bulk(group.of_head[at][0], load.first, head_bytes, full, sab::evict_normal());
    if (lane == 0 && load.second)
        sab::copy_bulk(group.of_head[at][1], load.second, head_bytes, full, sab::evict_normal());
}

/* What quotients need of their head, once it stands. */
__device__ __forceinline__ void load_head(const quant_kv_call &c, kv_load &load, bool keys,
                                          uint32_t bh)
{
    const int64_t at = static_cast<int64_t>(bh) * QUANT_DIM;

    load.first = (keys ? c.mean : c.v_scale) + at;
    load.second = keys ? nullptr : c.inverse + at;
    await_ready(keys ? c.k_count + bh : c.v_count + bh, static_cast<uint32_t>(c.chunks));
    /* they were written by other blocks, and are now read by the async proxy */
    cuda::ptx::fence_proxy_async(cuda::ptx::space_global);
}

/* The stages of one item. */
template <bool ALIGNED>
__device__ __forceinline__ void load_item(const quant_kv_call &c, kv_group &group, kv_place &place,
                                          const kv_item &item, uint32_t lane)
{
    const uint32_t chunks = static_cast<uint32_t>(c.chunks), bh = item.chunk / chunks;
    const uint32_t heads = static_cast<uint32_t>(c.heads), first = item.chunk % chunks * KV_PARTS;
    const bool keys = item.kind % 2 == 0, statistics = item.kind < K_QUOTIENTS;
    const quant_rows &rows = keys ? c.k : c.v;
    const uint32_t end = min(first + KV_PARTS, static_cast<uint32_t>(c.blocks));
    kv_load load = {};

    load.stride = rows.row;
    load.policy = statistics ? sab::evict_normal() : sab::evict_first();
    if (!statistics)
        load_head(c, load, keys, bh);
    for (uint32_t block = first; block < end; block++, place.advance()) {
        const int64_t row = static_cast<int64_t>(block) * QUANT_BLOCK, left = c.seqlen - row;

        load.from = rows_of(rows, bh / heads, bh % heads, row);
        load.nr = static_cast<uint32_t>(left < QUANT_BLOCK ? left : QUANT_BLOCK);
        sab::barrier_wait(&group.empty[place.stage], place.parity ^ 1);
        if (lane == 0)
            group.note[place.stage] = {item.kind, bh, block, block + 1 == end};
        fill_stage<ALIGNED>(group, place.stage, load, lane);
    }
}

/* A group's loader warp. The next ticket is drawn before it is needed. */
template <bool ALIGNED>
__device__ __forceinline__ void load_items(const quant_kv_call &c, const kv_order &order,
                                           kv_group &group)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t next = lane == 0 ? atomicAdd(c.ticket, 1u) : 0;
    kv_place place = {0, 0};

    for (;;) {
        const kv_item item = item_of(order, __shfl_sync(0xffffffffu, next, 0));

        if (item.kind == KV_END)
            break;
        if (lane == 0)
            next = atomicAdd(c.ticket, 1u);
        if (item.chunk < order.chunks)
            load_item<ALIGNED>(c, group, place, item, lane);
    }
    sab::barrier_wait(&group.empty[place.stage], place.parity ^ 1);
    if (lane == 0) {
        group.note[place.stage] = {KV_END, 0, 0, 0};
        sab::expect_boxes(&group.full[place.stage], 0);
    }
}

/* The warps of a group that compute. */
__device__ __forceinline__ void group_barrier(uint32_t number)
{
    asm volatile("bar.sync %0, %1;" : : "r"(number + 1), "n"(KV_LANES) : "memory");
}

} // namespace sage_quant

#endif
