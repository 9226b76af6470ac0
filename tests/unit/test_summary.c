/*
 * test_summary.c - from samples to the columns of cases.csv, against the worked examples of
 * harness.md 3.4 to 3.10.
 */
#include <stdio.h>
#include <string.h>

#include "test_race.h"

#include "summary.h"

#define PROCESSES 5
#define SUPERS    6
#define CASE      "s.B1"

/* 3.4: theta -0.0255, half 0.00153334. */
static const double five[PROCESSES] = {-.0262, -.0248, -.0271, -.0255, -.0239};
/* 3.6: theta 0.0080, half 0.00396556; 7 processes would settle it. */
static const double spread[PROCESSES] = {.0102, .0045, .0119, .0051, .0083};
static const double tiny[PROCESSES] = {.0001, -.0001, .0002, -.0002, 0};

static const struct summary_settings settings = {
    .delta = 0.005, .gate_slower = -1, .rounds_named = true};

struct world {
    struct case_table cases;
    struct sample_table samples;
    struct summary_run run;
};

static int world_init(void **state)
{
    struct world *w = test_calloc(1, sizeof(*w));

    case_table_init(&w->cases);
    sample_table_init(&w->samples);
    *state = w;
    return 0;
}

static int world_release(void **state)
{
    struct world *w = *state;

    case_table_release(&w->cases);
    sample_table_release(&w->samples);
    test_free(w);
    return 0;
}

static void race(struct world *w, const char *case_id, const struct race_arm *arm, size_t arms_nr,
                 int processes)
{
    for (size_t i = 0; i < arms_nr; i++)
        race_row(&w->cases, case_id, &arm[i]);
    for (int p = 0; p < processes; p++)
        race_process(&w->samples, case_id, arm, arms_nr, p, SUPERS);
}

static void summarise_case(struct world *w, const char *case_id, const struct summary_settings *set)
{
    struct err err = ERR_INIT;

    if (summary_case(&w->cases, &w->samples, case_id, set, &err))
        fail_msg("%s", err.text);
}

static void summarise(struct world *w, const struct summary_settings *set)
{
    struct err err = ERR_INIT;

    if (summary_run(&w->cases, &w->samples, set, &w->run, &err))
        fail_msg("%s", err.text);
}

/* A candidate with one effect a process, alone with the baseline. */
static struct case_row *race_pair(struct world *w, const double *theta, int processes)
{
    const struct race_arm arm[] = {{"base", "baseline", NULL}, {"head", "candidate", theta}};

    race(w, CASE, arm, 2, processes);
    summarise_case(w, CASE, &settings);
    return race_find(&w->cases, CASE, "head");
}

static void five_processes_are_faster(void **state)
{
    struct world *w = *state;
    struct case_row *row = race_pair(w, five, PROCESSES);

    assert_near(log(row->ratio), -.0255, 1e-9);
    assert_near(log(row->ratio_lo), -.0270333, 1e-7);
    assert_near(log(row->ratio_hi), -.0239667, 1e-7);
    assert_near(100 * (row->ratio - 1), -2.518, 5e-4);
    assert_near(100 * (row->ratio_lo - 1), -2.667, 5e-4);
    assert_near(100 * (row->ratio_hi - 1), -2.368, 5e-4);
    assert_string_equal(row->ci_kind, "cluster_t");
    assert_string_equal(row->verdict, "FASTER");
    assert_near(row->mde_pct, 0.206, 5e-4);
    assert_near(row->p, 3.14e-6, 1e-8);
    assert_near(row->delta_pct, 0.5, 1e-9);
    assert_int_equal(row->processes, PROCESSES);
    assert_int_equal(row->rounds, PROCESSES * SUPERS * 2);
    assert_int_equal(row->rounds_to_settle, -1);
    assert_null(row->reasons);
    assert_near(row->ratio_of_medians, exp(-.0255), 2e-3);
    assert_null(race_find(&w->cases, CASE, "base")->verdict);
}

static void wide_interval_is_unsure_and_says_what_settles(void **state)
{
    struct case_row *row = race_pair(*state, spread, PROCESSES);

    assert_near(log(row->ratio), .0080, 1e-9);
    assert_near(log(row->ratio_hi) - .0080, .00396556, 1e-8);
    assert_string_equal(row->verdict, "UNSURE");
    assert_int_equal(row->rounds_to_settle, 7 * SUPERS * 2);
}

