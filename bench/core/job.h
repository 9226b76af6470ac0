/*
 * job.h - what a parent tells a worker, and what the worker answers.
 *
 * The job goes down a pipe as one JSON document. It carries the resolved configuration text, so
 * that the worker builds the same plan (the hash proves it), and which of its cases to run in which
 * order. Answers come back as JSON objects, one a line. Rows and samples travel inside them as CSV
 * text: the bytes that the parent stores are the bytes that the worker wrote.
 */
#ifndef BENCH_CORE_JOB_H
#define BENCH_CORE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "device.h"
#include "err.h"
#include "json.h"
#include "plan.h"
#include "rows.h"

#define JOB_FD_IN  3 /* the worker reads the job here, to its end */
#define JOB_FD_OUT 4 /* and answers here */

enum job_mode {
    JOB_INFO = 0, /* open the device, say what it is, go */
    JOB_RUN,      /* gate, time, check again */
    JOB_CHECK,    /* correctness and contract, no timing */
    JOB_PROFILE,  /* gate, then a few launches for a profiler, no timing */
};

/* One arm as the parent resolved it. */
struct job_arm {
    char *label;    /* "base", "head", "base'" for the duplicate */
    char *library;  /* absolute path; a private copy where another arm has the same file */
    char *origin;   /* the path that the user named, for rows */
    char *sha256;   /* of origin */
    char *arm;      /* name of the plan's arm: kernel, options, overrides */
    bool duplicate; /* A' */
};

struct job_case {
    char *id;
    int rounds;      /* as asked; the worker rounds up to whole super-rounds */
    double budget_s; /* wall time left for this case */
    char *race;      /* who races and against whom: lines "LABEL\tLABEL" */
    char *checks;    /* mode check: names of check.h, between blanks; NULL */
};

struct job {
    enum job_mode mode;
    char *run_id;
    char *config_name;
    char *config_text; /* resolved INI, overrides applied */
    char *plan_hash;
    char *scratch;     /* folder for what later workers may reuse */
    char *own_library; /* bench's own kernel library: reference kernels; "" without */
    char *own_sha256;  /* of own_library; "" without */
    enum sab_device kind;
    int threads;
    enum device_timer timer;
    bool look;   /* watch the idle device for a moment */
    int process; /* replicate, from 0 */
    struct job_arm *arm;
    size_t arms_nr;
    struct job_case *item;
    size_t nr;
};

void job_init(struct job *job);
void job_release(struct job *job);
/* NULL without memory. */
json_t *job_to_json(const struct job *job);
int job_from_json(struct job *job, const json_t *json, struct err *err);

enum answer_kind {
    ANSWER_INFO = 0, /* device_info */
    ANSWER_CASE,     /* a case begins; timeout_s from now */
    ANSWER_PHASE,    /* text: what it does now, for the progress line */
    ANSWER_DONE,     /* a case ended: rows, samples */
    ANSWER_NOTE,     /* text for the user */
    ANSWER_FATAL,    /* the worker ends: error_kind, text */
    ANSWER_BYE,      /* every case is done */
    ANSWER_CHECK,    /* text: a check_result as JSON, with the name of its check */
};

struct answer {
    enum answer_kind kind;
    char *case_id;
    char *text;
    double timeout_s;
    enum err_kind error_kind;
    char *rows;    /* CSV, one line an arm */
    char *samples; /* CSV without header */
    double wall_s; /* measuring time of the case: scrubs and pauses counted, checks not */
    double check_s;
    int cut; /* enum case_cut of case_run.h: why rounds are missing */
    struct device_info info;
};

void answer_init(struct answer *a);
void answer_release(struct answer *a);
/* Writes one line. */
int answer_write(FILE *out, const struct answer *a, struct err *err);
int answer_read(struct answer *a, const char *line, size_t len, struct err *err);

/* device_info as JSON, for run.json and the answers. */
json_t *device_info_to_json(const struct device_info *info);
int device_info_from_json(struct device_info *info, const json_t *json, struct err *err);

const char *device_kind_name(enum sab_device kind);    /* "cpu", "cuda" */
const char *device_timer_name(enum device_timer used); /* "none", "cupti", "monotonic" */
const char *plan_cache_name(enum plan_cache cache);
const char *plan_pace_name(enum plan_pace pace);
const char *plan_role_name(enum plan_role role);

#endif
