#include "cpu_product.h"

static const struct cpu_product *const products[CPU_SIMD_NR] = {
    [CPU_SIMD_PLAIN] = &cpu_product_plain,
#if defined(__x86_64__)
    [CPU_SIMD_AVX2] = &cpu_product_avx2,
    [CPU_SIMD_AVX512] = &cpu_product_avx512,
#endif
};

int cpu_product_choose(const struct sab_problem *problem, const struct cpu_product **product,
                       struct sab_message *msg)
{
    enum cpu_simd simd;
    const int status = cpu_simd_choose(problem, &simd, msg);

    if (status == SAB_OK)
        *product = products[simd];
    return status;
}
