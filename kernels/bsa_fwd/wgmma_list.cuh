/*
 * wgmma_list.cuh - one warp makes the lists of an item: the union of what its tiles want, each
 * block once where several tiles of one kv head want it.
 *
 * Slots may stand in any order, so the tiles' blocks are marked in a bit map of a window of key
 * blocks. What cannot be marked - a block for the second time, or outside of the window - is an
 * extra: loaded for its tile alone, which is always right.
 *
 * All of it is a function of the lists' contents alone: a repeated call adds up in the same order.
 */
#ifndef BSA_WGMMA_LIST_CUH
#define BSA_WGMMA_LIST_CUH

#include "rows.cuh"
#include "stage.cuh"
#include "wgmma_item.cuh"

namespace bsa
{

constexpr uint32_t ALL_LANES = 0xffffffffu;

struct lister {
    const bsa_wgmma_args &args;
    wgmma_shared *shared;
    uint32_t lane;
    uint32_t chunks; /* made */
    uint32_t place;  /* in the ring of the next entry: 0 to BSA_WGMMA_PLACES - 1 */

    __device__ __forceinline__ uint32_t rank(uint32_t lanes) const
    {
        return __popc(lanes & ((1u << lane) - 1));
    }

    /* A lane for each tile. */
    __device__ __forceinline__ void open_rows(const bsa_item &tiles)
    {
        const bool exists = static_cast<int32_t>(lane) < tiles.nr;
        row mine = {};
        uint32_t mates = 0;

        mine.kv_head = -1;
        if (exists)
            mine.open(args.rows, tiles.first + static_cast<int32_t>(lane));
        for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
            mates |= (__shfl_sync(ALL_LANES, mine.kv_head, w) == mine.kv_head) << w;
        if (lane < BSA_WGMMA_GROUPS)
            shared->rows[lane] = {mine.slots, mine.sizes, mine.nr, mine.start, mine.kv_head,
                                  mates,      0,          0,       0};
        __syncwarp();
    }

    __device__ __forceinline__ row row_of(int w) const
    {
        const listed_row &r = shared->rows[w];

        return {r.slots, r.sizes, r.nr, r.start, r.kv_head};
    }

    /* The block of slot i of a row, or -1 where it has no valid token or the row has no such slot.
     */
    __device__ __forceinline__ int32_t look_up(int w, int32_t i) const
    {
        const row r = row_of(w);

        if (i >= r.nr)
            return -1;
        const int32_t block = r.block(args.rows, i);
        return r.valid(args.rows, block) > 0 ? block : -1;
    }

    /* Is there a tile with slots to look at and room for blocks, or just with slots? */
    __device__ __forceinline__ bool goes_on(bool with_room) const
    {
        bool on = false;

#pragma unroll
        for (int w = 0; w < BSA_WGMMA_GROUPS; w++) {
            const listed_row &r = shared->rows[w];
            on = on || (r.from < r.nr && (r.taken < BSA_WGMMA_CHUNK || !with_room));
        }
        return on;
    }

    /* First block of the window: sorted lists of long sequences go through it upwards. Blocks
     * without a valid token must not matter, so it follows from one that has some. */
    __device__ __forceinline__ int32_t window_base() const
    {
        if (args.rows.key_blocks <= BSA_WGMMA_WINDOW)
            return 0;
        for (int32_t i = shared->rows[0].from; i < shared->rows[0].nr; i += 32) {
            const int32_t block = look_up(0, i + static_cast<int32_t>(lane));
            const uint32_t exist = __ballot_sync(ALL_LANES, block >= 0);
            if (exist)
                return __shfl_sync(ALL_LANES, block, __ffs(exist) - 1) & -32;
        }
        return 0;
    }

    /* Takes as many of a tile's next 32 blocks as there is room for, -1 in place of the others. */
    __device__ __forceinline__ int32_t take_slots(int w, int32_t block)
    {
        const uint32_t room = BSA_WGMMA_CHUNK - shared->rows[w].taken;
        const int32_t from = shared->rows[w].from;
        const uint32_t exist = __ballot_sync(ALL_LANES, block >= 0);
        const bool taken = block >= 0 && rank(exist) < room;
        const uint32_t left = exist & ~__ballot_sync(ALL_LANES, taken);

        __syncwarp();
        if (lane == 0) {
            shared->rows[w].taken += __popc(exist & ~left);
            shared->rows[w].from = from + (left ? __ffs(left) - 1 : 32);
        }
        __syncwarp();
        return taken ? block : -1;
    }

    /* Marks 32 blocks of a tile; what cannot be marked becomes an extra. */
    __device__ __forceinline__ void mark(int w, int32_t block, int32_t base)
    {
        const uint32_t at = static_cast<uint32_t>(block - base);
        const bool first = rank(__match_any_sync(ALL_LANES, block)) == 0;
        bool extra = block >= 0;

        if (block >= base && first && at < BSA_WGMMA_WINDOW) {
            const uint32_t before = atomicOr(&shared->bits[w][at / 32], 1u << at % 32);
            extra = (before >> at % 32 & 1) != 0;
        }
        const uint32_t extras = __ballot_sync(ALL_LANES, extra);
        if (extras) {
            const uint32_t nr = shared->rows[w].extra_nr;
            if (extra)
                shared->extras[w][nr + rank(extras)] = block;
            __syncwarp();
            if (lane == 0)
                shared->rows[w].extra_nr = nr + __popc(extras);
        }
        __syncwarp();
    }

