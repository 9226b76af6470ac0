/*
 * measure.c - warm-up, paced super-rounds in balanced order, and the samples that come of them
 * (DESIGN 6.4 to 6.8).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case_run.h"
#include "rng.h"
#include "stats_order.h"
#include "stats_quantile.h"

#define BURST_WORK_NS 20e6 /* GPU work in one burst, scrubs included */
#define ALONE_CALL_NS 3e6  /* an arm above this makes every call of the case stand alone */
#define IDLE_FACTOR   4.0
#define CLOCK_DROP    0.97 /* of the arm's own median */
#define REPEAT_SHARE  4    /* at most a quarter more rounds */
#define WARM_LAUNCHES 2

enum pace_pattern { PATTERN_NONE = 0, PATTERN_BURST, PATTERN_ALONE, PATTERN_SUSTAINED };
static const char *const pattern_names[] = {"none", "burst", "alone", "sustained"};

/* One launch of one arm, as planned. */
struct slot {
    int super_round, round, attempt, slot;
    int arm; /* index into measure.racer */
};

struct measure {
    struct case_run *run;
    struct arm_run *racer[CASE_RUN_MAX_ARMS];
    size_t nr;
    size_t base; /* index of the baseline among the racers; nr without one */
    struct order order;
    size_t per_super;
    enum pace_pattern pattern;
    size_t burst_rounds; /* rounds that fit one burst */
    size_t in_burst;     /* rounds run since the last pause */
    double work_ns;      /* device work since the last pause */
    double begin_ns, budget_ns;
    double scrub_ns; /* device time of one preparation and scrub, from the warm-up */
    int prev;        /* racer that ran last, -1 none */
    double idle_ns;  /* pause that stands before the next sample */
    bool checking;   /* look at outputs after each sample of this round */
};

static struct device *dev_of(const struct measure *m)
{
    return m->run->worker->dev;
}

/* ---- one sample ---- */

static size_t prepare_list(const struct arm_run *arm, struct device_prepare *list)
{
    const struct work *w = arm->work;
    size_t nr = 0;

    if (arm->workspace && !arm->keeps_workspace) {
        list[nr] = (struct device_prepare){.kind = DEVICE_PREPARE_FILL,
                                           .dst = (char *)arm->workspace + WORK_GUARD_BYTES,
                                           .byte = 0xa5,
                                           .bytes = arm->workspace_bytes};
        nr++;
    }
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        if (!w->base[t] || w->tensor[t].role != SAB_OUT)
            continue;
        list[nr] = (struct device_prepare){.kind = DEVICE_PREPARE_FILL,
                                           .dst = w->tensor[t].data,
                                           .byte = work_poison_byte(w->tensor[t].dtype),
                                           .bytes = w->p.tensor[t].bytes};
        nr++;
    }
    return nr;
}

static size_t touch_list(const struct arm_run *arm, struct device_span *list)
{
    const struct work *w = arm->work;
    size_t nr = 0;
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++)
        if (w->base[t])
            list[nr++] = (struct device_span){w->tensor[t].data, w->p.tensor[t].bytes};
    if (arm->workspace)
        list[nr++] =
            (struct device_span){(char *)arm->workspace + WORK_GUARD_BYTES, arm->workspace_bytes};
    return nr;
}

/* Inout tensors go back to their first bytes before the sample; they are not part of the scrub. */
static int restore_inout(const struct arm_run *arm, struct err *err)
{
    struct work *w = arm->work;
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++)
        if (w->base[t] && w->tensor[t].role == SAB_INOUT &&
            device_generate(w->dev, &w->p.tensor[t].recipe, w->tensor[t].data, err))
            return -1;
    return 0;
}

static int launch_sample(struct measure *m, struct arm_run *arm, uint64_t id, struct err *err)
{
    struct device_prepare prepare[SAB_MAX_TENSORS + 1];
    struct device_span touch[SAB_MAX_TENSORS + 1];
    struct device *dev = dev_of(m);
    char text[512] = "";
    struct sab_message msg = {text, sizeof(text)};
    enum device_cache cache = (enum device_cache)m->run->worker->plan->set.cache;

    if (restore_inout(arm, err) ||
        device_sample_begin(dev, id, cache, prepare, prepare_list(arm, prepare), touch,
                            touch_list(arm, touch), err))
        return -1;
    int status = arm->kernel->launch(arm->plan, device_stream(dev), &msg);
    if (device_sample_end(dev, err))
        return -1;
    if (status)
        return err_set(err, ERR_CRASH, "arm '%s' refused a launch while it was timed: %s",
                       arm->job->label, text);
    return 0;
}

