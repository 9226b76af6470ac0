/*
 * dsa_math.h - the arithmetic of the DSA oracles on doubles, one head at a time (dsa contract, 2.2,
 * 2.3, 3.2 and 3.3).
 */
#ifndef BENCH_MODEL_OPS_DSA_MATH_H
#define BENCH_MODEL_OPS_DSA_MATH_H

#include <stdbool.h>
#include <stdint.h>

#include "dsa_model.h"

double dsa_dot(const double *a, const double *b, int64_t n);

/* The slots of one (row, head), folded one after the other. */
struct dsa_fold {
    double m; /* what exponents are relative to; lags behind the largest logit by 30 at most */
    double l, prefix_m, prefix_l; /* the prefix's are as they were at its last slot */
    double max;
    int64_t nr, prefix_nr; /* active slots so far */
    double o[DSA_V];
};

void dsa_fold_init(struct dsa_fold *f);
/* An active slot with logit s and values v; slots of the prefix come before all others. */
void dsa_fold_add(struct dsa_fold *f, double s, const double *v, bool in_prefix);
/* Natural logarithms of the sums, +inf without an active slot. */
double dsa_fold_lse(const struct dsa_fold *f);
double dsa_fold_prefix_lse(const struct dsa_fold *f);
/* out [512]; sink -inf: none. */
void dsa_fold_out(const struct dsa_fold *f, double sink, double *out);

/* Backward, section 3.2: nL in log2 units, and p_sink. That a product with log2(e) overflows is
 * judged in float, the type of lse and sink. */
struct dsa_norm {
    double nl, p_sink;
};
void dsa_norm_init(struct dsa_norm *n, double lse, double sink);

/* One (row, head) of the backward. */
struct dsa_grad {
    int64_t width; /* D */
    double scale, nl, delta;
    const double *q, *dout;
};
/* Adds what `times` equal slots with this row of kv give to dq [D] and dkv [D]; either may be NULL.
 */
void dsa_grad_add(const struct dsa_grad *g, const double *kv, double times, double *dq,
                  double *dkv);

#endif
