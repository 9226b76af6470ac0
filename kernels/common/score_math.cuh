/*
 * score_math.cuh - what becomes of products of keys and (query, head) pairs in the score operators
 * (contracts/indexer.md, section 4): sums over the heads of each query.
 *
 *     indexer     sum_h relu(x) * weight,              weight = w
 *     attention   sum_h 2^(x * factor + weight),       weight = -lse * log2 e, factor = scale *
 * log2 e
 *
 * Heads that do not exist weigh 0 and -inf. Keys are the rows of a product, pairs its columns, so
 * that the heads of a query lie side by side in a lane: of registers 4j..4j+3, 0 and 1 belong to
 * key g, 2 and 3 to key g + 8, pairs 8j + 2t and 8j + 2t + 1, with g = lane / 4, t = lane % 4. Four
 * lanes hold a key's share of each query.
 */
#ifndef SAB_SCORE_MATH_CUH
#define SAB_SCORE_MATH_CUH

#include "convert.cuh"
#include "score_args.h"

namespace sab
{

constexpr float SCORE_LOG2_E = 1.4426950408889634f, SCORE_LN_2 = 0.6931471805599453f;

/* Queries whose sums a lane ends with. */
template <int QUERIES> constexpr int SCORE_SUMS = QUERIES > 1 ? QUERIES / 2 : 1;

/* The weight of a head that exists. */
template <bool ATTENTION>
__device__ __forceinline__ float score_weight(const score_heads &h, int64_t at)
{
    if (ATTENTION)
        return -SCORE_LOG2_E * __ldg(h.lse + at);
    return __uint_as_float(static_cast<uint32_t>(__ldg(h.w + at)) << 16);
}

template <bool ATTENTION>
__device__ __forceinline__ float score_add(float sum, float x, float weight, float factor)
{
    return ATTENTION ? sum + exp2_approximate(fmaf(x, factor, weight))
                     : fmaf(fmaxf(x, 0.0f), weight, sum);
}

/* The lane's two keys change hands so that lanes of even t keep key g, those of odd t key g + 8,
 * all queries of it; then lanes of t < 2 keep the lower half of the queries and the others the
 * upper one. A single query ends on both. */
template <int QUERIES>
__device__ __forceinline__ void score_exchange(float (&sums)[SCORE_SUMS<QUERIES>],
                                               const float (&part)[2][QUERIES])
{
    const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
    float half[QUERIES];

    /* what is given away is what the other lane keeps */
#pragma unroll
    for (int i = 0; i < QUERIES; i++) {
        const float give = odd ? part[0][i] : part[1][i];
        const float keep = odd ? part[1][i] : part[0][i];
        half[i] = keep + __shfl_xor_sync(0xffffffffu, give, 1);
    }
    if constexpr (QUERIES == 1) {
        sums[0] = half[0] + __shfl_xor_sync(0xffffffffu, half[0], 2);
    } else {
#pragma unroll
        for (int i = 0; i < QUERIES / 2; i++) {
            const float give = upper ? half[i] : half[QUERIES / 2 + i];
            const float keep = upper ? half[QUERIES / 2 + i] : half[i];
            sums[i] = keep + __shfl_xor_sync(0xffffffffu, give, 2);
        }
    }
}

/* Sums of 16 keys of a warp, PAIRS = QUERIES * heads columns. */
template <int QUERIES, bool ATTENTION, int PAIRS>
__device__ __forceinline__ void score_sums(float (&sums)[SCORE_SUMS<QUERIES>], const float *x,
                                           const float (&weight)[PAIRS], float factor)
{
    constexpr int blocks = PAIRS / 2 / QUERIES; /* of 8 columns, of a query */
    float part[2][QUERIES];

#pragma unroll
    for (int query = 0; query < QUERIES; query++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float sum[2] = {0.0f, 0.0f};
#pragma unroll
            for (int j = query * blocks; j < (query + 1) * blocks; j++) {
#pragma unroll
                for (int e = 0; e < 2; e++)
                    sum[e] = score_add<ATTENTION>(sum[e], x[4 * j + 2 * r + e], weight[2 * j + e],
                                                  factor);
            }
            part[r][query] = sum[0] + sum[1];
        }
    }
    score_exchange<QUERIES>(sums, part);
}

/* sum 2^(x - top) of what was seen; -inf: nothing was. */
struct score_log_sum {
    float top, sum;

    __device__ __forceinline__ void add(float other_top, float other_sum)
    {
        const float next = fmaxf(top, other_top);

        if (next == -INFINITY)
            return;
        sum = sum * exp2_approximate(top - next) + other_sum * exp2_approximate(other_top - next);
        top = next;
    }
};

} // namespace sab

#endif
