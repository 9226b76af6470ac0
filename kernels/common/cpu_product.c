#include "cpu_product.h"

enum simd { SIMD_AUTO = 0, SIMD_OFF, SIMD_AVX2, SIMD_AVX512 };

static const struct sab_choice choices[CPU_SIMD_NR] = {
    [SIMD_AUTO] = {"auto", "the widest of the following that the processor has", SAB_CHOICE_DEFAULT,
                   0},
    [SIMD_OFF] = {"off", "what every processor of its kind has", 0, 0},
    [SIMD_AVX2] = {"avx2", "AVX2 and FMA", 0, 0},
    [SIMD_AVX512] = {"avx512", "AVX-512", 0, 0},
};

const struct sab_option cpu_simd_option = {
    "simd", "vector instructions to use; choices differ by rounding", choices, CPU_SIMD_NR};

/* The product of a choice, or NULL where this processor lacks it. */
static const struct cpu_product *product_of(uint32_t choice)
{
#if defined(__x86_64__)
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const int avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                       __builtin_cpu_supports("avx512dq");

    if (avx512 && (choice == SIMD_AUTO || choice == SIMD_AVX512))
        return &cpu_product_avx512;
    if (avx2 && (choice == SIMD_AUTO || choice == SIMD_AVX2))
        return &cpu_product_avx2;
#endif
    return choice == SIMD_AUTO || choice == SIMD_OFF ? &cpu_product_plain : NULL;
}

int cpu_product_choose(const struct sab_problem *problem, const struct cpu_product **product,
                       struct sab_message *msg)
{
    const uint32_t choice = problem->choices_nr ? problem->choices[0] : SIMD_AUTO;

    if (problem->choices_nr > 1 || choice >= CPU_SIMD_NR)
        return sab_say(msg, SAB_INVALID, "simd is choice %u of %u, expected 0 to %d", choice,
                       problem->choices_nr, CPU_SIMD_NR - 1);
    if (problem->threads < 1)
        return sab_say(msg, SAB_INVALID, "threads is %d, expected at least 1", problem->threads);
    *product = product_of(choice);
    if (!*product)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "simd asks for instructions that this processor lacks");
    return SAB_OK;
}
