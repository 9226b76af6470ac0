/*
 * cpu_product_plain.c - the product with the instructions that every processor of its kind has.
 */
#define DSA_CPU_VECTOR 16
#include "cpu_product.h"
#include "dsa_cpu.h"

static void run(int64_t rows, int64_t columns, int64_t depth, struct cpu_matrix a,
                struct cpu_matrix b, float *c, int64_t c_row, int add)
{
    dsa_product(rows, columns, depth, (struct dsa_operand){a.data, a.row, a.depth},
                (struct dsa_operand){b.data, b.row, b.depth}, c, c_row, add);
}

const struct cpu_product cpu_product_plain = {run};
