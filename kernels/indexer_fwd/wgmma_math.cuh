/*
 * wgmma_math.cuh - 64 keys against 128 (query, head) pairs, and the sums over heads.
 *
 * Keys are the rows of a product, so that the heads of a query lie side by side in a lane: of
 * registers 4j..4j+3, 0 and 1 belong to key g, 2 and 3 to key g + 8, columns 8j + 2t and 8j + 2t +
 * 1 (wgmma.cuh). Four lanes hold a key's share of each query.
 */
#ifndef INDEXER_FWD_WGMMA_MATH_CUH
#define INDEXER_FWD_WGMMA_MATH_CUH

#include "wgmma_half.cuh"
#include "wgmma_load.cuh"

namespace indexer
{

/* s = K Q^T over all 128 channels, issued and closed as a group. `k` is 64 rows of a tile, `q` 128
 * rows of an item. */
template <class P>
__device__ __forceinline__ void multiply_async(float (&s)[64], uint32_t k, uint32_t q)
{
    using shared = wgmma_shared<P>;

    sab::wgmma_fence();
#pragma unroll
    for (int segment = 0; segment < P::SEGMENTS; segment++) {
        const sab::wgmma_matrix a = sab::wgmma_along_k(k + segment * shared::K_SEGMENT);
        const sab::wgmma_matrix b = sab::wgmma_along_k(q + segment * shared::Q_SEGMENT);

#pragma unroll
        for (int i = 0; i < 4; i++) {
            if constexpr (P::SCALED) {
                if (i == 0)
                    sab::wgmma_e4m3_ss_n128<false>(s, a, b);
                else
                    sab::wgmma_e4m3_ss_n128<true>(s, a + 32 * i, b + 32 * i);
            } else {
                sab::wgmma_ss<sab::bf16, sab::K_MAJOR, sab::K_MAJOR>(s, a + 32 * i, b + 32 * i,
                                                                     segment + i > 0);
            }
        }
    }
    sab::wgmma_commit();
}

/* 0, known only when all that was issued before is on its way: the assembler moves arithmetic
 * between the parts of a product that is issued before it, and the tensor cores wait for that; it
 * does not where the arithmetic needs this 0. `barrier` is one that has been awaited with this
 * parity. */
__device__ __forceinline__ float zero_behind(uint64_t *barrier, uint32_t parity)
{
    float zero;

    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.f32 %0, 0f00000000, 0f7FC00000, p;\n\t"
                 "}"
                 : "=f"(zero)
                 : "r"(sab::shared_address(barrier)), "r"(parity)
                 : "memory");
    return zero;
}

/* Sums over heads. Lane t of four has key g + 8 * (t % 2), queries NR * (t / 2).. of the 2 * NR of
 * its group. */
template <int HEADS, int NR>
__device__ __forceinline__ void sum_heads(float (&sums)[NR], const float (&s)[64],
                                          const float (&weight)[32], float zero)
{
    constexpr int blocks = HEADS / 8; /* of columns, of a query */
    const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
    float part[2][2 * NR], half[2 * NR];

#pragma unroll
    for (int query = 0; query < 2 * NR; query++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float sum[2] = {0.0f, 0.0f};
#pragma unroll
            for (int j = query * blocks; j < (query + 1) * blocks; j++) {
#pragma unroll
                for (int e = 0; e < 2; e++)
                    sum[e] = fmaf(fmaxf(s[4 * j + 2 * r + e], zero), weight[2 * j + e], sum[e]);
            }
            part[r][query] = sum[0] + sum[1];
        }
    }
    /* what is given away is what the other lane keeps */
#pragma unroll
    for (int query = 0; query < 2 * NR; query++) {
        const float give = odd ? part[0][query] : part[1][query];
        const float keep = odd ? part[1][query] : part[0][query];
        half[query] = keep + __shfl_xor_sync(0xffffffffu, give, 1);
    }
#pragma unroll
    for (int i = 0; i < NR; i++) {
        const float give = upper ? half[i] : half[NR + i];
        const float keep = upper ? half[NR + i] : half[i];
        sums[i] = keep + __shfl_xor_sync(0xffffffffu, give, 2);
    }
}

} // namespace indexer

#endif
