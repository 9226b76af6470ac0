/*
 * summary_internal.h - what the files of summary share.
 */
#ifndef BENCH_CORE_SUMMARY_INTERNAL_H
#define BENCH_CORE_SUMMARY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rows.h"
#include "stats_paired.h"
#include "stats_verdict.h"

#define CASE_SAMPLES_MAX_ARMS 64

/* The samples of one case, in the order in which they ran. */
struct case_samples {
    const struct case_table *cases;
    const struct sample_row **sample;
    size_t nr;
    const char *arm[CASE_SAMPLES_MAX_ARMS]; /* who raced, by first appearance */
    size_t arms_nr;
    int64_t processes;
    size_t *racers; /* arms a process: one that failed in between is missing from later ones */
};

/* Where the samples of each case lie: runs of lines, as they were sealed. */
struct sample_index {
    struct sample_run {
        size_t from, nr;
    } * run;
    size_t nr;
};
int sample_index_init(struct sample_index *index, const struct sample_table *samples,
                      struct err *err);
void sample_index_release(struct sample_index *index);

int case_samples_init(struct case_samples *cs, const struct case_table *cases,
                      const struct sample_table *samples, const struct sample_index *index,
                      const char *case_id, struct err *err);
void case_samples_release(struct case_samples *cs);
/* Kept rounds of one process in which both arms ran; `out` has room for cs->nr. `cycles`: spans
 * times the running clock. */
size_t case_samples_pair(const struct case_samples *cs, int64_t process, const char *base,
                         const char *arm, bool cycles, struct paired_round *out);

/* D per process. */
struct paired_processes {
    struct verdict_process *item;
    size_t nr;
};
int paired_processes_init(struct paired_processes *pp, const struct case_samples *cs,
                          const char *base, const char *arm, bool cycles, struct err *err);
void paired_processes_release(struct paired_processes *pp);

/* summary_parts.c: medians of the parts of a pipeline's samples. */
int parts_of(const struct case_samples *cs, struct case_row *row, struct err *err);

bool row_is_ok(const struct case_row *row);
/* The row that `row` is compared with, or NULL. */
const struct case_row *summary_baseline(const struct case_table *cases, const struct case_row *row);

/* summary_diagnose.c: the diagnostics of harness.md 3.10 into columns and reasons. `cycles` may be
 * NULL. */
int diagnose_arm(const struct case_samples *cs, struct case_row *row, const struct case_row *base,
                 const struct paired_processes *pp, const struct verdict_result *v,
                 const struct verdict_result *cycles, struct err *err);

#endif
