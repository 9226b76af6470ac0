/*
 * case_run.h - one case in a worker: its arms, planned and gated, ready to be timed.
 */
#ifndef BENCH_CORE_CASE_RUN_H
#define BENCH_CORE_CASE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arms.h"
#include "ceilings.h"
#include "device.h"
#include "job.h"
#include "library.h"
#include "plan.h"
#include "rows.h"
#include "work.h"

/* What a worker holds from its first case to its last. */
struct worker {
    const struct job *job;
    const struct plan *plan;
    struct device *dev;
    struct library *library; /* one an arm of the job, in their order */
    struct library own;      /* bench's own kernels: the reference */
    bool own_ready;
    struct ceilings ceilings; /* of the machine profile */
    FILE *out;                /* answers */
    bool ended; /* mode check: something failed, and what is left is for another process */
    /* Reference kernels that agreed with the oracle here, and what a run on the small case took. */
    struct proof {
        const struct sab_kernel *kernel;
        double s, flops;
    } proof[CHAIN_MAX_STEPS];
    size_t proofs_nr;
};

/* One kernel of an arm: planned on its work. */
struct step_run {
    const struct sab_kernel *kernel;
    const uint32_t *choices; /* in arm_run.steps */
    struct work *work;
    void *workspace; /* with guards, as tensors have them; NULL for 0 bytes */
    uint64_t workspace_bytes;
    bool keeps_workspace;
    void *plan; /* the kernel's */
};

/* One arm of one case. A plain arm has one step. */
struct arm_run {
    const struct job_arm *job;
    const struct plan_arm *plan_arm;
    char against[256]; /* label of the arm it is compared with; its own: a baseline */
    bool is_base;
    struct arm_run *base; /* that arm, when it races too; itself for a baseline */
    const struct library *library;
    struct arm_steps steps;
    struct step_run step[CHAIN_MAX_STEPS];
    size_t steps_nr;
    bool usable;    /* planned and through the gate: may be timed */
    bool across;    /* its problem is another than that of the arm it is compared with */
    double call_ns; /* span of one warm call */
    double plan_ns;
    double jitter;        /* baseline: relative L2 between two of its own runs */
    uint64_t digest;      /* of its outputs in the gate */
    struct case_row *row; /* in case_run.rows */
};

#define CASE_RUN_MAX_ARMS  ARM_SET_MAX
#define CASE_RUN_MAX_WORKS (CASE_RUN_MAX_ARMS * CHAIN_MAX_STEPS)

/* Why a case has fewer rounds than were asked for. */
enum case_cut { CASE_WHOLE = 0, CASE_CUT_TIME, CASE_CUT_STOP };

struct case_run {
    struct worker *worker;
    const struct plan_case *item;
    const struct job_case *job;
    struct work *work[CASE_RUN_MAX_WORKS]; /* those of earlier steps before those of later ones */
    size_t works_nr;
    struct arm_run arm[CASE_RUN_MAX_ARMS];
    size_t arms_nr;
    struct case_table rows;
    struct sample_table samples;
    double check_s, wall_s;
    enum case_cut cut;
};

/* Rows for every arm that serves the case; problems, buffers, plans, inputs. An arm that cannot go
 * on (skip, oom, a refused plan) has its row say so and is not usable: that is no error. */
int case_run_open(struct case_run *run, struct worker *worker, const struct plan_case *item,
                  const struct job_case *job, struct err *err);
void case_run_close(struct case_run *run);

/* The step whose outputs are the arm's. */
static inline struct step_run *arm_last(struct arm_run *arm)
{
    return &arm->step[arm->steps_nr - 1];
}

/* ---- arm_run.c ---- */

/* Workspace and plan of every step. */
int arm_plan(struct arm_run *arm, struct err *err);
void arm_close(struct arm_run *arm, struct device *dev);
/* Enqueues every step, in a sample (`parts`) as a part of its own each. SAB status; a message in
 * text, which names the step of a pipeline. Negative with err set where the device failed. */
int arm_launch(struct arm_run *arm, bool parts, char *text, size_t size, struct err *err);
/* A launch whose completion is waited for. */
int arm_launch_sync(struct arm_run *arm, char *text, size_t size, struct err *err);
/* Marks an arm as out of the race with a status word and a sentence. */
int arm_fail(struct arm_run *arm, const char *status, struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Fills the workspaces with a byte, but for those that a choice wants to be overwritten by nobody.
 */
int arm_workspace_fill(struct arm_run *arm, int byte, struct err *err);
/* Poisons the outputs of every step, as work_poison(). */
int arm_poison(struct arm_run *arm, int byte, struct err *err);
/* "step 'sage_fwd/mma': " in a pipeline, else "". */
const char *step_prefix(const struct arm_run *arm, const struct step_run *step, char *buf,
                        size_t size);

/* ---- case_run.c ---- */

/* Tells the parent what is being done, and with which arm (NULL: with all): a worker that dies is
 * remembered by its last words. */
int worker_phase(struct case_run *run, const char *what, const struct arm_run *arm,
                 struct err *err);

/* Estimated seconds of one sample of arm `i` of the job in a case; 0 where it does not run there.
 */
double worker_sample_estimate(const struct worker *wk, size_t i, const struct plan_case *item);

/* Whether the parent has asked for an early end: checked between rounds. */
bool worker_stopping(void);

/* verify.c: the gate, before timing (`after` false) and after the last sample. */
int verify_gate(struct case_run *run, struct err *err);
int verify_outputs(struct case_run *run, struct arm_run *arm, bool after, struct err *err);

/* measure.c: warm-up, rounds, samples. Fills run->samples. */
int measure_case(struct case_run *run, struct err *err);

#endif
