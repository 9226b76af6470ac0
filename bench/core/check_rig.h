/*
 * check_rig.h - what the checks share: one arm of one case, its buffers twice with different
 * contents, reference outputs, comparisons.
 */
#ifndef BENCH_CORE_CHECK_RIG_H
#define BENCH_CORE_CHECK_RIG_H

#include "check.h"
#include "stream.h"

/* Copies of an arm's outputs on the device, by step and tensor. */
struct rig_outputs {
    void *data[CHAIN_MAX_STEPS][SAB_MAX_TENSORS];
};

/* The arm on buffers of its own: planned, and launched once on poisoned outputs right after it,
 * with the workspace as the plan left it. */
struct rig_side {
    struct plan_case item; /* the case, with a seed of the side's own */
    struct case_run *run;  /* NULL: not open */
    struct arm_run *arm;   /* in run */
    bool launched;
    struct rig_outputs kept; /* of that first launch: what later ones are held against */
    uint64_t inputs[CHAIN_MAX_STEPS][SAB_MAX_TENSORS]; /* digests before that launch */
};

enum { RIG_A = 0, RIG_B, RIG_SIDES };

struct rig {
    struct worker *wk;
    const struct plan_case *item;
    const struct job_case *jc;
    struct device *dev;
    struct rig_side side[RIG_SIDES];
    bool spoilt;   /* buffers or plans are no longer as they were opened: open anew */
    double jitter; /* largest relative L2 of a step's output between launches; NAN: not measured */
    int print_fd;  /* what kernels print goes here; -1: not caught */
    double launch_s; /* of A's first launch, waited for */
};

void rig_init(struct rig *rig, struct worker *wk, const struct job_case *jc,
              const struct plan_case *item);
/* Closes both sides. */
void rig_close(struct rig *rig);

/* Functions that may settle a check return 1 with *res filled, 0 to go on, negative with err set.
 */

/* Opens a side unless it is open; rig_need() also makes its first launch. */
int rig_open(struct rig *rig, int side, struct check_result *res, struct err *err);
int rig_need(struct rig *rig, int side, struct check_result *res, struct err *err);
/* Poisons the outputs with a byte (-1: that of their type) and launches; waits. */
int rig_launch(struct rig *rig, struct arm_run *arm, int poison, struct check_result *res,
               struct err *err);
/* The same without waiting or poison. */
int rig_enqueue(struct rig *rig, struct arm_run *arm, struct check_result *res, struct err *err);
/* Holds what stands in the outputs against `kept`: to the bit where that is promised, else within
 * the kernel's own jitter. `when` opens the sentence: "after the workspace was overwritten". */
int rig_same(struct rig *rig, struct arm_run *arm, const struct rig_outputs *kept, const char *when,
             struct check_result *res, struct err *err);
/* Outputs hold the byte everywhere. */
int rig_untouched(struct rig *rig, struct arm_run *arm, int byte, const char *when,
                  struct check_result *res, struct err *err);
/* rig_launch() and rig_same() against what the side's first launch gave. */
int rig_again(struct rig *rig, int side, const char *when, struct check_result *res,
              struct err *err);
/* Whether A and B gave different outputs: else nothing can be told from them. */
int rig_sides_differ(struct rig *rig, struct check_result *res, struct err *err);
/* Copies the inputs of one side into the other's buffers; spoils the rig. */
int rig_take_inputs(struct rig *rig, const struct rig_side *from, struct rig_side *to,
                    struct err *err);

/* ---- plans of one's own ---- */

/* The data of a step's workspace, between its guards. */
static inline char *rig_workspace(const struct step_run *step)
{
    return (char *)step->workspace + WORK_GUARD_BYTES;
}
/* Plans every step of `arm` (a copy of a side's, with `plan` cleared) on the workspaces that it
 * has. A refusal is a failure that `when` opens. */
int rig_plan(struct rig *rig, struct arm_run *arm, const char *when, struct check_result *res,
             struct err *err);
void rig_plan_free(struct arm_run *arm);
bool rig_has_workspace(const struct arm_run *arm);
int rig_fill_workspace(struct rig *rig, const struct arm_run *arm, int byte, struct err *err);

/* Names an element of a step's tensor in *res and appends both values to its text. */
void rig_point(const struct arm_run *arm, const struct step_run *step, uint32_t tensor, int64_t at,
               double got, double want, struct check_result *res);

/* ---- check_compare.c ---- */

int rig_outputs_keep(struct arm_run *arm, struct rig_outputs *kept, struct err *err);
/* Puts them back where they came from. */
int rig_outputs_restore(struct arm_run *arm, const struct rig_outputs *kept, struct err *err);
void rig_outputs_drop(struct rig *rig, struct rig_outputs *kept);
/* One element, as it stands in memory. */
double rig_value(int32_t dtype, const void *raw);
/* Whether this step and those before it promise equal bits. */
bool rig_promises_bits(const struct arm_run *arm, size_t step);
/* Largest relative L2 of an output against `kept`, over all steps. */
int rig_distance(struct arm_run *arm, const struct rig_outputs *kept, double *rel_l2,
                 struct err *err);

/* ---- the checks ---- */

typedef int check_run_fn(struct rig *rig, struct check_result *res, struct err *err);
/* checks_output.c */
check_run_fn check_oracle, check_guards, check_inputs, check_written, check_repeat, check_contents,
    check_two_plans, check_traffic, check_quiet, check_promises;
/* checks_workspace.c */
check_run_fn check_zeroed, check_stale_valid, check_recycled_view, check_empty, check_degenerate,
    check_no_growth;
/* checks_stream.c */
check_run_fn check_enqueues, check_ambient, check_ordered_streams, check_graph_replay;
/* checks_refusal.c */
check_run_fn check_refusals;

#endif
