/*
 * vectors_judge.h - what the files that judge golden vectors share.
 */
#ifndef BENCH_MODEL_VECTORS_JUDGE_H
#define BENCH_MODEL_VECTORS_JUDGE_H

#include "vectors.h"

/* The output whose rules say which selections are right, and the input that it selects from. */
#define VECTOR_IDS    "indices"
#define VECTOR_SCORES "values_in"

/* Keeps the first broken bar. */
void vector_broken(struct vector_verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `selection`, for ids (i32) and for the values that follow them: `ids` are those that came back,
 * NULL where the caller has none, which leaves values out. */
int vector_judge_selection(const struct vector *v, const struct vector_tensor *ref, const void *got,
                           const void *ids, struct vector_verdict *verdict, struct err *err);

#endif
