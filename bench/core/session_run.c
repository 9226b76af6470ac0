/*
 * session_run.c - replicate after replicate on every lane: start a worker, listen, replace it when
 * it dies.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "session_replicate.h"

#define POLL_MS 200

static int interrupts(const struct session *s)
{
    int pressed = s->request->interrupted ? (int)*s->request->interrupted : 0;
    return pressed > s->request->interrupts_spared ? pressed - s->request->interrupts_spared : 0;
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
    if (rep->current < 0 && session_now_s() > rep->deadline_s)
        return err_set(err, ERR_ENVIRONMENT, "a worker said nothing for %d s between its cases",
                       SILENCE_S);
    if (rep->current >= 0 && session_now_s() > rep->deadline_s) {
        char text[512];
        snprintf(text, sizeof(text), "no answer within its time limit, while in '%s'", rep->phase);
        child_signal(&rep->link.child, SIGKILL);
        return replicate_case_failed(rep, "timeout", text, err) ? -1 : 1;
    }
    return 0;
}

/* ---- workers ---- */

static int start_worker(struct replicate *rep, struct err *err)
{
    struct session *s = rep->s;
    struct job job;
    int ret = -1;

    if (!replicate_job(rep, &job, err) &&
        !link_start(&rep->link, s->request->exe, s->lane[rep->lane].uuid, &job, err)) {
        rep->linked = true;
        rep->current = -1;
        rep->phase[0] = '\0';
        rep->deadline_s = session_now_s() + SILENCE_S;
        ret = 0;
    }
    job_release(&job);
    return ret;
}

static void end_worker(struct replicate *rep)
{
    if (rep->linked)
        link_close(&rep->link);
    rep->linked = false;
}

/* The worker is gone. */
static int on_end(struct replicate *rep, const struct err *why, struct err *err)
{
    if (rep->current >= 0)
        return replicate_case_failed(rep, "crash", why->text, err);
    if (rep->asked_stop) /* before it listened */
        return 0;
    return err_set(err, why->kind, "%s", why->text);
}

/* Everything that the lane's worker has said by now. */
static int listen(struct replicate *rep, struct err *err)
{
    struct err why = ERR_INIT;
    struct answer a;
    int got, end = 0;

    while (!end && (got = link_next(&rep->link, 0, &a, &why)) > 0) {
        end = replicate_answer(rep, &a, err);
        answer_release(&a);
    }
    if (!end && got < 0)
        end = on_end(rep, &why, err) ? -1 : 1;
    if (!end)
        end = on_silence(rep, err);
    if (end > 0)
        end_worker(rep);
    return end < 0 ? -1 : 0;
}

/* ---- lanes ---- */

static bool lane_finished(const struct replicate *rep)
{
    const struct session *s = rep->s;

    for (size_t i = 0; i < s->plan.nr; i++)
        if ((size_t)s->lane_of[i] == rep->lane && !s->finished[i])
            return false;
    return true;
}

static int next_replicate(struct replicate *rep, struct err *err)
{
    struct session *s = rep->s;
    uint32_t *order = calloc(s->plan.nr + 1, sizeof(*order));

    if (!order)
        return err_memory(err);
    rep->process++;
    rng_permutation_u32(order, (uint32_t)s->plan.nr,
                        rng_hash(s->plan.set.seed, 0x0ca5e5, (uint64_t)rep->process));
    for (size_t i = 0; i < s->plan.nr; i++) {
        uint32_t at = order[i];
        if ((size_t)s->lane_of[at] == rep->lane && !s->finished[at] &&
            s->sealed[at] <= rep->process)
            rep->waiting[rep->waiting_nr++] = at;
    }
    free(order);
    return 0;
}

/* Starts a worker where there is none and something waits. */
static int keep_busy(struct replicate *rep, struct err *err)
{
    if (rep->linked || rep->s->stopped)
        return 0;
    while (!rep->waiting_nr && !lane_finished(rep))
        if (next_replicate(rep, err))
            return -1;
    return rep->waiting_nr ? start_worker(rep, err) : 0;
}

/* Until every lane is done with its cases, or has stopped. */
static int run_lanes(struct replicate *rep, size_t nr, struct err *err)
{
    for (;;) {
        struct link *link[LANES_MAX];
        size_t links_nr = 0;

        for (size_t k = 0; k < nr; k++) {
            if (keep_busy(&rep[k], err))
                return -1;
            if (rep[k].linked)
                link[links_nr++] = &rep[k].link;
        }
        if (!links_nr)
            return 0;
        link_wait(link, links_nr, POLL_MS);
        for (size_t k = 0; k < nr; k++)
            if (rep[k].linked && listen(&rep[k], err))
                return -1;
    }
}

static int run_all(struct session *s, struct err *err)
{
    struct replicate rep[LANES_MAX] = {0};
    int ret = 0;

    for (size_t k = 0; k < s->lanes_nr; k++) {
        rep[k] = (struct replicate){.s = s, .lane = k, .process = -1, .current = -1};
        rep[k].waiting = calloc(s->plan.nr + 1, sizeof(*rep[k].waiting));
        if (!rep[k].waiting)
            ret = err_memory(err);
    }
    if (!ret)
        ret = run_lanes(rep, s->lanes_nr, err);
    for (size_t k = 0; k < s->lanes_nr; k++) {
        if (rep[k].linked)
            child_signal(&rep[k].link.child, SIGKILL); /* the run has failed */
        end_worker(&rep[k]);
        free(rep[k].waiting);
    }
    return ret;
}

int session_run(struct session *s, struct err *err)
{
    if (arm_set_copy(&s->arms, err) || session_decide_resumed(s, err) || session_assign(s, err))
        return -1;
    if (run_all(s, err)) {
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
