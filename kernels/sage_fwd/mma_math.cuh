/*
 * mma_math.cuh - the arithmetic of one warp: 16 query rows against one key block, as in section 5
 * of contracts/sage.md. A lane owns rows g = lane / 4 and g + 8, and in each 8-column tile the
 * columns 2t and 2t + 1, t = lane % 4.
 */
#ifndef SAGE_MMA_MATH_CUH
#define SAGE_MMA_MATH_CUH

#include "convert.cuh"
#include "mma_args.h"
#include "mma_layout.h"
#include "mma_sync.cuh"

namespace sage
{

/* An integer product starts from the bits of 1.5 * 2^23 instead of 0. Since |product| < 2^21, the
 * result read as a float is exactly 1.5 * 2^23 + product, which saves the conversion. */
constexpr int32_t MAGIC_BITS = 0x4b400000;
constexpr float MAGIC = 12582912.0f;
/* P carries a factor 2^8; the maximum may lag by log2(448/256), where p reaches the largest e4m3 */
constexpr float P_OFFSET_LOG2 = 8.0f;
constexpr float RESCALE_BELOW = -0.8073549f;

/* Running state of a lane's two rows. l is this lane's share of the sum until the end. */
struct softmax {
    float m[2], l[2];
};

/* x = MAGIC + Q K^T of a warp's 16 rows and 64 keys. */
__device__ __forceinline__ void multiply_qk(float (&x)[8][4], const uint32_t (&q)[4][4],
                                            uint32_t k_address)
{
    const int32_t start[4] = {MAGIC_BITS, MAGIC_BITS, MAGIC_BITS, MAGIC_BITS};
    int32_t scores[8][4];

#pragma unroll
    for (int step = 0; step < 4; step++) {
#pragma unroll
        for (int pair = 0; pair < 4; pair++) {
            uint32_t b[4];
            sab::ldmatrix_x4(b, sage_mma_k_at(k_address, pair, step));
            int32_t(&s0)[4] = scores[2 * pair], (&s1)[4] = scores[2 * pair + 1];
            sab::mma_s8(s0, q[step], b[0], b[1], *(step == 0 ? &start : &s0));
            sab::mma_s8(s1, q[step], b[2], b[3], *(step == 0 ? &start : &s1));
        }
    }
#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            x[j][e] = __int_as_float(scores[j][e]);
    }
}

/* o += P V of a warp's 16 rows and 128 channels. */
__device__ __forceinline__ void multiply_pv(float (&o)[16][4], const uint32_t (&p)[2][4],
                                            uint32_t v_address)
{
#pragma unroll
    for (int step = 0; step < 2; step++) {
        sab::e4m3_left left;
        sab::e4m3_prepare(left, p[step]);
#pragma unroll
        for (int pair = 0; pair < 8; pair++) {
            uint32_t b[4];
            sab::ldmatrix_x4(b, sage_mma_v_at(v_address, pair, step));
            sab::mma_e4m3(o[2 * pair], left, b[0], b[1]);
            sab::mma_e4m3(o[2 * pair + 1], left, b[2], b[3]);
        }
    }
}

/* Columns from `valid` on do not exist: a select, never an addition. */
__device__ __forceinline__ void mask_columns(float (&x)[8][4], int valid, uint32_t lane)
{
    const int from_mine = valid - 2 * static_cast<int>(lane & 3);

#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            x[j][e] = 8 * j + (e & 1) < from_mine ? x[j][e] : -INFINITY;
    }
}

/*
 * Steps 2 to 6 and 8 of the contract for one block: updates m and l, returns the factor of step 4
 * for each row and P as the left operand of PV. Two adjacent 8-key tiles of a lane hold logical
 * tokens 2t, 2t+1, 8+2t, 9+2t of a group of 16. V stores those at 4t..4t+3: P stays in its lane.
 */
