/*
 * test_montecarlo.c - samples of a simulated machine through the whole chain: summary_case(),
 * summary_run(), the trials of `bench aa`. How often it is wrong must be what DESIGN 7 says.
 *
 * The machine drifts, changes between clock states, is slower in the first slot of a round, gives
 * every arm of every process an offset of its own and stamps in 32 ns ticks. Seeds are fixed;
 * bounds leave three standard deviations of the number of trials.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_race.h"

#include "aa_result.h"
#include "rng.h"
#include "summary.h"
#include "summary_internal.h"

#define ARMS      3
#define PROCESSES 5
#define ROUNDS    24
#define SAMPLES   (PROCESSES * ROUNDS * ARMS)
#define TICK_NS   32.0

/* Relative sizes of what disturbs a launch. */
struct machine {
    double base_ns;
    double fast, slow; /* noise of a launch; of the neighbourhood (autoregressive) */
    double drift;      /* over one process */
    double slot;       /* the first slot of a round */
    double process;    /* offset of an arm in a process */
    double state;      /* a lower clock, entered now and then for about 30 launches */
    bool balanced;     /* false: the same order in every round */
};

static const struct machine usual = {.base_ns = 40000,
                                     .fast = 0.005,
                                     .slow = 0.001,
                                     .drift = 0.02,
                                     .slot = 0.01,
                                     .process = 0.001,
                                     .state = 0.03,
                                     .balanced = true};

/* One case of one run; the tables are made once and filled again for every trial. */
struct world {
    struct case_table cases;
    struct sample_table samples;
    char arm[ARMS][8];
    char set[8];
    uint64_t seed, draws;
};

static const struct summary_settings settings = {
    .delta = 0.005, .gate_slower = -1, .rounds_named = true};

static double uniform(struct world *w)
{
    return rng_unit(rng_at(w->seed, w->draws++));
}

static double normal(struct world *w)
{
    double u = 1 - uniform(w);

    return sqrt(-2 * log(u)) * cos(2 * acos(-1.0) * uniform(w));
}

static const struct race_arm race_arms[ARMS] = {
    {"base", "baseline", NULL}, {"head", "candidate", NULL}, {"base'", "duplicate", NULL}};

/* `ids` are cases of the run; the first SAMPLES samples are those of the first, and so on. */
static void world_init(struct world *w, const char *const *ids, size_t nr, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    w->seed = seed;
    case_table_init(&w->cases);
    sample_table_init(&w->samples);
    w->samples.row = calloc(nr * SAMPLES, sizeof(*w->samples.row));
    w->samples.nr = nr * SAMPLES;
    assert_non_null(w->samples.row);
    snprintf(w->set, sizeof(w->set), "one");
    for (size_t a = 0; a < ARMS; a++)
        snprintf(w->arm[a], sizeof(w->arm[a]), "%s", race_arms[a].name);
    for (size_t c = 0; c < nr; c++)
        for (size_t a = 0; a < ARMS; a++) {
            struct case_row *row = race_row(&w->cases, ids[c], &race_arms[a]);
            row->tick_ns = TICK_NS;
            race_text(&row->kernel, "op/kernel");
            race_text(&row->baseline, a ? "base" : NULL);
        }
    for (size_t i = 0; i < w->samples.nr; i++) {
        struct sample_row *s = &w->samples.row[i];
        sample_row_init(s);
        s->case_id = w->cases.row[i / SAMPLES * ARMS].case_id;
        s->activity_set = w->set;
        s->activities = 1;
    }
}

/* Texts of the samples are borrowed. */
static void world_release(struct world *w)
{
    free(w->samples.row);
    case_table_release(&w->cases);
}

/* What carries over from one launch to the next. */
struct condition {
    double slow;
    bool low_clock;
};

static double launch_ns(struct world *w, const struct machine *m, struct condition *now,
                        size_t round, size_t slot, double offset)
{
    now->slow = 0.95 * now->slow + m->slow * normal(w);
    now->low_clock = uniform(w) < (now->low_clock ? 0.97 : 0.005);
    double t = m->base_ns *
               exp(now->slow + m->fast * normal(w) + offset + m->drift * (double)round / ROUNDS +
                   (slot ? 0 : m->slot) + (now->low_clock ? m->state : 0));

    return TICK_NS * floor(t / TICK_NS + uniform(w));
}

