#include "aa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void aa_init(struct aa *aa)
{
    memset(aa, 0, sizeof(*aa));
    session_init(&aa->probe);
    aa_result_init(&aa->result);
    noise_floors_init(&aa->floors);
}

void aa_release(struct aa *aa)
{
    session_release(&aa->probe);
    aa_result_release(&aa->result);
    text_list_release(&aa->notes);
    text_list_release(&aa->arms);
    json_decref(aa->run);
    json_decref(aa->warnings);
    free(aa->dir);
    free(aa->profile);
    aa_init(aa);
}

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* ---- opening ---- */

/* Every arm that is the baseline of some case. */
static int choose_arms(struct aa *aa, struct err *err)
{
    const struct session *s = &aa->probe;

    for (size_t i = 0; i < s->arms.nr; i++) {
        const struct arm_entry *e = &s->arms.item[i];
        bool chosen = false;
        for (size_t c = 0; c < s->plan.nr && !chosen && !e->duplicate; c++)
            chosen = arm_set_against(&s->arms, &s->plan, &s->plan.item[c], e) == e;
        if (chosen && text_list_add(&aa->arms, s->plan.arm[e->plan_arm].name, err))
            return -1;
    }
    return aa->arms.nr ? 0
                       : err_set(err, ERR_ENVIRONMENT, "no arm of this configuration has a case");
}

int aa_open(struct aa *aa, const struct session_request *request, int trials, struct err *err)
{
    struct session *s = &aa->probe;

    aa->request = request;
    aa->trials = trials;
    if (trials < 1)
        return err_set(err, ERR_CONFIG, "--trials %d: at least one trial is needed", trials);
    if (request->resume)
        return err_set(err, ERR_CONFIG,
                       "`bench aa` cannot go on with an earlier run: leave "
                       "--resume out");
    if (session_open(s, request, err))
        return -1;
    if (s->lanes_nr > 1)
        return err_set(err, ERR_CONFIG,
                       "device = %s: `bench aa` measures the noise of one GPU, name one",
                       s->plan.set.device);
    if (choose_arms(aa, err) || session_device(s, err))
        return -1;
    aa->delta_floor = fmax(0, s->plan.set.noise_floor);
    for (size_t i = 0; i < s->plan.nr; i++)
        if (aa_result_add_case(&aa->result, s->plan.item[i].id, err))
            return -1;
    return aa_make_folder(aa, err);
}

/* ---- what a trial says ---- */

static void note_once(void *ctx, const char *text)
{
    struct aa *aa = ctx;
    const struct session_events *ev = &aa->request->events;

    for (size_t i = 0; i < aa->notes.nr; i++)
        if (!strcmp(aa->notes.items[i], text))
            return;
    if (text_list_add(&aa->notes, text, NULL) || !ev->note)
        return;
    ev->note(ev->ctx, text);
}

static int interrupts(const struct aa *aa)
{
    return aa->request->interrupted ? (int)*aa->request->interrupted : 0;
}

static void progress(void *ctx, int done, int all, double eta_s, const char *case_id,
                     const char *phase)
{
    struct aa *aa = ctx;
    const struct session_events *ev = &aa->request->events;
    double part = (aa->trial + (all > 0 ? (double)done / all : 0)) / aa->trials;
    char text[320];

    (void)eta_s; /* of this trial alone */
    if (interrupts(aa) && !aa->told) {
        aa->told = true;
        note_once(aa, "interrupted: this trial is finished first; once more gives it up");
    }
    if (!ev->progress)
        return;
    snprintf(text, sizeof(text), "%d of %d of this trial, %s", done, all, phase);
    ev->progress(ev->ctx, aa->trial, aa->trials,
                 part > 0 ? (now_s() - aa->began_s) * (1 - part) / part : NAN, case_id, text);
}

/* ---- one trial ---- */

