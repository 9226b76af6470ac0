/*
 * wgmma_kernel.cuh - DSA attention of 64 heads of a query row by warpgroup-wide products (sm_90a).
 *
 * A block is persistent, one on a multiprocessor, and takes items (a query row, 64 heads) in turn.
 * One warpgroup gathers (wgmma_gather.cuh), two compute. The 64 x 512 accumulator is split by
 * columns: group 0 has 0..255, group 1 the rest. Tiles of 64 keys belong to the groups in turn: the
 * owner multiplies the scores, makes the weights P and hands them over through shared memory, and
 * both groups multiply P with their half of V. A left operand in registers looks the same in both
 * groups, so thread t writes for thread t of the other group, and only two warps have to meet.
 *
 * In the order of one group, with j its own tile and j-1 the other's:
 *     S = Q K(j), first half | P(j-1) V(j-1) | S, second half | weights of j | P(j) V(j)
 * While one group makes weights the other one multiplies; P(j-1) V(j-1) stands in the middle so
 * that tile j-1 is released early: shared memory holds little more than two tiles, and a segment of
 * 64 columns is loaded anew as soon as it was read, while the rest of its tile is still in use.
 *
 * Limits, in clocks of a multiprocessor for a tile of 64 keys at width 512 (576):
 *   tensor          2048 (2176)  1024 (1152) for Q K, 1024 for P V, 4096 operations a clock
 *   shared memory   2128 (2304)  QK reads 4 KiB a product of 32 clocks: 128 (136) KiB; PV 64; the
 *                                copies write 64 (72); P 16; 128 bytes a clock. A segment of Q
 *                                in registers saves 8 KiB
 *   gather          1700 (1910)  38.5 bytes a clock
 *   exp2             256         hidden behind the other group's products
 * and for each item the prologue, Q K of the first tile, and the epilogue of the last: about 3000.
 */
#ifndef DSA_FWD_WGMMA_KERNEL_CUH
#define DSA_FWD_WGMMA_KERNEL_CUH

#include <float.h>

#include "wgmma_finish.cuh"
#include "wgmma_gather.cuh"

namespace dsa
{

template <class T, int WIDTH> struct attender {
    using s = shape<WIDTH>;
    using place = ring_place<s>;
    using q_part = typename group<T, WIDTH>::q_part;

    group<T, WIDTH> &g;

    /* The prefix ends in this tile, before score `end`, or before it: what it sums to, as far as
     * this group knows, with a reference of its own, since that of the tile may be far above it. */
    __device__ __forceinline__ void close_prefix(const float (&scores)[32], const row_state &state,
                                                 int32_t end)
    {
        g.prefix_open = false;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            /* finite, though there be no key of it */
            const float m = fmaxf(
                fmaxf(top_before(scores, r, end) * g.args.c.scale_log2, state.m[r]), -FLT_MAX);
            const float sum = quad_sum(state.sum[r] * sab::exp2_approximate(state.m[r] - m) +
                                       sum_before(scores, r, end, g.args.c.scale_log2, m));
            g.put_prefix(r, sum, m);
        }
    }

    /* The prefix ends in the other's tile of which `theirs` tells: closed before the reference
     * moves to that tile's, which may be far above everything summed so far. */
    __device__ __forceinline__ void close_before(const tile_info &theirs, const row_state &state)
    {
        if (!g.prefix_open || theirs.prefix == DSA_WGMMA_KEYS)
            return;
        g.prefix_open = false;
#pragma unroll
        for (int r = 0; r < 2; r++)
            g.put_prefix(r, quad_sum(state.sum[r]), fmaxf(state.m[r], -FLT_MAX));
    }

    /* From raw scores to weights, sent to the other group; the factor of older sums. */
    __device__ __forceinline__ void make_weights(float (&scores)[32], uint32_t (&p)[4][4],
                                                 row_state &state, const tile_info &info,
                                                 float (&factor)[2])
    {
        if (info.valid < DSA_WGMMA_KEYS)
            mask(scores, info.valid);
        if (g.prefix_open && info.prefix < DSA_WGMMA_KEYS)
            close_prefix(scores, state, info.prefix);
        raise(scores, g.args.c.scale_log2, state, factor);
        weigh(scores, g.args.c.scale_log2, state);
        pack<T>(scores, p);
        g.send(p, state);
    }

    /* Behind the last score of a tile: frees what only scores read, and Q behind the last tile. */
    __device__ __forceinline__ void release_scores(const place &at, const tile_info &info)
    {
        if (s::EXTRA > 0)
            g.release(at.at(0));
        if (info.last && g.lane == 0)
            (void)cuda::ptx::mbarrier_arrive(g.shared->q_free);
    }

    /* Scores of an own tile that opens an item. */
    __device__ __forceinline__ void score_first(float (&scores)[32], const q_part &q)
    {
        g.template multiply_qk<0, s::SEGMENTS>(scores, g.own, q);
        sab::wgmma_wait<0>();
        sab::wgmma_hold(scores);
    }

