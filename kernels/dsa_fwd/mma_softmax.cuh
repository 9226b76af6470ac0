/*
 * mma_softmax.cuh - dsa_fwd/mma: from the warps' sums of scores to weights, a few neighbouring
 * lanes for each head, and the numbers that are written of it.
 */
#ifndef DSA_FWD_MMA_SOFTMAX_CUH
#define DSA_FWD_MMA_SOFTMAX_CUH

#include "mma_load.cuh"

namespace dsa
{

struct mma_state {
    float m, top; /* reference in log2 units, largest raw score */
    float sum;    /* this lane's */
    float prefix_m, prefix_sum;
};

template <class T, int D, int HEADS> struct mma_softmax {
    using where = mma_layout<D, HEADS>;
    static constexpr int LANES = DSA_MMA_THREADS / HEADS;   /* of a head: 4 or 8 */
    static constexpr int GROUPS = DSA_MMA_KEYS / LANES / 4; /* of four keys of a lane */

    uint32_t thread, head, part;
    mma_state s;

    __device__ __forceinline__ mma_softmax()
        : thread(fresh_thread()), head(thread / LANES), part(thread % LANES), s{}
    {
        s.m = s.top = s.prefix_m = -INFINITY;
    }
    __device__ __forceinline__ float *place(uint8_t *shared) const
    {
        return reinterpret_cast<float *>(shared + where::STATES) + thread;
    }
    /* From and to the place of this thread: between tiles, registers are for products. */
    __device__ __forceinline__ void take_up(uint8_t *shared)
    {
        const float *from = place(shared);

        s = {from[0], from[DSA_MMA_THREADS], from[2 * DSA_MMA_THREADS], from[3 * DSA_MMA_THREADS],
             from[4 * DSA_MMA_THREADS]};
    }
    __device__ __forceinline__ void put_down(uint8_t *shared) const
    {
        float *to = place(shared);

        to[0] = s.m;
        to[DSA_MMA_THREADS] = s.top;
        to[2 * DSA_MMA_THREADS] = s.sum;
        to[3 * DSA_MMA_THREADS] = s.prefix_m;
        to[4 * DSA_MMA_THREADS] = s.prefix_sum;
    }
    static __device__ __forceinline__ float lanes_sum(float x)
    {
#pragma unroll
        for (int step = 1; step < LANES; step *= 2)
            x += __shfl_xor_sync(0xffffffffu, x, step);
        return x;
    }
    static __device__ __forceinline__ float lanes_maximum(float x)
    {
#pragma unroll
        for (int step = 1; step < LANES; step *= 2)
            x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
        return x;
    }
    /* First of the lane's i-th four keys. */
    __device__ __forceinline__ uint32_t key(int i) const
    {
        return 4 * (LANES * i + part);
    }

    /* What the four warps have of four keys, -inf where no active slot names one. */
    __device__ __forceinline__ void read_scores(float (&x)[4], const uint8_t *shared,
                                                const int32_t *ids, int i) const
    {
        const int4 id = *reinterpret_cast<const int4 *>(ids + key(i));
        const int32_t of[4] = {id.x, id.y, id.z, id.w};
        float4 w[4];

#pragma unroll
        for (int warp = 0; warp < 4; warp++)
            w[warp] = *reinterpret_cast<const float4 *>(
                shared + where::SCORES + where::SCORE_PITCH * (HEADS * warp + head) + 4 * key(i));
        x[0] = (w[0].x + w[1].x) + (w[2].x + w[3].x);
        x[1] = (w[0].y + w[1].y) + (w[2].y + w[3].y);
        x[2] = (w[0].z + w[1].z) + (w[2].z + w[3].z);
        x[3] = (w[0].w + w[1].w) + (w[2].w + w[3].w);
#pragma unroll
        for (int e = 0; e < 4; e++)
            x[e] = of[e] >= 0 ? x[e] : -INFINITY;
    }

    /* Moves the reference where a score is too far above; the factor of older sums. */
    __device__ __forceinline__ float raise(const float (&x)[GROUPS][4], float scale_log2)
    {
        float tile = -INFINITY;

#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++)
            tile = fmaxf(tile, x[i / 4][i % 4]);
        tile = lanes_maximum(tile);
        s.top = fmaxf(s.top, tile);
        if (!(tile * scale_log2 > s.m + RESCALE_ABOVE))
            return 1.0f;
        const float before = s.m;
        s.m = tile * scale_log2;
        return sab::exp2_approximate(before - s.m);
    }

    /* The prefix ends within this tile, `end` keys on: its sum gets a reference of its own, since
     * that of the tile may be far above it. */
    __device__ __forceinline__ void end_prefix(const float (&x)[GROUPS][4], float scale_log2,
                                               int32_t end)
    {
        float most = -INFINITY;

#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++)
            most = fmaxf(most, static_cast<int32_t>(key(i / 4)) + i % 4 < end ? x[i / 4][i % 4]
                                                                              : -INFINITY);
        most = lanes_maximum(most) * scale_log2;
        if (most == -INFINITY)
            return;
        const float to = fmaxf(most, s.prefix_m);
        s.prefix_sum *= sab::exp2_approximate(s.prefix_m - to);
        s.prefix_m = to;
#pragma unroll
        for (int i = 0; i < 4 * GROUPS; i++) {
            if (static_cast<int32_t>(key(i / 4)) + i % 4 < end)
                s.prefix_sum += sab::exp2_approximate(fmaf(x[i / 4][i % 4], scale_log2, -to));
        }
    }

    /* The weights of a tile whose first slot is `slot`, as left operand of the products with V, and
     * the factor of what was summed before. Returns whether that is not 1. */
    __device__ __forceinline__ bool fold(uint8_t *shared, const dsa_fwd_call &c, int32_t slot,
                                         const int32_t *ids)
    {
        float x[GROUPS][4], tile_sum = 0.0f;

#pragma unroll
        for (int i = 0; i < GROUPS; i++)
            read_scores(x[i], shared, ids, i);
        if (slot < c.prefix && c.prefix < slot + DSA_MMA_KEYS)
            end_prefix(x, c.scale_log2, static_cast<int32_t>(c.prefix - slot));
        const float factor = raise(x, c.scale_log2);
#pragma unroll
        for (int i = 0; i < GROUPS; i++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                /* exactly 0 without an active slot, also while there was none at all */
                x[i][e] = x[i][e] == -INFINITY
                              ? 0.0f
                              : sab::exp2_approximate(fmaf(x[i][e], c.scale_log2, -s.m));
                tile_sum += x[i][e];
            }
            *reinterpret_cast<uint2 *>(shared + where::WEIGHTS + where::WEIGHT_PITCH * head +
                                       2 * key(i)) =
                make_uint2(T::pack(x[i][0], x[i][1]), T::pack(x[i][2], x[i][3]));
        }
        s.sum = s.sum * factor + tile_sum;
        if (slot + DSA_MMA_KEYS <= c.prefix) { /* behind it, the reference may move out of sight */
            s.prefix_sum = s.sum;
            s.prefix_m = s.m;
        }
        if (part == 0)
            reinterpret_cast<float *>(shared + where::FACTORS)[head] = factor;
        return factor != 1.0f;
    }

