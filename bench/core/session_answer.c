/*
 * session_answer.c - what a worker says: sealed, or put down as a failure.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "case_run.h"
#include "resources.h"
#include "session_replicate.h"

double session_now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
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

int replicate_case_failed(struct replicate *rep, const char *status, const char *text,
                          struct err *err)
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
    rep->deadline_s = session_now_s() + SILENCE_S;
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

int replicate_answer(struct replicate *rep, const struct answer *a, struct err *err)
{
    switch (a->kind) {
    case ANSWER_INFO:
    case ANSWER_NOTE:
        if (a->text)
            session_note(rep->s, "%s", a->text);
        return 0;
    case ANSWER_CASE:
        rep->current = find_case(rep->s, a->case_id);
        rep->deadline_s = session_now_s() + a->timeout_s;
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
            return replicate_case_failed(rep, "crash", a->text, err) ? -1 : 1;
        err_set(err, a->error_kind, "%s", a->text);
        return -1;
    case ANSWER_CHECK: /* of mode check, which has a parent of its own */
        return 0;
    case ANSWER_BYE:
        return 1;
    }
    return 0;
}
