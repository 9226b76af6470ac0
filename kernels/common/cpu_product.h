/*
 * cpu_product.h - one matrix product of floats for the CPU kernels of the indexer's operators, for
 * several instruction sets. Sums run over the inner dimension in order, one accumulator an element:
 * bits depend on no blocking and on no thread.
 */
#ifndef SAB_CPU_PRODUCT_H
#define SAB_CPU_PRODUCT_H

#include <stdint.h>

#include "cpu_simd.h"

enum { CPU_TILE = 64 }; /* columns of a product come in whole tiles */

/* A matrix as a product reads it: element (i, k) of the left one at i * row + k * depth, column n
 * of line k of the right one at k * depth + n. */
struct cpu_matrix {
    const float *data;
    int64_t row, depth;
};

struct cpu_product {
    /* c [rows][columns] (+)= a * b, columns a multiple of CPU_TILE; `add` 0: c is overwritten. */
    void (*run)(int64_t rows, int64_t columns, int64_t depth, struct cpu_matrix a,
                struct cpu_matrix b, float *c, int64_t c_row, int add);
};

extern const struct cpu_product cpu_product_plain;
#if defined(__x86_64__)
extern const struct cpu_product cpu_product_avx2; /* with FMA */
extern const struct cpu_product cpu_product_avx512;
#endif

/* The product of a problem's choice: what cpu_simd_choose() answers, `product` filled where it is
 * SAB_OK. */
int cpu_product_choose(const struct sab_problem *problem, const struct cpu_product **product,
                       struct sab_message *msg);

#endif
