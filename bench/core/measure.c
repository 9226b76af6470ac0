/*
 * measure.c - warm-up, paced super-rounds in balanced order, and the samples that come of them
 * (DESIGN 6.4 to 6.8).
 *
 * The rounds of one burst are enqueued together and the timer is flushed behind them: a flush
 * between rounds lets the GPU idle, and the first slot of every round then runs at a lower clock
 * (seen on an H200: 1750 against 1800 MHz, 2 % in time).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure_internal.h"
#include "rng.h"

#define BURST_WORK_NS    20e6 /* GPU work in one burst, scrubs included */
#define ALONE_CALL_NS    3e6  /* an arm above this makes every call of the case stand alone */
#define IDLE_FACTOR      4.0
#define REPEAT_SHARE     4   /* at most a quarter more rounds */
#define BURST_ROUNDS_MAX 256 /* so many samples that no queue of the driver fills up */
#define BURST_TRIES      3   /* before lost records are the environment's fault */
#define WARM_LAUNCHES    2

static const char *const pattern_names[] = {"none", "burst", "alone", "sustained"};

static struct device *dev_of(const struct measure *m)
{
    return m->run->worker->dev;
}

static double elapsed_ns(const struct measure *m)
{
    return device_now_ns(dev_of(m)) - m->begin_ns;
}

/* ---- one burst ---- */

/* Idles four times the work since the last pause; returns how long. */
static double pause_now(struct measure *m)
{
    double idle_ns = IDLE_FACTOR * m->work_ns;
    if (m->pattern == PATTERN_NONE || m->pattern == PATTERN_SUSTAINED)
        return 0;
    device_idle(dev_of(m), idle_ns);
    m->work_ns = 0;
    return idle_ns;
}

static int check_after(struct measure *m, struct arm_run *arm, struct err *err)
{
    double begin = device_now_ns(dev_of(m));
    if (device_sync(dev_of(m), err) || verify_outputs(m->run, arm, true, err))
        return -1;
    /* Checks are no measuring time. */
    double took = device_now_ns(dev_of(m)) - begin;
    m->begin_ns += took;
    m->run->check_s += took * 1e-9;
    return 0;
}

/* One extra launch of the baseline, which belongs to no round, takes the clock up again. */
static int burst_open(struct measure *m, struct err *err)
{
    size_t opener = m->base < m->nr ? m->base : 0;
    if (m->pattern != PATTERN_BURST)
        return 0;
    m->prev = (int)opener;
    return measure_launch(m, m->racer[opener], DEVICE_SAMPLE_EXTRA, err);
}

static int launch_slot(struct measure *m, size_t i, struct err *err)
{
    struct arm_run *arm = m->racer[m->queue[i].arm];

    if (m->pattern == PATTERN_ALONE) {
        if (device_sync(dev_of(m), err))
            return -1;
        m->queue[i].idle_ns = pause_now(m);
        m->work_ns = arm->call_ns + m->scrub_ns;
    }
    if (measure_launch(m, arm, i, err))
        return -1;
    return m->checking ? check_after(m, arm, err) : 0;
}

/* Enqueues the queued rounds back to back and waits for them. Returns 1 when they are void. */
static int try_burst(struct measure *m, int *opener, struct err *err)
{
    size_t nr = m->queued * m->nr;

    if (m->pattern == PATTERN_BURST)
        m->queue[0].idle_ns = pause_now(m);
    if (device_round_begin(dev_of(m), err) || burst_open(m, err))
        return -1;
    *opener = m->prev;
    for (size_t i = 0; i < nr; i++)
        if (launch_slot(m, i, err))
            return -1;
    return device_round_end(dev_of(m), m->got, nr, err);
}

/* Runs the queued rounds; what the timer lost is run again. */
static int run_burst(struct measure *m, bool record, struct err *err)
{
    size_t nr = m->queued * m->nr;
    int opener = m->prev, lost = 1;

    if (!m->queued)
        return 0;
    for (int tries = 0; lost > 0 && tries < BURST_TRIES; tries++)
        lost = try_burst(m, &opener, err);
    if (lost)
        return -1;
    for (size_t i = 0; i < nr; i++) {
        int prev = i ? m->queue[i - 1].arm : opener;
        if (m->pattern == PATTERN_ALONE)
            m->work_ns = m->got[i].span_ns + m->got[i].scrub_ns;
        else
            m->work_ns += m->got[i].span_ns + m->got[i].scrub_ns;
        if (record && measure_store(m, &m->queue[i], &m->got[i], prev, err))
            return -1;
    }
    m->prev = m->queue[nr - 1].arm;
    m->queued = 0;
    return 0;
}

