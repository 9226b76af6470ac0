/*
 * cpu_avx512.c - bsa_fwd/cpu with AVX-512.
 */
#if defined(__x86_64__)
#    define DSA_CPU_VECTOR 64
#    include "cpu_body.h"

BSA_CPU_VARIANT(bsa_variant_avx512,
                __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"))));
#endif
