/*
 * cpu_avx2.c - bsa_fwd/cpu with AVX2 and FMA.
 */
#if defined(__x86_64__)
#    define DSA_CPU_VECTOR 32
#    include "cpu_body.h"

BSA_CPU_VARIANT(bsa_variant_avx2, __attribute__((target("avx2,fma"))));
#endif