static void pause_now(struct measure *m)
{
    m->idle_ns = IDLE_FACTOR * m->work_ns;
    device_idle(dev_of(m), m->idle_ns);
    m->work_ns = 0;
    m->in_burst = 0;
}

/* A burst opens with one extra launch of the baseline that belongs to no round. */
static int burst_open(struct measure *m, struct err *err)
{
    size_t opener = m->base < m->nr ? m->base : 0;
    if (m->work_ns > 0)
        pause_now(m);
    if (device_round_begin(dev_of(m), err) ||
        launch_sample(m, m->racer[opener], DEVICE_SAMPLE_EXTRA, err) ||
        device_round_end(dev_of(m), NULL, 0, err))
        return -1;
    m->prev = (int)opener;
    return 0;
}

/* ---- samples to rows ---- */

static int sample_store(struct measure *m, const struct slot *s, const struct device_sample *d,
                        int prev, double idle_ns, struct err *err)
{
    const struct job *job = m->run->worker->job;
    struct device_conditions cond;
    struct sample_row *row = sample_table_add(&m->run->samples, err);

    if (!row)
        return -1;
    device_conditions_at(dev_of(m), d->start_ns, &cond);
    row->schema = ROWS_SCHEMA;
    row->process = job->process;
    row->super_round = s->super_round;
    row->round = s->round;
    row->attempt = s->attempt;
    row->slot = s->slot;
    row->span_ns = d->span_ns;
    row->busy_ns = d->busy_ns;
    row->activities = d->activities;
    row->start_ns = d->start_ns;
    row->idle_before_ns = idle_ns;
    row->enqueue_ns = d->enqueue_ns;
    row->scrub_ns = d->scrub_ns;
    row->run_mhz = d->run_mhz;
    row->sm_mhz = cond.sm_mhz;
    row->mem_mhz = cond.mem_mhz;
    row->power_w = cond.power_w;
    row->temp_c = cond.temp_c;
    row->throttle_bits = (int64_t)cond.throttle_bits;
    if (row_set(&row->run_id, job->run_id, err) || row_set(&row->case_id, m->run->item->id, err) ||
        row_set(&row->arm, m->racer[s->arm]->job->label, err) ||
        row_setf(&row->activity_set, err, "%016llx", (unsigned long long)d->activity_set) ||
        (prev >= 0 && row_set(&row->prev_arm, m->racer[prev]->job->label, err)))
        return -1;
    if (device_throttled(cond.throttle_bits) && m->pattern != PATTERN_SUSTAINED)
        return row_set(&row->drop_reason, "throttled", err);
    return 0;
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

/* Runs one round: every racer once, in the order given. */
static int run_round(struct measure *m, const struct slot *slots, bool record, struct err *err)
{
    struct device *dev = dev_of(m);
    struct device_sample got[CASE_RUN_MAX_ARMS];
    int prev[CASE_RUN_MAX_ARMS];
    double idle[CASE_RUN_MAX_ARMS];

    if (m->pattern == PATTERN_BURST && (m->in_burst == 0 || m->in_burst >= m->burst_rounds) &&
        burst_open(m, err))
        return -1;
    if (device_round_begin(dev, err))
        return -1;
    for (size_t i = 0; i < m->nr; i++) {
        struct arm_run *arm = m->racer[slots[i].arm];
        if (m->pattern == PATTERN_ALONE) {
            if (device_sync(dev, err))
                return -1;
            pause_now(m);
            /* The work of a call that stands alone: itself and its scrub, from the warm-up. */
            m->work_ns = arm->call_ns + m->scrub_ns;
        }
        prev[i] = m->prev;
        idle[i] = m->pattern == PATTERN_ALONE || i == 0 ? m->idle_ns : 0;
        if (launch_sample(m, arm, i, err))
            return -1;
        m->prev = slots[i].arm;
        if (m->checking && check_after(m, arm, err))
            return -1;
    }
    if (device_round_end(dev, got, m->nr, err))
        return -1;
    m->idle_ns = 0;
    m->in_burst++;
    for (size_t i = 0; i < m->nr; i++) {
        if (m->pattern == PATTERN_ALONE)
            m->work_ns = got[i].span_ns + got[i].scrub_ns;
        else
            m->work_ns += got[i].span_ns + got[i].scrub_ns;
        if (record && sample_store(m, &slots[i], &got[i], prev[i], idle[i], err))
            return -1;
    }
    return 0;
}

/* ---- warm-up and pattern ---- */

static int warm_up(struct measure *m, struct err *err)
{
    struct device_sample got;
    struct device *dev = dev_of(m);
    double work_ns = 0, slowest_ns = 0, scrub_ns = 0;

    for (size_t i = 0; i < m->nr; i++) {
        double begin = device_now_ns(dev);
        for (int k = 0; k < WARM_LAUNCHES; k++) {
            if (device_round_begin(dev, err) || launch_sample(m, m->racer[i], 0, err) ||
                device_round_end(dev, &got, 1, err))
                return -1;
            /* One is enough of a call that takes a good part of a second. */
            if (device_now_ns(dev) - begin > 0.5e9)
                break;
        }
        m->racer[i]->call_ns = got.span_ns;
        work_ns += got.span_ns + got.scrub_ns;
        scrub_ns = fmax(scrub_ns, got.scrub_ns);
        slowest_ns = fmax(slowest_ns, got.span_ns);
    }
    m->prev = (int)m->nr - 1;
    m->scrub_ns = scrub_ns;
    const struct plan_settings *set = &m->run->worker->plan->set;
    if (device_info(dev)->kind == SAB_DEVICE_CPU)
        m->pattern = PATTERN_NONE;
    else if (set->pace == PACE_SUSTAINED)
        m->pattern = PATTERN_SUSTAINED;
    else if (work_ns > BURST_WORK_NS || slowest_ns > ALONE_CALL_NS)
        m->pattern = PATTERN_ALONE;
    else
        m->pattern = PATTERN_BURST;
    m->burst_rounds = (size_t)fmax(1, floor(BURST_WORK_NS / fmax(work_ns, 1)));
    m->work_ns = m->pattern == PATTERN_ALONE ? scrub_ns + slowest_ns : work_ns;
    return 0;
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

static void round_slots(struct measure *m, int super_round, size_t row, int attempt,
                        struct slot *slots)
{
    for (size_t i = 0; i < m->nr; i++)
        slots[i] = (struct slot){.super_round = super_round,
                                 .round = super_round * (int)m->per_super + (int)row,
                                 .attempt = attempt,
                                 .slot = (int)i,
                                 .arm = order_at(&m->order, row, i)};
}

static double elapsed_ns(const struct measure *m)
{
    return device_now_ns(dev_of(m)) - m->begin_ns;
}

/* Slower than its own arm's median by the running clock: whole rounds go (DESIGN 6.7). */
static int drop_slow_clocks(struct measure *m, struct err *err)
{
    struct sample_table *s = &m->run->samples;

    if (m->pattern == PATTERN_NONE || m->pattern == PATTERN_SUSTAINED)
        return 0;
    double *mhz = malloc((s->nr + 1) * sizeof(*mhz));
    if (!mhz)
        return err_memory(err);
    for (size_t a = 0; a < m->nr; a++) {
        const char *label = m->racer[a]->job->label;
        size_t nr = 0;
        for (size_t i = 0; i < s->nr; i++)
            if (!strcmp(s->row[i].arm, label) && isfinite(s->row[i].run_mhz))
                mhz[nr++] = s->row[i].run_mhz;
        if (nr < 3)
            continue;
        double floor_mhz = CLOCK_DROP * stats_median(mhz, nr);
        for (size_t i = 0; i < s->nr; i++) {
            struct sample_row *row = &s->row[i];
            if (strcmp(row->arm, label) || !(row->run_mhz < floor_mhz) || row->drop_reason)
                continue;
            if (row_set(&row->drop_reason, "clock", err)) {
                free(mhz);
                return -1;
            }
        }
    }
    free(mhz);
    return 0;
}

/* A round with one dropped sample is dropped whole; the sample that caused it keeps its reason. */
static int spread_drops(struct measure *m, struct err *err)
{
    struct sample_table *s = &m->run->samples;
    for (size_t i = 0; i < s->nr; i += m->nr) {
        const char *cause = NULL;
        for (size_t k = 0; k < m->nr && i + k < s->nr; k++)
            if (s->row[i + k].drop_reason && strncmp(s->row[i + k].drop_reason, "with ", 5))
                cause = s->row[i + k].arm;
        if (!cause)
            continue;
        for (size_t k = 0; k < m->nr && i + k < s->nr; k++)
            if (!s->row[i + k].drop_reason &&
                row_setf(&s->row[i + k].drop_reason, err, "with %s", cause))
                return -1;
    }
    return 0;
}

static bool round_dropped(const struct measure *m, size_t first)
{
    return m->run->samples.row[first].drop_reason != NULL;
}

/* Repeats dropped rounds in their own order, at most a quarter more than were run. */
static int repeat_dropped(struct measure *m, struct err *err)
{
    struct slot slots[CASE_RUN_MAX_ARMS];
    size_t done = m->run->samples.nr / m->nr, left = done / REPEAT_SHARE;

    if (m->pattern == PATTERN_NONE || m->pattern == PATTERN_SUSTAINED)
        return 0;
    if (drop_slow_clocks(m, err) || spread_drops(m, err))
        return -1;
    for (size_t r = 0; r < done && left; r++) {
        const struct sample_row *first = &m->run->samples.row[r * m->nr];
        if (!round_dropped(m, r * m->nr) || elapsed_ns(m) > m->budget_ns)
            continue;
        int super_round = (int)first->super_round, attempt = (int)first->attempt + 1;
        size_t row = (size_t)first->round - (size_t)super_round * m->per_super;
        order_of(m, super_round);
        round_slots(m, super_round, row, attempt, slots);
        if (run_round(m, slots, true, err))
            return -1;
        left--;
    }
    return spread_drops(m, err);
}

/* Whether another super-round fits behind the one that begins now. */
static bool last_super_round(const struct measure *m, int s, int supers, double super_ns)
{
    return s + 1 >= supers || elapsed_ns(m) + 2.2 * super_ns > m->budget_ns;
}

static int run_super_round(struct measure *m, int s, bool last, bool *cut, struct err *err)
{
    struct slot slots[CASE_RUN_MAX_ARMS];

    order_of(m, s);
    for (size_t row = 0; row < m->per_super; row++) {
        if (worker_stopping() || (elapsed_ns(m) > m->budget_ns && m->run->samples.nr)) {
            *cut = true;
            return 0;
        }
        if (last && row + 1 == m->per_super) {
            /* Before the round whose outputs are looked at, the others are made whole. */
            if (repeat_dropped(m, err))
                return -1;
            order_of(m, s);
            m->checking = true;
        }
        round_slots(m, s, row, 0, slots);
        if (run_round(m, slots, true, err))
            return -1;
    }
    return 0;
}

static int run_rounds(struct measure *m, int rounds, struct err *err)
{
    int supers = (int)(order_round_up((size_t)rounds, m->nr) / m->per_super);
    struct slot slots[CASE_RUN_MAX_ARMS];
    double super_ns = 0;
    bool cut = false;

    m->begin_ns = device_now_ns(dev_of(m));
    for (int s = 0; s < supers && !cut; s++) {
        bool last = last_super_round(m, s, supers, super_ns);
        double begin = elapsed_ns(m);
        if (run_super_round(m, s, last, &cut, err))
            return -1;
        super_ns = elapsed_ns(m) - begin;
        if (last)
            break;
    }
    if (m->checking && !cut)
        return drop_slow_clocks(m, err) || spread_drops(m, err) ? -1 : 0;
    /* The budget ran out in the middle: one more round, of no account, whose outputs are checked.
     */
    m->checking = true;
    order_of(m, 0);
    round_slots(m, 0, 0, 0, slots);
    return run_round(m, slots, false, err);
}

static void collect_racers(struct measure *m)
{
    m->nr = 0;
    m->base = 0;
    bool found = false;
    for (size_t i = 0; i < m->run->arms_nr; i++) {
        struct arm_run *arm = &m->run->arm[i];
        if (!arm->usable)
            continue;
        if (arm->job->baseline) {
            m->base = m->nr;
            found = true;
        }
        m->racer[m->nr++] = arm;
    }
    /* A duplicate of a baseline that is out of the race proves nothing. */
    if (!found) {
        size_t kept = 0;
        for (size_t i = 0; i < m->nr; i++)
            if (!m->racer[i]->job->duplicate)
                m->racer[kept++] = m->racer[i];
        m->nr = kept;
        m->base = m->nr;
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
    return ret;
}