static void fill_process(struct world *w, const struct machine *m, size_t first, size_t process,
                         double effect)
{
    struct order_seed seed = {.seed = w->seed, .case_id = w->draws, .process = process};
    struct condition now = {0};
    struct order order;
    double offset[ARMS];
    size_t at = first + process * ROUNDS * ARMS;

    for (size_t a = 0; a < ARMS; a++)
        offset[a] = m->process * normal(w) + (a == 1 ? effect : 0);
    assert_int_equal(order_init(&order, ARMS, NULL), 0);
    for (size_t round = 0; round < ROUNDS; round++) {
        seed.super_round = round / order.nr_rounds;
        if (m->balanced && round % order.nr_rounds == 0)
            order_shuffle(&order, &seed);
        for (size_t slot = 0; slot < ARMS; slot++) {
            struct sample_row *s = &w->samples.row[at++];
            size_t arm =
                m->balanced ? (size_t)order_at(&order, round % order.nr_rounds, slot) : slot;
            s->process = (int64_t)process;
            s->super_round = (int64_t)seed.super_round;
            s->round = (int64_t)round;
            s->attempt = 0;
            s->slot = (int64_t)slot;
            s->arm = w->arm[arm];
            s->span_ns = s->busy_ns = launch_ns(w, m, &now, round, slot, offset[arm]);
        }
    }
    order_release(&order);
}

static void fill_case(struct world *w, const struct machine *m, size_t at, double effect)
{
    for (size_t p = 0; p < PROCESSES; p++)
        fill_process(w, m, at * SAMPLES, p, effect);
}

static void run_case(struct world *w, const struct machine *m, size_t at, double effect)
{
    struct err err = ERR_INIT;

    fill_case(w, m, at, effect);
    if (summary_case(&w->cases, &w->samples, w->cases.row[at * ARMS].case_id, &settings, &err))
        fail_msg("%s", err.text);
}

/* Verdicts of the candidate over many trials, in thousandths. */
struct outcome {
    int faster, slower, same, unsure;
    int missed; /* the interval does not hold the truth */
};

static struct outcome simulate(const struct machine *m, double effect, int trials, uint64_t seed)
{
    static const char *const ids[] = {"c"};
    struct outcome out = {0};
    struct world w;

    world_init(&w, ids, 1, seed);
    for (int i = 0; i < trials; i++) {
        run_case(&w, m, 0, effect);
        const struct case_row *row = &w.cases.row[1];
        out.faster += !strcmp(row->verdict, "FASTER");
        out.slower += !strcmp(row->verdict, "SLOWER");
        out.same += !strcmp(row->verdict, "SAME");
        out.unsure += !strcmp(row->verdict, "UNSURE");
        out.missed += log(row->ratio_lo) > effect || log(row->ratio_hi) < effect;
    }
    world_release(&w);
    out.faster = out.faster * 1000 / trials;
    out.slower = out.slower * 1000 / trials;
    out.same = out.same * 1000 / trials;
    out.unsure = out.unsure * 1000 / trials;
    out.missed = out.missed * 1000 / trials;
    return out;
}

#define TRIALS 400

/* A rate of 5 % over TRIALS trials: three standard deviations are 33 thousandths. */
static bool holds_the_level(const struct outcome *out)
{
    return out->missed <= 50 + 33 && out->faster + out->slower <= 50 + 33;
}

static void identical_arms_are_rarely_told_apart(void **state)
{
    struct outcome out = simulate(&usual, 0, TRIALS, 1);

    (void)state;
    assert_true(holds_the_level(&out));
    assert_true(out.faster + out.slower <= 10);
    assert_true(out.same >= 750);
}

static void a_true_percent_is_found_and_covered(void **state)
{
    struct outcome out = simulate(&usual, log(1.01), TRIALS, 2);

    (void)state;
    assert_in_range(out.missed, 50 - 33, 50 + 33);
    assert_true(out.slower >= 850);
    assert_int_equal(out.faster + out.same, 0);
}

static void an_effect_the_size_of_delta_is_no_claim(void **state)
{
    struct outcome out = simulate(&usual, log(1.005), TRIALS, 3);

    (void)state;
    assert_in_range(out.missed, 50 - 33, 50 + 33);
    /* One side of a 95 % interval. */
    assert_true(out.slower <= 25 + 24);
    assert_true(out.same <= 25 + 24);
}

static void noise_of_processes_is_in_the_interval(void **state)
{
    struct machine m = usual;
    struct outcome out;

    (void)state;
    m.process = 0.02; /* as identical kernels on a CPU */
    out = simulate(&m, 0, TRIALS, 4);
    assert_in_range(out.missed, 50 - 33, 50 + 33); /* nor is it wider than it says */
    assert_true(holds_the_level(&out));
}

static void short_calls_make_no_claim_inside_their_ticks(void **state)
{
    struct machine m = usual;
    struct outcome out;

    (void)state;
    m.base_ns = 3000; /* a tick is 1.07 %, delta 1.6 % */
    out = simulate(&m, log(1.01), TRIALS, 5);
    assert_int_equal(out.faster + out.slower, 0);
    assert_in_range(out.missed, 50 - 33, 50 + 33);
}