/* The user's request, narrowed to the baselines and their copies, with a seed of its own. */
struct trial {
    struct session_request request;
    struct option_override *override;
    char seed[32];
    uint64_t seed_value;
};

static int trial_init(struct trial *t, struct aa *aa, struct err *err)
{
    const struct session_request *r = aa->request;
    size_t nr = r->overrides_nr;

    t->override = calloc(nr + 2, sizeof(*t->override));
    if (!t->override)
        return err_memory(err);
    if (nr)
        memcpy(t->override, r->override, nr * sizeof(*t->override));
    t->seed_value = aa->probe.plan.set.seed + (uint64_t)aa->trial;
    snprintf(t->seed, sizeof(t->seed), "%llu", (unsigned long long)t->seed_value);
    t->override[nr] = (struct option_override){(char *)"seed", t->seed};
    t->override[nr + 1] = (struct option_override){(char *)"duplicate", (char *)"yes"};
    t->request = *r;
    t->request.override = t->override;
    t->request.overrides_nr = nr + 2;
    t->request.arms = (const char *const *)aa->arms.items;
    t->request.arms_nr = aa->arms.nr;
    t->request.out = NULL;
    t->request.in_memory = true;
    t->request.interrupts_spared = 1;
    t->request.events = (struct session_events){note_once, progress, aa};
    return 0;
}

static int trial_measure(struct aa *aa, struct trial *t, struct session *s, struct err *err)
{
    if (session_open(s, &t->request, err))
        return -1;
    /* It was asked already; every trial must run on the same one. */
    s->info = aa->probe.info;
    s->kind = aa->probe.kind;
    memcpy(s->lane, aa->probe.lane, sizeof(s->lane));
    s->lanes_nr = aa->probe.lanes_nr;
    /* What is being measured must not excuse itself. */
    s->store.set.noise_floor = aa->delta_floor;
    s->store.set.floors = NULL;
    if (session_store(s, err) || session_run(s, err))
        return -1;
    if (!aa->run)
        aa_take_provenance(aa, s->store.run);
    aa->wrong |= s->store.summary.wrong;
    aa->crashed |= s->store.summary.crashed && s->plan.set.gate_failed_fails;
    if (s->stopped) { /* part of a trial is none */
        aa->stopped = true;
        return 0;
    }
    return aa_result_take(&aa->result, t->seed_value, &s->store.cases, &s->store.samples,
                          &s->store.set, err);
}

static int run_trial(struct aa *aa, struct err *err)
{
    struct trial t = {0};
    struct session s;
    int ret;

    session_init(&s);
    ret = trial_init(&t, aa, err) || trial_measure(aa, &t, &s, err) ? -1 : 0;
    session_release(&s);
    free(t.override);
    return ret;
}

int aa_run(struct aa *aa, struct err *err)
{
    aa->began_s = now_s();
    for (aa->trial = 0; aa->trial < aa->trials && !aa->stopped; aa->trial++) {
        if (run_trial(aa, err)) {
            aa_write(aa, "failed", NULL);
            return -1;
        }
        bool last = aa->trial + 1 == aa->trials;
        aa->stopped |= interrupts(aa) > 0 && !last;
        if (aa_write(aa, "running", err))
            return -1;
        if (!aa->result.values_nr)
            break; /* the next trial would find the same */
    }
    if (aa_result_floors(&aa->result, &aa->floors, err) ||
        (aa->floors.nr && aa_write_profile(aa, err)))
        return -1;
    return aa_write(aa, aa->stopped ? "interrupted" : "complete", err);
}

int aa_status(const struct aa *aa)
{
    struct aa_rates all;

    if (aa->stopped)
        return 130;
    if (aa->wrong)
        return 3;
    if (aa->crashed)
        return 4;
    if (!aa->result.values_nr)
        return 6;
    if (aa_result_rates(&aa->result, AA_POOLED, &all, NULL))
        return 6;
    return all.false_alarm.lo > AA_FALSE_ALARM ? 5 : 0;
}
