#include "cpu_simd.h"

enum choice { AUTO = 0, OFF, AVX2, AVX512, CHOICES_NR };

static const struct sab_choice choices[CHOICES_NR] = {
    [AUTO] = {"auto", "the widest of the following that the processor has", SAB_CHOICE_DEFAULT, 0},
    [OFF] = {"off", "what every processor of its kind has", 0, 0},
    [AVX2] = {"avx2", "AVX2 and FMA", 0, 0},
    [AVX512] = {"avx512", "AVX-512", 0, 0},
};

const struct sab_option cpu_simd_option = {
    "simd", "vector instructions to use; choices differ by rounding", choices, CHOICES_NR};

/* The widest of this processor. */
static enum cpu_simd widest(void)
{
#if defined(__x86_64__)
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const int avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                       __builtin_cpu_supports("avx512dq");

    return avx512 ? CPU_SIMD_AVX512 : avx2 ? CPU_SIMD_AVX2 : CPU_SIMD_PLAIN;
#else
    return CPU_SIMD_PLAIN;
#endif
}

int cpu_simd_choose(const struct sab_problem *problem, enum cpu_simd *simd, struct sab_message *msg)
{
    static const enum cpu_simd asked[CHOICES_NR] = {
        [OFF] = CPU_SIMD_PLAIN, [AVX2] = CPU_SIMD_AVX2, [AVX512] = CPU_SIMD_AVX512};
    const uint32_t choice = problem->choices_nr ? problem->choices[0] : AUTO;

    if (problem->choices_nr > 1 || choice >= CHOICES_NR)
        return sab_say(msg, SAB_INVALID, "simd is choice %u of %u, expected 0 to %d", choice,
                       problem->choices_nr, CHOICES_NR - 1);
    if (problem->threads < 1)
        return sab_say(msg, SAB_INVALID, "threads is %d, expected at least 1", problem->threads);
    *simd = choice == AUTO ? widest() : asked[choice];
    if (*simd > widest())
        return sab_say(msg, SAB_UNSUPPORTED,
                       "simd asks for instructions that this processor lacks");
    return SAB_OK;
}
