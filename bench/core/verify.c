/*
 * verify.c - the gate: no arm is timed that is wrong, and what was timed is looked at again.
 *
 * Outputs are held against the oracle's slices, and in full against the reference kernel of bench's
 * own library where that is affordable. The reference is itself held against the oracle before it
 * judges.
 */
#include <math.h>

#include "verify_internal.h"

static int digest_outputs(struct work *w, uint64_t *digest, struct err *err)
{
    *digest = 0;
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        uint64_t d;
        if (!w->base[t] || w->tensor[t].role == SAB_IN)
            continue;
        if (device_digest(w->dev, w->tensor[t].data, w->p.tensor[t].bytes, &d, err))
            return -1;
        *digest = *digest * 0x9e3779b97f4a7c15u + d;
    }
    return 0;
}

/* What one step's outputs came to. */
struct verdict_of_step {
    struct judgement j, full;
    bool complete;
    char guards[256];
};

static bool is_right(const struct verdict_of_step *v)
{
    return v->j.pass && v->full.pass && !v->guards[0];
}

static int look_at(struct case_run *run, const struct step_run *step, struct verdict_of_step *v,
                   struct err *err)
{
    struct work *w = step->work;

    v->complete = v->full.pass = true;
    if (verify_judge(run, w, step->kernel, &v->j, &v->complete, err))
        return -1;
    if (v->j.pass && w->reference_ready && verify_against_reference(w, step->kernel, &v->full, err))
        return -1;
    if (work_guards_check(w, v->guards, sizeof(v->guards), err))
        return -1;
    /* Mended at once: the next arm is not to be blamed for what this one wrote. */
    return v->guards[0] ? work_guards_write(w, err) : 0;
}

/* Errors are those of the last step, the arm's own output. */
static int fill_errors(struct case_run *run, struct arm_run *arm, const struct judgement *j,
                       struct err *err)
{
    struct judgement raw;

    arm->row->max_abs_err = j->max_abs;
    arm->row->rel_l2 = j->rel_l2;
    arm->row->cosine = j->cosine;
    arm->row->emulated_rel_l2 = j->emulated_rel_l2;
    if (arm->steps_nr == 1)
        return 0;
    if (verify_accuracy(run, arm_last(arm)->work, &raw, err))
        return -1;
    arm->row->accuracy_rel_l2 = raw.rel_l2;
    arm->row->accuracy_cosine = raw.cosine;
    return 0;
}

static int fill_check(struct arm_run *arm, bool after, bool complete, bool sampled, bool right,
                      struct err *err)
{
    const char *word = !right ? "wrong" : sampled ? "sampled" : "pass";

    if (!after && row_set(&arm->row->oracle,
                          complete  ? "full"
                          : sampled ? "sampled"
                                    : "sampled+reference",
                          err))
        return -1;
    return row_set(after ? &arm->row->check_after : &arm->row->check_before, word, err);
}

/* The contract's checks of what stands in the outputs now: of every step, on the inputs that it was
 * given, up to the first that is wrong. */
int verify_outputs(struct case_run *run, struct arm_run *arm, bool after, struct err *err)
{
    struct verdict_of_step v = {.full.pass = true};
    bool complete = true, sampled = false, right = true;
    char name[256];

    if (!verify_has_outputs(arm_last(arm)->work))
        return row_set(after ? &arm->row->check_after : &arm->row->check_before, "none", err);
    for (size_t i = 0; i < arm->steps_nr && right; i++) {
        struct step_run *step = &arm->step[i];

        if (look_at(run, step, &v, err))
            return -1;
        complete &= v.complete;
        sampled |= !v.complete && !step->work->reference_ready;
        right = is_right(&v);
        if (!right &&
            arm_fail(arm, "wrong", err, "%s: %s%s", after ? "after timing" : "before timing",
                     step_prefix(arm, step, name, sizeof(name)),
                     !v.j.pass      ? v.j.text
                     : !v.full.pass ? v.full.text
                                    : v.guards))
            return -1;
        if (!after && step == arm_last(arm) && fill_errors(run, arm, &v.j, err))
            return -1;
    }
    return fill_check(arm, after, complete, sampled, right, err);
}

static double rel_l2_to_kept(struct work *w, void **kept, struct err *err)
{
    double err2 = 0, ref2 = 0;
    if (w->c.op->several)
        return NAN;
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        struct device_difference d;
        if (!kept[t])
            continue;
        if (device_compare(w->dev, w->tensor[t].dtype, w->tensor[t].data, kept[t],
                           w->p.tensor[t].elements, &d, err))
            return NAN;
        err2 += d.sum_err2;
        ref2 += d.sum_ref2;
    }
    return ref2 > 0 ? sqrt(err2 / ref2) : sqrt(err2);
}

/* How this arm's outputs stand to the baseline's; for the baseline, to its own second run. */
static int against_baseline(struct arm_run *arm, struct err *err)
{
    struct work *w = arm_last(arm)->work;
    char text[512];

    if (!verify_has_outputs(w) || arm->across)
        return 0;
    if (digest_outputs(w, &arm->digest, err))
        return -1;
    if (arm->is_base) {
        if (w->baseline_ready)
            return 0;
        if (verify_keep_outputs(w, w->baseline, NULL)) {
            verify_drop_outputs(w, w->baseline);
            return 0;
        }
        w->baseline_ready = true;
        w->baseline_arm = arm;
        if (arm_poison(arm, -1, err) || arm_workspace_fill(arm, 0xa5, err))
            return -1;
        if (arm_launch_sync(arm, text, sizeof(text), err))
            return arm_fail(arm, "crash", err, "the second launch failed: %s", text);
        arm->jitter = rel_l2_to_kept(w, w->baseline, err);
        arm->row->jitter_baseline = arm->jitter;
        return 0;
    }
    const struct arm_run *base = arm->base;
    if (!base || !base->usable || arm_last(arm->base)->work != w)
        return 0;
    arm->row->jitter_baseline = base->jitter;
    /* Several baselines of one case share the work: the outputs kept are those of the first. */
    if (w->baseline_ready && w->baseline_arm == base)
        arm->row->rel_l2_baseline = rel_l2_to_kept(w, w->baseline, err);
    return row_set(&arm->row->bits_equal, base->digest == arm->digest ? "yes" : "no", err);
}

static int gate_arm(struct case_run *run, struct arm_run *arm, struct err *err)
{
    char text[512];

    if (worker_phase(run, "check", arm, err) || arm_poison(arm, -1, err) ||
        arm_workspace_fill(arm, 0xa5, err))
        return -1;
    int status = arm_launch_sync(arm, text, sizeof(text), err);
    if (status < 0)
        return -1;
    if (status)
        return arm_fail(arm, "crash", err, "the launch was refused after a plan was made: %s",
                        text);
    if (verify_outputs(run, arm, false, err))
        return -1;
    if (!arm->usable)
        return 0;
    return against_baseline(arm, err);
}

int verify_gate(struct case_run *run, struct err *err)
{
    double begin = verify_now_s();

    for (size_t i = 0; i < run->works_nr; i++)
        if (verify_reference_fill(run, run->work[i], err))
            return -1;
    for (int pass = 0; pass < 2; pass++) /* the baseline first: the others are held against it */
        for (size_t i = 0; i < run->arms_nr; i++)
            if (run->arm[i].usable && run->arm[i].is_base == (pass == 0) &&
                gate_arm(run, &run->arm[i], err))
                return -1;
    run->check_s += verify_now_s() - begin;
    return 0;
}
