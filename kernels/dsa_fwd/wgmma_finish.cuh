/*
 * wgmma_finish.cuh - the end of an item in dsa_fwd/wgmma: what the two groups know of a head row is
 * put together, the accumulators leave as bf16 or fp16.
 */
#ifndef DSA_FWD_WGMMA_FINISH_CUH
#define DSA_FWD_WGMMA_FINISH_CUH

#include "wgmma_group.cuh"

namespace dsa
{

template <class T, int WIDTH> struct finisher {
    const group<T, WIDTH> &g;

    /* What both groups know of the lane's row r, in the order of the groups. */
    __device__ __forceinline__ row_result merge(int r) const
    {
        const uint32_t at = 16 * g.warp + 8 * r + g.lane / 4;
        const row_result a = g.shared->results[g.items % 2][0][at],
                         b = g.shared->results[g.items % 2][1][at];
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

        g.args.c.max_logits[at] = all.top * g.args.c.scale;
        g.args.c.lse[at] = (state.m[r] + log2f(all.sum)) * ln_2;
        if (g.args.c.lse_prefix) /* without a slot in the prefix the sum is 0 */
            g.args.c.lse_prefix[at] = all.prefix_sum > 0.0f
                                          ? (all.prefix_maximum + log2f(all.prefix_sum)) * ln_2
                                          : INFINITY;
    }

    /* Eight columns a store, a quad of lanes writes 64 bytes of a row. */
    __device__ __forceinline__ void write_out(const float (&o)[4][32], float factor, int64_t at,
                                              int r) const
    {
        uint4 *out = reinterpret_cast<uint4 *>(g.args.c.out + at * DSA_VALUE_WIDTH +
                                               DSA_VALUE_WIDTH / 2 * g.side) +
                     g.lane % 4;
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
        const dsa_fwd_call &c = g.args.c;
        const float log2_e = 1.44269504088896341f;

#pragma unroll
        for (int r = 0; r < 2; r++) {
            const float sum = quad_sum(state.sum[r]);
            row_result *result =
                &g.shared->results[g.items % 2][g.side][16 * g.warp + 8 * r + g.lane / 4];
            if (g.lane % 4 == 0) {
                result->sum = sum;
                result->top = state.top[r];
            }
            if (g.prefix_open)
                g.put_prefix(r, sum, state.m[r]);
        }
        asm volatile("bar.sync %0, 64;" : : "r"(9 + g.warp) : "memory");
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int64_t head = g.first_head(item) + 8 * r;
            const int64_t at = head < c.heads ? item / g.args.head_tiles * c.heads + head : -1;
            const row_result all = merge(r);
            const float sink = c.sink && at >= 0 ? __ldg(c.sink + head) : -INFINITY;
            /* may be infinite: then nothing is left of the values */
            const float whole = all.sum + sab::exp2_approximate(fmaf(sink, log2_e, -state.m[r]));
            if (g.side == 0 && g.lane % 4 == 0 && at >= 0)
                write_sums(state, all, at, r);
            write_out(o, 1.0f / whole, at, r);
        }
    }
};

} // namespace dsa

#endif
