/*
 * wgmma_math.cuh - the arithmetic of one warpgroup: 64 query rows against one or two key blocks
 * (section 5 of contracts/sage.md). Layouts: wgmma.cuh; a lane owns rows g and g + 8 of its warp.
 */
#ifndef SAGE_WGMMA_MATH_CUH
#define SAGE_WGMMA_MATH_CUH

#include "convert.cuh"
#include "mma_math.cuh"
#include "wgmma.cuh"
#include "wgmma_args.h"

namespace sage
{

/* The NR blocks of a step. Registers 32 * b.. of the scores belong to block b. */
template <int NR> struct step {
    float a[NR];   /* score to log2 units */
    int valid[NR]; /* tokens */
};

/* scores = Q K^T for NR blocks, issued and closed as a group. */
template <int NR>
__device__ __forceinline__ void multiply_qk_async(int32_t (&scores)[32 * NR], uint32_t q,
                                                  uint32_t k)
{
    const sab::wgmma_matrix a = sab::wgmma_describe(q, 1024, sab::WGMMA_SWIZZLE_128);
    const sab::wgmma_matrix b = sab::wgmma_describe(k, 1024, sab::WGMMA_SWIZZLE_128);

    sab::wgmma_fence();
    if constexpr (NR == 2) {
        sab::wgmma_s8_n128<false>(scores, a, b);
#pragma unroll
        for (int s = 1; s < 4; s++)
            sab::wgmma_s8_n128<true>(scores, a + 32 * s, b + 32 * s);
    } else {
        sab::wgmma_s8_n64<false>(scores, a, b);
#pragma unroll
        for (int s = 1; s < 4; s++)
            sab::wgmma_s8_n64<true>(scores, a + 32 * s, b + 32 * s);
    }
    sab::wgmma_commit();
}

/* part = P V for 64 channels over NR blocks, closed as a group; wgmma_fence() came before. */
template <int NR>
__device__ __forceinline__ void multiply_pv_async(float (&part)[32], const uint32_t (&p)[NR][2][4],
                                                  uint32_t v)
{
    const sab::wgmma_matrix b = sab::wgmma_describe(v, 512, sab::WGMMA_SWIZZLE_64);

    sab::wgmma_e4m3_n64<false>(part, p[0][0], b);
    sab::wgmma_e4m3_n64<true>(part, p[0][1], b + 32);
    if constexpr (NR == 2) {
        const sab::wgmma_matrix next = b + SAGE_WGMMA_TILE_BYTES;
        sab::wgmma_e4m3_n64<true>(part, p[1][0], next);
        sab::wgmma_e4m3_n64<true>(part, p[1][1], next + 32);
    }
    sab::wgmma_commit();
}

/* Steps 7 and 9 in one: o is true fp32, the products of a step are added to it after the rescale.
 */
__device__ __forceinline__ void promote(float (&o)[32], const float (&part)[32],
                                        const float (&factor)[2])
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        o[i] = fmaf(o[i], factor[i / 2 % 2], part[i]);
}

/* Column of register i of a block, counted from the lane's first one. */
__device__ constexpr int column(int i)
{
    return 8 * (i / 4) + i % 2;
}

/* A column that does not exist, on the way to -inf: no product is that small. */
constexpr int32_t NO_SCORE = INT32_MIN;
constexpr float NO_SCORE_FLOAT = -2147483648.0f;

/* Columns from `valid` on do not exist: a select, never an addition. */
template <int NR>
__device__ __forceinline__ void mask_columns(int32_t (&scores)[32 * NR], const step<NR> &now)
{
#pragma unroll
    for (int b = 0; b < NR; b++) {
        const int from_mine = now.valid[b] - 2 * static_cast<int>(threadIdx.x & 3);
#pragma unroll
        for (int i = 0; i < 32; i++)
            scores[32 * b + i] = column(i) < from_mine ? scores[32 * b + i] : NO_SCORE;
    }
}
template <int NR> __device__ __forceinline__ void mask_scores(float (&x)[32 * NR])
{
#pragma unroll
    for (int i = 0; i < 32 * NR; i++)
        x[i] = x[i] == NO_SCORE_FLOAT ? -INFINITY : x[i];
}

/* Largest score of a row in a block: a lane's share. */
template <int NR>
__device__ __forceinline__ int32_t top_score(const int32_t (&scores)[32 * NR], int block, int r)
{
    int32_t top = max(scores[32 * block + 2 * r], scores[32 * block + 2 * r + 1]);

#pragma unroll
    for (int j = 1; j < 8; j++)
        top = __vimax3_s32(top, scores[32 * block + 4 * j + 2 * r],
                           scores[32 * block + 4 * j + 2 * r + 1]);
    return top;
}

/* Steps 3 and 4 for the blocks of a step together: m, the factor of each row, and the addend that
 * turns scaled scores into exponents. */
template <int NR>
__device__ __forceinline__ void raise_maximum(const int32_t (&scores)[32 * NR], const step<NR> &now,
                                              softmax &state, float (&factor)[2],
                                              float (&offset)[2])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float top = now.a[0] * static_cast<float>(top_score<NR>(scores, 0, r));
        if constexpr (NR == 2)
            top = fmaxf(top, now.a[1] * static_cast<float>(top_score<NR>(scores, 1, r)));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        const float m_new = fmaxf(state.m[r], top);
        const float delta = state.m[r] - m_new;
        /* Every block has a valid token, so m_new is finite; m is -inf before the first step. */
        const bool keep = delta >= RESCALE_BELOW;
        factor[r] = keep ? 1.0f : sab::exp2_approximate(delta);
        state.m[r] = keep ? state.m[r] : m_new;
        offset[r] = P_OFFSET_LOG2 - state.m[r];
        state.l[r] *= factor[r];
    }
}

/* Steps 5, 6 and 8 for one block: adds to l, and P as the left operand of PV. Two adjacent 8-key
 * tiles of a lane hold logical tokens 2t, 2t+1, 8+2t, 9+2t of a group of 16. V stores those at
 * 4t..4t+3: P stays in its lane. */
template <int NR>
__device__ __forceinline__ void weigh(const float (&x)[32 * NR], int block, float a,
                                      const float (&offset)[2], softmax &state, uint32_t (&p)[2][4])
{
#pragma unroll
    for (int group = 0; group < 4; group++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float e[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int at = 32 * block + 8 * group + 4 * (i / 2) + 2 * r + i % 2;
                e[i] = sab::exp2_approximate(fmaf(x[at], a, offset[r]));
            }
            state.l[r] += (e[0] + e[1]) + (e[2] + e[3]);
            p[group / 2][2 * (group % 2) + r] = sab::e4m3x4(e[0], e[1], e[2], e[3]);
        }
    }
}

/* Steps 2 to 6 and 8 for the blocks of a step. `full` is uniform: no column has to be masked. */
template <int NR>
__device__ __forceinline__ void weigh_step(int32_t (&scores)[32 * NR], const step<NR> &now,
                                           bool full, softmax &state, float (&factor)[2],
                                           uint32_t (&p)[NR][2][4])
{
    float offset[2], x[32 * NR];

    if (!full)
        mask_columns<NR>(scores, now);
    raise_maximum<NR>(scores, now, state, factor, offset);
#pragma unroll
    for (int i = 0; i < 32 * NR; i++)
        x[i] = static_cast<float>(scores[i]);
    if (!full)
        mask_scores<NR>(x);
#pragma unroll
    for (int b = 0; b < NR; b++)
        weigh<NR>(x, b, now.a[b], offset, state, p[b]);
}

} // namespace sage

#endif