    __device__ __forceinline__ void mark_chunk(int32_t base)
    {
        if (lane < BSA_WGMMA_GROUPS)
            shared->rows[lane].taken = shared->rows[lane].extra_nr = 0;
        __syncwarp();
        while (goes_on(true)) {
            int32_t blocks[BSA_WGMMA_GROUPS]; /* read before any of them is waited for */
#pragma unroll
            for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
                blocks[w] = look_up(w, shared->rows[w].from + static_cast<int32_t>(lane));
#pragma unroll
            for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
                mark(w, take_slots(w, blocks[w]), base);
        }
    }

    /* A block of the lane's class: counted and, with a place known, written. */
    template <bool WRITE>
    __device__ __forceinline__ void take(const bsa_deal &order, uint32_t wanted, int32_t block)
    {
        const uint32_t same = __match_any_sync(ALL_LANES, wanted);
        const uint32_t nr = shared->class_nr[wanted];

        __syncwarp();
        if (wanted != 0) {
            if (WRITE)
                list()->stream[bsa_deal_at(&order, wanted, nr + rank(same))] =
                    wanted << WANT | block;
            if (rank(same) == 0)
                shared->class_nr[wanted] = nr + __popc(same);
        }
        __syncwarp();
    }

    /* Takes every marked block of a word; lane i has block 32 * word + i of the window. */
    template <bool WRITE>
    __device__ __forceinline__ void take_word(const bsa_deal &order, uint32_t word, int32_t base)
    {
        uint32_t rest = 0;

#pragma unroll
        for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
            rest |= (shared->bits[w][word] >> lane & 1) << w;
        while (__any_sync(ALL_LANES, rest != 0)) {
            const uint32_t wanted = rest ? rest & shared->rows[__ffs(rest) - 1].mates : 0;
            take<WRITE>(order, wanted, base + static_cast<int32_t>(32 * word + lane));
            rest &= ~wanted;
        }
    }

    /* Counts the blocks of each class, or writes them to the stream. */
    template <bool WRITE>
    __device__ __forceinline__ void take_all(const bsa_deal &order, int32_t base)
    {
        const int32_t window = BSA_WGMMA_WINDOW, span = min(args.rows.key_blocks - base, window);
        const uint32_t words = static_cast<uint32_t>(span + 31) / 32;

        if (lane < BSA_DEAL_CLASSES)
            shared->class_nr[lane] = 0;
        __syncwarp();
        for (uint32_t from = 0; from < words; from += 32) {
            uint32_t any = 0;
            if (from + lane < words)
#pragma unroll
                for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
                    any |= shared->bits[w][from + lane];
            for (uint32_t more = __ballot_sync(ALL_LANES, any != 0); more; more &= more - 1)
                take_word<WRITE>(order, from + __ffs(more) - 1, base);
        }
        for (int w = 0; w < BSA_WGMMA_GROUPS; w++) {
            const uint32_t nr = shared->rows[w].extra_nr;
            for (uint32_t i = 0; i < nr; i += 32)
                take<WRITE>(order, i + lane < nr ? 1u << w : 0,
                            shared->extras[w][min(i + lane, nr - 1)]);
        }
    }

    __device__ __forceinline__ wgmma_list *list() const
    {
        return &shared->lists[chunks % 2];
    }

    /* What each tile wants of the stream. */
    __device__ __forceinline__ void split_stream(uint32_t stream_nr)
    {
        uint32_t own_nr[BSA_WGMMA_GROUPS] = {};

        for (uint32_t from = 0; from < stream_nr; from += 32) {
            const uint32_t i = from + lane;
            const uint32_t entry = i < stream_nr ? list()->stream[i] : 0;
            const uint32_t at = (place + i) % BSA_WGMMA_PLACES;
            const int32_t block = static_cast<int32_t>(entry & ((1u << WANT) - 1));
#pragma unroll
            for (int w = 0; w < BSA_WGMMA_GROUPS; w++) {
                const bool wanted = (entry >> (WANT + w) & 1) != 0;
                const uint32_t lanes = __ballot_sync(ALL_LANES, wanted);
                if (wanted)
                    list()->own[w][own_nr[w] + rank(lanes)] =
                        static_cast<uint16_t>((row_of(w).valid(args.rows, block) - 1) | at << 6);
                own_nr[w] += __popc(lanes);
            }
        }
        place = (place + stream_nr) % BSA_WGMMA_PLACES;
#pragma unroll
        for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
            list()->own_nr[w] = own_nr[w];
        list()->stream_nr = stream_nr;
    }

    __device__ __forceinline__ void clear_bits()
    {
        uint32_t *bits = &shared->bits[0][0];

        for (uint32_t i = lane; i < sizeof(shared->bits) / 4; i += 32)
            bits[i] = 0;
    }

    __device__ __forceinline__ void make_chunk()
    {
        const int32_t base = window_base();
        bsa_deal order = {};

        mark_chunk(base);
        take_all<false>(order, base);
        bsa_deal_init(&order, shared->class_nr);
        uint32_t stream_nr = 0;
        for (uint32_t i = 1; i < BSA_DEAL_CLASSES; i++)
            stream_nr += shared->class_nr[i];
        __syncwarp();
        sab::barrier_wait(&shared->list_empty[chunks % 2], chunks / 2 % 2 ^ 1);
        take_all<true>(order, base);
        split_stream(stream_nr);
        clear_bits();
        if (lane < BSA_WGMMA_GROUPS)
            list()->kv_head[lane] = shared->rows[lane].kv_head;
        list()->last = !goes_on(false);
        __syncwarp();
        sab::warp_arrive(&shared->list_full[chunks % 2]);
        chunks++;
    }

    __device__ __forceinline__ void serve()
    {
        clear_bits();
        __syncwarp();
        for (int32_t round = 0;; round++) {
            const bsa_item tiles = item_of(args, round);

            if (tiles.nr == 0)
                return;
            open_rows(tiles);
            do {
                make_chunk();
            } while (goes_on(false));
        }
    }
};

} // namespace bsa

#endif
