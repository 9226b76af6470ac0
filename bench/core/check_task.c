/*
 * check_task.c - the checks of one arm, handed to processes until each has an answer.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check_session.h"
#include "link.h"

#define POLL_MS 50
/* From its start to its first case a worker opens a device and a library. */
#define START_S 60.0

/* One process in progress. */
struct serving {
    struct check_task *task;
    struct link link;
    bool (*listed)[CHECKS_MAX]; /* what it was given and has not answered, by case */
    size_t at;                  /* the case that it is in; task->nr: none */
    int current;                /* check; -1: between two */
    char phase[256];
    double limit_s, deadline_s;
    size_t answers;
    bool failed; /* the last answer was a failure: it goes */
    bool ended;
};

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static bool interrupted(const struct session *s)
{
    return s->request->interrupted && (int)*s->request->interrupted > s->request->interrupts_spared;
}

/* ---- the job ---- */

/* The next checks for one process: all, or one alone where that is asked for, and of an unsafe
 * choice. That may leave something behind in its process that the next check would be blamed for.
 */
static void choose_checks(struct serving *sv)
{
    const struct check_task *task = sv->task;
    bool any = false;

    for (size_t k = 0; k < task->nr; k++)
        for (size_t i = 0; i < checks_nr() && !(any && (task->hazards || task->apart)); i++)
            if (task->item[k].wanted[i])
                sv->listed[k][i] = any = true;
}

static char *checks_text(const bool listed[CHECKS_MAX])
{
    struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < checks_nr(); i++)
        if (listed[i])
            strbuf_addf(&sb, "%s%s", sb.len ? " " : "", check_at(i)->name);
    return strbuf_detach(&sb);
}

static void arm_free(struct job_arm *a)
{
    free(a->label);
    free(a->library);
    free(a->origin);
    free(a->sha256);
    free(a->arm);
}

/* The job names one arm, and one library is opened for it. */
static int keep_arm(struct job *job, const char *label, struct err *err)
{
    struct job_arm kept = {.label = NULL};

    for (size_t i = 0; i < job->arms_nr; i++)
        if (!kept.label && !strcmp(job->arm[i].label, label))
            kept = job->arm[i];
        else
            arm_free(&job->arm[i]);
    job->arms_nr = kept.label != NULL;
    if (!kept.label)
        return err_set(err, ERR_BUG, "the job has no arm '%s'", label);
    job->arm[0] = kept;
    return 0;
}

static int replace(char **text, const char *by, struct err *err)
{
    char *copy = strdup(by);

    if (!copy)
        return err_memory(err);
    free(*text);
    *text = copy;
    return 0;
}

static int add_case(struct job *job, const struct serving *sv, size_t k, struct err *err)
{
    const struct check_task *task = sv->task;
    struct job_case *c = &job->item[job->nr];
    struct strbuf race = STRBUF_INIT;
    char *checks = checks_text(sv->listed[k]);

    if (checks && !*checks) {
        free(checks);
        return 0;
    }
    job->nr++;
    strbuf_addf(&race, "%s\t%s\n", task->arm->label, task->arm->label);
    c->id = strdup(task->item[k].id);
    c->race = strbuf_detach(&race);
    c->checks = checks;
    c->rounds = 1;
    c->budget_s = task->s->plan.set.max_time_s;
    return c->id && c->race && c->checks ? 0 : err_memory(err);
}

static int make_job(struct serving *sv, struct job *job, struct err *err)
{
    const struct check_task *task = sv->task;

    if (session_job(task->s, job, JOB_CHECK, err) || keep_arm(job, task->arm->label, err))
        return -1;
    if (task->config_text && (replace(&job->config_text, task->config_text, err) ||
                              replace(&job->plan_hash, task->plan_hash, err)))
        return -1;
    job->item = calloc(task->nr + 1, sizeof(*job->item));
    if (!job->item)
        return err_memory(err);
    for (size_t k = 0; k < task->nr; k++)
        if (add_case(job, sv, k, err))
            return -1;
    return 0;
}

/* ---- answers ---- */

static void settle(struct serving *sv, size_t k, int check, const struct check_result *res)
{
    struct check_case *c = &sv->task->item[k];

    c->result[check] = *res;
    c->wanted[check] = sv->listed[k][check] = false;
    sv->answers++;
    sv->current = -1;
}

/* The process ended, or was ended, inside a check. */
static void settle_end(struct serving *sv, enum check_end end, const char *text)
{
    const char *detail = strchr(sv->phase, ':');
    struct check_result res;
    size_t k = sv->at < sv->task->nr ? sv->at : 0;
    int check = sv->current;

    /* Between two checks the next one is what it died on. */
    for (; check < 0 && k < sv->task->nr; k += check < 0)
        for (size_t i = 0; check < 0 && i < checks_nr(); i++)
            if (sv->listed[k][i])
                check = (int)i;
    /* It had answered everything; or was told to go, with a failure. */
    if (check < 0 || sv->failed)
        return;
    check_result_init(&res);
    check_fail(&res, "%s%s%.*s", text, detail ? " at" : "",
               detail ? (int)strcspn(detail + 1, ";") : 0, detail ? detail + 1 : "");
    res.end = end;
    settle(sv, k, check, &res);
}

/* "check NAME; " or "check NAME: detail; ". */
static void on_phase(struct serving *sv, const char *text)
{
    char name[64];

    (void)snprintf(sv->phase, sizeof(sv->phase), "%s", text ? text : "");
    sv->deadline_s = now_s() + sv->limit_s;
    if (sscanf(sv->phase, "check %63[a-z0-9_]", name) == 1)
        sv->current = check_find(name);
}

