/*
 * check.h - `bench check`: the table of checks (DESIGN 9), what one of them comes to, and the
 * worker's side of it.
 *
 * A worker serves one arm of one case (of several, where the user wants that), one check after the
 * other on one set of buffers, and stops behind the first that fails: the parent gives the rest to
 * a fresh process, so that nothing that a kernel broke is blamed on a later check. Each check of an
 * arm with an unsafe choice is the only one of its worker.
 *
 * To add a check: its function in one of checks_*.c, a prototype in check_rig.h, a row in
 * check_table.c.
 */
#ifndef BENCH_CORE_CHECK_H
#define BENCH_CORE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "case_run.h"
#include "json.h"

enum check_status {
    CHECK_NA = 0, /* means nothing here: text says why */
    CHECK_PASS,
    CHECK_FAIL,
    CHECK_EXPECTED,   /* failed, as the hazards of an unsafe choice say */
    CHECK_UNEXPECTED, /* passed, though a hazard says that it fails */
};
const char *check_status_word(enum check_status status); /* "n/a", "pass", "fail", ... */

/* How the process that ran it ended; CHECK_UNUSABLE: as it should, but there was nothing that could
 * be launched. */
enum check_end { CHECK_ENDED = 0, CHECK_CRASHED, CHECK_TIMED_OUT, CHECK_UNUSABLE };

#define CHECK_TEXT_MAX 1024

struct check_result {
    enum check_status status;
    enum check_end end;
    char text[CHECK_TEXT_MAX]; /* one sentence; printable ASCII */
    /* The first wrong element; `at` -1: the failure is none of one element. */
    char tensor[64];
    char index[96]; /* "[b,h,row,d]" */
    int64_t at;
    double got, want;
    double max_abs, rel_l2, cosine; /* of the check `oracle`; else NAN */
    double jitter;                  /* of `repeat`: largest relative L2 between two launches */
    double seconds;
};
void check_result_init(struct check_result *r);
/* The element and the sentence in one: "..., 'out'[0,1,2,3] is 1, must be 2". */
int check_fail(struct check_result *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int check_na(struct check_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* NULL without memory. */
json_t *check_result_to_json(const struct check_result *r);
int check_result_from_json(struct check_result *r, const json_t *json, struct err *err);

enum check_flags {
    CHECK_STREAMS = 1u << 0,   /* means something on devices with streams only */
    CHECK_WORKSPACE = 1u << 1, /* ... for kernels with a workspace only */
    CHECK_CALLS = 1u << 2,     /* launches: not run where a plain launch ends the process */
};

struct rig;

struct check {
    const char *name;
    const char *help;
    uint32_t flags;
    uint32_t hazard; /* enum sab_hazard that names this check, or 0 */
    /* Fills *res, which begins as a pass. Negative with err set where it could not be carried out;
     * ERR_CRASH is a failure of the kernel, ERR_MEMORY is not applicable. */
    int (*run)(struct rig *rig, struct check_result *res, struct err *err);
};

#define CHECKS_MAX 32
/* Row `i` of the table, NULL behind the last. The first is a plain launch held against the oracle.
 */
const struct check *check_at(size_t i);
size_t checks_nr(void);
/* Place in the table, or -1. */
int check_find(const char *name);

/* Hazards of the choices of an arm's steps, enum sab_hazard. */
uint32_t check_hazards(const struct arm_steps *steps);
/* What a plain pass or failure means for an arm with these hazards. */
void check_expect(const struct check *check, uint32_t hazards, struct check_result *res);

/* The worker: runs the checks that the job's case names, in the order of the table, up to the first
 * that fails. */
int check_serve(struct worker *wk, const struct job_case *jc, const struct plan_case *item,
                struct err *err);

#endif
