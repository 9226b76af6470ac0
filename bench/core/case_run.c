#include "case_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arms.h"
#include "case_build.h"
#include "estimate.h"
#include "verify_made.h"

static int row_kernels(struct case_row *row, const struct arm_steps *steps, struct err *err)
{
    struct strbuf name = STRBUF_INIT, options = STRBUF_INIT, hazards = STRBUF_INIT;
    int ret = -1;

    arm_steps_add_name(steps, &name);
    arm_steps_add_options(steps, &options);
    arm_steps_add_hazards(steps, &hazards);
    if (name.oom || options.oom || hazards.oom)
        err_memory(err);
    else if (!row_set(&row->kernel, name.buf, err) && !row_set(&row->options, options.buf, err) &&
             (!hazards.len || !row_set(&row->hazards, hazards.buf, err)))
        ret = 0;
    strbuf_release(&name);
    strbuf_release(&options);
    strbuf_release(&hazards);
    return ret;
}

static int row_identity(struct case_run *run, struct arm_run *arm, const struct op_case *c,
                        struct err *err)
{
    const struct worker *wk = run->worker;
    struct case_row *row = arm->row;
    char buf[128];

    row->schema = ROWS_SCHEMA;
    if (row_set(&row->run_id, wk->job->run_id, err) ||
        row_set(&row->plan_hash, wk->job->plan_hash, err) ||
        row_set(&row->case_id, run->item->id, err) || row_set(&row->sweep, run->item->sweep, err) ||
        row_set(&row->operator, c->op->name, err) || row_set(&row->arm, arm->job->label, err) ||
        (!arm->is_base && row_set(&row->baseline, arm->against, err)) ||
        row_set(&row->role,
                arm->job->duplicate ? "duplicate"
                : arm->is_base
                    ? "baseline"
                    : plan_role_name(arm->plan_arm->role == ROLE_BASELINE ? ROLE_CANDIDATE
                                                                          : arm->plan_arm->role),
                err) ||
        row_set(&row->device, device_info(wk->dev)->name, err) ||
        row_set(&row->device_uuid, device_info(wk->dev)->uuid, err) ||
        row_set(&row->library, arm->job->origin, err) ||
        row_set(&row->library_sha256, arm->job->sha256, err) ||
        row_set(&row->library_describe, arm->library->table->describe, err) ||
        row_kernels(row, &arm->steps, err) || row_set(&row->status, "ok", err) ||
        row_set(&row->problem, arm->across ? "across" : "same", err))
        return -1;
    for (size_t i = 0; i < run->rows.axes.nr; i++) {
        int a = op_axis_find(c->op, run->rows.axes.items[i]);
        if (a >= 0 && row_set(&row->axis[i], op_case_text(c, (size_t)a, buf, sizeof(buf)), err))
            return -1;
    }
    return 0;
}

/* Where ceilings were measured here: what the call would take at the nearest of them. */
static int row_limit(const struct worker *wk, const struct op_cost *cost, struct case_row *row,
                     struct err *err)
{
    struct ceiling_bound bound;

    ceilings_bound(&wk->ceilings, cost, wk->plan->set.cache != CACHE_WARM, &bound);
    row->limit_ns = bound.limit_ns;
    /* A virtual machine's caches and neighbours let its memory be faster at times. */
    row->bound_ns = device_info(wk->dev)->kind == SAB_DEVICE_CUDA ? bound.bound_ns : NAN;
    return row_set(&row->limit, bound.name, err);
}

static int row_protocol(struct case_run *run, struct arm_run *arm, const struct chain *chain,
                        struct err *err)
{
    const struct worker *wk = run->worker;
    const struct plan_settings *set = &wk->plan->set;
    const struct device_info *info = device_info(wk->dev);
    static const char *const timer_asked[] = {"auto", "cupti", "monotonic"};
    struct case_row *row = arm->row;
    struct op_cost cost;

    const struct op_case *last = &chain->step[chain->nr - 1].c;
    bool own = last->op != run->item->c.op || !case_equal(last, &run->item->c);
    row->density_asked = own ? NAN : run->item->density_asked;
    row->tick_ns = info->tick_ns;
    if (chain_cost(chain, &cost, err))
        return -1;
    row->density_realised = cost.density;
    row->flops = cost.flops_nominal;
    row->flops_valid = cost.flops_valid;
    row->flops_dense = cost.flops_dense;
    row->bytes = cost.bytes_min;
    if (chain->nr == 1 && row_limit(wk, &cost, row, err))
        return -1;
    return row_set(&row->timer_asked, timer_asked[set->timer], err) ||
                   row_set(&row->timer_used, device_timer_name(info->timer), err) ||
                   row_set(&row->cache_asked, plan_cache_name(set->cache), err) ||
                   row_set(&row->pace_asked, plan_pace_name(set->pace), err)
               ? -1
               : 0;
}