    /* Writes the numbers of the head, unless it does not exist; the factor of its values. */
    __device__ __forceinline__ void conclude(uint8_t *shared, const dsa_fwd_call &c,
                                             const mma_place &place) const
    {
        const float ln_2 = 0.693147180559945309f, log2_e = 1.44269504088896341f;
        const float all = lanes_sum(s.sum), prefix = lanes_sum(s.prefix_sum);
        const int64_t at = place.row * c.heads + place.first_head + head;
        const bool present = place.first_head + head < c.heads;

        if (part != 0)
            return;
        const float sink = c.sink && present ? __ldg(c.sink + place.first_head + head) : -INFINITY;
        /* may be infinite: then nothing is left of the values */
        const float whole = all + sab::exp2_approximate(fmaf(sink, log2_e, -s.m));
        reinterpret_cast<float *>(shared + where::FACTORS)[head] = all > 0.0f ? 1.0f / whole : 0.0f;
        if (!present)
            return;
        c.max_logits[at] = s.top * c.scale;
        c.lse[at] = all > 0.0f ? (s.m + log2f(all)) * ln_2 : INFINITY;
        if (c.lse_prefix)
            c.lse_prefix[at] = prefix > 0.0f ? (s.prefix_m + log2f(prefix)) * ln_2 : INFINITY;
    }
};

} // namespace dsa

#endif
