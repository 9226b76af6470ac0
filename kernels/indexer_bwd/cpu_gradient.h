/*
 * cpu_gradient.h - both backward operators of the indexer on the CPU.
 */
#ifndef INDEXER_BWD_CPU_GRADIENT_H
#define INDEXER_BWD_CPU_GRADIENT_H

#include "cpu_product.h"
#include "indexer_bwd_call.h"

struct cpu_bwd {
    struct indexer_bwd_call call;
    const struct cpu_product *product;
    int threads;
    float *gradient; /* [rows,columns] */
    float *dk;       /* [keys,128]: sums; the output itself where that is f32 */
};

/* Scratch memory of all threads, 64-byte aligned; freed with free(). NULL: no memory. */
void *cpu_bwd_scratch(const struct cpu_bwd *b);
void cpu_bwd_run(const struct cpu_bwd *b, void *scratch);

#endif
