/*
 * cpu_sparse.h - scores of selected columns (sparse_scores.h) on the CPU.
 */
#ifndef SAB_CPU_SPARSE_H
#define SAB_CPU_SPARSE_H

#include "cpu_rows.h"
#include "sparse_scores.h"

struct cpu_sparse {
    struct indexer_sparse d;
    const struct cpu_product *product;
    int threads;
};

/* Scratch memory of all threads, 64-byte aligned; freed with free(). NULL: no memory. */
void *cpu_sparse_scratch(const struct cpu_sparse *c);
void cpu_sparse_run(const struct cpu_sparse *c, void *scratch);

#endif
