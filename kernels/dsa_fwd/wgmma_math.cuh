/*
 * wgmma_math.cuh - the arithmetic of one computing group of dsa_fwd/wgmma: 64 heads against a tile
 * of keys. Layouts: wgmma_half.cuh; a lane owns head rows g and g + 8 of its warp (r = 0, 1).
 */
#ifndef DSA_FWD_WGMMA_MATH_CUH
#define DSA_FWD_WGMMA_MATH_CUH

#include "quad.cuh"
#include "wgmma_args.h"
#include "wgmma_half.cuh"

namespace dsa
{

/* What a group knows of its 64 rows. Both groups agree on the reference m, each sums the weights of
 * its own tiles, a lane those of its own columns. */
struct row_state {
    float m[2];   /* reference, log2 units; -inf before the first tile */
    float sum[2]; /* of 2^(score - m) */
    float top[2]; /* largest raw score, of own tiles */

    __device__ __forceinline__ void open()
    {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            m[r] = top[r] = -INFINITY;
            sum[r] = 0.0f;
        }
    }
    /* Moves to another reference; the factor of everything summed so far. */
    __device__ __forceinline__ void move(const float (&to)[2], float (&factor)[2])
    {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            factor[r] = sab::exp2_approximate(m[r] - to[r]);
            sum[r] *= factor[r];
            m[r] = to[r];
        }
    }
};

/* Most tiles move no row's reference. */
__device__ __forceinline__ void rescale(float (&o)[4][32], const float (&factor)[2])
{
    if (!__any_sync(0xffffffffu, factor[0] != 1.0f || factor[1] != 1.0f))
        return;
#pragma unroll
    for (int i = 0; i < 128; i++)
        o[i / 32][i % 32] *= factor[i / 2 % 2];
}

/* Column of register i of a 64 x 64 product, counted from the lane's first one. */
__device__ constexpr int column(int i)
{
    return 8 * (i / 4) + i % 2;
}

/* Columns from `valid` on do not exist. */
__device__ __forceinline__ void mask(float (&scores)[32], int32_t valid)
{
    const int32_t from_mine = valid - 2 * static_cast<int32_t>(threadIdx.x & 3);

#pragma unroll
    for (int i = 0; i < 32; i++)
        scores[i] = column(i) < from_mine ? scores[i] : -INFINITY;
}

/* Finds the reference of a tile's raw scores, at least one of them in each row. */
__device__ __forceinline__ void raise(const float (&scores)[32], float scale_log2, row_state &state,
                                      float (&factor)[2])
{
    float to[2];

#pragma unroll
    for (int r = 0; r < 2; r++) {
        float top = fmaxf(scores[2 * r], scores[2 * r + 1]);
#pragma unroll
        for (int j = 1; j < 8; j++)
            top = fmaxf(top, fmaxf(scores[4 * j + 2 * r], scores[4 * j + 2 * r + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        state.top[r] = fmaxf(state.top[r], top);
        to[r] = top * scale_log2;
        to[r] = to[r] > state.m[r] + RESCALE_ABOVE ? to[r] : state.m[r];
    }
    state.move(to, factor);
}

/* Raw scores become weights. */
__device__ __forceinline__ void weigh(float (&scores)[32], float scale_log2, row_state &state)
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        scores[i] = sab::exp2_approximate(fmaf(scores[i], scale_log2, -state.m[i / 2 % 2]));
}

/* Largest raw score of row r in columns below `end`, -inf without any. */
__device__ __forceinline__ float top_before(const float (&scores)[32], int r, int32_t end)
{
    const int32_t from_mine = end - 2 * static_cast<int32_t>(threadIdx.x & 3);
    float top = -INFINITY;

#pragma unroll
    for (int j = 0; j < 16; j++) {
        const int i = 4 * (j / 2) + 2 * r + j % 2;
        top = fmaxf(top, column(i) < from_mine ? scores[i] : -INFINITY);
    }
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    return fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
}

/* Sum of the weights of row r in columns below `end`, relative to m: this lane's. */
__device__ __forceinline__ float sum_before(const float (&scores)[32], int r, int32_t end,
                                            float scale_log2, float m)
{
    const int32_t from_mine = end - 2 * static_cast<int32_t>(threadIdx.x & 3);
    float sum = 0.0f;

#pragma unroll
    for (int j = 0; j < 16; j++) {
        const int i = 4 * (j / 2) + 2 * r + j % 2;
        if (column(i) < from_mine)
            sum += sab::exp2_approximate(fmaf(scores[i], scale_log2, -m));
    }
    return sum;
}

/* `zero` is 0, known when the sums may be made. */
__device__ __forceinline__ void add_weights(const float (&weights)[32], row_state &state,
                                            float zero)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float sum[2] = {zero, zero};
#pragma unroll
        for (int j = 0; j < 8; j++) {
            sum[0] += weights[4 * j + 2 * r];
            sum[1] += weights[4 * j + 2 * r + 1];
        }
        state.sum[r] += sum[0] + sum[1];
    }
}

/* Weights as the left operand of PV, 16 keys each. */
template <class T>
__device__ __forceinline__ void pack(const float (&weights)[32], uint32_t (&p)[4][4])
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            p[k][i] = T::pack(weights[8 * k + 2 * i], weights[8 * k + 2 * i + 1]);
    }
}

} // namespace dsa

#endif
