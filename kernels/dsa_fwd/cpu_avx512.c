/*
 * cpu_avx512.c - dsa_fwd/cpu with AVX-512.
 */
#if defined(__x86_64__)
#    define DSA_CPU_VECTOR 64
#    include "cpu_body.h"

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"))) static void
group(const struct dsa_fwd_plan *p, struct dsa_fwd_tile *t, int32_t *ids, int64_t row,
      int64_t index)
{
    body_group(p, t, ids, row, index);
}

const struct dsa_fwd_variant dsa_fwd_variant_avx512 = {group};
#endif
