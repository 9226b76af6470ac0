/*
 * verify_reference.c - what judges outputs: the oracle's slices, and bench's own reference kernel,
 * which compares everything where that is affordable and is itself held against the oracle first.
 */
#include "verify_internal.h"
#include "verify_made.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* The largest error of 10^7 to 10^9 elements lies further out than that of the slices for which an
 * element's bar was chosen: 1.27e-2 was seen of right kernels where the bar says 1e-2. A tile that
 * is wrong or missing is off by the size of the values, ten times that. */
#define FULL_SLACK 4.0

/* A reference run in full may take this long, by the time of its run on the default case. */
#define REFERENCE_MAX_S 10.0

double verify_now_s(void)
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

bool verify_has_outputs(const struct work *w)
{
    for (uint32_t i = 0; i < w->p.spec->tensors_nr; i++)
        if (w->base[i] && w->tensor[i].role != SAB_IN)
            return true;
    return false;
}

static size_t bars_for(const struct work *w, const struct sab_kernel *kernel, bool sampled,
                       struct bar bars[OP_MAX_BARS])
{
    const struct op_model *op = w->c.op;
    size_t nr = (w->fed && op->bars_fed ? op->bars_fed : op->bars)(&w->c, sampled, bars), kept = 0;
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

/* Where a reference kernel can compare everything, a few slices prove enough; and where earlier
 * steps wrote the inputs, slices are made again for each arm. */
static double oracle_budget_s(const struct case_run *run, const struct work *w)
{
    double all = run->worker->plan->set.check_time_s;
    return w->fed || (!w->c.op->several && reference_find(run->worker, w->c.op->name)) ? all / 20
                                                                                       : all / 4;
}

int verify_judge(struct case_run *run, struct work *w, const struct sab_kernel *kernel,
                 struct judgement *out, bool *complete, struct err *err)
{
    const struct op_slices *slices;
    struct bar bars[OP_MAX_BARS];

    if (work_oracle_get(w, kernel, run->worker->job->scratch, oracle_budget_s(run, w), &slices,
                        err))
        return -1;
    *complete = slices->complete;
    size_t nr = bars_for(w, kernel, !slices->complete, bars);
    if (judge(&w->p, bars, nr, slices, read_output, w, out, err))
        return -1;
    return work_examine(w, slices, read_output, out, err);
}

int verify_accuracy(struct case_run *run, struct work *w, struct judgement *out, struct err *err)
{
    const struct op_slices *slices;

    out->rel_l2 = out->cosine = NAN;
    if (work_accuracy_get(w, run->worker->job->scratch, run->worker->plan->set.check_time_s / 20,
                          &slices, err))
        return -1;
    return slices ? judge(&w->p, NULL, 0, slices, read_output, w, out, err) : 0;
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

int verify_against_reference(struct work *w, const struct sab_kernel *kernel, struct judgement *out,
                             struct err *err)
{
    out->pass = true;
    for (uint32_t t = 0; t < w->p.spec->tensors_nr && out->pass; t++) {
        struct device_difference d;
        if (!w->reference[t])
            continue;
        if (device_compare(w->dev, w->tensor[t].dtype, w->tensor[t].data, w->reference[t],
                           w->p.tensor[t].elements, &d, err))
            return -1;
        judge_difference(w, t, &d, kernel, out);
    }
    return 0;
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
    double begin = verify_now_s();
    if (k->launch(plan, device_stream(w->dev), &msg)) {
        err_set(err, ERR_CRASH, "%s/%s cannot be launched: %s", k->op, k->name, text);
        goto out;
    }
    if (device_sync(w->dev, err))
        goto out;
    *seconds = verify_now_s() - begin;
    ret = 0;
out:
    if (plan)
        k->free(plan);
    device_free(w->dev, ws.data);
    return ret;
}

static const struct proof *proof_find(const struct worker *wk, const struct sab_kernel *k)
{
    for (size_t i = 0; i < wk->proofs_nr; i++)
        if (wk->proof[i].kernel == k)
            return &wk->proof[i];
    return NULL;
}

static const struct proof *proof_add(struct worker *wk, const struct proof *p)
{
    const size_t room = sizeof(wk->proof) / sizeof(wk->proof[0]);
    const size_t at = wk->proofs_nr < room ? wk->proofs_nr++ : room - 1;

    wk->proof[at] = *p;
    return &wk->proof[at];
}

/* Runs it twice on the operator's default case: the first run loads the module. */
static int prove(struct case_run *run, const struct op_model *op, uint64_t seed, struct proof *p,
                 struct err *err)
{
    struct work small;
    struct op_case c;
    struct op_cost cost;
    struct judgement j;
    bool complete;
    int ret = -1;

    if (op_case_default(op, seed, &c, err) || op->cost(&c, &cost, err))
        return -1;
    if (work_open(&small, run->worker->dev, &c, NULL, err) ||
        verify_make_inputs(run, &small, err) || work_poison(&small, -1, err) ||
        verify_run_once(&small, p->kernel, &p->s, err) ||
        verify_run_once(&small, p->kernel, &p->s, err) ||
        verify_judge(run, &small, p->kernel, &j, &complete, err))
        goto out;
    p->flops = cost.flops_nominal;
    ret = j.pass ? 0
                 : err_set(err, ERR_WRONG, "bench's own %s/%s disagrees with the oracle: %s",
                           p->kernel->op, p->kernel->name, j.text);
out:
    work_close(&small);
    return ret;
}

/* Proves the reference kernel and times it there; once a worker. NULL after filling err. */
static const struct proof *reference_prove(struct case_run *run, const struct work *w,
                                           const struct sab_kernel *k, struct err *err)
{
    struct proof fresh = {.kernel = k};
    const struct proof *known = proof_find(run->worker, k);

    if (known)
        return known;
    if (prove(run, w->c.op, w->c.seed, &fresh, err))
        return NULL;
    return proof_add(run->worker, &fresh);
}

int verify_keep_outputs(struct work *w, void **kept, struct err *err)
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

void verify_drop_outputs(struct work *w, void **kept)
{
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++) {
        device_free(w->dev, kept[t]);
        kept[t] = NULL;
    }
}

int verify_reference_fill(struct case_run *run, struct work *w, struct err *err)
{
    const struct sab_kernel *k = reference_find(run->worker, w->c.op->name);
    const struct op_slices *slices;
    struct op_cost cost;
    struct err quiet = ERR_INIT;
    const struct proof *proof;
    double seconds;

    if (!k || w->fed || w->c.op->several || !verify_has_outputs(w))
        return 0;
    /* Where the oracle covers everything there is nothing to add. */
    if (work_oracle_get(w, k, run->worker->job->scratch, oracle_budget_s(run, w), &slices, err))
        return -1;
    if (slices->complete)
        return 0;
    proof = reference_prove(run, w, k, &quiet);
    if (!proof)
        return quiet.kind == ERR_WRONG || quiet.kind == ERR_CRASH
                   ? err_set(err, quiet.kind, "%s", quiet.text)
                   : 0;
    if (w->c.op->cost(&w->c, &cost, err))
        return -1;
    if (!(proof->s * cost.flops_nominal / fmax(proof->flops, 1) <= REFERENCE_MAX_S))
        return 0;
    if (work_poison(w, -1, err))
        return -1;
    if (verify_run_once(w, k, &seconds, &quiet)) {
        return quiet.kind == ERR_CRASH ? err_set(err, quiet.kind, "%s", quiet.text) : 0;
    }
    if (verify_keep_outputs(w, w->reference, &quiet))
        verify_drop_outputs(w, w->reference);
    else
        w->reference_ready = true;
    return 0;
}
