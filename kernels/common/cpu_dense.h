/*
 * cpu_dense.h - a matrix of scores (dense_scores.h) on the CPU.
 */
#ifndef SAB_CPU_DENSE_H
#define SAB_CPU_DENSE_H

#include "cpu_rows.h"

struct cpu_dense {
    struct indexer_dense d;
    const struct cpu_product *product;
    int threads;
};

/* Scratch memory of all threads, 64-byte aligned; freed with free(). NULL: no memory. */
void *cpu_dense_scratch(const struct cpu_dense *c);
void cpu_dense_run(const struct cpu_dense *c, void *scratch);

#endif