__device__ __forceinline__ void fold_scores(const float (&x)[8][4], float q_scale, float k_scale,
                                            softmax &state, float (&factor)[2], uint32_t (&p)[2][4])
{
    /* A product that underflows to 0 would turn a masked -inf into NaN. */
    const float a = fmaxf(q_scale * k_scale, 1.17549435e-38f);
    float offset[2];

#pragma unroll
    for (int r = 0; r < 2; r++) {
        float top = fmaxf(x[0][2 * r], x[0][2 * r + 1]);
#pragma unroll
        for (int j = 1; j < 8; j++)
            top = fmaxf(top, fmaxf(x[j][2 * r], x[j][2 * r + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        const float m_new = fmaxf(state.m[r], a * (top - MAGIC));
        const float delta = state.m[r] - m_new;
        /* The block has a valid token, so m_new is finite; m is -inf before the first fold. */
        const bool keep = delta >= RESCALE_BELOW;
        factor[r] = keep ? 1.0f : sab::exp2_approximate(delta);
        state.m[r] = keep ? state.m[r] : m_new;
        offset[r] = P_OFFSET_LOG2 - state.m[r];
        state.l[r] *= factor[r];
    }

#pragma unroll
    for (int group = 0; group < 4; group++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float e[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float s = x[2 * group + i / 2][2 * r + i % 2] - MAGIC;
                e[i] = sab::exp2_approximate(fmaf(s, a, offset[r]));
            }
            state.l[r] += (e[0] + e[1]) + (e[2] + e[3]);
            p[group / 2][2 * (group % 2) + r] = sab::e4m3x4(e[0], e[1], e[2], e[3]);
        }
    }
}

/* Step 7, only where some row of the warp has a factor below 1. */
__device__ __forceinline__ void rescale(float (&o)[16][4], const float (&factor)[2])
{
    if (!__any_sync(0xffffffffu, factor[0] < 1.0f || factor[1] < 1.0f))
        return;
#pragma unroll
    for (int n = 0; n < 16; n++) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            o[n][e] *= factor[e / 2];
    }
}

/* Row r of a result tile starts at out + 128 * r. Rows from `rows` on lie behind the sequence. */
__device__ __forceinline__ void store_zeros(uint16_t *out, int rows)
{
    const uint32_t chunk = threadIdx.x & 15;

    for (int row = threadIdx.x >> 4; row < min(rows, static_cast<int>(SAGE_BLOCK)); row += 8)
        reinterpret_cast<uint4 *>(out + row * SAGE_HEAD_DIM)[chunk] = make_uint4(0, 0, 0, 0);
}

/* Step 3 of the contract's outer list. `stage` is the warp's own 4 KiB, through which fragments
 * turn into whole rows. */
__device__ __forceinline__ void store_rows(const float (&o)[16][4], const softmax &state,
                                           const float *v_scale, uint8_t *stage, uint16_t *out,
                                           int rows, uint32_t lane)
{
    const uint32_t g = lane >> 2, t = lane & 3;
    float inverse[2];

#pragma unroll
    for (int r = 0; r < 2; r++) {
        float l = state.l[r];
        l += __shfl_xor_sync(0xffffffffu, l, 1);
        l += __shfl_xor_sync(0xffffffffu, l, 2);
        inverse[r] = l > 0.0f ? sab::reciprocal_approximate(l) : 1.0f;
    }
#pragma unroll
    for (int n = 0; n < 16; n++) {
        const float2 scale = __ldg(reinterpret_cast<const float2 *>(v_scale + 8 * n + 2 * t));
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const uint32_t pair = sab::bf16x2(o[n][2 * r] * inverse[r] * scale.x,
                                              o[n][2 * r + 1] * inverse[r] * scale.y);
            *reinterpret_cast<uint32_t *>(stage + sage_mma_out_offset(g + 8 * r, n) + 4 * t) = pair;
        }
    }
    __syncwarp();
#pragma unroll
    for (int pass = 0; pass < 8; pass++) {
        const int row = 2 * pass + (lane >> 4);
        const uint4 chunk =
            *reinterpret_cast<const uint4 *>(stage + sage_mma_out_offset(row, lane & 15));
        if (row < rows)
            reinterpret_cast<uint4 *>(out + row * SAGE_HEAD_DIM)[lane & 15] = chunk;
    }
}

} // namespace sage

#endif
