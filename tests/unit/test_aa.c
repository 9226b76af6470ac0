/*
 * test_aa.c - rates, noise floors and twins of A/A trials (harness.md 3.9).
 */
#include <stdlib.h>
#include <string.h>

#include "test_race.h"

#include "aa_result.h"
#include "summary.h"

static const struct summary_settings settings = {
    .delta = 0.005, .gate_slower = -1, .rounds_named = true};

/* A baseline and what is compared with it. */
static void add_pair(struct case_table *t, const char *case_id, const struct race_arm arm[2])
{
    for (size_t i = 0; i < 2; i++) {
        struct case_row *row = race_row(t, case_id, &arm[i]);
        race_text(&row->kernel, "op/kernel");
        race_text(&row->baseline, i ? arm[0].name : NULL);
    }
}

/* ---- rates ---- */

static void add_value(struct aa_result *r, size_t at, int trial, double theta, double half)
{
    r->value = realloc(r->value, (r->values_nr + 1) * sizeof(*r->value));
    assert_non_null(r->value);
    struct aa_value *v = &r->value[r->values_nr++];
    memset(v, 0, sizeof(*v));
    v->trial = trial;
    v->at = at;
    v->theta = theta;
    v->lo = theta - half;
    v->hi = theta + half;
    v->delta = log(1.005);
    v->median_ns = 20000 + trial;
    v->verdict = verdict_of(v->lo, v->hi, v->delta);
    for (size_t t = 0; t < AA_TWINS; t++) {
        v->twin[t].lo = v->lo + log1p(aa_effect[t]);
        v->twin[t].hi = v->hi + log1p(aa_effect[t]);
        v->twin[t].verdict = verdict_of(v->twin[t].lo, v->twin[t].hi, v->delta);
    }
}

/* Forty trials, |theta| of 0.0001 to 0.0040 with signs in turn; `beyond` of them far off. */
static void forty(struct aa_result *r, int beyond)
{
    aa_result_init(r);
    assert_int_equal(aa_result_add_case(r, "s.B1", NULL), 0);
    for (int i = 0; i < 40; i++) {
        double theta = (i % 2 ? -1e-4 : 1e-4) * (i + 1);
        add_value(r, 0, i, i < beyond ? 0.05 : theta, 0.0045);
    }
    r->trials = 40;
}

static void the_interval_of_two_in_forty(void **state)
{
    struct aa_result r;
    struct aa_rates rates;

    (void)state;
    forty(&r, 2);
    assert_int_equal(aa_result_rates(&r, AA_POOLED, &rates, NULL), 0);
    assert_int_equal(rates.false_alarm.nr, 40);
    assert_int_equal(rates.false_alarm.hits, 2);
    assert_near(rates.false_alarm.lo, .0061, 5e-5);
    assert_near(rates.false_alarm.hi, .1692, 5e-5);
    assert_int_equal(rates.excluded_zero.hits, 2);
    assert_int_equal(rates.same.hits + rates.unsure.hits, 38);
    assert_nan(rates.median_ns);
    aa_result_release(&r);
}

static void the_floor_is_the_thirty_eighth_of_forty(void **state)
{
    struct aa_result r;
    struct aa_rates rates;

    (void)state;
    forty(&r, 0);
    assert_int_equal(aa_result_rates(&r, 0, &rates, NULL), 0);
    assert_near(rates.floor, expm1(.0038), 1e-12);
    assert_near(rates.median_ns, 20019.5, 1e-9);
    assert_int_equal(rates.false_alarm.hits, 0);
    assert_near(rates.false_alarm.hi, .0881, 5e-5);
    aa_result_release(&r);
}

static void power_and_coverage_of_a_twin(void **state)
{
    struct aa_result r;
    struct aa_rates rates;

    (void)state;
    forty(&r, 2);
    assert_int_equal(aa_result_rates(&r, AA_POOLED, &rates, NULL), 0);
    for (size_t t = 0; t < AA_TWINS; t++) {
        assert_int_equal(rates.covers[t].nr, 40);
        assert_int_equal(rates.covers[t].hits, 38); /* all but the two that were off */
    }
    assert_int_equal(rates.power[2].hits, 40);
    assert_true(rates.power[0].hits < rates.power[1].hits);
    aa_result_release(&r);
}