static int on_check(struct serving *sv, const char *text, struct err *err)
{
    json_t *json = json_loads(text ? text : "", 0, NULL);
    const char *name = json_string_value(json_object_get(json, "check"));
    struct check_result res;
    int check = name ? check_find(name) : -1, ret;

    ret = check_result_from_json(&res, json, err);
    if (!ret && (check < 0 || sv->at >= sv->task->nr || !sv->listed[sv->at][check]))
        ret = err_set(err, ERR_BUG, "a worker answered a check that nobody asked for");
    if (!ret) {
        settle(sv, sv->at, check, &res);
        sv->failed = res.status == CHECK_FAIL;
    }
    json_decref(json);
    return ret;
}

static size_t find_case(const struct check_task *task, const char *id)
{
    size_t k = 0;

    while (k < task->nr && strcmp(task->item[k].id, id ? id : "") != 0)
        k++;
    return k;
}

static int on_answer(struct serving *sv, const struct answer *a, struct err *err)
{
    switch (a->kind) {
    case ANSWER_CASE:
        sv->at = find_case(sv->task, a->case_id);
        sv->current = -1;
        sv->limit_s = sv->task->limit_s > 0 ? sv->task->limit_s : a->timeout_s;
        sv->deadline_s = now_s() + sv->limit_s;
        return 0;
    case ANSWER_PHASE:
        on_phase(sv, a->text);
        return 0;
    case ANSWER_CHECK:
        return on_check(sv, a->text, err);
    case ANSWER_FATAL:
        sv->ended = true;
        /* A fault of the device, found by the call behind it, is the kernel's. */
        if (a->error_kind != ERR_CRASH && a->error_kind != ERR_WRONG)
            return err_set(err, a->error_kind, "%s", a->text);
        settle_end(sv, CHECK_CRASHED, a->text);
        return 0;
    case ANSWER_BYE:
        sv->ended = true;
        return 0;
    case ANSWER_INFO:
    case ANSWER_NOTE:
    case ANSWER_DONE:
        return 0;
    }
    return 0;
}

static void on_silence(struct serving *sv)
{
    char text[160];

    if (interrupted(sv->task->s)) {
        sv->task->s->stopped = sv->ended = true;
        child_signal(&sv->link.child, SIGKILL);
    } else if (now_s() > sv->deadline_s) {
        (void)snprintf(text, sizeof(text), "it did not end within its time limit of %.0f s",
                       sv->limit_s);
        child_signal(&sv->link.child, SIGKILL);
        settle_end(sv, CHECK_TIMED_OUT, text);
        sv->ended = true;
    }
}

static int serve(struct serving *sv, struct err *err)
{
    struct err why = ERR_INIT;
    struct answer a;
    int ret = 0;

    while (!sv->ended && !ret) {
        int got = link_next(&sv->link, POLL_MS, &a, &why);

        if (got > 0) {
            ret = on_answer(sv, &a, err);
            answer_release(&a);
        } else if (got < 0) {
            settle_end(sv, CHECK_CRASHED, why.text);
            sv->ended = true;
        }
        if (!sv->ended && !ret)
            on_silence(sv);
    }
    return ret;
}

static int one_process(struct check_task *task, struct err *err)
{
    struct serving sv = {.task = task, .at = task->nr, .current = -1, .limit_s = START_S};
    struct job job;
    int ret;

    sv.listed = calloc(task->nr, sizeof(*sv.listed));
    if (!sv.listed)
        return err_memory(err);
    choose_checks(&sv);
    job_init(&job);
    ret = make_job(&sv, &job, err);
    if (!ret)
        ret = link_start(&sv.link, task->s->request->exe, task->s->lane[0].uuid, &job, err);
    job_release(&job);
    if (!ret) {
        sv.deadline_s = now_s() + START_S;
        ret = serve(&sv, err);
        link_close(&sv.link);
    }
    free(sv.listed);
    if (!ret && !sv.answers && !task->s->stopped)
        return err_set(err, ERR_BUG, "a worker ended without an answer to any check");
    return ret;
}

/* Where a plain launch takes the process with it, so would every other one, or hang as long; and
 * what cannot be planned cannot be checked. */
static void spare_others(struct check_case *c)
{
    static const char *const words[] = {"", "a plain launch ends the process",
                                        "a plain launch does not end", "nothing could be launched"};
    const struct check_result *plain = &c->result[0];

    for (size_t i = 1; i < checks_nr(); i++) {
        if (!c->wanted[i] || (plain->end != CHECK_UNUSABLE && !(check_at(i)->flags & CHECK_CALLS)))
            continue;
        c->result[i] = *plain;
        if (plain->status != CHECK_NA)
            check_na(&c->result[i], "not run: %s", words[plain->end]);
        c->wanted[i] = false;
    }
}

static bool anything_wanted(const struct check_task *task)
{
    for (size_t k = 0; k < task->nr; k++)
        for (size_t i = 0; i < checks_nr(); i++)
            if (task->item[k].wanted[i])
                return true;
    return false;
}

int check_task_run(struct check_task *task, struct err *err)
{
    while (anything_wanted(task) && !task->s->stopped) {
        if (one_process(task, err))
            return -1;
        /* A check that was never asked for has a result of zeros: it ended as it should. */
        for (size_t k = 0; k < task->nr; k++)
            if (!task->item[k].wanted[0] && task->item[k].result[0].end != CHECK_ENDED)
                spare_others(&task->item[k]);
    }
    return 0;
}
