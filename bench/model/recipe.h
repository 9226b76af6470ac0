/*
 * recipe.h - how an input tensor is filled: data, and its one interpreter.
 *
 * Plain C17 that nvcc also compiles: bench/model runs it on the host, bench/device in a kernel.
 * Every element and every index row is a pure function of (seed, tensor, coordinates), by integer
 * arithmetic, exact conversions and table look-ups only (no libm, no contraction), so that host and
 * device agree bit for bit.
 */
#ifndef BENCH_MODEL_RECIPE_H
#define BENCH_MODEL_RECIPE_H

#include <stdint.h>

#include "recipe_table.h"

enum recipe_kind {
    RECIPE_NONE = 0,
    RECIPE_BYTES,  /* every byte is p[0] */
    RECIPE_CONST,  /* every element has the raw bits p[0] */
    RECIPE_INT,    /* integers uniform in [p[0], p[1]] */
    RECIPE_REAL,   /* U*f[0] + f[1], U uniform in [0,1) with 24 bits, rounded to dtype */
    RECIPE_NORMAL, /* f[0]*N(0,1) + f[1], from an inverse-distribution table, rounded to dtype */
    RECIPE_RANDOM, /* random bits: scrub buffers */
    /* Rows of key-block numbers (last dimension = slots). Meaning of p[] in recipe_rows.h. */
    RECIPE_BLOCK_ROWS,
    RECIPE_BLOCK_COUNTS,
    RECIPE_BLOCK_SIZES,
    /* sage_fwd's V: RECIPE_NORMAL at the permuted places, poison where a token does not exist. */
    RECIPE_SAGE_V,
    /* RECIPE_NORMAL, but channel p[0] (place in the last dimension) is f[2]*N(0,1) + f[1]. */
    RECIPE_OUTLIER,
    RECIPE_CYCLE, /* element i has the raw bits p[1 + i % p[0]] */
    RECIPE_LINE,  /* f[0] to f[1] in equal steps */
    RECIPE_BLEND, /* f[0]*N(0,1) + f[1]*(U - 1/2), rounded to dtype once */
    /* RECIPE_NORMAL; rows (all dimensions but the last, flattened) from p[0] on are NaN. */
    RECIPE_POISONED,
    /* Ids of rows [T,K] and lengths [T]. Meaning of p[] in recipe_ids.h. */
    RECIPE_IDS,
    RECIPE_LENGTHS,
    /* RECIPE_NORMAL of [B,Hk,Sk,D], poison where a token of a block does not exist. */
    RECIPE_BLOCK_TOKENS,
    /* Scores to select from [R,C], lengths of their rows, segments of packed batches. Meaning of
       p[] in recipe_scores.h. */
    RECIPE_SCORES,
    RECIPE_ROW_LENGTHS,
    RECIPE_SEGMENTS,
    RECIPE_ODD_ROWS, /* RECIPE_NORMAL, but rows of odd number are f[0]*N(0,1) + f[2] */
    RECIPE_KIND_NR
};

#define RECIPE_PARAMS 12

struct recipe {
    uint32_t kind;
    int32_t dtype; /* enum sab_dtype */
    uint64_t seed; /* case seed and tensor number already mixed in */
    int32_t rank;
    int64_t shape[6];
    int64_t p[RECIPE_PARAMS];
    float f[4];
};

#ifdef __CUDACC__
#    define RECIPE_FN static __host__ __device__ __forceinline__
#else
#    define RECIPE_FN static inline
#endif

/* Whether the recipe is filled row by row (recipe_row) instead of by element (recipe_element). */
RECIPE_FN int recipe_by_row(const struct recipe *r);
/* Raw bits of the element at linear offset `at`. */
RECIPE_FN uint32_t recipe_element(const struct recipe *r, int64_t at);
/* Fills row `row` (all leading dimensions flattened) of an i32 tensor: shape[rank-1] values. */
RECIPE_FN void recipe_row(const struct recipe *r, int64_t row, int32_t *out);

#include "recipe_impl.h"

#endif
