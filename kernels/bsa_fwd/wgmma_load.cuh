/*
 * wgmma_load.cuh - one thread asks TMA for what the stream of an item says, as far ahead as there
 * are stages, over the end of an item too.
 */
#ifndef BSA_WGMMA_LOAD_CUH
#define BSA_WGMMA_LOAD_CUH

#include "stage.cuh"
#include "wgmma_item.cuh"

namespace bsa
{

struct loader {
    const bsa_wgmma_args &args;
    wgmma_shared *shared;
    uint32_t chunks;      /* done */
    uint32_t stage, turn; /* of the next entry; times round the ring */

    /* All of a tile of 64 rows from row `first` on. */
    __device__ __forceinline__ void ask(uint8_t *to, uint64_t *full, const CUtensorMap *map,
                                        int32_t first, int32_t head) const
    {
        sab::load_box(to, full, BSA_WGMMA_TILE_BYTES, map, 0, first, 0, head);
    }

    /* Behind the use of a stage by those who wanted what it held: the same for those who will not
     * want what it is going to hold. */
    __device__ __forceinline__ void take_stage(uint64_t *empty, uint32_t wanted) const
    {
        const uint32_t others = 4 * (BSA_WGMMA_GROUPS - __popc(wanted));

        sab::barrier_wait(empty, turn % 2 ^ 1);
        if (others)
            (void)cuda::ptx::mbarrier_arrive(cuda::ptx::sem_release, cuda::ptx::scope_cta,
                                             cuda::ptx::space_shared, empty, others);
    }

    __device__ __forceinline__ void load_entry(const wgmma_list &list, uint32_t entry)
    {
        const uint32_t wanted = entry >> WANT;
        const int32_t first = BSA_BLOCK * static_cast<int32_t>(entry & ((1u << WANT) - 1));
        const int32_t head = list.kv_head[__ffs(wanted) - 1];
        const uint32_t full = turn % BSA_WGMMA_TURNS * BSA_WGMMA_STAGES + stage;

        take_stage(&shared->k_empty[stage], wanted);
        ask(shared->k[stage], &shared->k_full[full], &args.maps.k, first, head);
        take_stage(&shared->v_empty[stage], wanted);
        ask(shared->v[stage], &shared->v_full[full], &args.maps.v, first, head);
        if (++stage == BSA_WGMMA_STAGES) {
            stage = 0;
            turn++;
        }
    }

    __device__ __forceinline__ void load_q(const bsa_item &tiles, int32_t round) const
    {
        for (int w = 0; w < tiles.nr; w++) {
            const int32_t head = (tiles.first + w) / args.rows.query_tiles;
            const int32_t tile = (tiles.first + w) % args.rows.query_tiles;

            sab::barrier_wait(&shared->q_empty[w], round % 2 ^ 1);
            ask(shared->q[w], &shared->q_full[w], &args.maps.q, BSA_BLOCK * tile, head);
        }
    }

    __device__ __forceinline__ void load_chunks()
    {
        bool last;

        do {
            const wgmma_list &list = shared->lists[chunks % 2];

            sab::barrier_wait(&shared->list_full[chunks % 2], chunks / 2 % 2);
            const uint32_t nr = list.stream_nr;
            for (uint32_t i = 0; i < nr; i++)
                load_entry(list, list.stream[i]);
            last = list.last != 0;
            (void)cuda::ptx::mbarrier_arrive(&shared->list_empty[chunks % 2]);
            chunks++;
        } while (!last);
    }

    __device__ __forceinline__ void serve()
    {
        for (int32_t round = 0;; round++) {
            const bsa_item tiles = item_of(args, round);

            if (tiles.nr == 0)
                return;
            load_q(tiles, round);
            load_chunks();
        }
    }
};

} // namespace bsa

#endif
