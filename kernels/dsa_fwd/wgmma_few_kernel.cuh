/*
 * wgmma_few_kernel.cuh - DSA attention of 8, 16 or 32 heads of a query row by warpgroup-wide
 * products (sm_90a), with keys where other kernels have heads: 64 heads would be mostly padding.
 *
 * A block is persistent, one on a multiprocessor, and takes items (a query row) in turn. One
 * warpgroup gathers (wgmma_gather.cuh), two compute. Tiles of 64 keys belong to the groups in turn,
 * and a group folds its tiles by itself: S^T = K Q^T, weights, O^T += V^T P^T, with an accumulator
 * and references of its own. While one makes weights the other one multiplies. What they have is
 * added at the end of an item (wgmma_few_finish.cuh), when the group that is done first already
 * works on the next item. The tile is both left operands, rows first and columns first.
 *
 * Limits, in clocks of a multiprocessor for a tile of 64 keys at width 512 (576):
 *   gather          1700 (1910)  38.5 bytes a clock
 *   shared memory   1792 (1936)  at 16 heads: a product of 64 x 16 reads 2 KiB of the tile and 32
 *                                bytes a head, 64 (68) of them; the copies write 64 (72) KiB; 128
 *                                bytes a clock. 1664 (1800) at 8 heads, 2048 (2208) at 32
 *   tensor           512 (544)   at 16 heads
 * Both groups are busy for half of the time, so that both limits may be met together.
 */
#ifndef DSA_FWD_WGMMA_FEW_KERNEL_CUH
#define DSA_FWD_WGMMA_FEW_KERNEL_CUH

#include "wgmma_few_finish.cuh"
#include "wgmma_gather.cuh"

namespace dsa
{

template <class T, int WIDTH, int N> struct few_attender {
    using group = few_group<T, WIDTH, N>;
    using s = typename group::s;

    group &g;

    /* Own tiles of an item, the first of which was told of, and what follows from which group has
     * the last one. `both`: the other group had a tile before. */
    __device__ __forceinline__ void fold_tiles(typename group::values &o, few_state<N> &state,
                                               tile_info info, bool both)
    {
        const int32_t item = info.item;

        for (;;) {
            tile_info next = {};
            g.fold(o, state, info);
            if (!info.last)
                next = g.next_info();
            if (info.last || next.last)
                g.arrive(&g.shared->q_free[g.items % s::Q_SLOTS]);
            g.template release_v<0>(info.last ? s::STAGED : next.last ? s::HANDED : 0);
            g.hold(o);
            both |= !info.last;
            if (info.last || next.last)
                break;
            g.own.advance(2 * s::SEGMENTS);
            info = g.next_info();
        }
        if (info.last)
            few_finisher<T, WIDTH, N>{g}.finish(o, state, item, both);
        else
            few_finisher<T, WIDTH, N>{g}.hand_over(o, state);
        g.hand_overs += both ? 1 : 0;
        g.own.advance(2 * s::SEGMENTS);
    }

    __device__ __forceinline__ void serve_item(tile_info info)
    {
        const bool opens = (g.tile - 1) % 2 == g.side;

        /* awaited without a tile of one's own too: a wait is for a parity, which an item left out
         * would let pass while Q of the item before is still on its way */
        sab::barrier_wait(&g.shared->q_full[g.items % s::Q_SLOTS], g.items / s::Q_SLOTS % 2);
        if (!opens && info.last) {
            g.arrive(&g.shared->q_free[g.items % s::Q_SLOTS]);
        } else {
            typename group::values o = {};
            few_state<N> state;

            if (!opens)
                info = g.next_info();
            state.open();
            g.prefix_open = g.args.c.lse_prefix != nullptr;
            fold_tiles(o, state, info, !opens);
        }
        g.items++;
    }

    __device__ __forceinline__ void serve()
    {
        for (;;) {
            const tile_info first = g.next_info();
            if (first.item < 0)
                return;
            serve_item(first);
        }
    }
};

template <class T, int WIDTH, int N>
__global__ void __launch_bounds__(DSA_WGMMA_THREADS, 1)
    few_kernel(const __grid_constant__ dsa_fwd_wgmma_args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using s = few_shape<WIDTH, N>;
    extern __shared__ __align__(1024) uint8_t memory[];
    few_shared<WIDTH, N> *shared = reinterpret_cast<few_shared<WIDTH, N> *>(memory);
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t lane = threadIdx.x % 32, warp = __shfl_sync(ALL_LANES, threadIdx.x / 32, 0);

    if (threadIdx.x == 0) {
        for (uint64_t &barrier : shared->handed)
            sab::barrier_init(&barrier, 4);
        open_barriers<s>(shared);
    }
    __syncthreads();
    if (warp >= 8) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        gatherer<s, few_shared<WIDTH, N>> g = {args, shared, warp - 8, lane, sab::policy_keep()};
        g.serve();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const uint32_t side = warp / 4;
        few_group<T, WIDTH, N> g = {args, shared, side, warp % 4, lane, {side * s::SEGMENTS, 0}};
        few_attender<T, WIDTH, N>{g}.serve();
    }
#endif
}

template <class T, int WIDTH, int N> constexpr dsa_fwd_wgmma_form few_form()
{
    return {few_kernel<T, WIDTH, N>, N, sizeof(few_shared<WIDTH, N>)};
}

} // namespace dsa

#endif