/* Asks the kernels whether they serve the case, and whether it can be afforded. */
static int arm_supports(struct case_run *run, struct arm_run *arm, const struct chain *chain,
                        struct err *err)
{
    struct worker *wk = run->worker;
    struct estimate est;
    char text[512] = "";

    if (estimate_arm(wk->plan, chain, &arm->steps, device_info(wk->dev), &est, text, sizeof(text),
                     err))
        return -1;
    if (est.status == ESTIMATE_OK)
        return 0;
    return arm_fail(arm, est.status == ESTIMATE_OOM ? "oom" : "skip", err, "%s", text);
}

/* ---- works ---- */

static bool same_feeds(const struct work *w, const struct work_feed feed[SAB_MAX_TENSORS])
{
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        if (w->feed[t].from != feed[t].from || w->feed[t].tensor != feed[t].tensor ||
            w->feed[t].shift.ids != feed[t].shift.ids ||
            w->feed[t].shift.keys != feed[t].shift.keys)
            return false;
    return true;
}

/* The work of one step: that of another arm where case and inputs are the same. *out is NULL where
 * the device has no room. */
static int step_work(struct case_run *run, const struct op_case *c,
                     const struct work_feed feed[SAB_MAX_TENSORS], struct work **out,
                     struct err *why)
{
    for (size_t i = 0; i < run->works_nr; i++) {
        struct work *w = run->work[i];

        if (w->c.op == c->op && w->c.seed == c->seed && case_equal(&w->c, c) &&
            same_feeds(w, feed)) {
            *out = w;
            return 0;
        }
    }
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return err_memory(why);
    if (work_open(*out, run->worker->dev, c, feed, why)) {
        work_close(*out);
        free(*out);
        *out = NULL;
        return -1;
    }
    run->work[run->works_nr++] = *out;
    return 0;
}

static int arm_works(struct case_run *run, struct arm_run *arm, const struct chain *chain,
                     struct err *err)
{
    struct err why = ERR_INIT;

    for (size_t i = 0; i < chain->nr; i++) {
        const struct chain_step *at = &chain->step[i];
        struct work_feed feed[SAB_MAX_TENSORS] = {{.from = NULL}};

        for (uint32_t t = 0; t < at->p.spec->tensors_nr; t++)
            if (at->from[t].step >= 0)
                feed[t] = (struct work_feed){arm->step[at->from[t].step].work, at->from[t].tensor,
                                             at->from[t].shift};
        if (!step_work(run, &at->c, feed, &arm->step[i].work, &why))
            continue;
        if (why.kind == ERR_MEMORY)
            return arm_fail(arm, "oom", err, "%s", why.text);
        return err_set(err, why.kind, "%s", why.text);
    }
    return 0;
}

/* Finds the arm's line in the job's list of racers; false: it does not race here. */
static bool find_race(const struct job_case *job, struct arm_run *arm)
{
    size_t len = strlen(arm->job->label);
    for (const char *p = job->race; *p; p = strchr(p, '\n') + 1) {
        if (strncmp(p, arm->job->label, len) || p[len] != '\t')
            continue;
        p += len + 1;
        snprintf(arm->against, sizeof(arm->against), "%.*s", (int)strcspn(p, "\n"), p);
        arm->is_base = !strcmp(arm->against, arm->job->label);
        return true;
    }
    return false;
}

static void find_bases(struct case_run *run)
{
    for (size_t i = 0; i < run->arms_nr; i++)
        for (size_t k = 0; k < run->arms_nr; k++)
            if (!strcmp(run->arm[i].against, run->arm[k].job->label))
                run->arm[i].base = &run->arm[k];
}

/* By name: the parent's plan may have lost arms to --arm, this one has them all. */
static const struct plan_arm *find_plan_arm(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->arms_nr; i++)
        if (!strcmp(plan->arm[i].name, name))
            return &plan->arm[i];
    return NULL;
}

/* Whether the arm that this one is compared with has another problem. */
static int is_across(const struct case_run *run, const struct arm_run *arm,
                     const struct chain *chain, bool *across, struct err *err)
{
    const struct job *job = run->worker->job;
    const struct plan_arm *base = NULL;
    struct chain *other;
    bool ignored;
    int ret = 0;

    for (size_t i = 0; i < job->arms_nr; i++)
        if (!strcmp(job->arm[i].label, arm->against))
            base = find_plan_arm(run->worker->plan, job->arm[i].arm);
    if (!base || base == arm->plan_arm)
        return 0;
    other = malloc(sizeof(*other));
    if (!other)
        return err_memory(err);
    if (plan_arm_chain(run->worker->plan, base, run->item, other, &ignored, err))
        ret = -1;
    else if (!chain_equal(chain, other))
        *across = true;
    free(other);
    return ret;
}

