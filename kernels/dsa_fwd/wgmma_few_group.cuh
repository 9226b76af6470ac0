/*
 * wgmma_few_group.cuh - one computing group of dsa_fwd/wgmma for N = 8, 16 or 32 heads: products of
 * a tile of 64 keys and what becomes of its scores.
 *
 * Scores are S^T = K Q^T: rows are keys, columns heads. A lane has keys g and g + 8 (r = 0, 1) of
 * its warp's 16 and, of every 8 heads, 2t and 2t+1: its head h = 2j + e is head 8j + 2t + e. Values
 * are O^T = V^T P^T: rows are columns of V, 64 to a segment, in the same layout.
 */
#ifndef DSA_FWD_WGMMA_FEW_GROUP_CUH
#define DSA_FWD_WGMMA_FEW_GROUP_CUH

#include <float.h>

#include "gather.cuh"
#include "stage.cuh"
#include "store_matrix.cuh"
#include "wgmma_few_shape.cuh"
#include "wgmma_math.cuh"
#include "wgmma_ring.cuh"

namespace dsa
{

/* What a lane knows of its heads: the whole group agrees on the reference m, the rest is of the
 * lane's own keys. */
template <int N> struct few_state {
    float m[N / 4];   /* log2 units; -inf before the first tile */
    float sum[N / 4]; /* of 2^(score - m) */
    float top[N / 4]; /* largest raw score */

    __device__ __forceinline__ void open()
    {
#pragma unroll
        for (int h = 0; h < N / 4; h++) {
            m[h] = top[h] = -INFINITY;
            sum[h] = 0.0f;
        }
    }
};

/* Register of head h and row r in a 64 x N product. */
__device__ constexpr int few_register(int h, int r)
{
    return 4 * (h / 2) + 2 * r + h % 2;
}

/* Over the lanes that have the same heads. */
__device__ __forceinline__ float keys_sum(float x)
{
#pragma unroll
    for (int step = 4; step < 32; step *= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}
__device__ __forceinline__ float keys_maximum(float x)
{
#pragma unroll
    for (int step = 4; step < 32; step *= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

template <class T, int WIDTH, int N> struct few_group {
    using s = few_shape<WIDTH, N>;
    using place = ring_place<s>;
    using values = float[8][N / 2]; /* O^T, by segment */
    using scores_of = float[N / 2];

    const dsa_fwd_wgmma_args &args;
    few_shared<WIDTH, N> *shared;
    uint32_t side, warp, lane; /* which group; warp of the group */
    place own;                 /* of this group's next tile */
    uint32_t tile = 0;         /* next to be told of */
    uint32_t items = 0;        /* done */
    uint32_t folded = 0;       /* own tiles */
    uint32_t hand_overs = 0;   /* of both groups */
    bool prefix_open = false;  /* the prefix of this item may go on */

    __device__ __forceinline__ tile_info next_info()
    {
        sab::barrier_wait(&shared->info[tile % s::INFOS], tile / s::INFOS % 2);
        const tile_info info = shared->infos[tile % s::INFOS];
        tile++;
        return info;
    }
    __device__ __forceinline__ void meet() const
    {
        asm volatile("bar.sync %0, 128;" : : "r"(1 + side) : "memory");
    }
    /* The same, and whether any thread of the group says so. */
    __device__ __forceinline__ bool meet_any(bool says) const
    {
        uint32_t any;

        asm volatile("{\n\t"
                     ".reg .pred p, q;\n\t"
                     "setp.ne.u32 p, %1, 0;\n\t"
                     "bar.red.or.pred q, %2, 128, p;\n\t"
                     "selp.u32 %0, 1, 0, q;\n\t"
                     "}"
                     : "=r"(any)
                     : "r"(says ? 1u : 0u), "r"(1 + side)
                     : "memory");
        return any != 0;
    }
    __device__ __forceinline__ void arrive(uint64_t *barrier) const
    {
        __syncwarp();
        if (lane == 0)
            (void)cuda::ptx::mbarrier_arrive(barrier);
    }
    __device__ __forceinline__ few_part<N> *part(uint32_t of) const
    {
        return &shared->parts[items % 2][of];
    }
    /* Two places in turn. */
    __device__ __forceinline__ const uint8_t *p_of_tile() const
    {
        return shared->p[side][s::RING == 2 * s::SEGMENTS ? own.parity : folded % 2];
    }
    /* A lane's head h. */
    static __device__ __forceinline__ uint32_t head(uint32_t lane, int h)
    {
        return 8 * (h / 2) + 2 * (lane % 4) + h % 2;
    }

    /* Raw scores of the own tile. Two sums where registers allow, so that a product need not wait
     * for the one before. */
    __device__ __forceinline__ void multiply_qk(scores_of &scores)
    {
        const sab::wgmma_matrix q_tile =
            sab::wgmma_along_k(sab::shared_address(shared->q[items % s::Q_SLOTS]));
        const sab::wgmma_matrix k_tile = sab::wgmma_along_k(sab::shared_address(shared->ring));
        constexpr int SUMS = N < 32 ? 2 : 1;
        scores_of more;

#pragma unroll
        for (int i = 0; i < s::SEGMENTS; i++) {
            sab::barrier_wait(&shared->full[own.at(i)], own.parity_at(i));
            sab::fence_async_reads();
            sab::wgmma_fence();
            const sab::wgmma_matrix k_part = k_tile + own.at(i) * DSA_WGMMA_SEGMENT_BYTES;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const sab::wgmma_matrix q_part = q_tile + (128 * N * i + 32 * k);
                if (k % SUMS == 0)
                    sab::wgmma_ss<T, sab::K_MAJOR, sab::K_MAJOR>(scores, k_part + 32 * k, q_part,
                                                                 i + k > 0);
                else
                    sab::wgmma_ss<T, sab::K_MAJOR, sab::K_MAJOR>(more, k_part + 32 * k, q_part,
                                                                 i + k > 1);
            }
            sab::wgmma_commit();
        }
        sab::wgmma_wait<0>();
        sab::wgmma_hold(scores);
        if constexpr (SUMS == 2) {
            sab::wgmma_hold(more);
#pragma unroll
            for (int i = 0; i < N / 2; i++)
                scores[i] += more[i];
        }
    }

    /* Keys from `valid` on do not exist. */
    __device__ __forceinline__ void mask_keys(scores_of &scores, int32_t valid) const
    {
        const int32_t key = static_cast<int32_t>(16 * warp + fresh_lane() / 4);

#pragma unroll
        for (int h = 0; h < N / 4; h++) {
#pragma unroll
            for (int r = 0; r < 2; r++)
                scores[few_register(h, r)] =
                    key + 8 * r < valid ? scores[few_register(h, r)] : -INFINITY;
        }
    }

    /* Weights of the lane, to where all of the group's are the right operand of the next products
     * with V; two places in turn, since other warps may not be done with the last ones. */
    __device__ __forceinline__ void weigh_keys(scores_of &weights, const scores_of &scores,
                                               const few_state<N> &state) const
    {
        const uint32_t to = sab::shared_address(p_of_tile());

#pragma unroll
        for (int i = 0; i < N / 2; i++)
            weights[i] = sab::exp2_approximate(
                fmaf(scores[i], args.c.scale_log2, -state.m[2 * (i / 4) + i % 2]));
        if constexpr (N == 8) {
            const uint32_t p[2] = {T::pack(weights[0], weights[1]),
                                   T::pack(weights[2], weights[3])};
            sab::stmatrix_x2_across(to + sab::swizzled_piece(lane % 8, 2 * warp + lane / 8 % 2), p);
        } else {
#pragma unroll
            for (int i = 0; i < N / 2; i += 8) {
                const uint32_t p[4] = {T::pack(weights[i], weights[i + 1]),
                                       T::pack(weights[i + 2], weights[i + 3]),
                                       T::pack(weights[i + 4], weights[i + 5]),
                                       T::pack(weights[i + 6], weights[i + 7])};
                sab::stmatrix_x4_across(to + sab::swizzled_piece(2 * i + lane / 16 * 8 + lane % 8,
                                                                 2 * warp + lane / 8 % 2),
                                        p);
            }
        }
        sab::fence_async_reads();
    }

    /* The lane's largest score of head h. */
    static __device__ __forceinline__ float top(const scores_of &scores, int h)
    {
        return fmaxf(scores[few_register(h, 0)], scores[few_register(h, 1)]);
    }
    /* Finds new references where a score is too far above the old one. */
    __device__ __forceinline__ void raise(const scores_of &scores, few_state<N> &state,
                                          values &o) const
    {
        const uint32_t lane = fresh_lane();
        float(&maxima)[4][N] = shared->maxima[side];

#pragma unroll
        for (int h = 0; h < N / 4; h++) {
            const float of_warp = keys_maximum(top(scores, h));
            if (lane < 4)
                maxima[warp][head(lane, h)] = of_warp;
        }
        meet();
#pragma unroll
        for (int h = 0; h < N / 4; h++) {
            const float all = fmaxf(fmaxf(maxima[0][head(lane, h)], maxima[1][head(lane, h)]),
                                    fmaxf(maxima[2][head(lane, h)], maxima[3][head(lane, h)])) *
                              args.c.scale_log2;
            const float to = all > state.m[h] + RESCALE_ABOVE ? all : state.m[h];
            const float factor = sab::exp2_approximate(state.m[h] - to);
            state.m[h] = to;
            state.sum[h] *= factor;
#pragma unroll
            for (int i = 0; i < 8; i++) {
                o[i][few_register(h, 0)] *= factor;
                o[i][few_register(h, 1)] *= factor;
            }
        }
    }

    /* The prefix ends in this tile, before key `end`, or before it: what it sums to, as far as this
     * warp knows, with a reference of its own, since that of the tile may be far above it. */
    __device__ __forceinline__ void close_prefix(const scores_of &scores, const few_state<N> &state,
                                                 int32_t end)
    {
        const int32_t key = static_cast<int32_t>(16 * warp + fresh_lane() / 4);

        prefix_open = false;
#pragma unroll
        for (int h = 0; h < N / 4; h++) {
            float x[2], most = -INFINITY;
#pragma unroll
            for (int r = 0; r < 2; r++) {
                x[r] = key + 8 * r < end ? scores[few_register(h, r)] : -INFINITY;
                most = fmaxf(most, x[r]);
            }
            /* finite, though there be no key of it */
            const float m =
                fmaxf(fmaxf(keys_maximum(most) * args.c.scale_log2, state.m[h]), -FLT_MAX);
            float sum = state.sum[h] * sab::exp2_approximate(state.m[h] - m);
#pragma unroll
            for (int r = 0; r < 2; r++)
                sum += sab::exp2_approximate(fmaf(x[r], args.c.scale_log2, -m));
            put_prefix(h, keys_sum(sum), m);
        }
    }
    __device__ __forceinline__ void put_prefix(int h, float sum, float m) const
    {
        const uint32_t lane = fresh_lane();

        if (lane >= 4)
            return;
        part(side)->prefix[warp][head(lane, h)] = sum;
        part(side)->prefix_m[warp][head(lane, h)] = m;
    }

    /* From raw scores to weights in shared memory, seen by the whole group. Most tiles move no
     * reference: their weights are made before that is known. */
    __device__ __forceinline__ void make_weights(scores_of &scores, few_state<N> &state, values &o,
                                                 const tile_info &info)
    {
        scores_of weights;
        bool above = false;

        if (info.valid < DSA_WGMMA_KEYS)
            mask_keys(scores, info.valid);
        if (prefix_open && info.prefix < DSA_WGMMA_KEYS)
            close_prefix(scores, state, info.prefix);
#pragma unroll
        for (int h = 0; h < N / 4; h++) {
            state.top[h] = fmaxf(state.top[h], top(scores, h));
            above |= top(scores, h) * args.c.scale_log2 > state.m[h] + RESCALE_ABOVE;
        }
        weigh_keys(weights, scores, state);
        if (meet_any(above)) {
            raise(scores, state, o);
            weigh_keys(weights, scores, state);
            meet();
        }
#pragma unroll
        for (int h = 0; h < N / 4; h++)
            state.sum[h] += weights[few_register(h, 0)] + weights[few_register(h, 1)];
    }

    static __device__ __forceinline__ void hold(values &o)
    {
#pragma unroll
        for (int i = 0; i < 8; i++)
            sab::wgmma_hold(o[i]);
    }

    /* O^T += V^T P^T of the own tile, a group of products for two segments. */
    __device__ __forceinline__ void multiply_pv(values &o)
    {
        const sab::wgmma_matrix v_tile =
            sab::wgmma_across_k(sab::shared_address(shared->ring), DSA_WGMMA_SEGMENT_BYTES);
        const sab::wgmma_matrix p_tile = sab::wgmma_along_k(sab::shared_address(p_of_tile()));

        hold(o);
        sab::wgmma_fence();
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
#pragma unroll
                for (int c = i; c < i + 2; c++)
                    sab::wgmma_ss<T, sab::MN_MAJOR, sab::K_MAJOR>(
                        o[c], v_tile + (own.at(s::EXTRA + c) * DSA_WGMMA_SEGMENT_BYTES + 2048 * k),
                        p_tile + 32 * k, true);
            }
            sab::wgmma_commit();
        }
    }

    __device__ __forceinline__ void release(uint32_t slot) const
    {
        if (lane == 0)
            (void)cuda::ptx::mbarrier_arrive(&shared->empty[slot]);
    }
    /* Segments 2 FROM and 2 FROM + 1 of V and those behind, as their products finish; the last
     * `kept` ones stay. */
    template <int FROM> __device__ __forceinline__ void release_v(int kept) const
    {
        sab::wgmma_wait<3 - FROM>();
        if (2 * FROM < 8 - kept)
            release(own.at(s::EXTRA + 2 * FROM));
        if (2 * FROM + 1 < 8 - kept)
            release(own.at(s::EXTRA + 2 * FROM + 1));
        if constexpr (FROM < 3)
            release_v<FROM + 1>(kept);
    }

    /* The own tile, to products with V under way. */
    __device__ __forceinline__ void fold(values &o, few_state<N> &state, const tile_info &info)
    {
        scores_of scores;

        multiply_qk(scores);
        if (s::EXTRA > 0)
            release(own.at(0));
        make_weights(scores, state, o, info);
        multiply_pv(o);
        folded++;
    }
};

} // namespace dsa

#endif
