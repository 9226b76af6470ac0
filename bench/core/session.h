/*
 * session.h - one run, seen from the parent: configuration, arms, workers, results.
 *
 * Nothing here prints. What a user should hear goes through the events.
 */
#ifndef BENCH_CORE_SESSION_H
#define BENCH_CORE_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "arms.h"
#include "ini.h"
#include "job.h"
#include "lanes.h"
#include "option.h"
#include "plan.h"
#include "store.h"

struct session_events {
    /* One line for the user; warnings too. */
    void (*note)(void *ctx, const char *text);
    /* What is being done: done and all count cases times replicates; eta_s is NAN at first. */
    void (*progress)(void *ctx, int done, int all, double eta_s, const char *case_id,
                     const char *phase);
    void *ctx;
};

struct session_request {
    const char *config;                     /* path of the INI file */
    const struct option_override *override; /* flags that are configuration keys */
    size_t overrides_nr;
    const char *const *only;
    size_t only_nr;
    const char *const *arms;
    size_t arms_nr;
    const struct arm_variant *variants; /* `bench ab`: the builds to compare, BASE first */
    size_t variants_nr;
    const char *out; /* NULL: named after config, device and time */
    bool resume, force;
    bool in_memory; /* no results folder: the store keeps everything to itself */
    enum job_mode mode;
    const char *exe; /* this program */
    int argc;        /* of the command line, for run.json */
    const char *const *argv;
    const volatile sig_atomic_t *interrupted; /* counts Ctrl-C */
    int interrupts_spared;                    /* so many of them change nothing */
    struct session_events events;
};

/* One device of the run. */
struct session_lane {
    char uuid[64]; /* "" on cpu */
    struct device_info info;
};

struct session {
    const struct session_request *request;
    struct ini ini;
    struct plan plan;
    struct arm_set arms;
    struct store store;
    struct strbuf config_text; /* resolved */
    char own_library[4096];    /* bench's own kernels; "" when not there */
    char own_sha256[65];       /* their hash when the session began */
    char plan_hash[65];
    char scratch[256]; /* temporary folder for the oracle's values; "" without */
    enum sab_device kind;
    struct session_lane lane[LANES_MAX];
    size_t lanes_nr;
    struct device_info info;    /* of the first lane; the others are of its model */
    struct noise_floors floors; /* of the machine profile; store.set points here */
    struct text_list axes; /* columns of cases.csv: of the whole plan, whatever --only left of it */
    double *used_s;        /* measuring wall time a case, in the order of plan.item */
    bool *finished;        /* a case */
    int *sealed;           /* replicates of a case on disk */
    int *lane_of;          /* a case */
    bool stopped;          /* by Ctrl-C */
};

void session_init(struct session *s);
void session_release(struct session *s);

/* Reads the configuration and resolves device and arms. Touches no device. */
int session_open(struct session *s, const struct session_request *request, struct err *err);
/* Asks a worker on every lane what the device is. */
int session_device(struct session *s, struct err *err);
/* Makes or reopens the results folder. Without a folder name none is written (mode check). */
int session_store(struct session *s, struct err *err);
/* Looks for what on this machine would spoil the numbers; says it, and puts it into run.json.
 * session_warnings() gives it to the caller instead, who drops the reference. */
int session_warn(struct session *s, struct err *err);
int session_warnings(const struct session *s, json_t **warnings, struct err *err);
/* Runs every case of every replicate. A case that fails is a row, not an error. Interrupted:
 * returns 0 with s->stopped set and the files sealed. */
int session_run(struct session *s, struct err *err);

/* The exit status of a finished session by DESIGN 5. */
int session_status(const struct session *s);

/* Parts shared by the files of session. */
int session_choose_device(struct session *s, const char *serving_library, struct err *err);
/* The UUIDs of all lanes, separated by commas; nothing on cpu. */
void session_uuids(const struct session *s, struct strbuf *sb);
/* Says on which lane each case runs: those that have begun stay where they were. */
int session_assign(struct session *s, struct err *err);
/* Goes on with the run in `dir`. ERR_CONFIG where plan, protocol, device, timer or a library is
 * another, naming it. */
int session_resume(struct session *s, const char *dir, struct err *err);
const char *session_describe(void); /* git revision of this program */
void session_note(const struct session *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* After `done` replicates of case i, which take about `wall_s` each: is there another? Else the
 * case is finished, with reason `budget` where time or rounds ran out. */
int session_decide(struct session *s, size_t i, int done, double wall_s, struct err *err);
int session_out_of_budget(struct session *s, size_t i, struct err *err);
/* The same for every case of a resumed run: one that was cut off between a case's rows and run.json
 * has sealed more than it has decided. */
int session_decide_resumed(struct session *s, struct err *err);
/* Under which key the machine profile holds the noise floors of this session. */
struct profile_key session_profile_key(const struct session *s);
/* Takes the noise floors of the machine profile where `noise_floor = auto`. A profile that cannot
 * be read is a note, no error. */
int session_floors(struct session *s, struct err *err);
int session_job(struct session *s, struct job *job, enum job_mode mode, struct err *err);
int session_run_json(struct session *s, const char *status, struct err *err);
/* Rows that say how a case ended for `label` (NULL: for every arm of it). */
int session_fail_rows(struct session *s, const struct plan_case *item, const char *label,
                      const char *status, const char *text, struct err *err);

#endif