static void narrow_interval_around_nothing_is_same(void **state)
{
    struct case_row *row = race_pair(*state, tiny, PROCESSES);

    assert_string_equal(row->verdict, "SAME");
    assert_true(row->mde_pct > 0 && row->mde_pct < 0.5);
}

static void one_process_has_a_signed_rank_interval(void **state)
{
    struct case_row *row = race_pair(*state, five, 1);

    assert_string_equal(row->ci_kind, "signed_rank");
    assert_near(row->ci_level, .96875, 1e-9); /* m = 6 */
    assert_string_equal(row->verdict, "FASTER");
}

static void the_noise_floor_widens_delta(void **state)
{
    struct world *w = *state;
    struct summary_settings wide = settings;

    wide.noise_floor = 0.03;
    race_pair(w, five, PROCESSES);
    summarise_case(w, CASE, &wide);
    struct case_row *row = race_find(&w->cases, CASE, "head");
    assert_string_equal(row->verdict, "SAME");
    assert_near(row->delta_pct, 3, 1e-9);
    assert_near(row->floor_pct, 3, 1e-9);
}

static void dropped_rounds_do_not_count(void **state)
{
    struct world *w = *state;

    race_pair(w, five, PROCESSES);
    /* Round 3 of process 0 again: the first try was spoilt by head. */
    for (int k = 0; k < 2; k++) {
        struct sample_row *s = race_sample(&w->samples, CASE, k ? "head" : "base", 9e9);
        s->round = 3;
        s->super_round = 1;
        s->attempt = 1;
        s->slot = k;
        race_text(&s->drop_reason, k ? "clock" : "with head");
    }
    summarise_case(w, CASE, &settings);
    struct case_row *row = race_find(&w->cases, CASE, "head");
    assert_near(log(row->ratio), -.0255, 1e-9);
    assert_int_equal(row->rounds, PROCESSES * SUPERS * 2);
    assert_int_equal(row->rounds_dropped, 1);
    assert_true(row_has_reason(row, "dropped"));
    assert_true(row->span_p90_ns < 2 * RACE_BASE_NS);
}

static void across_problems_has_a_ratio_and_no_verdict(void **state)
{
    struct world *w = *state;

    race_pair(w, five, PROCESSES);
    race_text(&race_find(&w->cases, CASE, "head")->problem, "across");
    summarise_case(w, CASE, &settings);
    struct case_row *row = race_find(&w->cases, CASE, "head");
    assert_near(log(row->ratio), -.0255, 1e-9);
    assert_null(row->verdict);
    assert_true(row_has_reason(row, "across"));
}

static void parts_have_medians_by_name(void **state)
{
    struct world *w = *state;
    int nr = 0;

    race_pair(w, five, PROCESSES);
    struct case_row *row = race_find(&w->cases, CASE, "head");
    race_text(&row->kernel, "a/x + b/y");
    for (size_t i = 0; i < w->samples.nr; i++) {
        struct sample_row *s = &w->samples.row[i];
        if (strcmp(s->arm, "head") != 0)
            continue;
        /* As many 1 as 3: a dropped one that counted would decide. */
        assert_int_equal(row_setf(&s->parts_span_ns, NULL, "%d;50", 1 + 2 * (nr % 2)), 0);
        race_text(&s->parts_busy_ns, "0.5;40.25");
        nr++;
    }
    struct sample_row *odd = race_sample(&w->samples, CASE, "head", 1e9);
    race_text(&odd->parts_span_ns, "1000000;1000000");
    race_text(&odd->drop_reason, "clock");
    summarise_case(w, CASE, &settings);
    assert_string_equal(row->parts_span_ns, "a/x=2;b/y=50");
    assert_string_equal(row->parts_busy_ns, "a/x=0.5;b/y=40.25");
    assert_null(race_find(&w->cases, CASE, "base")->parts_span_ns);
}

static void failed_arms_are_not_compared(void **state)
{
    struct world *w = *state;

    race_pair(w, five, PROCESSES);
    race_text(&race_find(&w->cases, CASE, "base")->status, "wrong");
    summarise_case(w, CASE, &settings);
    struct case_row *row = race_find(&w->cases, CASE, "head");
    assert_null(row->verdict);
    assert_true(row_has_reason(row, "no_baseline"));
    summarise(w, &settings);
    assert_true(w->run.wrong);
    assert_int_equal(w->run.faster, 0);
}

