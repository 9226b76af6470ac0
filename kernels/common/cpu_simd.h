/*
 * cpu_simd.h - the option `simd` of CPU kernels: one body of code, compiled for several instruction
 * sets.
 */
#ifndef SAB_CPU_SIMD_H
#define SAB_CPU_SIMD_H

#include "schema.h"

extern const struct sab_option cpu_simd_option; /* auto (the default), off, avx2, avx512 */

/* What a choice comes to on this processor. */
enum cpu_simd { CPU_SIMD_PLAIN = 0, CPU_SIMD_AVX2 /* and FMA */, CPU_SIMD_AVX512, CPU_SIMD_NR };

/* Holds the problem's only choice and its threads: SAB_INVALID for what is no choice or thread,
 * SAB_UNSUPPORTED where this processor lacks the instructions; else fills `simd`. */
int cpu_simd_choose(const struct sab_problem *problem, enum cpu_simd *simd,
                    struct sab_message *msg);

#endif
