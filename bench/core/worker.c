#include "worker.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "case_run.h"
#include "check.h"
#include "ini.h"
#include "ncu.h"

/* Set by SIGUSR1: finish the round, answer, go. The one variable of the program that is not in a
 * struct: a signal handler has no other way in. */
static volatile sig_atomic_t stop_asked;

static void on_stop(int signo)
{
    (void)signo;
    stop_asked = 1;
}

bool worker_stopping(void)
{
    return stop_asked;
}

static void listen_for_stop(void)
{
    struct sigaction act = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    sigemptyset(&act.sa_mask);
    sigaction(SIGUSR1, &act, NULL);
}

static int say(struct worker *wk, enum answer_kind kind, const char *case_id, const char *text,
               double timeout_s, struct err *err)
{
    struct answer a;
    int ret;

    answer_init(&a);
    a.kind = kind;
    a.case_id = (char *)case_id;
    a.text = (char *)text;
    a.timeout_s = timeout_s;
    if (kind == ANSWER_INFO)
        a.info = *device_info(wk->dev);
    ret = answer_write(wk->out, &a, err);
    return ret;
}

static void say_fatal(FILE *out, const char *case_id, const struct err *why)
{
    struct answer a;
    answer_init(&a);
    a.kind = ANSWER_FATAL;
    a.case_id = (char *)case_id;
    a.text = (char *)why->text;
    a.error_kind = why->kind;
    answer_write(out, &a, NULL);
}

static int say_done(struct worker *wk, struct case_run *run, struct err *err)
{
    struct strbuf rows = STRBUF_INIT, samples = STRBUF_INIT;
    struct answer a;
    int ret = -1;

    answer_init(&a);
    if (case_table_write(&run->rows, &rows, err) ||
        sample_table_write(&run->samples, 0, 0, &samples, err))
        goto out;
    if (rows.oom || samples.oom) {
        err_memory(err);
        goto out;
    }
    a.kind = ANSWER_DONE;
    a.case_id = (char *)run->item->id;
    a.rows = rows.buf;
    a.samples = samples.buf;
    a.wall_s = run->wall_s;
    a.check_s = run->check_s;
    a.cut = (int)run->cut;
    ret = answer_write(wk->out, &a, err);
out:
    strbuf_release(&rows);
    strbuf_release(&samples);
    return ret;
}

static int job_read(struct job *job, struct err *err)
{
    json_error_t why;
    FILE *in = fdopen(JOB_FD_IN, "r");
    json_t *json = in ? json_loadf(in, 0, &why) : NULL;
    int ret;

    if (!json)
        ret = err_set(err, ERR_BUG, "no job on the pipe: %s", in ? why.text : "it is closed");
    else
        ret = job_from_json(job, json, err);
    json_decref(json);
    if (in)
        fclose(in);
    return ret;
}

static int plan_build(struct worker *wk, struct ini *ini, struct plan *plan, struct err *err)
{
    char hash[65];
    const struct job *job = wk->job;

    if (ini_read_text(ini, job->config_name, job->config_text, strlen(job->config_text), err) ||
        plan_read(plan, ini, err) || plan_hash(plan, hash, err))
        return -1;
    if (strcmp(hash, job->plan_hash))
        return err_set(err, ERR_BUG, "the worker's plan has hash %.12s, the parent's %.12s", hash,
                       job->plan_hash);
    wk->plan = plan;
    return 0;
}

static int libraries_open(struct worker *wk, struct err *err)
{
    const struct job *job = wk->job;
    wk->library = calloc(job->arms_nr + 1, sizeof(*wk->library));
    if (!wk->library)
        return err_memory(err);
    for (size_t i = 0; i < job->arms_nr; i++)
        if (library_open_same(&wk->library[i], job->arm[i].library, job->arm[i].sha256, err))
            return err_prefix(err, "arm '%s'", job->arm[i].label);
    if (*job->own_library) {
        if (library_open_same(&wk->own, job->own_library, job->own_sha256, err))
            return err_prefix(err, "bench's own kernels");
        wk->own_ready = true;
    }
    return 0;
}

static void libraries_close(struct worker *wk)
{
    for (size_t i = 0; wk->library && i < wk->job->arms_nr; i++)
        library_close(&wk->library[i]);
    library_close(&wk->own);
    free(wk->library);
}

static const struct plan_case *case_find(const struct plan *plan, const char *id)
{
    for (size_t i = 0; i < plan->nr; i++)
        if (!strcmp(plan->item[i].id, id))
            return &plan->item[i];
    return NULL;
}

