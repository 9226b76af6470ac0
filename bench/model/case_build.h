/*
 * case_build.h - from what is said of some axes to a case with every axis fixed.
 *
 * Axes that nobody set take their defaults. Derived values and defaults that name other axes are
 * worked out in the order that they need; a circle is an error that names it. Names of expressions
 * are the axes, and `seqlen` where seqlen_q and seqlen_k are equal.
 *
 * A builder is plain data: copy a prepared one instead of preparing each. It holds pointers to the
 * expressions that it was given, which must outlive it. All failures are ERR_CONFIG.
 */
#ifndef BENCH_MODEL_CASE_BUILD_H
#define BENCH_MODEL_CASE_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axis.h"
#include "err.h"
#include "formula.h"
#include "opmodel.h"

enum case_axis_state { CASE_OPEN = 0, CASE_BUSY, CASE_FIXED };

struct case_builder {
    const struct op_model *op;
    struct op_case c;
    uint64_t given; /* bit i: axis i was set, by value or expression */
    unsigned char state[OP_MAX_AXES];
    const char *expr[OP_MAX_AXES]; /* of an open axis */
    const char *file[OP_MAX_AXES]; /* where an axis was set, NULL for a default */
    int line[OP_MAX_AXES];
    bool located; /* the error that was met already says where */
};

/* Prepares a builder with defaults only. */
int case_builder_init(struct case_builder *b, const struct op_model *op, uint64_t seed,
                      struct err *err);
/* Sets one axis by an element of a sweep; file and line stand in errors of its expression. */
void case_builder_set(struct case_builder *b, size_t axis, const struct axis_element *element,
                      const char *file, int line);
/* Takes back what was set, for the axis's default. */
int case_builder_unset(struct case_builder *b, size_t axis, struct err *err);
/* What an expression gives for an axis, by the values of this builder. */
int case_builder_eval(struct case_builder *b, size_t axis, const char *expr, struct axis_value *out,
                      struct err *err);
/* Fixes every axis. Ranges are not looked at: `where` comes first. */
int case_builder_resolve(struct case_builder *b, struct err *err);
/* After case_builder_resolve(): holds every axis against its range, then settles a copy. */
int case_builder_finish(struct case_builder *b, struct op_case *settled, struct err *err);

/* The names of a resolved or half resolved builder, for formula_eval(). */
struct formula_env case_builder_env(struct case_builder *b);

/* Where setting one axis takes back another: density and topk say the same thing. The place of the
 * other one, or -1. */
int case_rival(const struct op_model *op, size_t axis);

/* The density that a case asks for: NAN where it asks for a topk, or has no such axis. */
double case_density(const struct op_case *asked);

/* Whether two cases of one operator have the same axes. */
bool case_equal(const struct op_case *a, const struct op_case *b);

/*
 * Appends the name of a case, "sage.B8.H32.S1024.d0.9375": the sweep, batch, heads, sequence
 * lengths, density or topk, then each further axis that is not at its default. It is made of what
 * was asked, so it does not change with the other cases of its sweep.
 */
int case_add_id(struct strbuf *sb, const char *sweep, const struct op_case *asked, struct err *err);

#endif
