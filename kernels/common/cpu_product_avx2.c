/*
 * cpu_product_avx2.c - the product with AVX2 and FMA.
 */
#if defined(__x86_64__)
#    define DSA_CPU_VECTOR 32
#    include "cpu_product.h"
#    include "dsa_cpu.h"

__attribute__((target("avx2,fma"))) static void run(int64_t rows, int64_t columns, int64_t depth,
                                                    struct cpu_matrix a, struct cpu_matrix b,
                                                    float *c, int64_t c_row, int add)
{
    dsa_product(rows, columns, depth, (struct dsa_operand){a.data, a.row, a.depth},
                (struct dsa_operand){b.data, b.row, b.depth}, c, c_row, add);
}

const struct cpu_product cpu_product_avx2 = {run};
#endif
