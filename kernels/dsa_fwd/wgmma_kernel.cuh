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
 *                                copies write 64 (72); P 16; 128 bytes a clock. Q in registers
 * saves 8 KiB a segment gather          1700 (1910)  38.5 bytes a clock exp2             256 hidden
 * behind the other group's products and for each item: prologue of Q K of the first tile, epilogue
 * of the last, about 3000.
 */
#ifndef DSA_FWD_WGMMA_KERNEL_CUH
#define DSA_FWD_WGMMA_KERNEL_CUH

#include "wgmma_gather.cuh"
#include "wgmma_math.cuh"

namespace dsa
{

/* Where a tile begins in the ring, and the parity of its first segment's barriers. */
template <int WIDTH> struct ring_place {
    uint32_t slot, parity;

    __device__ __forceinline__ void advance(uint32_t segments)
    {
        slot += segments;
        if (slot >= shape<WIDTH>::RING) {
            slot -= shape<WIDTH>::RING;
            parity ^= 1;
        }
    }
    __device__ __forceinline__ bool wraps(int i) const
    {
        return slot + i >= shape<WIDTH>::RING;
    }
    /* Slot and parity of the tile's i-th segment. */
    __device__ __forceinline__ uint32_t at(int i) const
    {
        return slot + i - (wraps(i) ? shape<WIDTH>::RING : 0);
    }
    __device__ __forceinline__ uint32_t parity_at(int i) const
    {
        return parity ^ (wraps(i) ? 1 : 0);
    }
};

/* One thread. A segment is full when 128 threads have copied their pieces, and empty when the four
 * warps of the group that reads it last have arrived. */
template <int WIDTH> __device__ __forceinline__ void open_barriers(wgmma_shared<WIDTH> *shared)
{
    for (int i = 0; i < shape<WIDTH>::RING; i++) {
        sab::barrier_init(&shared->full[i], 128);
        sab::barrier_init(&shared->empty[i], 4);
    }
    for (int i = 0; i < DSA_WGMMA_INFOS; i++)
        sab::barrier_init(&shared->info[i], 1);
    sab::barrier_init(&shared->q_full, 1);
    sab::barrier_init(&shared->q_free, 4);
    sab::barriers_publish();
}

template <class T, int WIDTH> struct attender {
    using s = shape<WIDTH>;
    using place = ring_place<WIDTH>;
    using q_part = uint32_t[s::Q_IN_REGISTERS + 1][4][4];

    const dsa_fwd_wgmma_args &args;
    wgmma_shared<WIDTH> *shared;
    uint32_t group, warp, lane; /* warp of the group */
    uint32_t tile;              /* next to be told of */
    uint32_t items;             /* done */
    place own;                  /* of this group's next tile */
    bool prefix_open;           /* the prefix of this item may go on */

    __device__ __forceinline__ tile_info next_info()
    {
        sab::barrier_wait(&shared->info[tile % DSA_WGMMA_INFOS], tile / DSA_WGMMA_INFOS % 2);
        const tile_info info = shared->infos[tile % DSA_WGMMA_INFOS];
        tile++;
        return info;
    }

    /* Scores += Q K^T over segments FROM..TO-1, a group of products for each. */
    template <int FROM, int TO>
    __device__ __forceinline__ void multiply_qk(float (&scores)[32], const place &at,
                                                const q_part &q)
    {
        const sab::wgmma_matrix q_tile = sab::wgmma_along_k(sab::shared_address(shared->q));
        const sab::wgmma_matrix k_tile = sab::wgmma_along_k(sab::shared_address(shared->ring));

#pragma unroll
        for (int i = FROM; i < TO; i++) {
            sab::barrier_wait(&shared->full[at.at(i)], at.parity_at(i));
            sab::fence_async_reads();
            sab::wgmma_fence();
            const sab::wgmma_matrix k_part = k_tile + at.at(i) * DSA_WGMMA_SEGMENT_BYTES;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (i < s::Q_IN_REGISTERS)
                    sab::wgmma_rs<T, sab::K_MAJOR>(scores, q[i][k], k_part + 32 * k, i + k > 0);
                else
                    sab::wgmma_ss<T, sab::K_MAJOR, sab::K_MAJOR>(
                        scores,
                        q_tile + ((i - s::Q_IN_REGISTERS) * DSA_WGMMA_SEGMENT_BYTES + 32 * k),
                        k_part + 32 * k, i + k > 0);
            }
            sab::wgmma_commit();
        }
    }

