/*
 * aa.h - `bench aa`: the baseline against a copy of itself, again and again (harness.md 3.9).
 *
 * Every trial is a whole run of its own: fresh processes, its own seed (the configuration's plus
 * the number of the trial), the baseline and its duplicate as the only arms. Samples stay in
 * memory; the folder holds aa.csv (a row a case and trial), aa_twin.csv (the injected delays) and
 * aa.json (rates, floors, provenance), each replaced whole after every trial.
 */
#ifndef BENCH_CORE_AA_H
#define BENCH_CORE_AA_H

#include "aa_result.h"
#include "session.h"
#include "text.h"

struct aa {
    const struct session_request *request; /* as for a run; `arms` may name the arm to try */
    int trials;                            /* asked for */
    struct session probe;  /* opened on the whole configuration: says arms, device, seed */
    struct text_list arms; /* that are tried: the baseline, or one an operator */
    char *dir;
    char *profile; /* path of the machine profile that was written; NULL: none was */
    json_t *run;   /* provenance, from the first trial */
    json_t *warnings;
    struct aa_result result;
    struct noise_floors floors; /* of these trials */
    double delta_floor;         /* noise floor that the verdicts are held against: 0 unless named */
    bool stopped, wrong, crashed;

    int trial;              /* running now, from 0 */
    double began_s;         /* of the trials, monotonic */
    bool told;              /* that Ctrl-C was heard */
    struct text_list notes; /* already said */
};

void aa_init(struct aa *aa);
void aa_release(struct aa *aa);

/* Reads the configuration, asks the device, chooses the arms and makes the folder. */
int aa_open(struct aa *aa, const struct session_request *request, int trials, struct err *err);
/* Runs the trials. The first Ctrl-C ends them after the current one, the second gives that one up:
 * returns 0 with `stopped` set. Writes the folder, and the machine profile if there is enough. */
int aa_run(struct aa *aa, struct err *err);
/* By DESIGN 5; 5 where the rate of false alarms lies wholly above AA_FALSE_ALARM. */
int aa_status(const struct aa *aa);

/* aa_files.c */
int aa_make_folder(struct aa *aa, struct err *err);
int aa_write(const struct aa *aa, const char *status, struct err *err);
int aa_write_profile(struct aa *aa, struct err *err);
void aa_take_provenance(struct aa *aa, const json_t *run);

#endif