/* The candidate's interval as the chain takes it, without its refusal of such an order. */
static void estimate_only(struct world *w, struct verdict_result *v)
{
    struct sample_index index;
    struct case_samples cs;
    struct paired_processes pp;
    double delta = verdict_delta(TICK_NS, usual.base_ns, 0);

    assert_int_equal(sample_index_init(&index, &w->samples, NULL), 0);
    assert_int_equal(case_samples_init(&cs, &w->cases, &w->samples, &index, "c", NULL), 0);
    assert_int_equal(paired_processes_init(&pp, &cs, "base", "head", false, NULL), 0);
    assert_int_equal(verdict_compare(pp.item, pp.nr, delta, v, NULL), 0);
    paired_processes_release(&pp);
    case_samples_release(&cs);
    sample_index_release(&index);
}

/* The bound must be one that a broken harness fails; and the chain does not take its samples. */
static void a_fixed_order_is_refused_and_would_fail_the_bound(void **state)
{
    static const char *const ids[] = {"c"};
    enum { BROKEN = 100 };
    struct machine m = usual;
    struct outcome out = {0};
    struct verdict_result v;
    struct err err = ERR_INIT;
    struct world w;

    (void)state;
    m.balanced = false;
    world_init(&w, ids, 1, 6);
    for (int i = 0; i < BROKEN; i++) {
        fill_case(&w, &m, 0, 0);
        estimate_only(&w, &v);
        out.faster += v.verdict == VERDICT_FASTER;
        out.slower += v.verdict == VERDICT_SLOWER;
        out.missed += v.lo > 0 || v.hi < 0;
    }
    assert_int_not_equal(summary_case(&w.cases, &w.samples, "c", &settings, &err), 0);
    assert_non_null(strstr(err.text, "not balanced"));
    world_release(&w);
    out.faster *= 1000 / BROKEN;
    out.slower *= 1000 / BROKEN;
    out.missed *= 1000 / BROKEN;
    assert_false(holds_the_level(&out));
    assert_true(out.missed >= 960);
    assert_true(out.faster >= 500); /* the baseline is always first */
}

/* Ten cases a run, all arms alike: Holm over A' may void one run in twenty. */
static void runs_are_rarely_disbelieved(void **state)
{
    static const char *const ids[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    enum { CASES = sizeof(ids) / sizeof(ids[0]), RUNS = 60 };
    struct machine m = usual;
    struct summary_run run;
    struct world w;
    int voided = 0, alarms = 0;

    (void)state;
    m.process = 0.02;
    world_init(&w, ids, CASES, 7);
    for (int r = 0; r < RUNS; r++) {
        for (size_t c = 0; c < CASES; c++)
            run_case(&w, &m, c, 0);
        assert_int_equal(summary_run(&w.cases, &w.samples, &settings, &run, NULL), 0);
        voided += !run.believed;
        for (size_t c = 0; c < CASES; c++)
            alarms += row_has_reason(&w.cases.row[c * ARMS + 1], "a_prime");
    }
    world_release(&w);
    assert_true(voided <= 3 + 5);
    assert_true(alarms * 20 <= 2 * RUNS * CASES); /* rows: at most 10 %, 5 % and its deviations */
}

/* The trials of `bench aa` on such a machine: rates, floor, and the twin's power. */
static void the_twin_finds_what_it_injects(void **state)
{
    static const char *const ids[] = {"c"};
    struct aa_result result;
    struct aa_rates rates;
    struct world w;

    (void)state;
    aa_result_init(&result);
    assert_int_equal(aa_result_add_case(&result, ids[0], NULL), 0);
    world_init(&w, ids, 1, 8);
    for (uint64_t i = 0; i < 120; i++) {
        run_case(&w, &usual, 0, 0);
        assert_int_equal(aa_result_take(&result, i, &w.cases, &w.samples, &settings, NULL), 0);
    }
    assert_int_equal(aa_result_rates(&result, AA_POOLED, &rates, NULL), 0);
    world_release(&w);
    aa_result_release(&result);
    assert_int_equal(rates.false_alarm.nr, 120);
    assert_true(rates.false_alarm.lo <= AA_FALSE_ALARM);
    assert_true(rates.excluded_zero.lo <= 0.05 && rates.excluded_zero.hi >= 0.05);
    assert_true(rates.floor > 0.0005 && rates.floor < 0.005);
    for (size_t t = 0; t < AA_TWINS; t++)
        assert_true(rates.covers[t].hi >= 0.95 && rates.covers[t].share >= 0.88);
    assert_true(rates.power[0].share < 0.1);
    assert_true(rates.power[1].share >= 0.85);
    assert_true(rates.power[2].share == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identical_arms_are_rarely_told_apart),
        cmocka_unit_test(a_true_percent_is_found_and_covered),
        cmocka_unit_test(an_effect_the_size_of_delta_is_no_claim),
        cmocka_unit_test(noise_of_processes_is_in_the_interval),
        cmocka_unit_test(short_calls_make_no_claim_inside_their_ticks),
        cmocka_unit_test(a_fixed_order_is_refused_and_would_fail_the_bound),
        cmocka_unit_test(runs_are_rarely_disbelieved),
        cmocka_unit_test(the_twin_finds_what_it_injects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
