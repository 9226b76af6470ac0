/*
 * store.h - a results folder: the journal, what is derived from it, and going on after a cut.
 *
 * samples.csv is appended and fsynced once a case and replicate, then cases.csv is replaced whole,
 * then run.json, whose `journal` says how many samples each sealed replicate has. A replicate is
 * sealed when run.json counts it. A resume keeps the replicates of which samples.csv holds every
 * sample, whatever else lies there, and runs the others again.
 *
 * One program at a time writes a folder: a lock on it says so, and goes with the process.
 */
#ifndef BENCH_CORE_STORE_H
#define BENCH_CORE_STORE_H

#include <stdbool.h>

#include "err.h"
#include "json.h"
#include "rows.h"
#include "summary.h"

struct store {
    char *dir;
    struct case_table cases;
    struct sample_table samples;
    struct summary_settings set;
    struct summary_run summary;
    double summary_due_s;                   /* when it is to be worked out again */
    struct text_list case_order, arm_order; /* how rows of cases.csv are sorted; may be empty */
    json_t *run;                            /* run.json, kept up to date by its owner */
    json_t *sealed;         /* case id -> samples of each sealed replicate, in order */
    size_t journal_bytes;   /* length of samples.csv up to the end of the last of them */
    size_t rows_lost;       /* of cases.csv, by what run.json counts: the file was damaged */
    struct text_list notes; /* what a resume found and put right, a line each */
    int lock;               /* descriptor; -1 without */
};

void store_init(struct store *s);
void store_release(struct store *s);

/* Makes the folder (parents too). One that exists and is not empty is ERR_ENVIRONMENT unless
 * `force`, which removes the files of an earlier run (and nothing else) first. */
int store_create(struct store *s, const char *dir, bool force, struct err *err);
/* Reads a folder back; to `resume` it, locks it and removes what a killed run left half written.
 * ERR_CONFIG where it is no results folder, ERR_ENVIRONMENT where another program writes it. */
int store_open(struct store *s, const char *dir, bool resume, struct err *err);
/* Whether a run was cut off in `dir` before it had written anything down: a folder without run.json
 * that holds no sample and nothing that is not a run's. */
bool store_is_blank(const char *dir);

/* store_resume.c. Drops what is not sealed, here and on disk, and every replicate of the cases in
 * `redo` (which may be NULL), and forgets that such cases were finished. */
int store_resume(struct store *s, const struct text_list *redo, struct err *err);
/* Counts a sealed replicate: `nr` samples of one case and process. */
int store_journal_add(struct store *s, const char *case_id, int64_t process, size_t nr,
                      struct err *err);
/* Counts every replicate that is in memory. */
int store_journal_count(struct store *s, struct err *err);
/* Brings `journal` of run.json up to date, and reads it. */
int store_journal_write(struct store *s, struct err *err);
void store_journal_read(struct store *s);

/* Path of a file of the folder, for the files of store; the caller frees it. */
char *store_path(const struct store *s, const char *name, struct err *err);

/* Seals one case of one replicate: the journal on disk, rows in memory; store_summarise() and
 * store_write() are to follow. `rows` and `samples` are the worker's CSV text. */
int store_seal(struct store *s, const char *rows, const char *samples, struct err *err);
/* Statistics of one case, from everything that is known of it now. */
int store_summarise(struct store *s, const char *case_id, struct err *err);
/* The same of samples that a folder holds: where they do not fit together, they were damaged, and
 * it is ERR_CONFIG that names the case. */
int store_derive(struct store *s, const char *case_id, struct err *err);
/* Records what a case came to without samples (crash, timeout, skip): one row an arm as in `rows`.
 */
int store_rows(struct store *s, const char *rows, struct err *err);
/* Sets the status of one arm's row of a case, making the row from `like` (any row of that case)
 * where it is missing. */
int store_status(struct store *s, const char *case_id, const char *arm, const char *status,
                 const char *text, struct err *err);
/* Replicates sealed of a case: the smallest over its arms that were timed; 0 for none. */
int store_sealed(const struct store *s, const char *case_id);

/* Remembers (in run.json) that a case ran out of max_time or max_rounds: reason `budget`. */
int store_budget(struct store *s, const char *case_id, struct err *err);
int store_budget_reasons(struct store *s, const char *case_id, struct err *err);
/* Remembers that Ctrl-C cut a replicate short: a resume runs it again. */
void store_partial(struct store *s, const char *case_id, int process);
/* The replicate of a case that was cut short, or -1. */
int store_partial_process(const struct store *s, const char *case_id);

/* Puts the summary into run.json. */
void store_summary_json(struct store *s);
/* Rewrites cases.csv and run.json from what is in memory; the summary over all rows, and report.md,
 * every few seconds and when `final`. */
int store_write(struct store *s, bool final, struct err *err);

#endif
