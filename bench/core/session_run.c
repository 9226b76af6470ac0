/*
 * session_run.c - replicate after replicate: start a worker, listen, seal, replace it when it dies.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "case_run.h"
#include "link.h"
#include "resources.h"
#include "rng.h"
#include "session.h"

#define POLL_MS 200
/* Between its cases a worker opens devices and libraries, and closes what it used: seconds. */
#define SILENCE_S 60

/* One replicate in progress. */
struct replicate {
    struct session *s;
    int process;
    uint32_t *waiting; /* indices of cases, in shuffled order */
    size_t waiting_nr;
    struct link link;
    int current; /* index into plan.item, -1 between cases */
    char phase[256];
    double deadline_s;
    bool asked_stop;
    bool failed; /* the run cannot go on: err says why */
};

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int interrupts(const struct session *s)
{
    int pressed = s->request->interrupted ? (int)*s->request->interrupted : 0;
    return pressed > s->request->interrupts_spared ? pressed - s->request->interrupts_spared : 0;
}

static int planned_processes(const struct session *s)
{
    return s->request->mode != JOB_RUN ? 1 : s->plan.set.processes;
}

static int after_replicate(struct replicate *rep, size_t i, const struct answer *a, struct err *err)
{
    struct session *s = rep->s;

    s->sealed[i] = store_sealed(&s->store, s->plan.item[i].id);
    if (a->cut == CASE_CUT_STOP) {
        store_partial(&s->store, a->case_id, rep->process);
        return 0;
    }
    s->used_s[i] += a->wall_s;
    if (s->request->mode != JOB_RUN || !*a->samples) {
        s->finished[i] = true; /* nothing was timed: another try would find the same */
        return 0;
    }
    if (a->cut == CASE_CUT_TIME)
        return session_out_of_budget(s, i, err);
    return session_decide(s, i, rep->process + 1, a->wall_s, err);
}

/* ---- the job of a replicate ---- */

static bool has_failed(const struct session *s, const char *case_id, const char *label)
{
    for (size_t i = 0; i < s->store.cases.nr; i++) {
        const struct case_row *row = &s->store.cases.row[i];
        if (!strcmp(row->arm, label) && !strcmp(row->case_id, case_id))
            return strcmp(row->status, "ok") != 0;
    }
    return false;
}

/* Who races in a case: arms that brought a worker down, or were wrong, are not asked again. */
static char *race_of(const struct session *s, const struct plan_case *item)
{
    struct strbuf sb = STRBUF_INIT;
    for (size_t i = 0; i < s->arms.nr; i++) {
        const struct arm_entry *e = &s->arms.item[i];
        const struct arm_entry *other = arm_set_against(&s->arms, &s->plan, item, e);
        if (!other || has_failed(s, item->id, e->label) ||
            (e->duplicate && has_failed(s, item->id, other->label)))
            continue;
        strbuf_addf(&sb, "%s\t%s\n", e->label, other->label);
    }
    return strbuf_detach(&sb);
}

static int replicate_job(struct replicate *rep, struct job *job, struct err *err)
{
    struct session *s = rep->s;

    if (session_job(s, job, s->request->mode, err))
        return -1;
    job->process = rep->process;
    job->item = calloc(rep->waiting_nr + 1, sizeof(*job->item));
    if (!job->item)
        return err_memory(err);
    for (size_t i = 0; i < rep->waiting_nr; i++) {
        const struct plan_case *item = &s->plan.item[rep->waiting[i]];
        struct job_case *c = &job->item[job->nr++];
        c->id = strdup(item->id);
        c->race = race_of(s, item);
        c->rounds = s->plan.set.rounds;
        c->budget_s = s->plan.set.max_time_s - s->used_s[rep->waiting[i]];
        if (!c->id || !c->race)
            return err_memory(err);
    }
    return 0;
}

static void waiting_remove(struct replicate *rep, size_t item)
{
    size_t kept = 0;
    for (size_t i = 0; i < rep->waiting_nr; i++)
        if (rep->waiting[i] != item)
            rep->waiting[kept++] = rep->waiting[i];
    rep->waiting_nr = kept;
}

static int find_case(const struct session *s, const char *id)
{
    for (size_t i = 0; id && i < s->plan.nr; i++)
        if (!strcmp(s->plan.item[i].id, id))
            return (int)i;
    return -1;
}

/* ---- failures ---- */

/* The arm that the worker's last words name: "check LABEL". */
static const char *culprit(const struct replicate *rep)
{
    const char *label = strchr(rep->phase, ' ');
    if (!label || !label[1])
        return NULL;
    for (size_t i = 0; i < rep->s->arms.nr; i++)
        if (!strcmp(rep->s->arms.item[i].label, label + 1))
            return rep->s->arms.item[i].label;
    return NULL;
}

