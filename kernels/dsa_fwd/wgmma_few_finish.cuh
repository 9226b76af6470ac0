/*
 * wgmma_few_finish.cuh - the end of an item in dsa_fwd/wgmma for few heads. The group that had the
 * last but one tile hands over what it has, in the segments of that tile, and goes on; the group of
 * the last tile puts both together and writes.
 */
#ifndef DSA_FWD_WGMMA_FEW_FINISH_CUH
#define DSA_FWD_WGMMA_FEW_FINISH_CUH

#include "wgmma_few_group.cuh"

namespace dsa
{

template <class T, int WIDTH, int N> struct few_finisher {
    using group = few_group<T, WIDTH, N>;
    using s = typename group::s;
    using place = typename group::place;

    group &g;

    /* Of the group. */
    __device__ __forceinline__ uint32_t group_thread() const
    {
        return 32 * g.warp + fresh_lane();
    }

    /* What the group's warps know of its tiles. */
    __device__ __forceinline__ void put_part(const few_state<N> &state) const
    {
        const uint32_t lane = fresh_lane();
        few_part<N> *part = g.part(g.side);

#pragma unroll
        for (int h = 0; h < N / 4; h++) {
            const float sum = keys_sum(state.sum[h]), top = keys_maximum(state.top[h]);
            if (g.prefix_open)
                g.put_prefix(h, sum, state.m[h]);
            if (lane < 4) {
                part->sum[g.warp][g.head(lane, h)] = sum;
                part->top[g.warp][g.head(lane, h)] = top;
                if (g.warp == 0)
                    part->m[g.head(lane, h)] = state.m[h];
            }
        }
    }

    /* The q-th four values of this thread in the last segments of a tile. */
    __device__ __forceinline__ float4 *handed(const place &of, int q, uint32_t thread) const
    {
        return reinterpret_cast<float4 *>(g.shared->ring[of.at(s::SEGMENTS - s::HANDED + q / 4)]) +
               128 * (q % 4) + thread;
    }
    /* Behind the group's last tile, whose last segments were kept. */
    __device__ __forceinline__ void hand_over(const typename group::values &o,
                                              const few_state<N> &state) const
    {
        const uint32_t thread = group_thread();

        put_part(state);
        g.meet(); /* all products of the segments are done */
#pragma unroll
        for (int q = 0; q < N; q++) {
            const float *from = &o[8 * q / N][4 * q % (N / 2)];
            *handed(g.own, q, thread) = make_float4(from[0], from[1], from[2], from[3]);
        }
        g.arrive(&g.shared->handed[g.hand_overs % 2]);
    }

    struct total {
        float sum, m;
    };
    /* Of one group, or of two relative to the larger reference. */
    static __device__ __forceinline__ total add_warps(const float (&sums)[4][N], float m, int at)
    {
        return {(sums[0][at] + sums[1][at]) + (sums[2][at] + sums[3][at]), m};
    }
    static __device__ __forceinline__ total add_groups(const total &a, const total &b)
    {
        const float m = fmaxf(a.m, b.m);

        return {a.sum * sab::exp2_approximate(a.m - m) + b.sum * sab::exp2_approximate(b.m - m), m};
    }

    static __device__ __forceinline__ total add_prefixes(const few_part<N> &part, int at)
    {
        total all = {part.prefix[0][at], part.prefix_m[0][at]};

#pragma unroll
        for (int w = 1; w < 4; w++)
            all = add_groups(all, {part.prefix[w][at], part.prefix_m[w][at]});
        return all;
    }

    /* One thread a head: its numbers leave, the factors of both groups' values stay. Infinite sums
     * are right: then nothing is left of the values. */
    __device__ __forceinline__ void conclude(int32_t item, int at, bool both) const
    {
        const dsa_fwd_call &c = g.args.c;
        const float ln_2 = 0.693147180559945309f, log2_e = 1.44269504088896341f;
        const few_part<N> &mine = *g.part(g.side), &theirs = *g.part(g.side ^ 1);
        const int64_t head = first_head(item) + at, row = item / g.args.head_tiles;
        total all = add_warps(mine.sum, mine.m[at], at);
        float top =
            fmaxf(fmaxf(mine.top[0][at], mine.top[1][at]), fmaxf(mine.top[2][at], mine.top[3][at]));

        if (both) {
            all = add_groups(all, add_warps(theirs.sum, theirs.m[at], at));
#pragma unroll
            for (int w = 0; w < 4; w++)
                top = fmaxf(top, theirs.top[w][at]);
        }
        const float sink = c.sink && head < c.heads ? __ldg(c.sink + head) : -INFINITY;
        const float whole = all.sum + sab::exp2_approximate(fmaf(sink, log2_e, -all.m));
        g.shared->factors[g.side][at] =
            make_float2(sab::exp2_approximate(mine.m[at] - all.m) / whole,
                        both ? sab::exp2_approximate(theirs.m[at] - all.m) / whole : 0.0f);
        if (head >= c.heads)
            return;
        c.max_logits[row * c.heads + head] = top * c.scale;
        c.lse[row * c.heads + head] = (all.m + log2f(all.sum)) * ln_2;
        if (!c.lse_prefix)
            return;
        total prefix = add_prefixes(mine, at);
        if (both)
            prefix = add_groups(prefix, add_prefixes(theirs, at));
        c.lse_prefix[row * c.heads + head] = /* without a slot in the prefix the sum is 0 */
            prefix.sum > 0.0f ? (prefix.m + log2f(prefix.sum)) * ln_2 : INFINITY;
    }

    /* Adds what was handed over, frees where it lay, and normalises. The addend makes +0 of -0
     * where an infinite sink leaves nothing. */
    __device__ __forceinline__ void add_handed(typename group::values &o, bool both) const
    {
        const uint32_t thread = group_thread();
        place before = g.own;
        float2 factors[N / 4];

        before.advance(s::RING - s::SEGMENTS);
#pragma unroll
        for (int h = 0; h < N / 4; h++)
            factors[h] = g.shared->factors[g.side][g.head(thread, h)];
#pragma unroll
        for (int q = 0; q < N; q++) {
            const float4 x =
                both ? *handed(before, q, thread) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            const float other[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int i = 4 * q % (N / 2) + e, h = 2 * (i / 4) + i % 2;
                float &to = o[8 * q / N][i];
                to = fmaf(other[e], factors[h].y, fmaf(to, factors[h].x, 0.0f));
            }
        }
        __syncwarp();
        for (int i = s::SEGMENTS - s::HANDED; i < s::SEGMENTS && both; i++)
            g.release(before.at(i));
    }

    /* Where the part of out that belongs to segment c of V is put together: N rows of 64 columns in
     * the last segments of the own tile. */
    __device__ __forceinline__ uint32_t staged(int c) const
    {
        return sab::shared_address(g.shared->ring) +
               g.own.at(s::SEGMENTS - s::STAGED + c * N / 64) * DSA_WGMMA_SEGMENT_BYTES +
               c % (64 / N) * (128 * N);
    }
    __device__ __forceinline__ void stage_out(const typename group::values &o) const
    {
        const uint32_t lane = fresh_lane(), piece = 2 * g.warp + lane / 8 % 2, row = lane % 8;

#pragma unroll
        for (int q = 0; q < N; q += 2) { /* four registers each, the next 8 heads or columns */
            const float *a = &o[8 * q / N][4 * q % (N / 2)];
            const float *b = &o[8 * (q + 1) / N][4 * (q + 1) % (N / 2)];
            const uint32_t x[4] = {T::pack(a[0], a[1]), T::pack(a[2], a[3]), T::pack(b[0], b[1]),
                                   T::pack(b[2], b[3])};
            const uint32_t second = lane / 16;
            const uint32_t to = N == 8 ? staged(q + static_cast<int>(second)) : staged(8 * q / N);
            const uint32_t first = N == 8 ? 0 : 8 * (q % (N / 8)) + 8 * second;
            sab::stmatrix_x4_across(to + sab::swizzled_piece(first + row, piece), x);
        }
    }
    /* A warp writes 512 bytes of a row at a time. */
    __device__ __forceinline__ void write_out(int32_t item) const
    {
        const dsa_fwd_call &c = g.args.c;
        const int64_t row = item / g.args.head_tiles;
        const uint32_t t = group_thread();

#pragma unroll
        for (uint32_t i = 0; i < N / 2; i++) {
            const uint32_t at = 2 * i + t / 64, segment = t / 8 % 8;
            const int64_t head = first_head(item) + at;
            const uint32_t from =
                staged(static_cast<int>(segment)) + sab::swizzled_piece(at, t % 8);
            uint4 x;
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                         : "r"(from)
                         : "memory");
            if (head < c.heads)
                __stcs(reinterpret_cast<uint4 *>(c.out + (row * c.heads + head) * DSA_VALUE_WIDTH) +
                           t % 64,
                       x);
        }
    }

    __device__ __forceinline__ int64_t first_head(int32_t item) const
    {
        return g.args.first_head + static_cast<int64_t>(item % g.args.head_tiles) * N;
    }

    /* Behind the item's last tile, whose last segments were kept; `both`: the other group hands
     * over. */
    __device__ __forceinline__ void finish(typename group::values &o, const few_state<N> &state,
                                           int32_t item, bool both) const
    {
        put_part(state);
        if (both)
            sab::barrier_wait(&g.shared->handed[g.hand_overs % 2], g.hand_overs / 2 % 2);
        g.meet();
        const int thread = static_cast<int>(group_thread());
        if (thread < N)
            conclude(item, thread, both);
        g.meet();
        add_handed(o, both);
        stage_out(o);
        g.meet();
        write_out(item);
        __syncwarp();
        for (int i = s::SEGMENTS - s::STAGED; i < s::SEGMENTS; i++)
            g.release(g.own.at(i));
    }
};

} // namespace dsa

#endif
