/*
 * verify.c - the gate: no arm is timed that is wrong, and what was timed is looked at again.
 *
 * Outputs are held against the oracle's slices, and in full against the reference kernel of bench's
 * own library where that is affordable. The reference is itself held against the oracle before it
 * judges.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "case_run.h"
#include "verify_made.h"

/* The largest error of 10^7 to 10^9 elements lies further out than that of the slices for which an
 * element's bar was chosen: 1.27e-2 was seen of right kernels where the bar says 1e-2. A tile that
 * is wrong or missing is off by the size of the values, ten times that. */
#define FULL_SLACK 4.0

/* A reference run in full may take this long, by the time of its run on the default case. */
#define REFERENCE_MAX_S 10.0

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int read_output(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst,
                       struct err *err)
{
    struct work *w = ctx;
    size_t size = sab_dtype_size(w->tensor[tensor].dtype);
    const char *src = w->tensor[tensor].data;
    return device_download(w->dev, dst, src + (size_t)at * size, (size_t)n * size, err);
}

static bool has_outputs(const struct work *w)
{
    for (uint32_t i = 0; i < w->p.spec->tensors_nr; i++)
        if (w->base[i] && w->tensor[i].role != SAB_IN)
            return true;
    return false;
}

static size_t bars_for(const struct work *w, const struct sab_kernel *kernel, bool sampled,
                       struct bar bars[OP_MAX_BARS])
{
    size_t nr = w->c.op->bars(&w->c, sampled, bars), kept = 0;
    for (size_t i = 0; i < nr; i++)
        if (kernel->attributes_nr || bars[i].kind != BAR_EMULATED)
            bars[kept++] = bars[i];
    return kept;
}

static const struct sab_kernel *reference_find(const struct worker *worker, const char *op)
{
    enum sab_device kind = device_info(worker->dev)->kind;
    if (!worker->own_ready)
        return NULL;
    for (size_t i = 0; i < worker->own.kernels_nr; i++) {
        const struct sab_kernel *k = worker->own.kernels[i].row;
        if (!worker->own.kernels[i].refusal && !strcmp(k->op, op) && k->device == (int32_t)kind &&
            (k->flags & SAB_KERNEL_REFERENCE))
            return k;
    }
    return NULL;
}

/* Where a reference kernel can compare everything, a few slices prove enough. */
static double oracle_budget_s(const struct case_run *run)
{
    double all = run->worker->plan->set.check_time_s;
    return reference_find(run->worker, run->item->c.op->name) ? all / 20 : all / 4;
}

int verify_judge(struct case_run *run, struct work *w, const struct sab_kernel *kernel,
                 struct judgement *out, bool *complete, struct err *err)
{
    const struct op_slices *slices;
    struct bar bars[OP_MAX_BARS];

    if (work_oracle_get(w, kernel, run->worker->job->scratch, oracle_budget_s(run), &slices, err))
        return -1;
    *complete = slices->complete;
    size_t nr = bars_for(w, kernel, !slices->complete, bars);
    return judge(&w->p, bars, nr, slices, read_output, w, out, err);
}

/* Bars over the whole tensor, applied to a full comparison with the reference kernel. */
static void judge_difference(const struct work *w, uint32_t t, const struct device_difference *d,
                             const struct sab_kernel *kernel, struct judgement *out)
{
    struct bar bars[OP_MAX_BARS];
    size_t nr = bars_for(w, kernel, false, bars);
    double rel = d->sum_ref2 > 0 ? sqrt(d->sum_err2 / d->sum_ref2) : sqrt(d->sum_err2);
    double cosine = d->sum_ref2 > 0 && d->sum_got2 > 0
                        ? d->sum_dot / sqrt(d->sum_ref2 * d->sum_got2)
                        : (d->sum_ref2 == d->sum_got2 ? 1 : 0);

    out->pass = true;
    out->text[0] = '\0';
    if (d->pattern) {
        out->pass = false;
        snprintf(
            out->text, sizeof(out->text),
            "'%s' has NaN or infinity in other places than the reference kernel, first at %lld "
            "(%lld elements)",
            w->p.spec->tensors[t].name, (long long)d->pattern_first, (long long)d->pattern);
        return;
    }
    for (size_t i = 0; i < nr && out->pass; i++) {
        if (bars[i].tensor != t || bars[i].level != BAR_WHOLE)
            continue;
        if (bars[i].kind == BAR_REL_L2 && !(rel <= bars[i].a))
            out->pass = false;
        if (bars[i].kind == BAR_COSINE && !(cosine >= bars[i].a))
            out->pass = false;
        if (bars[i].kind == BAR_DIFF && !(d->sum_err2 <= bars[i].a * (d->sum_ref2 + d->sum_got2)))
            out->pass = false;
        /* |e| <= a + b|ref| everywhere makes |e| / (1 + |ref|) at most the larger of a and b. */
        if (bars[i].kind == BAR_ELEMENT && !(d->mixed <= FULL_SLACK * fmax(bars[i].a, bars[i].b)))
            out->pass = false;
    }
    if (!out->pass)
        snprintf(
            out->text, sizeof(out->text),
            "'%s' against the reference kernel in full: relative L2 %.3g, cosine %.6f, largest "
            "difference %.3g at element %lld",
            w->p.spec->tensors[t].name, rel, cosine, d->max_abs, (long long)d->max_at);
}

