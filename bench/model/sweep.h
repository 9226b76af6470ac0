/*
 * sweep.h - one [sweep NAME]: the keys that were given to it, and the cases that they make.
 *
 * The cases are the product of the keys in the order in which they were added, the last one
 * running fastest; each is completed by case_build.h, held against `where`, then settled. Cases
 * that come out alike after settling are kept once. Needs an operator's axes, no INI file.
 */
#ifndef BENCH_MODEL_SWEEP_H
#define BENCH_MODEL_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "axis.h"
#include "err.h"
#include "opmodel.h"
#include "plan.h"
#include "strbuf.h"

/* Combinations of one sweep, before `where`, and cases of a plan. */
#define SWEEP_MAX_CASES 100000

/* Strings belong to the caller and must outlive the sweep (and `name` and `file` the cases). */
struct sweep {
    const struct op_model *op;
    const char *name;
    const char *file; /* of the section */
    int line;
    struct axis_group *group;
    size_t nr, alloc;
    const char *where; /* NULL without */
    const char *where_file;
    int where_line;
};

void sweep_init(struct sweep *s, const struct op_model *op, const char *name, const char *file,
                int line);
void sweep_release(struct sweep *s);

/*
 * Adds KEY = VALUE, an axis or a zip. ERR_CONFIG (with file and line in front) for what axis.h
 * refuses, and for a second key of the same level that sets the same axis, or density beside topk.
 * A key of a higher level (a later section) takes from those below the axes that it sets.
 */
int sweep_add(struct sweep *s, const char *key, const char *value, const char *file, int line,
              int level, struct err *err);
int sweep_set_where(struct sweep *s, const char *text, const char *file, int line, struct err *err);

/* A growing array of cases; owns the ids. */
struct sweep_cases {
    struct plan_case *item;
    size_t nr, alloc;
};
void sweep_cases_release(struct sweep_cases *cases);

/* Appends the cases. What a user should know and no error is (cases left out as alike) goes to
 * `notes`, a line each. No case at all, or too many, is ERR_CONFIG. */
int sweep_expand(const struct sweep *s, uint64_t seed, struct sweep_cases *cases,
                 struct strbuf *notes, struct err *err);

#endif
