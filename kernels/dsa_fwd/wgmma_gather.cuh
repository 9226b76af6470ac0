/*
 * wgmma_gather.cuh - the warpgroup of dsa_fwd/wgmma that feeds the others: it lists the active ids
 * of a query row, copies their rows of kv into the ring, tells what each tile holds, asks for Q,
 * and writes the rows without an active slot by itself.
 *
 * The list is compact: tiles hold active slots only, all of them full but the last, whatever holes
 * and tails the ids have. Order is kept, so that the prefix stays a prefix. Each of the four warps
 * makes the list for itself, which costs less than telling the others.
 */
#ifndef DSA_FWD_WGMMA_GATHER_CUH
#define DSA_FWD_WGMMA_GATHER_CUH

#include "gather.cuh"
#include "stage.cuh"
#include "wgmma_args.h"

namespace dsa
{

constexpr uint32_t ALL_LANES = 0xffffffffu;

/* The active ids of one query row, in order. */
struct id_list {
    int32_t *list; /* DSA_WGMMA_LIST, this warp's; ids taken..made-1 are known */
    const int32_t *ids;
    int32_t length, at; /* slots of the row; read so far */
    uint32_t made, taken;
    int32_t prefix;  /* of the known ones in the prefix */
    int32_t next[2]; /* this lane's ids of slots at.. and at + 32.. */

    __device__ __forceinline__ void read_next(uint32_t lane)
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int32_t slot = at + 32 * half + static_cast<int32_t>(lane);
            next[half] = slot < length ? __ldg(ids + slot) : -1;
        }
    }
    __device__ __forceinline__ void open(const dsa_fwd_call &c, int64_t row, uint32_t lane)
    {
        ids = c.ids + row * c.slots;
        length = static_cast<int32_t>(c.slots);
        if (c.lengths)
            length = min(__ldg(c.lengths + row), length);
        at = prefix = 0;
        made = taken = 0;
        read_next(lane);
    }
    /* Knows more than a tile's ids, or all that there are. */
    __device__ __forceinline__ void fill(const dsa_fwd_call &c, uint32_t lane)
    {
        while (made - taken <= DSA_WGMMA_KEYS && at < length) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int32_t slot = at + 32 * half + static_cast<int32_t>(lane);
                const bool active = next[half] >= 0 && next[half] < c.keys;
                const uint32_t votes = __ballot_sync(ALL_LANES, active);
                const uint32_t early = __ballot_sync(ALL_LANES, active && slot < c.prefix);
                if (active)
                    list[(made + __popc(votes & ((1u << lane) - 1))) % DSA_WGMMA_LIST] = next[half];
                made += __popc(votes);
                prefix += __popc(early);
            }
            at += 64;
            read_next(lane);
        }
        __syncwarp();
    }
    __device__ __forceinline__ int32_t known() const
    {
        return static_cast<int32_t>(made - taken);
    }
};

/* One thread. A segment is full when 128 threads have copied their pieces, and empty when the four
 * warps of the group that reads it last have arrived. S is a shape, M the shared memory. */
template <class S, class M> __device__ __forceinline__ void open_barriers(M *shared)
{
    for (int i = 0; i < S::RING; i++) {
        sab::barrier_init(&shared->full[i], 128);
        sab::barrier_init(&shared->empty[i], 4);
    }
    for (int i = 0; i < S::INFOS; i++)
        sab::barrier_init(&shared->info[i], 1);
    for (int i = 0; i < S::Q_SLOTS; i++) {
        sab::barrier_init(&shared->q_full[i], 1);
        sab::barrier_init(&shared->q_free[i], S::Q_READERS);
    }
    sab::barriers_publish();
}