/* The case that was running ends as crash or timeout. With a culprit the others get their turn. */
static int case_failed(struct replicate *rep, const char *status, const char *text, struct err *err)
{
    struct session *s = rep->s;
    size_t i = (size_t)rep->current;
    const struct plan_case *item = &s->plan.item[i];
    const char *label = culprit(rep);

    session_note(s, "case '%s': %s%s%s: %s", item->id, label ? "arm '" : "", label ? label : status,
                 label ? "'" : "", text);
    if (session_fail_rows(s, item, label, status, text, err))
        return -1;
    rep->current = -1;
    rep->phase[0] = '\0';
    if (!label) {
        s->finished[i] = true;
        waiting_remove(rep, i);
    }
    if (session_run_json(s, "running", err))
        return -1;
    return store_write(&s->store, false, err);
}

/* ---- answers ---- */

static int fill_resources(struct session *s, const char *case_id, struct err *err)
{
    int at = find_case(s, case_id);

    for (size_t i = 0; at >= 0 && i < s->store.cases.nr; i++) {
        struct case_row *row = &s->store.cases.row[i];
        if (strcmp(row->case_id, case_id))
            continue;
        for (size_t k = 0; k < s->arms.nr; k++) {
            const struct arm_entry *e = &s->arms.item[k];
            struct arm_steps steps;

            if (strcmp(e->label, row->arm))
                continue;
            arm_entry_steps(e, &s->plan, &s->plan.item[at], &steps);
            /* Of several kernels there is no one number. */
            if (steps.nr == 1 &&
                resources_fill(e->lib, steps.item[0].kernel, s->info.arch, row, err))
                return -1;
        }
    }
    return 0;
}

static int on_done(struct replicate *rep, const struct answer *a, struct err *err)
{
    struct session *s = rep->s;
    int i = find_case(s, a->case_id);

    if (i < 0 || !a->rows || !a->samples)
        return err_set(err, ERR_BUG, "a worker finished a case that nobody asked for");
    if (s->request->mode != JOB_RUN) {
        if (store_rows(&s->store, a->rows, err))
            return -1;
    } else if (store_seal(&s->store, a->rows, a->samples, err)) {
        return -1;
    }
    if (fill_resources(s, a->case_id, err))
        return -1;
    if (s->request->mode == JOB_RUN && store_summarise(&s->store, a->case_id, err))
        return -1;
    if (after_replicate(rep, (size_t)i, a, err))
        return -1;
    waiting_remove(rep, (size_t)i);
    rep->current = -1;
    if (session_run_json(s, "running", err) || store_write(&s->store, false, err))
        return -1;
    rep->deadline_s = now_s() + SILENCE_S;
    return 0;
}

static void say_progress(const struct replicate *rep)
{
    const struct session *s = rep->s;
    const struct session_events *ev = &s->request->events;
    int all = planned_processes(s) * (int)s->plan.nr, done = 0;
    double used = 0, left = NAN;

    if (!ev->progress)
        return;
    for (size_t i = 0; i < s->plan.nr; i++) {
        bool whole = s->finished[i] || s->sealed[i] > planned_processes(s);
        done += whole ? planned_processes(s) : s->sealed[i];
        used += s->used_s[i];
    }
    if (done > 0)
        left = used / done * (all - done);
    ev->progress(ev->ctx, done, all, left, rep->current >= 0 ? s->plan.item[rep->current].id : "",
                 rep->phase);
}

/* Returns 1 when the worker has said its last word. */
static int on_answer(struct replicate *rep, const struct answer *a, struct err *err)
{
    switch (a->kind) {
    case ANSWER_INFO:
    case ANSWER_NOTE:
        if (a->text)
            session_note(rep->s, "%s", a->text);
        return 0;
    case ANSWER_CASE:
        rep->current = find_case(rep->s, a->case_id);
        rep->deadline_s = now_s() + a->timeout_s;
        snprintf(rep->phase, sizeof(rep->phase), "prepare");
        say_progress(rep);
        return 0;
    case ANSWER_PHASE:
        snprintf(rep->phase, sizeof(rep->phase), "%s", a->text ? a->text : "");
        say_progress(rep);
        return 0;
    case ANSWER_DONE:
        return on_done(rep, a, err);
    case ANSWER_FATAL:
        if (rep->current >= 0 && a->error_kind == ERR_CRASH)
            return case_failed(rep, "crash", a->text, err) ? -1 : 1;
        err_set(err, a->error_kind, "%s", a->text);
        return -1;
    case ANSWER_BYE:
        return 1;
    }
    return 0;
}

