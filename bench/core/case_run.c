#include "case_run.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "arms.h"
#include "estimate.h"
#include "verify_made.h"

int arm_fail(struct arm_run *arm, const char *status, struct err *err, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    arm->usable = false;
    if (row_set(&arm->row->status, status, err))
        return -1;
    return row_set(&arm->row->status_text, text, err);
}

const char *arm_option_text(const struct arm_run *arm, char *buf, size_t size)
{
    size_t at = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < arm->kernel->options_nr; i++) {
        const struct sab_option *o = &arm->kernel->options[i];
        int n = snprintf(buf + at, size - at, "%s%s=%s", at ? " " : "", o->name,
                         o->choices[arm->choices[i]].name);
        if (n < 0 || (size_t)n >= size - at)
            break;
        at += (size_t)n;
    }
    return buf;
}

/* Names of the hazards of the choices made, separated by blanks. */
static void hazards_text(const struct arm_run *arm, char *buf, size_t size)
{
    static const char *const names[] = {"zeroed",       "stale_valid", "recycled_view",
                                        "graph_replay", "no_growth",   "ordered_streams",
                                        "empty",        "degenerate"};
    uint32_t hazards = 0;
    size_t at = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < arm->kernel->options_nr; i++)
        hazards |= arm->kernel->options[i].choices[arm->choices[i]].hazards;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (hazards & (1u << i) && at < size)
            at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? " " : "", names[i]);
}

static int row_identity(struct case_run *run, struct arm_run *arm, const struct op_case *c,
                        struct err *err)
{
    const struct worker *wk = run->worker;
    struct case_row *row = arm->row;
    char buf[512];

    row->schema = ROWS_SCHEMA;
    if (row_set(&row->run_id, wk->job->run_id, err) ||
        row_set(&row->plan_hash, wk->job->plan_hash, err) ||
        row_set(&row->case_id, run->item->id, err) || row_set(&row->sweep, run->item->sweep, err) ||
        row_set(&row->operator, c->op->name, err) ||
        row_setf(&row->kernel, err, "%s/%s", arm->kernel->op, arm->kernel->name) ||
        row_set(&row->arm, arm->job->label, err) ||
        (!arm->is_base && row_set(&row->baseline, arm->against, err)) ||
        row_set(&row->role,
                arm->job->duplicate ? "duplicate"
                : arm->is_base
                    ? "baseline"
                    : plan_role_name(arm->plan_arm->role == ROLE_BASELINE ? ROLE_CANDIDATE
                                                                          : arm->plan_arm->role),
                err) ||
        row_set(&row->device, device_info(wk->dev)->name, err) ||
        row_set(&row->library, arm->job->origin, err) ||
        row_set(&row->library_sha256, arm->job->sha256, err) ||
        row_set(&row->library_describe, arm->library->table->describe, err) ||
        row_set(&row->options, arm_option_text(arm, buf, sizeof(buf)), err) ||
        row_set(&row->status, "ok", err) ||
        row_set(&row->problem, arm->across ? "across" : "same", err))
        return -1;
    hazards_text(arm, buf, sizeof(buf));
    if (*buf && row_set(&row->hazards, buf, err))
        return -1;
    for (size_t i = 0; i < run->rows.axes.nr; i++) {
        int a = op_axis_find(c->op, run->rows.axes.items[i]);
        if (a >= 0 && row_set(&row->axis[i], op_case_text(c, (size_t)a, buf, sizeof(buf)), err))
            return -1;
    }
    return 0;
}

static int row_protocol(struct case_run *run, struct arm_run *arm, const struct op_case *c,
                        struct err *err)
{
    const struct worker *wk = run->worker;
    const struct plan_settings *set = &wk->plan->set;
    const struct device_info *info = device_info(wk->dev);
    static const char *const timer_asked[] = {"auto", "cupti", "monotonic"};
    struct case_row *row = arm->row;
    struct op_cost cost;