    /* O += P V of this group's columns, a group of products for each segment. */
    __device__ __forceinline__ void multiply_pv(float (&o)[4][32], uint32_t (&p)[4][4],
                                                const place &at)
    {
        const sab::wgmma_matrix v_tile =
            sab::wgmma_across_k(sab::shared_address(shared->ring), DSA_WGMMA_SEGMENT_BYTES);

        hold(o);
#pragma unroll
        for (int k = 0; k < 4; k++)
            sab::wgmma_hold(p[k]);
        sab::wgmma_fence();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const sab::wgmma_matrix v_part =
                v_tile + at.at(s::EXTRA + 2 * i + group) * DSA_WGMMA_SEGMENT_BYTES;
#pragma unroll
            for (int k = 0; k < 4; k++)
                sab::wgmma_rs<T, sab::MN_MAJOR>(o[i], p[k], v_part + 2048 * k, true);
            sab::wgmma_commit();
        }
    }

    static __device__ __forceinline__ void hold(float (&o)[4][32])
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
            sab::wgmma_hold(o[i]);
    }

    __device__ __forceinline__ void release(uint32_t slot)
    {
        if (lane == 0)
            (void)cuda::ptx::mbarrier_arrive(&shared->empty[slot]);
    }
    /* This group's columns of a tile, as their products finish. LATER groups of products were
     * closed behind them. */
    template <int LATER>
    __device__ __forceinline__ void release_v(float (&o)[4][32], const place &at)
    {
        sab::wgmma_wait<LATER + 3>();
        release(at.at(s::EXTRA + group));
        sab::wgmma_wait<LATER + 2>();
        release(at.at(s::EXTRA + 2 + group));
        sab::wgmma_wait<LATER + 1>();
        release(at.at(s::EXTRA + 4 + group));
        sab::wgmma_wait<LATER>();
        release(at.at(s::EXTRA + 6 + group));
        hold(o);
    }

    /* P and the reference of a tile, to the same thread of the other group, and from it. Warps of a
     * pair meet at a barrier for each direction. */
    __device__ __forceinline__ void send(const uint32_t (&p)[4][4], const row_state &state)
    {
        const uint32_t t = threadIdx.x % 128;

#pragma unroll
        for (int k = 0; k < 4; k++)
            shared->p[k][t] = make_uint4(p[k][0], p[k][1], p[k][2], p[k][3]);
        shared->maxima[t] = make_float2(state.m[0], state.m[1]);
        asm volatile("bar.arrive %0, 64;" : : "r"(1 + 4 * group + warp) : "memory");
    }
    __device__ __forceinline__ void receive(uint32_t (&p)[4][4], float (&m)[2])
    {
        const uint32_t t = threadIdx.x % 128;

        asm volatile("bar.sync %0, 64;" : : "r"(1 + 4 * (group ^ 1) + warp) : "memory");
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const uint4 x = shared->p[k][t];
            p[k][0] = x.x;
            p[k][1] = x.y;
            p[k][2] = x.z;
            p[k][3] = x.w;
        }
        const float2 x = shared->maxima[t];
        m[0] = x.x;
        m[1] = x.y;
    }

    /* The prefix ends in this tile, before weight `end`, or before it: what it sums to, as far as
     * this group knows. */
    __device__ __forceinline__ void close_prefix(const float (&weights)[32], row_state &state,
                                                 int32_t end)
    {
        prefix_open = false;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const float sum = quad_sum(state.sum[r] + sum_before(weights, r, end));
            if (lane % 4 == 0) {
                row_result *result =
                    &shared->results[items % 2][group][16 * warp + 8 * r + lane / 4];
                result->prefix_sum = sum;
                result->prefix_maximum = state.m[r];
            }
        }
    }

    /* From raw scores to weights, sent to the other group; the factor of older sums. */
    __device__ __forceinline__ void make_weights(float (&scores)[32], uint32_t (&p)[4][4],
                                                 row_state &state, const tile_info &info,
                                                 float (&factor)[2])
    {
        if (info.valid < DSA_WGMMA_KEYS)
            mask(scores, info.valid);
        raise(scores, args.c.scale_log2, state, factor);
        weigh(scores, args.c.scale_log2, state);
        pack<T>(scores, p);
        send(p, state);
        if (prefix_open && info.prefix < DSA_WGMMA_KEYS)
            close_prefix(scores, state, info.prefix);
        add_weights(scores, state);
    }

    /* Behind the last score of a tile: frees what only scores read, and Q behind the last tile. */
    __device__ __forceinline__ void release_scores(const place &at, const tile_info &info)
    {
        if (s::EXTRA > 0)
            release(at.at(0));
        if (info.last && lane == 0)
            (void)cuda::ptx::mbarrier_arrive(&shared->q_free);
    }

    /* Scores of an own tile that opens an item. */
    __device__ __forceinline__ void score_first(float (&scores)[32], const q_part &q)
    {
        multiply_qk<0, s::SEGMENTS>(scores, own, q);
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
        place before = own, older = own;

        before.advance(s::RING - s::SEGMENTS);
        older.advance(s::RING - 2 * s::SEGMENTS);
        multiply_qk<0, s::EARLY>(scores, own, q);
        release_v<s::EARLY>(o, older);
        multiply_qk<s::EARLY, s::FIRST>(scores, own, q);
        receive(p, m);
        state.move(m, factor);
        rescale(o, factor);
        multiply_pv(o, p, before);
        multiply_qk<s::FIRST, s::SEGMENTS>(scores, own, q);
        release_v<s::SEGMENTS - s::FIRST>(o, before);
        sab::wgmma_wait<0>();
        sab::wgmma_hold(scores);
    }

    /* From scores on; leaves the products with V under way. */
    __device__ __forceinline__ void fold_own(float (&scores)[32], float (&o)[4][32],
                                             row_state &state, const tile_info &info)
    {
        uint32_t p[4][4];
        float factor[2];

        release_scores(own, info);
        make_weights(scores, p, state, info, factor);
        rescale(o, factor);
        multiply_pv(o, p, own);
        own.advance(2 * s::SEGMENTS);
    }

    /* The other's last tile, when products with V of the own tile before are done. */
    __device__ __forceinline__ void fold_theirs(float (&o)[4][32], row_state &state)
    {
        float factor[2], m[2];
        uint32_t p[4][4];
        place before = own;

        before.advance(s::RING - s::SEGMENTS);
        receive(p, m);
        state.move(m, factor);
        rescale(o, factor);
        multiply_pv(o, p, before);
        release_v<0>(o, before);
    }

    /* Segments of Q that stay in registers, as left operands. Heads that do not exist read as 0. */
    __device__ __forceinline__ void read_q(q_part &q, int32_t item) const
    {
        const dsa_fwd_call &c = args.c;
        const int64_t row = item / args.head_tiles;

#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int64_t head = first_head(item) + 8 * r;
            const uint32_t *from = reinterpret_cast<const uint32_t *>(
                c.q + (row * c.heads + head) * WIDTH + 2 * (lane % 4));
#pragma unroll
            for (int i = 0; i < s::Q_IN_REGISTERS; i++) {
#pragma unroll
                for (int j = 0; j < 8; j++)
                    q[i][j / 2][j % 2 * 2 + r] =
                        head < c.heads ? __ldg(from + 32 * s::column_segment(i) + 4 * j) : 0;
            }
        }
    }
    /* Head of the lane's first row. */
    __device__ __forceinline__ int64_t first_head(int32_t item) const
    {
        return static_cast<int64_t>(item % args.head_tiles) * DSA_WGMMA_HEADS + 16 * warp +
               lane / 4;
    }

    /* What both groups know of the lane's row r, in the order of the groups. */
    __device__ __forceinline__ row_result merge(int r) const
    {
        const uint32_t at = 16 * warp + 8 * r + lane / 4;
        const row_result a = shared->results[items % 2][0][at],
                         b = shared->results[items % 2][1][at];
        const float m = fmaxf(a.prefix_maximum, b.prefix_maximum);

        return {a.sum + b.sum, fmaxf(a.top, b.top),
                a.prefix_sum * sab::exp2_approximate(a.prefix_maximum - m) +
                    b.prefix_sum * sab::exp2_approximate(b.prefix_maximum - m),
                m};
    }
    __device__ __forceinline__ void write_sums(const row_state &state, const row_result &all,
                                               int64_t at, int r) const
    {
        const float ln_2 = 0.693147180559945309f;

        args.c.max_logits[at] = all.top * args.c.scale;
        args.c.lse[at] = (state.m[r] + log2f(all.sum)) * ln_2;
        if (args.c.lse_prefix) /* without a slot in the prefix the sum is 0 */
            args.c.lse_prefix[at] = all.prefix_sum > 0.0f
                                        ? (all.prefix_maximum + log2f(all.prefix_sum)) * ln_2
                                        : INFINITY;
    }

    /* Eight columns a store, a quad of lanes writes 64 bytes of a row. */
    __device__ __forceinline__ void write_out(const float (&o)[4][32], float factor, int64_t at,
                                              int r) const
    {
        uint4 *out = reinterpret_cast<uint4 *>(args.c.out + at * DSA_VALUE_WIDTH +
                                               DSA_VALUE_WIDTH / 2 * group) +
                     lane % 4;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            uint32_t x[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int from = 16 * (i % 2) + 4 * j + 2 * r;
                /* the addend makes +0 of -0 where an infinite sink leaves nothing */
                x[j] = T::pack(fmaf(o[i / 2][from], factor, 0.0f),
                               fmaf(o[i / 2][from + 1], factor, 0.0f));
            }
            quad_transpose(x);
            if (at >= 0)
                __stcs(out + 4 * i, make_uint4(x[0], x[1], x[2], x[3]));
        }
    }

    __device__ __forceinline__ void finish(const float (&o)[4][32], const row_state &state,
                                           int32_t item)
    {
        const dsa_fwd_call &c = args.c;
        const float log2_e = 1.44269504088896341f;

#pragma unroll
        for (int r = 0; r < 2; r++) {
            const float sum = quad_sum(state.sum[r]);
            row_result *result = &shared->results[items % 2][group][16 * warp + 8 * r + lane / 4];
            if (lane % 4 == 0) {
                result->sum = sum;
                result->top = state.top[r];
                if (prefix_open) {
                    result->prefix_sum = sum;
                    result->prefix_maximum = state.m[r];
                }
            }
        }
        asm volatile("bar.sync %0, 64;" : : "r"(9 + warp) : "memory");
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int64_t head = first_head(item) + 8 * r;
            const int64_t at = head < c.heads ? item / args.head_tiles * c.heads + head : -1;
            const row_result all = merge(r);
            const float sink = c.sink && at >= 0 ? __ldg(c.sink + head) : -INFINITY;
            /* may be infinite: then nothing is left of the values */
            const float whole = all.sum + sab::exp2_approximate(fmaf(sink, log2_e, -state.m[r]));
            if (group == 0 && lane % 4 == 0 && at >= 0)
                write_sums(state, all, at, r);
            write_out(o, 1.0f / whole, at, r);
        }
    }

    /* All tiles of an item, the first of which was told of. */
    __device__ __forceinline__ void fold_tiles(float (&o)[4][32], row_state &state, const q_part &q,
                                               tile_info info)
    {
        const bool opens = (tile - 1) % 2 == group;
        float scores[32];

        if (!opens) {
            if (info.last)
                return fold_theirs(o, state);
            info = next_info();
        }
        score_first(scores, q);
        if (!opens)
            fold_theirs(o, state);
        for (;;) {
            const place folded = own;

            fold_own(scores, o, state, info);
            if (info.last)
                return release_v<0>(o, folded);
            if (next_info().last) {
                release_v<0>(o, folded);
                return fold_theirs(o, state);
            }
            info = next_info();
            score_next(scores, o, state, q);
        }
    }

    __device__ __forceinline__ void serve_item(const tile_info &first)
    {
        q_part q;
        float o[4][32] = {};
        row_state state;

        state.open();
        prefix_open = true;
        read_q(q, first.item);
        sab::barrier_wait(&shared->q_full, items % 2);
        fold_tiles(o, state, q, first);
        finish(o, state, first.item);
        items++;
    }

    __device__ __forceinline__ void serve()
    {
        for (;;) {
            const tile_info first = next_info();
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
        open_barriers(shared);
    __syncthreads();
    if (warp >= 8) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        gatherer<WIDTH> g = {args, shared, warp - 8, lane, sab::policy_keep(), 0, 0, 0, 0};
        g.serve();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const uint32_t group = warp / 4;
        attender<T, WIDTH> a = {
            args, shared, group, warp % 4, lane, 0, 0, {group * shape<WIDTH>::SEGMENTS, 0}, false};
        a.serve();
    }
#endif
}

} // namespace dsa

#endif