/* What has to happen while no answer comes. Returns 1 when the worker was ended. */
static int on_silence(struct replicate *rep, struct err *err)
{
    int pressed = interrupts(rep->s);

    if (pressed && !rep->asked_stop) {
        rep->asked_stop = true;
        rep->s->stopped = true;
        link_ask_stop(&rep->link);
    }
    if (pressed > 1) {
        child_signal(&rep->link.child, SIGKILL);
        return 1;
    }
    if (rep->current < 0 && now_s() > rep->deadline_s)
        return err_set(err, ERR_ENVIRONMENT, "a worker said nothing for %d s between its cases",
                       SILENCE_S);
    if (rep->current >= 0 && now_s() > rep->deadline_s) {
        char text[512];
        snprintf(text, sizeof(text), "no answer within its time limit, while in '%s'", rep->phase);
        child_signal(&rep->link.child, SIGKILL);
        return case_failed(rep, "timeout", text, err) ? -1 : 1;
    }
    return 0;
}

/* One worker, from start to end. */
static int serve_worker(struct replicate *rep, struct err *err)
{
    struct err why = ERR_INIT;
    struct answer a;
    struct job job;
    int got, end = 0;

    if (replicate_job(rep, &job, err) ||
        link_start(&rep->link, rep->s->request->exe, rep->s->uuid, &job, err)) {
        job_release(&job);
        return -1;
    }
    job_release(&job);
    rep->current = -1;
    rep->phase[0] = '\0';
    rep->deadline_s = now_s() + SILENCE_S;
    while (!end) {
        got = link_next(&rep->link, POLL_MS, &a, &why);
        if (got > 0) {
            end = on_answer(rep, &a, err);
            answer_release(&a);
            if (!end)
                end = on_silence(rep, err);
        } else if (got == 0) {
            end = on_silence(rep, err);
        } else if (rep->current >= 0) {
            end = case_failed(rep, "crash", why.text, err) ? -1 : 1;
        } else if (rep->asked_stop) {
            end = 1; /* asked before it listened */
        } else {
            end = err_set(err, why.kind, "%s", why.text);
        }
    }
    link_close(&rep->link);
    return end < 0 ? -1 : 0;
}

static int run_replicate(struct session *s, int process, struct err *err)
{
    struct replicate rep = {.s = s, .process = process, .current = -1};
    int ret = 0;

    rep.waiting = calloc(s->plan.nr + 1, sizeof(*rep.waiting));
    uint32_t *order = calloc(s->plan.nr + 1, sizeof(*order));
    if (!rep.waiting || !order) {
        free(rep.waiting);
        free(order);
        return err_memory(err);
    }
    rng_permutation_u32(order, (uint32_t)s->plan.nr,
                        rng_hash(s->plan.set.seed, 0x0ca5e5, (uint64_t)process));
    for (size_t i = 0; i < s->plan.nr; i++) {
        uint32_t at = order[i];
        if (!s->finished[at] && s->sealed[at] <= process)
            rep.waiting[rep.waiting_nr++] = at;
    }
    while (rep.waiting_nr && !ret && !s->stopped)
        ret = serve_worker(&rep, err);
    free(rep.waiting);
    free(order);
    return ret;
}

static bool all_finished(const struct session *s)
{
    for (size_t i = 0; i < s->plan.nr; i++)
        if (!s->finished[i])
            return false;
    return true;
}

int session_run(struct session *s, struct err *err)
{
    if (arm_set_copy(&s->arms, err) || session_decide_resumed(s, err))
        return -1;
    for (int process = 0; !all_finished(s) && !s->stopped; process++)
        if (run_replicate(s, process, err)) {
            /* What is sealed stays; the files say that the run did not end well. */
            session_run_json(s, "failed", NULL);
            store_write(&s->store, true, NULL);
            return -1;
        }
    if (session_run_json(s, s->stopped ? "interrupted" : "complete", err))
        return -1;
    return store_write(&s->store, true, err);
}

int session_status(const struct session *s)
{
    const struct summary_run *r = &s->store.summary;
    bool gate_unsure = s->store.set.gate_unsure_fails && r->unsure;

    if (s->stopped)
        return 130;
    if (r->wrong)
        return 3;
    if (r->crashed && s->plan.set.gate_failed_fails)
        return 4;
    if (!r->believed || r->above_limit)
        return 5;
    if (r->gate_failed)
        return 1;
    return gate_unsure ? 5 : 0;
}