    row->density_asked = arm->across ? NAN : run->item->density_asked;
    row->tick_ns = info->tick_ns;
    if (c->op->cost(c, &cost, err))
        return -1;
    row->density_realised = cost.density;
    row->flops = cost.flops_nominal;
    row->flops_valid = cost.flops_valid;
    row->flops_dense = cost.flops_dense;
    row->bytes = cost.bytes_min;
    return row_set(&row->timer_asked, timer_asked[set->timer], err) ||
                   row_set(&row->timer_used, device_timer_name(info->timer), err) ||
                   row_set(&row->cache_asked, plan_cache_name(set->cache), err) ||
                   row_set(&row->pace_asked, plan_pace_name(set->pace), err)
               ? -1
               : 0;
}

/* The parent has checked names already; a worker only looks them up. */
static int arm_resolve(struct arm_run *arm, const struct plan_case *item, struct err *err)
{
    const struct plan_arm *pa = arm->plan_arm;
    const char *op = pa->op ? pa->op : item->c.op->name;

    const struct library_kernel *k =
        library_find_kernel(arm->library, op, arms_kernel_name(pa), err);

    if (!k)
        return -1;
    arm->kernel = k->row;
    if (arms_choices(pa, arm->kernel, arm->choices, err))
        return -1;
    for (uint32_t i = 0; i < arm->kernel->options_nr; i++)
        if (arm->kernel->options[i].choices[arm->choices[i]].flags & SAB_CHOICE_KEEPS_WORKSPACE)
            arm->keeps_workspace = true;
    return 0;
}

static bool same_case(const struct op_case *a, const struct op_case *b)
{
    char ta[64], tb[64];
    if (a->op != b->op || a->seed != b->seed)
        return false;
    for (size_t i = 0; i < a->op->axes_nr; i++)
        if (strcmp(op_case_text(a, i, ta, sizeof(ta)), op_case_text(b, i, tb, sizeof(tb))))
            return false;
    return true;
}

/* Asks the kernel whether it serves the case, and whether it can be afforded. */
static int arm_supports(struct case_run *run, struct arm_run *arm, const struct op_case *c,
                        struct err *err)
{
    struct worker *wk = run->worker;
    struct estimate est;
    char text[512] = "";

    if (estimate_arm(wk->plan, c, arm->kernel, arm->choices, device_info(wk->dev), &est, text,
                     sizeof(text), err))
        return -1;
    if (est.status == ESTIMATE_OK)
        return 0;
    return arm_fail(arm, est.status == ESTIMATE_OOM ? "oom" : "skip", err, "%s", text);
}

static int arm_work(struct case_run *run, struct arm_run *arm, const struct op_case *c,
                    struct err *err)
{
    struct err why = ERR_INIT;

    for (size_t i = 0; i < run->works_nr; i++) {
        if (same_case(&run->work[i].c, c)) {
            arm->work = &run->work[i];
            return 0;
        }
    }
    struct work *w = &run->work[run->works_nr];
    if (work_open(w, run->worker->dev, c, &why)) {
        work_close(w);
        if (why.kind == ERR_MEMORY)
            return arm_fail(arm, "oom", err, "%s", why.text);
        return err_set(err, why.kind, "%s", why.text);
    }
    run->works_nr++;
    arm->work = w;
    return 0;
}

int arm_workspace_fill(struct arm_run *arm, int byte, struct err *err)
{
    if (!arm->workspace || arm->keeps_workspace)
        return 0;
    return device_fill(arm->work->dev, (char *)arm->workspace + WORK_GUARD_BYTES, byte,
                       arm->workspace_bytes, err);
}

static const char *workspace_name(const struct arm_run *arm)
{
    if (!arm->workspace_bytes)
        return "none";
    return arm->keeps_workspace ? "kept" : "overwritten";
}