/* ---- warm-up and pattern ---- */

static void choose_pattern(struct measure *m, double round_ns, double slowest_ns)
{
    const struct plan_settings *set = &m->run->worker->plan->set;

    if (device_info(dev_of(m))->kind == SAB_DEVICE_CPU)
        m->pattern = PATTERN_NONE;
    else if (set->pace == PACE_SUSTAINED)
        m->pattern = PATTERN_SUSTAINED;
    else if (round_ns > BURST_WORK_NS || slowest_ns > ALONE_CALL_NS)
        m->pattern = PATTERN_ALONE;
    else
        m->pattern = PATTERN_BURST;
    m->burst_rounds = 1;
    if (m->pattern == PATTERN_BURST || m->pattern == PATTERN_SUSTAINED)
        m->burst_rounds = (size_t)fmax(1, floor(BURST_WORK_NS / fmax(round_ns, 1)));
    if (m->burst_rounds * m->nr > BURST_ROUNDS_MAX)
        m->burst_rounds = BURST_ROUNDS_MAX / m->nr ? BURST_ROUNDS_MAX / m->nr : 1;
}

static int warm_up(struct measure *m, struct err *err)
{
    struct device_sample got = {0};
    struct device *dev = dev_of(m);
    double work_ns = 0, slowest_ns = 0;

    for (size_t i = 0; i < m->nr; i++) {
        double begin = device_now_ns(dev);
        for (int k = 0; k < WARM_LAUNCHES; k++) {
            if (device_round_begin(dev, err) || measure_launch(m, m->racer[i], 0, err) ||
                device_round_end(dev, &got, 1, err))
                return -1;
            /* One is enough of a call that takes a good part of a second. */
            if (device_now_ns(dev) - begin > 0.5e9)
                break;
        }
        m->racer[i]->call_ns = got.span_ns;
        work_ns += got.span_ns + got.scrub_ns;
        m->scrub_ns = fmax(m->scrub_ns, got.scrub_ns);
        slowest_ns = fmax(slowest_ns, got.span_ns);
    }
    m->prev = (int)m->nr - 1;
    choose_pattern(m, work_ns, slowest_ns);
    m->work_ns = m->pattern == PATTERN_ALONE ? m->scrub_ns + slowest_ns : work_ns;
    m->queue = calloc(m->burst_rounds * m->nr, sizeof(*m->queue));
    m->got = calloc(m->burst_rounds * m->nr, sizeof(*m->got));
    return m->queue && m->got ? 0 : err_memory(err);
}

/* ---- rounds ---- */

static void order_of(struct measure *m, int super_round)
{
    const struct job *job = m->run->worker->job;
    struct order_seed seed = {.seed = m->run->worker->plan->set.seed,
                              .case_id = rng_seed_of(0, m->run->item->id),
                              .process = (uint64_t)job->process,
                              .super_round = (uint64_t)super_round};
    order_shuffle(&m->order, &seed);
}

/* Queues one round, in the order that order_of() made. */
static void queue_round(struct measure *m, int super_round, size_t row, int attempt)
{
    struct slot *slots = m->queue + m->queued * m->nr;
    for (size_t i = 0; i < m->nr; i++)
        slots[i] = (struct slot){.super_round = super_round,
                                 .round = super_round * (int)m->per_super + (int)row,
                                 .attempt = attempt,
                                 .slot = (int)i,
                                 .arm = order_at(&m->order, row, i)};
    m->queued++;
}

/* The same, and runs the burst when it is full. */
static int add_round(struct measure *m, int super_round, size_t row, int attempt, struct err *err)
{
    queue_round(m, super_round, row, attempt);
    return m->queued == m->burst_rounds ? run_burst(m, true, err) : 0;
}

