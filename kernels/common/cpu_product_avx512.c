/*
 * cpu_product_avx512.c - the product with AVX-512.
 */
#if defined(__x86_64__)
#    define DSA_CPU_VECTOR 64
#    include "cpu_product.h"
#    include "dsa_cpu.h"

__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"))) static void
run(int64_t rows, int64_t columns, int64_t depth, struct cpu_matrix a, struct cpu_matrix b,
    float *c, int64_t c_row, int add)
{
    dsa_product(rows, columns, depth, (struct dsa_operand){a.data, a.row, a.depth},
                (struct dsa_operand){b.data, b.row, b.depth}, c, c_row, add);
}

const struct cpu_product cpu_product_avx512 = {run};
#endif
