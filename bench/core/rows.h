/*
 * rows.h - what a run publishes, one struct a line: cases.csv and samples.csv (DESIGN 8).
 *
 * A column is one row of the lists below; writer, reader and struct follow from it. Column names
 * are the members' names. NAN and NULL are empty cells. To add a column: one line here, and the
 * place that fills it.
 */
#ifndef BENCH_CORE_ROWS_H
#define BENCH_CORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "csv.h"
#include "err.h"
#include "text.h"

#define ROWS_SCHEMA 1
#define ROWS_PROTOCOL                                                                              \
    1 /* version of the measurement protocol: never compare across it silently                     \
       */

#define ROWS_PROCESSES_MAX 4096 /* of a case */

/* clang-format off */
/* T text, I integer (-1: empty), R real (NAN: empty). Axis columns follow `role`. */
#define CASE_COLUMNS_IDENTITY(T, I, R)                                                             \
    I(schema) T(run_id) T(plan_hash) T(case_id) T(sweep) T(operator) T(kernel) T(arm) T(role)
#define CASE_COLUMNS_REST(T, I, R)                                                                 \
    T(status)      /* ok, skip, wrong, crash, timeout, oom, env */                                 \
    T(status_text)                                                                                 \
    T(baseline)    /* label of the arm that ratio and verdict refer to; empty for a baseline */    \
    T(problem)     /* same, or across: the arm's own problem, no verdict */                        \
    R(density_asked) R(density_realised)                                                                    \
    T(device) T(device_uuid) T(timer_asked) T(timer_used) T(cache_asked) T(cache_used) T(pace_asked) T(pace_used) \
    I(processes) I(rounds) I(rounds_dropped) I(samples)                                            \
    R(span_min_ns) R(span_p10_ns) R(span_median_ns) R(span_p90_ns) R(busy_median_ns)               \
    I(activities) R(enqueue_ns) R(plan_ns) R(run_mhz) R(tick_ns)                                   \
    T(parts_span_ns) T(parts_busy_ns) /* of a pipeline: "OP/KERNEL=MEDIAN;..." */                  \
    R(ratio) R(ratio_lo) R(ratio_hi) T(ci_kind) R(ci_level) R(ratio_of_medians) R(ratio_cycles)    \
    R(p) R(q_bh) R(p_gate) R(mde_pct) R(delta_pct) R(floor_pct)                                    \
    T(verdict)     /* FASTER, SLOWER, SAME, UNSURE; empty for the baseline and across problems */  \
    T(reasons)     /* separated by ; */                                                            \
    I(rounds_to_settle) R(slot_pct) R(carry_pct) R(drift_pct) R(rho1)                              \
    R(flops) R(flops_valid) R(flops_dense) R(bytes) R(tflops) R(gbps) T(limit) R(limit_pct)        \
    R(limit_ns)    /* what a call would take at its nearest limit, by `bench ceilings` */           \
    R(bound_ns)    /* the same by memory and tensor units alone */                                 \
    R(max_abs_err) R(rel_l2) R(cosine) R(emulated_rel_l2)                                          \
    T(oracle)      /* full, sampled, reference, sampled+reference, none */                         \
    T(check_before) T(check_after)                                                                 \
    T(bits_equal)  /* yes, no: outputs against the baseline's, over what was compared */           \
    R(rel_l2_baseline) R(jitter_baseline) R(accuracy_rel_l2) R(accuracy_cosine)                    \
    I(registers) I(spill_bytes) I(shared_bytes) I(local_bytes) T(sass_sha256)                      \
    T(options) T(hazards)\
    T(workspace)   /* none, overwritten before every launch, or kept: nobody overwrites it */ \
    T(library) T(library_sha256) T(library_describe)

