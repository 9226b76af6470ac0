/*
 * cpu_avx512.c - dsa_bwd/cpu with AVX-512.
 */
#if defined(__x86_64__)
#    define DSA_CPU_VECTOR 64
#    include "cpu_body.h"

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"))) static void
group(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t first, int64_t i, int64_t index)
{
    body_group(p, t, first, i, index);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"))) static void
strip(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t first, int64_t column,
      int64_t part)
{
    body_strip(p, t, first, column, part);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"))) static void
key(const struct dsa_bwd_plan *p, int64_t row)
{
    body_key(p, row);
}

const struct dsa_bwd_variant dsa_bwd_variant_avx512 = {group, strip, key};
#endif
