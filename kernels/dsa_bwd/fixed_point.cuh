/*
 * fixed_point.cuh - dkv as sums of 64-bit integers: integer additions commute, wrapping included,
 * so the bits do not depend on the order in which blocks add.
 *
 * The unit is a power of two such that the sum of all contributions to an element is below 2^62 of
 * it: the slots that name a row of kv are counted, and a contribution is at most c. In the first
 * pass c is a bound that holds where lse belongs to q and kv (P <= 1, |out| <= max|kv|; with a
 * factor 2 to spare):
 *     |dP|, |delta| <= 512 max|dout| max|kv|
 *     c = heads of a block * gain * (2 max|dout| + 4 softmax_scale 512 max|dout| max|kv| max|q|)
 * While contributions are added their largest magnitude is recorded. Where it is beyond c, since
 * lse says otherwise or a maximum is infinite, the accumulator is cleared and everything is added
 * once more with that magnitude for c. Then the bound holds by construction, since equal products
 * have equal bits. Otherwise the second pass ends at once.
 */
#ifndef DSA_BWD_FIXED_POINT_CUH
#define DSA_BWD_FIXED_POINT_CUH

#include <float.h>
#include <math.h>
#include <stdint.h>

namespace dsa_bwd
{

constexpr int FIXED_SUM_BITS = 62;
constexpr int FIXED_MOST_SHIFT = 120; /* 2^that is a float */

/* Cleared, then filled by atomic maxima; floats as bits, which are ordered like the floats since
 * none is negative. */
struct fixed_facts {
    uint32_t q, dout, kv; /* largest magnitudes; NaN is left out */
    uint32_t count;       /* most active slots that name one row */
    uint32_t added;       /* largest contribution of the first pass */
};

struct fixed_point {
    fixed_facts *facts;
    uint32_t *counts; /* [N] active slots that name a row, cleared */
    float softmax_scale, gain, heads;
    uint32_t head_blocks; /* contributions of a slot to an element */

    /* c of the first pass, 0 where it is of no use. */
    __device__ __forceinline__ float expected() const
    {
        const float dout = __uint_as_float(facts->dout);
        const float dp = 512.0f * dout * __uint_as_float(facts->kv);
        const float c =
            heads * gain * (2.0f * dout + 4.0f * softmax_scale * dp * __uint_as_float(facts->q));

        return c <= FLT_MAX ? c : 0.0f;
    }
    /* Behind the first pass. */
    __device__ __forceinline__ bool second_pass() const
    {
        return __uint_as_float(facts->added) > expected();
    }
    /* Contributions are multiplied by 2 to this. */
    __device__ __forceinline__ int shift(bool second) const
    {
        const float c = second ? __uint_as_float(facts->added) : expected();
        const uint64_t nr = static_cast<uint64_t>(facts->count) * head_blocks;

        if (c == 0.0f || nr == 0)
            return 0;
        const int bits = ilogbf(fminf(c, FLT_MAX)) + 1 + 64 - __clzll(static_cast<long long>(nr));
        return min(FIXED_SUM_BITS - bits, FIXED_MOST_SHIFT);
    }
};

} // namespace dsa_bwd

#endif
