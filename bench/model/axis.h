/*
 * axis.h - one key of a sweep: the values that it gives to one axis, or to several in step.
 *
 *   batch = 1, 8, 32                         list
 *   seqlen = 1k..64k *2                      range: 1k, 2k, ... up to the end; *FACTOR or +STEP
 *   density = 0.1..0.9 +0.2                  0.1, 0.3, ... 0.9 (decimals, not sums of doubles)
 *   batch = 1..4                             integers, +1 where no step is written: up to 64
 *   heads:head_dim = 64:512, 128:576         zipped: the axes walk in step
 *   batch = (131072 / seqlen)                derived: an expression (formula.h) over the other axes
 *   kv_heads = heads                         the same for a bare name
 *
 * `seqlen` stands for seqlen_q and seqlen_k, as far as the operator has them. Literal values are
 * held against the axis's range here, derived ones when their case is built (case_build.h).
 * All failures are ERR_CONFIG and name the value and the axis; the caller adds file and line.
 */
#ifndef BENCH_MODEL_AXIS_H
#define BENCH_MODEL_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "opmodel.h"
#include "strbuf.h"
#include "text.h"

#define AXIS_SEQLEN "seqlen"

/* Longest list or range of one key, so that a slip of the pen is an error and not a hang. */
#define AXIS_MAX_VALUES 100000
/* Longest range without a step: `1k..4k` is hardly meant to have 3073 values. */
#define AXIS_MAX_STEPLESS 64

/* One place of a list: a value, or the expression that gives it. */
struct axis_element {
    struct axis_value value;
    char *expr; /* owned; NULL where `value` counts */
};

struct axis_list {
    struct axis_element *item;
    size_t nr, alloc;
};

void axis_list_release(struct axis_list *list);
/* Appends the values of `text`, a list as above without zips. */
int axis_list_read(const struct op_model *op, const struct axis_spec *spec, const char *text,
                   struct axis_list *list, struct err *err);

/* One literal value, within the axis's range. */
int axis_value_read(const struct axis_spec *spec, const char *text, struct axis_value *out,
                    struct err *err);
/* Whether a value lies in the range of its axis. */
int axis_value_check(const struct axis_spec *spec, const struct axis_value *value, struct err *err);
bool axis_value_equal(const struct axis_spec *spec, const struct axis_value *a,
                      const struct axis_value *b);
/* As it would stand in a sweep; reals as the shortest text that reads back. */
void axis_value_add(struct strbuf *sb, const struct axis_spec *spec,
                    const struct axis_value *value);

/* The axes that a name of a sweep stands for: their number (0 for an unknown name, 2 for seqlen
 * where the operator has both) and places. */
size_t axis_targets(const struct op_model *op, const char *name, int places[2]);
/* ERR_CONFIG "'NAME' is no axis of OP", with the nearest one that is. Returns -1. */
int axis_unknown(const struct op_model *op, const char *name, struct err *err);

/* One key with its columns: column c of row r is element[r * columns_nr + c]. */
struct axis_group {
    struct axis_element *element;
    size_t rows_nr, columns_nr;
    int column_of[OP_MAX_AXES]; /* by place of the axis; -1 where the key says nothing of it */
    const char *key;            /* the caller's, as file */
    const char *file;
    int line;
    int level; /* a higher one replaces what a lower one says of an axis */
};

void axis_group_release(struct axis_group *group);
/* Reads KEY = VALUE into a zeroed group: rows, columns and column_of. */
int axis_group_read(struct axis_group *group, const struct op_model *op, const char *key,
                    const char *value, struct err *err);

#endif
