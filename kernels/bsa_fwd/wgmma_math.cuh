/*
 * wgmma_math.cuh - the arithmetic of one computing group: 64 query rows against one key block
 * (section 3 of contracts/bsa.md). Layouts: wgmma_half.cuh; a lane owns rows g and g + 8 of its
 * warp (r = 0, 1).
 */
#ifndef BSA_WGMMA_MATH_CUH
#define BSA_WGMMA_MATH_CUH

#include "softmax.cuh"
#include "wgmma_args.h"
#include "gather.cuh"
#include "wgmma_half.cuh"

namespace bsa
{

/* Q of the group's rows as left operands, 16 channels each. */
typedef uint32_t q_operand[8][4];

/* scores = Q K^T, issued and closed as a group. */
template <class T>
__device__ __forceinline__ void multiply_qk(float (&scores)[32], const q_operand &q, uint32_t k)
{
    const sab::wgmma_matrix tile = sab::wgmma_along_k(k);

    sab::wgmma_fence();
#pragma unroll
    for (int i = 0; i < 8; i++)
        sab::wgmma_rs<T, sab::K_MAJOR>(scores, q[i],
                                       tile + (i / 4 * BSA_WGMMA_HALF_BYTES + i % 4 * 32), i > 0);
    sab::wgmma_commit();
}

/* o += P V, likewise. */
template <class T>
__device__ __forceinline__ void multiply_pv(float (&o)[64], uint32_t (&p)[4][4], uint32_t v)
{
    const sab::wgmma_matrix tile = sab::wgmma_across_k(v, BSA_WGMMA_HALF_BYTES);

    sab::wgmma_hold(o);
#pragma unroll
    for (int i = 0; i < 4; i++)
        sab::wgmma_hold(p[i]);
    sab::wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; i++)
        sab::wgmma_rs<T, sab::MN_MAJOR>(o, p[i], tile + 2048 * i, true);
    sab::wgmma_commit();
}

} // namespace bsa

#endif