/* 3.10, worked carry-over: y in 1e-4, cells in launch order; A slows its successor by 6. */
static void carry_over_of_the_worked_example(void **state)
{
    static const char order[6][4] = {"ABC", "BCA", "CAB", "CBA", "ACB", "BAC"};
    static const double y[6][3] = {{20, 36, 0},  {55, 5, 5},   {30, 10, 46},
                                   {35, 45, 15}, {40, 26, 50}, {75, 25, 31}};
    static const struct race_arm arm[] = {
        {"A", "baseline", NULL}, {"B", "candidate", NULL}, {"C", "candidate", NULL}};
    struct world *w = *state;

    for (int i = 0; i < 3; i++) {
        struct case_row *made = race_row(&w->cases, CASE, &arm[i]);
        if (i)
            race_text(&made->baseline, "A");
    }
    for (int r = 0; r < 6; r++) {
        for (int k = 0; k < 3; k++) {
            struct sample_row *s = race_sample(&w->samples, CASE, arm[order[r][k] - 'A'].name,
                                               RACE_BASE_NS * exp(1e-4 * y[r][k]));
            s->round = r;
            s->slot = k;
        }
    }
    summarise_case(w, CASE, &settings);
    struct case_row *row = race_find(&w->cases, CASE, "B");
    assert_near(log(row->ratio), 32e-4, 1e-9);     /* plain B - A */
    assert_near(row->carry_pct, 100 * 2e-4, 1e-6); /* bias 2, so 30 corrected */
    assert_near(row->slot_pct, 100 * 18e-4, 1e-6); /* slots 12, -6, -6 */
    /* One super-round is no interval. */
    assert_string_equal(row->verdict, "UNSURE");
    assert_true(row_has_reason(row, "few"));
    assert_false(row_has_reason(row, "carry"));
}

/* theta_p with 3.4's spread around m: its p-value against delta is that of t = (m - delta)/SE. */
static void shifted(double m, double out[PROCESSES])
{
    for (int i = 0; i < PROCESSES; i++)
        out[i] = m + five[i] + .0255;
}

/* cases[] with a head that does nothing; A' of the first lies at t = 3.747, p = 0.02 for df = 4. */
static void alarm_among(struct world *w, int cases_nr)
{
    double off[PROCESSES], none[PROCESSES];
    char id[16];

    shifted(log(1.005) + 3.746947 * .000552268, off);
    shifted(0, none);
    for (int i = 0; i < cases_nr; i++) {
        const struct race_arm arm[] = {{"base", "baseline", NULL},
                                       {"head", "candidate", none},
                                       {"base'", "duplicate", i ? none : off}};
        snprintf(id, sizeof(id), "s.B%d", i + 1);
        race(w, id, arm, 3, PROCESSES);
        summarise_case(w, id, &settings);
    }
    summarise(w, &settings);
}

static void one_alarm_of_one_voids_the_run(void **state)
{
    struct world *w = *state;

    alarm_among(w, 1);
    assert_string_equal(race_find(&w->cases, CASE, "base'")->verdict, "SLOWER");
    assert_near(w->run.a_prime_p, 0.02, 1e-5);
    assert_false(w->run.believed);
    assert_true(row_has_reason(race_find(&w->cases, CASE, "head"), "a_prime"));
}

static void one_alarm_of_five_is_a_reason_only(void **state)
{
    struct world *w = *state;

    alarm_among(w, 5);
    assert_near(w->run.a_prime_p, 0.1, 5e-5);
    assert_true(w->run.believed);
    assert_true(row_has_reason(race_find(&w->cases, "s.B1", "head"), "a_prime"));
    assert_false(row_has_reason(race_find(&w->cases, "s.B2", "head"), "a_prime"));
    /* The duplicate is no row of the table's own counts. */
    assert_int_equal(w->run.rows, 5);
    assert_int_equal(w->run.same, 5);
}