static int against_reference(struct arm_run *arm, struct judgement *out, struct err *err)
{
    struct work *w = arm->work;
    out->pass = true;
    for (uint32_t t = 0; t < w->p.spec->tensors_nr && out->pass; t++) {
        struct device_difference d;
        if (!w->reference[t])
            continue;
        if (device_compare(w->dev, w->tensor[t].dtype, w->tensor[t].data, w->reference[t],
                           w->p.tensor[t].elements, &d, err))
            return -1;
        judge_difference(w, t, &d, arm->kernel, out);
    }
    return 0;
}

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

/* The contract's checks of what stands in the outputs now. */
int verify_outputs(struct case_run *run, struct arm_run *arm, bool after, struct err *err)
{
    struct work *w = arm->work;
    struct judgement j, full;
    bool complete = true;
    char text[256];

    if (!has_outputs(w))
        return row_set(after ? &arm->row->check_after : &arm->row->check_before, "none", err);
    if (verify_judge(run, w, arm->kernel, &j, &complete, err))
        return -1;
    full.pass = true;
    if (j.pass && w->reference_ready && against_reference(arm, &full, err))
        return -1;
    if (work_guards_check(w, text, sizeof(text), err))
        return -1;
    /* Mended at once: the next arm is not to be blamed for what this one wrote. */
    if (text[0] && work_guards_write(w, err))
        return -1;
    const char *how = complete ? "full" : w->reference_ready ? "sampled+reference" : "sampled";
    if (!after) {
        arm->row->max_abs_err = j.max_abs;
        arm->row->rel_l2 = j.rel_l2;
        arm->row->cosine = j.cosine;
        arm->row->emulated_rel_l2 = j.emulated_rel_l2;
        if (row_set(&arm->row->oracle, how, err))
            return -1;
    }
    bool pass = j.pass && full.pass && !text[0];
    const char *word = !pass ? "wrong" : complete || w->reference_ready ? "pass" : "sampled";
    if (row_set(after ? &arm->row->check_after : &arm->row->check_before, word, err))
        return -1;
    if (pass)
        return 0;
    return arm_fail(arm, "wrong", err, "%s: %s", after ? "after timing" : "before timing",
                    !j.pass      ? j.text
                    : !full.pass ? full.text
                                 : text);
}

/* ---- the reference kernel ---- */

int verify_run_once(struct work *w, const struct sab_kernel *k, double *seconds, struct err *err)
{
    char text[512] = "";
    struct sab_message msg = {text, sizeof(text)};
    uint32_t choices[SAB_MAX_OPTIONS];
    struct sab_tensor tensors[SAB_MAX_TENSORS];
    struct sab_problem problem;
    struct sab_buffer ws = {0};
    void *plan = NULL;
    int ret = -1;

    library_default_choices(k, choices);
    work_problem(w, device_info(w->dev), choices, k->options_nr, tensors, &problem);
    ws.memory = problem.tensors[0].memory;
    if (k->supports(&problem, &msg) || k->workspace_size(&problem, &ws.bytes, &msg))
        return err_set(err, ERR_CONFIG, "%s", text);
    if (ws.bytes && device_alloc(w->dev, ws.bytes, &ws.data, err))
        return -1;
    if (k->plan(&problem, &ws, &plan, &msg)) {
        err_set(err, ERR_ENVIRONMENT, "%s/%s cannot be planned: %s", k->op, k->name, text);
        goto out;
    }
    double begin = now_s();
    if (k->launch(plan, device_stream(w->dev), &msg)) {
        err_set(err, ERR_CRASH, "%s/%s cannot be launched: %s", k->op, k->name, text);
        goto out;
    }
    if (device_sync(w->dev, err))
        goto out;
    *seconds = now_s() - begin;
    ret = 0;
out:
    if (plan)
        k->free(plan);
    device_free(w->dev, ws.data);
    return ret;
}