static void steps_init(struct arm_run *arm)
{
    arm->steps_nr = arm->steps.nr;
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct step_run *step = &arm->step[i];

        step->kernel = arm->steps.item[i].kernel;
        step->choices = arm->steps.item[i].choices;
        for (uint32_t o = 0; o < step->kernel->options_nr; o++)
            if (step->kernel->options[o].choices[step->choices[o]].flags &
                SAB_CHOICE_KEEPS_WORKSPACE)
                step->keeps_workspace = true;
    }
}

/* Problems and row of an arm that races, and its works where it can go on. */
static int arm_begin(struct case_run *run, struct arm_run *arm, struct chain *chain,
                     struct err *err)
{
    const struct op_case *last;

    if (plan_arm_chain(run->worker->plan, arm->plan_arm, run->item, chain, &arm->across, err) ||
        is_across(run, arm, chain, &arm->across, err) ||
        arms_steps(arm->library, arm->plan_arm, run->item, &arm->steps, err))
        return -1;
    steps_init(arm);
    arm->row = case_table_add(&run->rows, err);
    if (!arm->row)
        return -1;
    run->arms_nr++;
    arm->usable = true; /* until something says otherwise */
    last = &chain->step[chain->nr - 1].c;
    if (row_identity(run, arm, last, err) || row_protocol(run, arm, chain, err) ||
        arm_supports(run, arm, chain, err))
        return -1;
    return arm->usable ? arm_works(run, arm, chain, err) : 0;
}

static int arm_open(struct case_run *run, size_t i, struct err *err)
{
    const struct job *job = run->worker->job;
    struct arm_run *arm = &run->arm[run->arms_nr];
    struct chain *chain;
    int ret;

    if (run->arms_nr == CASE_RUN_MAX_ARMS)
        return err_set(err, ERR_CONFIG, "case '%s' has more than %d arms", run->item->id,
                       CASE_RUN_MAX_ARMS);
    memset(arm, 0, sizeof(*arm));
    arm->job = &job->arm[i];
    arm->plan_arm = find_plan_arm(run->worker->plan, arm->job->arm);
    if (!arm->plan_arm)
        return err_set(err, ERR_BUG, "the job's arm '%s' is not in the plan", arm->job->arm);
    arm->library = &run->worker->library[i];
    arm->jitter = NAN;
    if (!find_race(run->job, arm))
        return 0;
    chain = malloc(sizeof(*chain));
    if (!chain)
        return err_memory(err);
    ret = arm_begin(run, arm, chain, err);
    free(chain);
    return ret;
}

double worker_sample_estimate(const struct worker *wk, size_t i, const struct plan_case *item)
{
    const struct plan_arm *arm = find_plan_arm(wk->plan, wk->job->arm[i].arm);
    struct arm_steps steps;
    struct estimate est;
    struct chain *chain;
    bool across;
    double sample_s = 0;
    char text[512];

    if (!arm || !plan_arm_serves(arm, item))
        return 0;
    chain = malloc(sizeof(*chain));
    if (chain && !plan_arm_chain(wk->plan, arm, item, chain, &across, NULL) &&
        !arms_steps(&wk->library[i], arm, item, &steps, NULL) &&
        !estimate_arm(wk->plan, chain, &steps, device_info(wk->dev), &est, text, sizeof(text),
                      NULL) &&
        est.status == ESTIMATE_OK)
        sample_s = est.sample_s;
    free(chain);
    return sample_s;
}

int case_run_open(struct case_run *run, struct worker *worker, const struct plan_case *item,
                  const struct job_case *job, struct err *err)
{
    memset(run, 0, sizeof(*run));
    run->worker = worker;
    run->item = item;
    run->job = job;
    case_table_init(&run->rows);
    sample_table_init(&run->samples);
    if (arms_axis_names(worker->plan, &run->rows.axes, err))
        return -1;
    /* Rows are pointed to by arms: one allocation before the first of them. */
    run->rows.alloc = CASE_RUN_MAX_ARMS;
    run->rows.row = calloc(run->rows.alloc, sizeof(*run->rows.row));
    if (!run->rows.row)
        return err_memory(err);
    for (size_t i = 0; i < worker->job->arms_nr; i++)
        if (arm_open(run, i, err))
            return -1;
    find_bases(run);
    for (size_t i = 0; i < run->arms_nr; i++)
        if (run->arm[i].usable && arm_plan(&run->arm[i], err))
            return -1;
    /* Plans have seen poisoned inputs only: contents come now. */
    for (size_t i = 0; i < run->works_nr; i++)
        if (verify_make_inputs(run, run->work[i], err))
            return -1;
    return 0;
}

void case_run_close(struct case_run *run)
{
    struct device *dev = run->worker ? run->worker->dev : NULL;
    for (size_t i = 0; i < run->arms_nr; i++)
        arm_close(&run->arm[i], dev);
    for (size_t i = 0; i < run->works_nr; i++) {
        work_close(run->work[i]);
        free(run->work[i]);
    }
    case_table_release(&run->rows);
    sample_table_release(&run->samples);
    memset(run, 0, sizeof(*run));
}
