/*
 * softmax.cuh - the running softmax of two rows a lane over key blocks, and their result, for
 * fragments of 64 columns: register i of a block is row g + 8 * (i / 2 % 2), column 8 * (i / 4) +
 * 2 * t + i % 2 of it (g = lane / 4, t = lane % 4).
 *
 * The reference m of a row follows the maximum only where that grew by more than RESCALE_ABOVE, in
 * log2 units: weights up to 2^6 are as exact as those up to 1, and sums are floats.
 */
#ifndef BSA_SOFTMAX_CUH
#define BSA_SOFTMAX_CUH

#include "bsa_call.h"
#include "half_types.cuh"

namespace bsa
{

constexpr float RESCALE_ABOVE = 6.0f;
constexpr float LN_2 = 0.693147180559945f;

struct row_state {
    float m[2];   /* reference, log2 units; -inf before the first block */
    float sum[2]; /* of 2^(score - m): this lane's columns */
};

/* Columns from `valid` on do not exist: a select, never an addition. */
__device__ __forceinline__ void mask(float (&scores)[32], int32_t valid)
{
    const int32_t from_mine = valid - 2 * static_cast<int32_t>(threadIdx.x & 3);

#pragma unroll
    for (int i = 0; i < 32; i++)
        scores[i] = 8 * (i / 4) + i % 2 < from_mine ? scores[i] : -INFINITY;
}

/* Moves the references for a block of raw scores, in which each row has a valid column; the factor
 * of what was added up before. */
__device__ __forceinline__ void raise(const float (&scores)[32], float scale_log2, row_state &state,
                                      float (&factor)[2])
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float top = fmaxf(scores[2 * r], scores[2 * r + 1]);
#pragma unroll
        for (int j = 1; j < 8; j++)
            top = fmaxf(top, fmaxf(scores[4 * j + 2 * r], scores[4 * j + 2 * r + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2)) * scale_log2;
        const float to = top > state.m[r] + RESCALE_ABOVE ? top : state.m[r];
        factor[r] = sab::exp2_approximate(state.m[r] - to);
        state.m[r] = to;
        state.sum[r] *= factor[r];
    }
}

/* Weights, added to the sums and packed as left operands of PV, 16 keys each. */
template <class T>
__device__ __forceinline__ void weigh(const float (&scores)[32], float scale_log2, row_state &state,
                                      uint32_t (&p)[4][4])
{
#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const float a =
                sab::exp2_approximate(fmaf(scores[4 * j + 2 * r], scale_log2, -state.m[r]));
            const float b =
                sab::exp2_approximate(fmaf(scores[4 * j + 2 * r + 1], scale_log2, -state.m[r]));
            state.sum[r] += a + b;
            p[j / 2][j % 2 * 2 + r] = T::pack(a, b);
        }
    }
}

/* Most blocks move no row's reference. */
__device__ __forceinline__ void rescale(float (&o)[64], const float (&factor)[2])
{
    if (!__any_sync(0xffffffffu, factor[0] != 1.0f || factor[1] != 1.0f))
        return;
#pragma unroll
    for (int i = 0; i < 64; i++)
        o[i] *= factor[i / 2 % 2];
}

/* Four registers of each of four lanes, transposed: register i of lane t is what lane i had in
 * register t. */
__device__ __forceinline__ void quad_transpose(uint32_t (&x)[4])
{
    const bool odd = (threadIdx.x & 1) != 0, high = (threadIdx.x & 2) != 0;

#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const uint32_t got = __shfl_xor_sync(0xffffffffu, odd ? x[i] : x[i + 1], 1);
        x[i] = odd ? got : x[i];
        x[i + 1] = odd ? x[i + 1] : got;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t got = __shfl_xor_sync(0xffffffffu, high ? x[i] : x[i + 2], 2);
        x[i] = high ? got : x[i];
        x[i + 2] = high ? x[i + 2] : got;
    }
}

/*
 * Stores a warp's 16 rows, of which `rows` exist. `out` and `lse` (or NULL) point at the first one.
 * A row that nothing was added to is zero, its lse -inf.
 */
template <class T>
__device__ __forceinline__ void store_rows(const float (&o)[64], const row_state &state,
                                           uint16_t *out, float *lse, int32_t rows)
{
    const int32_t g = static_cast<int32_t>(threadIdx.x % 32 / 4);
    const uint32_t t = threadIdx.x % 4;

#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int32_t row = g + 8 * r;
        float sum = state.sum[r] + __shfl_xor_sync(0xffffffffu, state.sum[r], 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        const float inverse = sum > 0.0f ? sab::reciprocal_approximate(sum) : 1.0f;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            uint32_t x[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                x[i] = T::pack(o[16 * j + 4 * i + 2 * r] * inverse,
                               o[16 * j + 4 * i + 2 * r + 1] * inverse);
            quad_transpose(x);
            if (row < rows)
                *reinterpret_cast<uint4 *>(out + row * BSA_HEAD_DIM + 32 * j + 8 * t) =
                    make_uint4(x[0], x[1], x[2], x[3]);
        }
        if (lse && t == 0 && row < rows)
            lse[row] = (state.m[r] + log2f(sum)) * LN_2;
    }
}

} // namespace bsa

#endif
