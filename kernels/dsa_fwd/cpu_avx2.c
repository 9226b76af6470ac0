/*
 * cpu_avx2.c - dsa_fwd/cpu with AVX2 and FMA.
 */
#if defined(__x86_64__)
#    define DSA_CPU_VECTOR 32
#    include "cpu_body.h"

__attribute__((target("avx2,fma"))) static void group(const struct dsa_fwd_plan *p,
                                                      struct dsa_fwd_tile *t, int32_t *ids,
                                                      int64_t row, int64_t index)
{
    body_group(p, t, ids, row, index);
}

const struct dsa_fwd_variant dsa_fwd_variant_avx2 = {group};
#endif