    /* Scores of an own tile, with the products of the other's tile before it in the middle. Those
     * of the own tile before are under way. */
    __device__ __forceinline__ void score_next(float (&scores)[32], float (&o)[4][32],
                                               row_state &state, const q_part &q)
    {
        uint32_t p[4][4];
        float factor[2], m[2];
        place before = g.own, older = g.own;

        before.advance(s::RING - s::SEGMENTS);
        older.advance(s::RING - 2 * s::SEGMENTS);
        g.template multiply_qk<0, s::EARLY>(scores, g.own, q);
        g.template release_v<s::EARLY>(o, older);
        g.template multiply_qk<s::EARLY, s::FIRST>(scores, g.own, q);
        g.receive(p, m);
        state.move(m, factor);
        rescale(o, factor);
        g.multiply_pv(o, p, before);
        g.template multiply_qk<s::FIRST, s::SEGMENTS>(scores, g.own, q);
        g.template release_v<s::SEGMENTS - s::FIRST>(o, before);
        sab::wgmma_wait<0>();
        sab::wgmma_hold(scores);
    }

    /* From scores on; leaves the products with V under way. */
    __device__ __forceinline__ void fold_own(float (&scores)[32], float (&o)[4][32],
                                             row_state &state, const tile_info &info)
    {
        uint32_t p[4][4];
        float factor[2];

        release_scores(g.own, info);
        make_weights(scores, p, state, info, factor);
        rescale(o, factor);
        g.multiply_pv(o, p, g.own);
        add_weights(scores, state, g.zero_behind(g.own));
        g.own.advance(2 * s::SEGMENTS);
    }

    /* The other's last tile, when products with V of the own tile before are done. */
    __device__ __forceinline__ void fold_theirs(float (&o)[4][32], row_state &state)
    {
        float factor[2], m[2];
        uint32_t p[4][4];
        place before = g.own;

        before.advance(s::RING - s::SEGMENTS);
        g.receive(p, m);
        state.move(m, factor);
        rescale(o, factor);
        g.multiply_pv(o, p, before);
        g.template release_v<0>(o, before);
    }

    /* Segments of Q that stay in registers, as left operands. Heads that do not exist read as 0. */
    __device__ __forceinline__ void read_q(q_part &q, int32_t item) const
    {
        const dsa_fwd_call &c = g.args.c;
        const int64_t row = item / g.args.head_tiles;

#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int64_t head = g.first_head(item) + 8 * r;
            const uint32_t *from = reinterpret_cast<const uint32_t *>(
                c.q + (row * c.heads + head) * WIDTH + 2 * (g.lane % 4));
#pragma unroll
            for (int i = 0; i < s::Q_IN_REGISTERS; i++) {
#pragma unroll
                for (int j = 0; j < 8; j++)
                    q[i][j / 2][j % 2 * 2 + r] =
                        head < c.heads ? __ldg(from + 32 * s::column_segment(i) + 4 * j) : 0;
            }
        }
    }
    /* All tiles of an item, the first of which was told of. */
    __device__ __forceinline__ void fold_tiles(float (&o)[4][32], row_state &state, const q_part &q,
                                               tile_info info)
    {
        const bool opens = (g.tile - 1) % 2 == g.side;
        float scores[32];

        if (!opens) {
            close_before(info, state);
            if (info.last)
                return fold_theirs(o, state);
            info = g.next_info();
        }
        score_first(scores, q);
        if (!opens)
            fold_theirs(o, state);
        for (;;) {
            const place folded = g.own;

            fold_own(scores, o, state, info);
            if (info.last)
                return g.template release_v<0>(o, folded);
            const tile_info theirs = g.next_info();
            close_before(theirs, state);
            if (theirs.last) {
                g.template release_v<0>(o, folded);
                return fold_theirs(o, state);
            }
            info = g.next_info();
            score_next(scores, o, state, q);
        }
    }

    __device__ __forceinline__ void serve_item(const tile_info &first)
    {
        q_part q;
        float o[4][32] = {};
        row_state state;

        g.hold(o); /* zeros of their own, not made between the parts of a product */
        state.open();
        g.prefix_open = true;
        read_q(q, first.item);
        sab::barrier_wait(g.shared->q_full, g.items % 2);
        fold_tiles(o, state, q, first);
        finisher<T, WIDTH>{g}.finish(o, state, first.item);
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

template <class T, int WIDTH>
__global__ void __launch_bounds__(DSA_WGMMA_THREADS, 1)
    wgmma_kernel(const __grid_constant__ dsa_fwd_wgmma_args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t memory[];
    wgmma_shared<WIDTH> *shared = reinterpret_cast<wgmma_shared<WIDTH> *>(memory);
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t lane = threadIdx.x % 32, warp = __shfl_sync(ALL_LANES, threadIdx.x / 32, 0);

    if (threadIdx.x == 0)
        open_barriers<shape<WIDTH>>(shared);
    __syncthreads();
    if (warp >= 8) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        gatherer<shape<WIDTH>, wgmma_shared<WIDTH>> g = {args, shared, warp - 8, lane,
                                                         sab::policy_keep()};
        g.serve();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const uint32_t side = warp / 4;
        const ring_place<shape<WIDTH>> first = {side * shape<WIDTH>::SEGMENTS, 0};
        group<T, WIDTH> g = {args, shared, side, warp % 4, lane, 0, 0, first, false};
        attender<T, WIDTH>{g}.serve();
    }
#endif
}

} // namespace dsa

#endif