/* Repeats dropped rounds in their own order, at most a quarter more than were run. */
static int repeat_dropped(struct measure *m, struct err *err)
{
    if (run_burst(m, true, err) || measure_drop(m, err))
        return -1;
    size_t done = m->run->samples.nr / m->nr, left = done / REPEAT_SHARE;
    for (size_t r = 0; r < done && left && elapsed_ns(m) < m->budget_ns; r++) {
        const struct sample_row *first = &m->run->samples.row[r * m->nr];
        if (!first->drop_reason)
            continue;
        int super_round = (int)first->super_round, attempt = (int)first->attempt + 1;
        size_t row = (size_t)first->round - (size_t)super_round * m->per_super;
        order_of(m, super_round);
        if (add_round(m, super_round, row, attempt, err))
            return -1;
        left--;
    }
    return run_burst(m, true, err) || measure_drop(m, err) ? -1 : 0;
}

/* Whether another super-round fits behind the one that begins now. */
static bool last_super_round(const struct measure *m, int s, int supers, double super_ns)
{
    return s + 1 >= supers || elapsed_ns(m) + 2.2 * super_ns > m->budget_ns;
}

static int run_super_round(struct measure *m, int s, bool last, bool *cut, struct err *err)
{
    order_of(m, s);
    for (size_t row = 0; row < m->per_super; row++) {
        bool out_of_time = elapsed_ns(m) > m->budget_ns && m->run->samples.nr;
        if (worker_stopping() || out_of_time) {
            m->run->cut = worker_stopping() ? CASE_CUT_STOP : CASE_CUT_TIME;
            *cut = true;
            return run_burst(m, true, err);
        }
        if (last && row + 1 == m->per_super) {
            /* Before the round whose outputs are looked at, the others are made whole. */
            if (repeat_dropped(m, err))
                return -1;
            order_of(m, s);
            m->checking = true;
        }
        if (add_round(m, s, row, 0, err))
            return -1;
    }
    return last ? run_burst(m, true, err) : 0;
}

static int run_rounds(struct measure *m, int rounds, struct err *err)
{
    int supers = (int)(order_round_up((size_t)rounds, m->nr) / m->per_super);
    double super_ns = 0;
    bool cut = false;

    m->begin_ns = device_now_ns(dev_of(m));
    for (int s = 0; s < supers && !cut; s++) {
        bool last = last_super_round(m, s, supers, super_ns);
        if (run_super_round(m, s, last, &cut, err))
            return -1;
        super_ns = elapsed_ns(m) / (s + 1);
        if (last) {
            if (!cut && s + 1 < supers)
                m->run->cut = CASE_CUT_TIME;
            break;
        }
    }
    if (measure_drop(m, err))
        return -1;
    if (m->checking && !cut)
        return 0;
    /* The budget ran out in the middle: one more round, of no account, whose outputs are checked.
     */
    m->checking = true;
    order_of(m, 0);
    queue_round(m, 0, 0, 0);
    return run_burst(m, false, err);
}

/* A duplicate of a baseline that is out of the race proves nothing. */
static void collect_racers(struct measure *m)
{
    m->nr = 0;
    m->base = SIZE_MAX;
    for (size_t i = 0; i < m->run->arms_nr; i++) {
        struct arm_run *arm = &m->run->arm[i];
        if (!arm->usable || (arm->job->duplicate && !(arm->base && arm->base->usable)))
            continue;
        if (arm->is_base && m->base == SIZE_MAX)
            m->base = m->nr;
        m->racer[m->nr++] = arm;
    }
}

int measure_case(struct case_run *run, struct err *err)
{
    struct measure m = {.run = run, .prev = -1, .budget_ns = run->job->budget_s * 1e9};
    int ret = -1;

    collect_racers(&m);
    if (!m.nr)
        return 0;
    if (order_init(&m.order, m.nr, err))
        return -1;
    m.per_super = order_super_round(m.nr);
    m.begin_ns = device_now_ns(run->worker->dev);
    if (warm_up(&m, err))
        goto out;
    for (size_t i = 0; i < m.nr; i++) {
        struct case_row *row = m.racer[i]->row;
        if (row_set(&row->cache_used, plan_cache_name(run->worker->plan->set.cache), err) ||
            row_set(&row->pace_used, pattern_names[m.pattern], err))
            goto out;
    }
    if (run_rounds(&m, run->job->rounds, err))
        goto out;
    run->wall_s = elapsed_ns(&m) * 1e-9;
    ret = 0;
out:
    order_release(&m.order);
    free(m.queue);
    free(m.got);
    return ret;
}
