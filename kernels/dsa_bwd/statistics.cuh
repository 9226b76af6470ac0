/*
 * statistics.cuh - what the backward needs to know of a (query, head), contracts/dsa.md section
 * 3.2. All tests look at the products with log2(e), not at lse and sink.
 */
#ifndef DSA_BWD_STATISTICS_CUH
#define DSA_BWD_STATISTICS_CUH

#include <math.h>

namespace dsa_bwd
{

constexpr float LOG2_E = 1.4426950408889634f;

/* nL: minus the log2 of the normaliser, sink included; -inf where nothing has a weight. */
__device__ __forceinline__ float folded_lse(float lse, float sink)
{
    const float l2 = lse * LOG2_E, k2 = sink * LOG2_E, most = fmaxf(l2, k2);

    if (l2 == INFINITY || k2 == INFINITY || most == -INFINITY)
        return -INFINITY;
    return -(most + log2f(exp2f(l2 - most) + exp2f(k2 - most)));
}

/* The share of the sink in the normaliser. */
__device__ __forceinline__ float sink_share(float lse, float sink, float folded)
{
    const float k2 = sink * LOG2_E;

    if (lse == INFINITY || sink == -INFINITY)
        return 0.0f;
    return k2 == INFINITY ? 1.0f : exp2f(k2 + folded);
}

/* What the weights of a (query, head) follow from. `gain` is a factor of P that is divided out at
 * the end. */
struct head_statistics {
    float folded, delta; /* nL + log2(gain); -delta * softmax_scale */
};

/* delta is <out, dout>; the term of d_sink is stored. */
__device__ __forceinline__ head_statistics weigh_head(float lse, float sink, float delta,
                                                      float gain_log2, float softmax_scale,
                                                      float *sink_term)
{
    const float folded = folded_lse(lse, sink);

    delta = lse == INFINITY ? 0.0f : delta; /* out of an empty row says nothing */
    *sink_term = sink_share(lse, sink, folded) * delta;
    return {folded + gain_log2, -delta * softmax_scale};
}

} // namespace dsa_bwd

#endif