static void geomean_and_worst_row(void **state)
{
    struct world *w = *state;
    const struct race_arm fast[] = {{"base", "baseline", NULL}, {"head", "candidate", five}};
    const struct race_arm slow[] = {{"base", "baseline", NULL}, {"head", "candidate", spread}};

    race(w, "s.B1", fast, 2, PROCESSES);
    race(w, "s.B2", slow, 2, PROCESSES);
    summarise_case(w, "s.B1", &settings);
    summarise_case(w, "s.B2", &settings);
    summarise(w, &settings);
    /* Per process the mean over rows, then over processes: (-.0255 + .0080) / 2. */
    assert_near(w->run.geomean, -.00875, 1e-9);
    assert_true(w->run.geomean_lo < -.00875 && w->run.geomean_hi > -.00875);
    assert_near(w->run.worst, .0080, 1e-9);
    assert_string_equal(w->run.worst_case, "s.B2");
    assert_int_equal(w->run.faster, 1);
    assert_int_equal(w->run.unsure, 1);
    assert_int_equal(w->run.rounds_kept, 2 * PROCESSES * SUPERS * 2);
    assert_true(isnan(w->run.a_prime));
    assert_true(w->run.believed);
}

/* 3.7: BH and Holm of six rows. */
static const double six_p[6] = {.012, .0004, .21, .034, .049, .012};

static void six_rows(struct world *w)
{
    static const struct race_arm arm[] = {{"base", "baseline", NULL}, {"head", "candidate", NULL}};
    char id[16];

    for (int i = 0; i < 6; i++) {
        snprintf(id, sizeof(id), "s.B%d", i + 1);
        race_row(&w->cases, id, &arm[0]);
        struct case_row *row = race_row(&w->cases, id, &arm[1]);
        row->ratio = 0.9;
        row->p = row->p_gate = six_p[i];
        race_text(&row->verdict, "FASTER");
    }
}

static void benjamini_hochberg_over_the_rows(void **state)
{
    static const double q[6] = {.024, .0024, .21, .051, .0588, .024};
    static const int multiple[6] = {0, 0, 1, 1, 1, 0};
    struct world *w = *state;

    six_rows(w);
    summarise(w, &settings);
    for (size_t i = 0; i < 6; i++) {
        struct case_row *row = &w->cases.row[2 * i + 1];
        assert_near(row->q_bh, q[i], 1e-12);
        assert_int_equal(row_has_reason(row, "multiple"), multiple[i]);
        assert_string_equal(row->verdict, "FASTER"); /* kept */
    }
    assert_false(w->run.gate_failed); /* there is none */
}

static void holm_decides_the_gate(void **state)
{
    struct world *w = *state;
    struct summary_settings gate = settings;

    gate.gate_slower = 0.01;
    six_rows(w);
    summarise(w, &gate);
    assert_true(w->run.gate_failed);
    /* Without the one row of p = .0004: five rows, the smallest Holm value is 5 x .012 = .06. */
    race_text(&race_find(&w->cases, "s.B2", "head")->status, "crash");
    summarise(w, &gate);
    assert_false(w->run.gate_failed);
    assert_true(w->run.crashed);
    assert_int_equal(w->run.failed, 1);
}

/* 3.8: half-width at most 0.25 %, and 40 rounds at least. */
static void precision_stops(void **state)
{
    struct world *w = *state;

    race_pair(w, five, PROCESSES); /* half 0.153 %, 60 rounds */
    assert_true(summary_precise(&w->cases, CASE));
    race_find(&w->cases, CASE, "head")->rounds = 39;
    assert_false(summary_precise(&w->cases, CASE));
}

static void spread_is_not_precise(void **state)
{
    struct world *w = *state;

    race_pair(w, spread, PROCESSES); /* half 0.397 % */
    assert_false(summary_precise(&w->cases, CASE));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_init, world_release)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(five_processes_are_faster),
        TEST(wide_interval_is_unsure_and_says_what_settles),
        TEST(narrow_interval_around_nothing_is_same),
        TEST(one_process_has_a_signed_rank_interval),
        TEST(the_noise_floor_widens_delta),
        TEST(dropped_rounds_do_not_count),
        TEST(across_problems_has_a_ratio_and_no_verdict),
        TEST(parts_have_medians_by_name),
        TEST(failed_arms_are_not_compared),
        TEST(carry_over_of_the_worked_example),
        TEST(one_alarm_of_one_voids_the_run),
        TEST(one_alarm_of_five_is_a_reason_only),
        TEST(geomean_and_worst_row),
        TEST(benjamini_hochberg_over_the_rows),
        TEST(holm_decides_the_gate),
        TEST(precision_stops),
        TEST(spread_is_not_precise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