/* Proves the reference kernel on the operator's default case, and times it there; once a worker. */
static int reference_prove(struct case_run *run, const struct sab_kernel *k, double *seconds,
                           double *flops, struct err *err)
{
    struct worker *wk = run->worker;
    struct work small;
    struct op_case c;
    struct op_cost cost;
    struct judgement j;
    bool complete;
    int ret = -1;

    *seconds = wk->proven_s;
    *flops = wk->proven_flops;
    if (wk->proven == k)
        return 0;
    if (op_case_default(run->item->c.op, run->item->c.seed, &c, err) || c.op->cost(&c, &cost, err))
        return -1;
    if (work_open(&small, run->worker->dev, &c, err) || verify_make_inputs(run, &small, err) ||
        work_poison(&small, -1, err) || verify_run_once(&small, k, seconds, err) ||
        verify_run_once(&small, k, seconds, err)) /* the first loads the module */
        goto out;
    if (verify_judge(run, &small, k, &j, &complete, err))
        goto out;
    if (!j.pass) {
        err_set(err, ERR_WRONG, "bench's own %s/%s disagrees with the oracle: %s", k->op, k->name,
                j.text);
        goto out;
    }
    *flops = cost.flops_nominal;
    wk->proven = k;
    wk->proven_s = *seconds;
    wk->proven_flops = *flops;
    ret = 0;
out:
    work_close(&small);
    return ret;
}

static int keep_outputs(struct work *w, void **kept, struct err *err)
{
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        if (!w->base[t] || w->tensor[t].role == SAB_IN)
            continue;
        if (!kept[t] && device_alloc(w->dev, w->p.tensor[t].bytes + 1, &kept[t], err))
            return -1;
        if (device_copy(w->dev, kept[t], w->tensor[t].data, w->p.tensor[t].bytes, err))
            return -1;
    }
    return device_sync(w->dev, err);
}

static void drop_outputs(struct work *w, void **kept)
{
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++) {
        device_free(w->dev, kept[t]);
        kept[t] = NULL;
    }
}

/* Fills work.reference where a full check is affordable. A refusal or a full memory only means that
 * the slices decide alone. */
static int reference_fill(struct case_run *run, struct work *w, struct err *err)
{
    const struct sab_kernel *k = reference_find(run->worker, w->c.op->name);
    const struct op_slices *slices;
    struct op_cost cost;
    struct err quiet = ERR_INIT;
    double seconds = 0, flops = 0;

    if (!k || !has_outputs(w))
        return 0;
    /* Where the oracle covers everything there is nothing to add. */
    if (work_oracle_get(w, k, run->worker->job->scratch, oracle_budget_s(run), &slices, err))
        return -1;
    if (slices->complete)
        return 0;
    if (reference_prove(run, k, &seconds, &flops, &quiet))
        return quiet.kind == ERR_WRONG || quiet.kind == ERR_CRASH
                   ? err_set(err, quiet.kind, "%s", quiet.text)
                   : 0;
    if (w->c.op->cost(&w->c, &cost, err))
        return -1;
    if (!(seconds * cost.flops_nominal / fmax(flops, 1) <= REFERENCE_MAX_S))
        return 0;
    if (work_poison(w, -1, err))
        return -1;
    if (verify_run_once(w, k, &seconds, &quiet)) {
        return quiet.kind == ERR_CRASH ? err_set(err, quiet.kind, "%s", quiet.text) : 0;
    }
    if (keep_outputs(w, w->reference, &quiet))
        drop_outputs(w, w->reference);
    else
        w->reference_ready = true;
    return 0;
}

/* ---- the gate ---- */

static double rel_l2_to_kept(struct work *w, void **kept, struct err *err)
{
    double err2 = 0, ref2 = 0;
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
    struct work *w = arm->work;
    char text[512];

    if (!has_outputs(w) || arm->across)
        return 0;
    if (digest_outputs(w, &arm->digest, err))
        return -1;
    if (arm->is_base) {
        if (w->baseline_ready)
            return 0;
        if (keep_outputs(w, w->baseline, NULL)) {
            drop_outputs(w, w->baseline);
            return 0;
        }
        w->baseline_ready = true;
        w->baseline_arm = arm;
        if (work_poison(w, -1, err) || arm_workspace_fill(arm, 0xa5, err))
            return -1;
        if (arm_launch_sync(arm, text, sizeof(text), err))
            return arm_fail(arm, "crash", err, "the second launch failed: %s", text);
        arm->jitter = rel_l2_to_kept(w, w->baseline, err);
        arm->row->jitter_baseline = arm->jitter;
        return 0;
    }
    const struct arm_run *base = arm->base;
    if (!base || !base->usable || base->work != w)
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

    if (worker_phase(run, "check", arm, err) || work_poison(arm->work, -1, err) ||
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
    double begin = now_s();

    for (size_t i = 0; i < run->works_nr; i++)
        if (reference_fill(run, &run->work[i], err))
            return -1;
    for (int pass = 0; pass < 2; pass++) /* the baseline first: the others are held against it */
        for (size_t i = 0; i < run->arms_nr; i++)
            if (run->arm[i].usable && run->arm[i].is_base == (pass == 0) &&
                gate_arm(run, &run->arm[i], err))
                return -1;
    run->check_s += now_s() - begin;
    return 0;
}