static int arm_plan(struct arm_run *arm, struct err *err)
{
    struct work *w = arm->work;
    const struct device_info *info = device_info(w->dev);
    struct sab_tensor tensors[SAB_MAX_TENSORS];
    struct sab_problem problem;
    struct sab_buffer ws = {0};
    struct err why = ERR_INIT;
    char text[512] = "";
    struct sab_message msg = {text, sizeof(text)};

    work_problem(w, info, arm->choices, arm->kernel->options_nr, tensors, &problem);
    int status = arm->kernel->workspace_size(&problem, &ws.bytes, &msg);
    if (status)
        return arm_fail(arm, "skip", err, "its workspace size is not known: %s", text);
    arm->workspace_bytes = ws.bytes;
    if (row_set(&arm->row->workspace, workspace_name(arm), err))
        return -1;
    ws.memory = info->kind == SAB_DEVICE_CUDA ? SAB_MEMORY_DEVICE : SAB_MEMORY_HOST;
    if (ws.bytes) {
        if (device_alloc(w->dev, ws.bytes + 2 * WORK_GUARD_BYTES, &arm->workspace, &why))
            return arm_fail(arm, "oom", err, "workspace of %llu bytes: %s",
                            (unsigned long long)ws.bytes, why.text);
        ws.data = (char *)arm->workspace + WORK_GUARD_BYTES;
        if (device_fill(w->dev, ws.data, 0xa5, ws.bytes, err))
            return -1;
    }
    if (device_sync(w->dev, err))
        return -1;
    double begin = device_now_ns(w->dev);
    status = arm->kernel->plan(&problem, &ws, &arm->plan, &msg);
    arm->plan_ns = arm->row->plan_ns = device_now_ns(w->dev) - begin;
    if (status == SAB_UNSUPPORTED)
        return arm_fail(arm, "skip", err, "%s", text);
    if (status)
        return arm_fail(arm, "crash", err, "it cannot be planned (%s): %s", sab_status_name(status),
                        text);
    arm->usable = true;
    return 0;
}

int arm_launch_sync(struct arm_run *arm, char *text, size_t size, struct err *err)
{
    struct sab_message msg = {text, size};
    text[0] = '\0';
    int status = arm->kernel->launch(arm->plan, device_stream(arm->work->dev), &msg);
    if (status)
        return status;
    return device_sync(arm->work->dev, err);
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

static int arm_open(struct case_run *run, size_t i, struct err *err)
{
    const struct job *job = run->worker->job;
    struct arm_run *arm = &run->arm[run->arms_nr];
    struct op_case c;

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
    if (plan_arm_case(run->worker->plan, arm->plan_arm, run->item, &c, &arm->across, err) ||
        arm_resolve(arm, run->item, err))
        return -1;
    arm->row = case_table_add(&run->rows, err);
    if (!arm->row)
        return -1;
    run->arms_nr++;
    arm->usable = true; /* until something says otherwise */
    if (row_identity(run, arm, &c, err) || row_protocol(run, arm, &c, err) ||
        arm_supports(run, arm, &c, err))
        return -1;
    return arm->usable ? arm_work(run, arm, &c, err) : 0;
}

double worker_sample_estimate(const struct worker *wk, size_t i, const struct plan_case *item)
{
    struct arm_run arm = {.job = &wk->job->arm[i], .library = &wk->library[i]};
    struct estimate est;
    struct op_case c;
    char text[512];

    arm.plan_arm = find_plan_arm(wk->plan, arm.job->arm);
    if (!arm.plan_arm || !plan_arm_serves(arm.plan_arm, item) ||
        plan_arm_case(wk->plan, arm.plan_arm, item, &c, &arm.across, NULL) ||
        arm_resolve(&arm, item, NULL) ||
        estimate_arm(wk->plan, &c, arm.kernel, arm.choices, device_info(wk->dev), &est, text,
                     sizeof(text), NULL) ||
        est.status != ESTIMATE_OK)
        return 0;
    return est.sample_s;
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
        if (verify_make_inputs(run, &run->work[i], err))
            return -1;
    return 0;
}

void case_run_close(struct case_run *run)
{
    struct device *dev = run->worker ? run->worker->dev : NULL;
    for (size_t i = 0; i < run->arms_nr; i++) {
        if (run->arm[i].plan)
            run->arm[i].kernel->free(run->arm[i].plan);
        if (run->arm[i].workspace)
            device_free(dev, run->arm[i].workspace);
    }
    for (size_t i = 0; i < run->works_nr; i++)
        work_close(&run->work[i]);
    case_table_release(&run->rows);
    sample_table_release(&run->samples);
    memset(run, 0, sizeof(*run));
}