#define SAMPLE_COLUMNS(T, I, R)                                                                    \
    I(schema) T(run_id) T(case_id) I(process) I(super_round) I(round) I(attempt) I(slot)           \
    T(prev_arm) T(arm) R(span_ns) R(busy_ns) I(activities) T(activity_set) R(start_ns)             \
    R(idle_before_ns) R(enqueue_ns) R(scrub_ns) R(run_mhz) R(sm_mhz) R(mem_mhz) R(power_w)         \
    R(temp_c) I(throttle_bits) T(drop_reason)                                                      \
    T(parts_span_ns) T(parts_busy_ns) /* of a pipeline, one number a step, between ; */
/* clang-format on */

#define ROWS_MEMBER_T(name) char *name;
#define ROWS_MEMBER_I(name) int64_t name;
#define ROWS_MEMBER_R(name) double name;

/* One line of cases.csv. Texts are owned. */
struct case_row {
    CASE_COLUMNS_IDENTITY(ROWS_MEMBER_T, ROWS_MEMBER_I, ROWS_MEMBER_R)
    char **
        axis; /* values in the order of case_table.axes; NULL where the operator has no such axis */
    size_t axes_nr;
    size_t place; /* among the rows of a plan; SIZE_MAX: not known. No column. */
    CASE_COLUMNS_REST(ROWS_MEMBER_T, ROWS_MEMBER_I, ROWS_MEMBER_R)
};

/* One line of samples.csv. Texts are owned. */
struct sample_row {
    SAMPLE_COLUMNS(ROWS_MEMBER_T, ROWS_MEMBER_I, ROWS_MEMBER_R)
};

struct case_table {
    struct text_list axes; /* names of the axis columns */
    struct case_row *row;
    size_t nr, alloc;
};

struct sample_table {
    struct sample_row *row;
    size_t nr, alloc;
};

/* Every cell empty. */
void case_row_init(struct case_row *row);
void case_row_release(struct case_row *row);
void sample_row_init(struct sample_row *row);
void sample_row_release(struct sample_row *row);

/* Replaces a text member by a copy. */
int row_set(char **member, const char *value, struct err *err);
int row_setf(char **member, struct err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a reason unless it is there. */
int row_add_reason(struct case_row *row, const char *reason, struct err *err);
int row_has_reason(const struct case_row *row, const char *reason);

void case_table_init(struct case_table *t);
void case_table_release(struct case_table *t);
/* A new empty row at the end, with room for every axis. NULL without memory. */
struct case_row *case_table_add(struct case_table *t, struct err *err);
/* Value of an axis in a row, or NULL. */
const char *case_table_axis(const struct case_table *t, const struct case_row *row,
                            const char *axis);
int case_table_write(const struct case_table *t, struct strbuf *sb, struct err *err);
/* Reads cases.csv. Columns that this version does not know and that are no axis are an error unless
 * the schema is newer, which is one too: ERR_CONFIG naming both. */
int case_table_read(struct case_table *t, const char *path, struct err *err);
/* The same from text; `name` stands for the file in messages. */
int case_table_read_text(struct case_table *t, const char *name, const char *text, struct err *err);

void sample_table_init(struct sample_table *t);
void sample_table_release(struct sample_table *t);
struct sample_row *sample_table_add(struct sample_table *t, struct err *err);
/* Lines for rows [from, nr), with the header where `header`. */
int sample_table_write(const struct sample_table *t, size_t from, int header, struct strbuf *sb,
                       struct err *err);
/* Reads samples.csv, or the first `limit_bytes` of it; a torn last line is left out. */
int sample_table_read(struct sample_table *t, const char *path, size_t limit_bytes,
                      struct err *err);
/* Lines without a header, as workers send them. */
int sample_table_read_text(struct sample_table *t, const char *name, const char *text,
                           struct err *err);

/* rows_check.c: ERR_CONFIG where a row lacks a cell that all must have. Readers call them. */
int case_table_check(const struct case_table *t, const char *path, struct err *err);
int sample_table_check(const struct sample_table *t, const char *path, struct err *err);

#endif
