/*
 * check_session.h - the parent's side of `bench check`: every check of every arm in every case, in
 * processes that may crash or hang, and what came of it.
 */
#ifndef BENCH_CORE_CHECK_SESSION_H
#define BENCH_CORE_CHECK_SESSION_H

#include "check.h"
#include "session.h"
#include "strbuf.h"

/* One check of one arm in one case. */
struct check_row {
    const struct plan_case *item; /* in session.plan */
    const struct arm_entry *arm;  /* in session.arms */
    const struct check *check;
    char *kernel, *options;
    uint32_t hazards; /* of the arm's choices */
    struct check_result res;
    char *repro; /* the command that plays this row again; NULL for one that is as it should be */
    char *small; /* id of the smallest case that fails the same way; NULL: none was looked for */
    char *small_repro;
    struct check_result small_res; /* what it came to there */
};

struct check_rows {
    struct check_row *row;
    size_t nr, alloc;
    bool shrink;        /* failing cases are reduced */
    double shrink_s;    /* spent on that so far */
    double write_due_s; /* when the files are to be written again */
    bool wanted[CHECKS_MAX];
    size_t each; /* rows that an arm and case has: one a check that is wanted */
};

/* Every check is wanted, and failing cases are reduced. */
void check_rows_init(struct check_rows *rows);
void check_rows_release(struct check_rows *rows);

/* Only the checks named here are wanted; of none: all. ERR_CONFIG with the nearest for a name that
 * is none. */
int check_rows_select(struct check_rows *rows, const char *const *names, size_t nr,
                      struct err *err);

/* A failure that no hazard explains, or an unsafe choice that passes. */
bool check_row_is_bad(const struct check_row *row);
/* What shares a process, until something in it fails. */
enum check_share {
    CHECK_SHARE_CASE = 0, /* the checks of one arm in one case */
    CHECK_SHARE_NONE,
    CHECK_SHARE_ARM, /* all cases of an arm */
};

/* Fills *rows, and the case rows of the session's store (one an arm and case). The files are
 * brought up to date every few seconds, and at the end. Interrupted: returns 0 with s->stopped set.
 */
int check_session_run(struct session *s, struct check_rows *rows, enum check_share share,
                      struct err *err);
/* 0, 3 where a row is bad, 130 when stopped. */
int check_session_status(const struct session *s, const struct check_rows *rows);

/* ---- parts that shrinking shares ---- */

/* One case of a task. */
struct check_case {
    const char *id;
    bool wanted[CHECKS_MAX];
    struct check_result result[CHECKS_MAX]; /* of those that are wanted */
};

/* One arm in some cases, of the session's plan or of a smaller one: cases of one task may share a
 * process, until something fails. */
struct check_task {
    struct session *s;
    const struct arm_entry *arm;
    struct check_case *item;
    size_t nr;
    const char *config_text; /* NULL: the session's own */
    const char *plan_hash;
    uint32_t hazards;
    bool apart;     /* each check in a process of its own */
    double limit_s; /* time for one check; 0: as the worker says */
};

/* Runs what is wanted, in as many processes as it takes. */
int check_task_run(struct check_task *task, struct err *err);

/* check_shrink.c: reduces the case of a row that failed to the smallest that still does, one axis
 * after the other, within seconds; fills small, small_repro and small_res. */
int check_shrink(struct session *s, struct check_row *row, struct err *err);
/* "bench check --config FILE ... --arm NAME --only ID --check NAME", with `flags` (may be NULL) in
 * between. */
int check_repro(const struct session *s, const struct check_row *row, const char *flags,
                const char *case_id, char **out, struct err *err);

/* check_files.c: checks.csv and the JUnit report checks.xml, as text. */
int check_csv(const struct session *s, const struct check_rows *rows, struct strbuf *sb,
              struct err *err);
int check_junit(const struct session *s, const struct check_rows *rows, struct strbuf *sb,
                struct err *err);
/* Both into the results folder, if there is one. */
int check_write(const struct session *s, const struct check_rows *rows, struct err *err);

#endif