static void no_value_has_no_rate(void **state)
{
    struct aa_result r;
    struct aa_rates rates;
    struct noise_floors floors;

    (void)state;
    aa_result_init(&r);
    assert_int_equal(aa_result_rates(&r, AA_POOLED, &rates, NULL), 0);
    assert_nan(rates.false_alarm.share);
    assert_near(rates.false_alarm.lo, 0, 0);
    assert_near(rates.false_alarm.hi, 1, 0);
    assert_nan(rates.floor);
    assert_int_equal(aa_result_floors(&r, &floors, NULL), 0);
    assert_int_equal(floors.nr, 0);
    aa_result_release(&r);
}

static void floors_by_octave_need_enough_values(void **state)
{
    struct aa_result r;
    struct noise_floors floors;

    (void)state;
    forty(&r, 0);
    assert_int_equal(aa_result_add_case(&r, "s.B2", NULL), 0);
    for (int i = 0; i < AA_PROFILE_MIN - 1; i++) {
        add_value(&r, 1, i, 0.1, 0.01);
        r.value[r.values_nr - 1].median_ns = 1e6;
    }
    assert_int_equal(aa_result_floors(&r, &floors, NULL), 0);
    assert_int_equal(floors.nr, 1);
    assert_near(floors.octave[14], expm1(.0038), 1e-12); /* 2^14 = 16384 ns */
    assert_int_equal(floors.values[14], 40);
    assert_nan(floors.octave[19]);
    aa_result_release(&r);
}

/* ---- a trial ---- */

static void a_trial_is_taken_with_its_twins(void **state)
{
    static const double theta[5] = {.0001, -.0001, .0002, -.0002, 0};
    const struct race_arm arm[] = {{"base", "baseline", NULL}, {"base'", "duplicate", theta}};
    struct case_table cases;
    struct sample_table samples;
    struct aa_result r;

    (void)state;
    case_table_init(&cases);
    sample_table_init(&samples);
    aa_result_init(&r);
    assert_int_equal(aa_result_add_case(&r, "s.B1", NULL), 0);
    assert_int_equal(aa_result_add_case(&r, "s.B2", NULL), 0);
    add_pair(&cases, "s.B1", arm);
    race_text(&race_row(&cases, "s.B2", &arm[1])->status, "skip");
    race_text(&cases.row[2].status_text, "no room");
    for (int p = 0; p < 5; p++)
        race_process(&samples, "s.B1", arm, 2, p, 6);
    double before = samples.row[1].span_ns;
    assert_int_equal(summary_case(&cases, &samples, "s.B1", &settings, NULL), 0);
    assert_int_equal(aa_result_take(&r, 7, &cases, &samples, &settings, NULL), 0);
    assert_int_equal(r.trials, 1);
    assert_int_equal(r.values_nr, 1);
    assert_near(samples.row[1].span_ns, before, 0);
    assert_near(r.value[0].theta, 0, 1e-9);
    assert_int_equal(r.value[0].verdict, VERDICT_SAME);
    assert_true(r.value[0].seed == 7);
    for (size_t t = 0; t < AA_TWINS; t++) {
        const struct aa_twin *twin = &r.value[0].twin[t];
        assert_true(twin->lo < log1p(aa_effect[t]) && twin->hi > log1p(aa_effect[t]));
        assert_int_equal(twin->verdict, t ? VERDICT_SLOWER : VERDICT_UNSURE);
    }
    assert_null(r.item[0].failed);
    assert_string_equal(r.item[1].failed, "skip: no room");
    aa_result_release(&r);
    case_table_release(&cases);
    sample_table_release(&samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_of_two_in_forty),
        cmocka_unit_test(the_floor_is_the_thirty_eighth_of_forty),
        cmocka_unit_test(power_and_coverage_of_a_twin),
        cmocka_unit_test(no_value_has_no_rate),
        cmocka_unit_test(floors_by_octave_need_enough_values),
        cmocka_unit_test(a_trial_is_taken_with_its_twins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