/* How long the parent may hear nothing of a case: ten times the estimate, at least 30 s. */
static double timeout_of(const struct worker *wk, const struct job_case *jc,
                         const struct plan_case *item)
{
    const struct plan_settings *set = &wk->plan->set;
    double sample_s = 0;

    if (set->timeout_s > 0)
        return set->timeout_s;
    for (size_t i = 0; i < wk->job->arms_nr; i++)
        sample_s += worker_sample_estimate(wk, i, item);
    double estimate = fmin(jc->budget_s, 1.5 * jc->rounds * sample_s) + set->check_time_s / 4;
    return fmax(30, 10 * estimate);
}

int worker_phase(struct case_run *run, const char *what, const struct arm_run *arm, struct err *err)
{
    char text[256];
    snprintf(text, sizeof(text), "%s %s", what, arm ? arm->job->label : "");
    return say(run->worker, ANSWER_PHASE, run->item->id, text, 0, err);
}

static int run_case(struct worker *wk, const struct job_case *jc, struct err *err)
{
    const struct plan_case *item = case_find(wk->plan, jc->id);
    struct case_run *run = calloc(1, sizeof(*run));
    int ret = -1;

    if (!run)
        return err_memory(err);
    if (!item) {
        err_set(err, ERR_BUG, "the job's case '%s' is not in the plan", jc->id);
        goto out;
    }
    if (say(wk, ANSWER_CASE, jc->id, NULL, timeout_of(wk, jc, item), err))
        goto out;
    if (wk->job->mode == JOB_CHECK) {
        ret = check_serve(wk, jc, item, err);
        goto out;
    }
    if (case_run_open(run, wk, item, jc, err) || verify_gate(run, err))
        goto out;
    if (wk->job->mode == JOB_PROFILE) {
        if (ncu_case(run, err))
            goto out;
    } else if (worker_phase(run, "measure", NULL, err) || measure_case(run, err)) {
        goto out;
    }
    ret = say_done(wk, run, err);
out:
    case_run_close(run);
    free(run);
    return ret;
}

static int serve(struct worker *wk, struct ini *ini, struct plan *plan, const char **at,
                 struct err *err)
{
    const struct job *job = wk->job;
    struct device_request request = {.kind = job->kind,
                                     .threads = job->threads,
                                     .timer = job->timer,
                                     .look = job->look,
                                     .conditions = job->mode == JOB_RUN,
                                     .seed = 0x5ab};

    if (job->mode != JOB_INFO && plan_build(wk, ini, plan, err))
        return -1;
    if (wk->plan)
        request.seed = wk->plan->set.seed;
    if (device_open(&wk->dev, &request, err) || say(wk, ANSWER_INFO, NULL, NULL, 0, err))
        return -1;
    if (job->mode != JOB_INFO) {
        if (libraries_open(wk, err))
            return -1;
        /* The parent has told the user of a profile that cannot be read. */
        if (job->mode == JOB_RUN && ceilings_read(&wk->ceilings, device_info(wk->dev), NULL))
            ceilings_release(&wk->ceilings);
        for (size_t i = 0; i < job->nr && !worker_stopping() && !wk->ended; i++) {
            *at = job->item[i].id;
            if (run_case(wk, &job->item[i], err))
                return -1;
            *at = NULL;
        }
    }
    return say(wk, ANSWER_BYE, NULL, NULL, 0, err);
}

int worker_main(void)
{
    struct err err = ERR_INIT;
    struct job job;
    struct ini ini;
    struct plan plan;
    struct worker wk = {0};
    const char *at = NULL;
    int status = 1;

    listen_for_stop();
    /* A parent that was killed leaves nobody to answer to, and the next run would be measured
     * beside us. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    job_init(&job);
    ini_init(&ini);
    plan_init(&plan);
    wk.job = &job;
    wk.out = fdopen(JOB_FD_OUT, "w");
    if (!wk.out)
        goto out;
    if (job_read(&job, &err) || serve(&wk, &ini, &plan, &at, &err))
        say_fatal(wk.out, at, &err);
    else
        status = 0;
out:
    device_close(wk.dev);
    libraries_close(&wk);
    ceilings_release(&wk.ceilings);
    plan_release(&plan);
    ini_release(&ini);
    job_release(&job);
    if (wk.out)
        fclose(wk.out);
    return status;
}