template <class S, class M> struct gatherer {
    using s = S;

    const dsa_fwd_wgmma_args &args;
    M *shared;
    uint32_t warp, lane; /* of the group */
    uint64_t policy;
    uint32_t tile = 0, slot = 0, parity = 0; /* next to fill */
    uint32_t loads_of_q = 0;

    /* Q of the item goes where that of an earlier one was read. */
    __device__ __forceinline__ void load_q(int32_t item)
    {
        const int32_t head = args.first_head + item % args.head_tiles * s::HEADS;
        const uint32_t at = loads_of_q % s::Q_SLOTS, round = loads_of_q / s::Q_SLOTS;

        loads_of_q++;
        if (warp != 0)
            return;
        if (round > 0)
            sab::barrier_wait(&shared->q_free[at], (round - 1) % 2);
        if (sab::elect_one()) {
            sab::expect_boxes(&shared->q_full[at], sizeof(shared->q[0]));
#pragma unroll
            for (int i = s::Q_IN_REGISTERS; i < s::SEGMENTS; i++)
                sab::ask_box(shared->q[at][i - s::Q_IN_REGISTERS], &shared->q_full[at], &args.q,
                             64 * s::column_segment(i), head, item / args.head_tiles, 0);
        }
        __syncwarp();
    }

    __device__ __forceinline__ void tell(const tile_info &info)
    {
        if (warp == 0 && lane == 0) {
            shared->infos[tile % s::INFOS] = info;
            (void)cuda::ptx::mbarrier_arrive(&shared->info[tile % s::INFOS]);
        }
        __syncwarp();
    }

    /* The next tile of the list. A lane copies piece lane % 8 of rows 16r + 4 * warp + lane / 8. */
    __device__ __forceinline__ void copy_tile(const id_list &list, int32_t valid)
    {
        const uint32_t first = 4 * warp + lane / 8;
        const uint32_t to =
            sab::shared_address(shared->ring) + sab::swizzled_piece(first, lane % 8);
        const uint8_t *from[4];
        bool active[4];

#pragma unroll
        for (int r = 0; r < 4; r++) {
            const uint32_t at = 16 * r + first;
            active[r] = static_cast<int32_t>(at) < valid;
            const int64_t id = active[r] ? list.list[(list.taken + at) % DSA_WGMMA_LIST] : 0;
            from[r] = reinterpret_cast<const uint8_t *>(args.c.kv) + id * (128 * s::SEGMENTS) +
                      16 * (lane % 8);
        }
#pragma unroll
        for (int i = 0; i < s::SEGMENTS; i++) {
            sab::barrier_wait(&shared->empty[slot], parity ^ 1);
#pragma unroll
            for (int r = 0; r < 4; r++)
                sab::copy_piece(to + slot * DSA_WGMMA_SEGMENT_BYTES + 2048 * r,
                                from[r] + 128 * s::column_segment(i), active[r], policy);
            sab::arrive_when_copied(&shared->full[slot]);
            slot++;
            if (slot == s::RING) {
                slot = 0;
                parity ^= 1;
            }
        }
    }

    /* Section 2.3: no active slot. */
    __device__ __forceinline__ void write_empty(int32_t item)
    {
        const dsa_fwd_call &c = args.c;
        const int64_t row = item / args.head_tiles;
        const int64_t begin =
            args.first_head + static_cast<int64_t>(item % args.head_tiles) * s::HEADS;
        const int64_t end = min(begin + s::HEADS, c.heads);

        for (int64_t head = begin + warp; head < end; head += 4) {
            const int64_t at = row * c.heads + head;
            uint4 *out = reinterpret_cast<uint4 *>(c.out + at * DSA_VALUE_WIDTH);
            out[lane] = make_uint4(0, 0, 0, 0);
            out[lane + 32] = make_uint4(0, 0, 0, 0);
            if (lane == 0) {
                c.max_logits[at] = -INFINITY;
                c.lse[at] = INFINITY;
                if (c.lse_prefix)
                    c.lse_prefix[at] = INFINITY;
            }
        }
    }

    /* With one place for Q, rows of the first two tiles may be on their way before it can be asked
     * for: until the item before has read its own, no more would find room. */
    __device__ __forceinline__ void serve_item(id_list &list, int32_t item)
    {
        bool asked = false, last = false;

        for (int32_t tiles = 0; !last; tiles++) {
            list.fill(args.c, lane);
            if (list.known() == 0) /* in the first round only */
                return write_empty(item);
            const int32_t valid = min(list.known(), DSA_WGMMA_KEYS);
            const int32_t prefix = min(list.prefix, DSA_WGMMA_KEYS);
            last = list.known() <= DSA_WGMMA_KEYS;
            if (!asked && (loads_of_q < s::Q_SLOTS || s::Q_SLOTS > 1 || tiles == 2)) {
                load_q(item);
                asked = true;
            }
            tell({item, valid, prefix, last});
            copy_tile(list, valid);
            list.taken += DSA_WGMMA_KEYS;
            list.prefix -= prefix;
            tile++;
        }
        if (!asked)
            load_q(item);
    }

    __device__ __forceinline__ void serve()
    {
        id_list list;

        list.list = shared->lists[warp];
        for (int32_t item = static_cast<int32_t>(blockIdx.x); item < args.items;
             item += static_cast<int32_t>(gridDim.x)) {
            list.open(args.c, item / args.head_tiles, lane);
            serve_item(list, item);
        }
        tell({-1, 0, 0, 1});
    }
};

} // namespace dsa

#endif
