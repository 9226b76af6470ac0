/* Diagnostics: the worked values of harness.md 3.10, and the side that raises each flag. */
#include "test_stats_near.h"

#include <string.h>

#include "stats_diagnose.h"

static const double sample[] = {-2.9, -2.1, -2.6, -3.4, -2.5, -1.8, -2.7, +1.9};
static const struct verdict_process process = {.d = sample, .nr = 8, .rounds = 48};

/* Worked carry-over: A 0, B 1, C 2; y in 1e-4. */
static const int arms[] = {0, 1, 2, 1, 2, 0, 2, 0, 1, 2, 1, 0, 0, 2, 1, 1, 0, 2};
static const double y[] = {20, 36, 0, 55, 5, 5, 30, 10, 46, 35, 45, 15, 40, 26, 50, 75, 25, 31};
static const struct diagnose_cells cells = {.nr_arms = 3, .nr_rounds = 6, .arm = arms, .y = y};

static void test_drift(void **state)
{
    struct diagnose_drift drift;

    (void)state;
    assert_int_equal(diagnose_drift(&process, 1, 0.5, &drift, NULL), 0);
    assert_near(drift.slope, 0.185, 5e-4);
    assert_near(drift.effect, 8 * drift.slope, 1e-12);
    assert_near(drift.s, 10, 0);
    assert_near(drift.var, 65.333, 5e-4);
    assert_near(drift.z, 1.1135, 5e-5);
    assert_near(drift.p, .2751, 5e-5);
    assert_false(drift.flag);
    assert_int_equal(diagnose_drift(&process, 0, 0.5, &drift, NULL), 0);
    assert_nan(drift.effect);
    assert_false(drift.flag);
}

static void test_drift_flag(void **state)
{
    double up[10];
    struct verdict_process processes[2] = {{up, 10, 60}, {up, 10, 60}};
    struct diagnose_drift drift;

    (void)state;
    for (size_t i = 0; i < 10; i++)
        up[i] = -0.001 * (double)i;
    assert_int_equal(diagnose_drift(processes, 1, 0.005, &drift, NULL), 0);
    assert_near(drift.effect, -0.01, 1e-12);
    assert_near(drift.s, -45, 0);
    assert_true(drift.flag);
    assert_int_equal(diagnose_drift(processes, 1, 0.011, &drift, NULL), 0);
    assert_false(drift.flag);
    /* Two processes that fall alike are stronger evidence of the same effect. */
    assert_int_equal(diagnose_drift(processes, 2, 0.005, &drift, NULL), 0);
    assert_near(drift.effect, -0.01, 1e-12);
    assert_near(drift.s, -90, 0);
    assert_near(drift.var, 250, 1e-9);
    assert_near(drift.z, -89 / sqrt(250), 1e-12);
    assert_true(drift.flag);
}

static void test_slot(void **state)
{
    struct diagnose_slot slot;
    double effect[3], scaled[18];
    struct diagnose_cells log_cells = {.nr_arms = 3, .nr_rounds = 6, .arm = arms, .y = scaled};

    (void)state;
    assert_int_equal(diagnose_slot(&cells, effect, &slot, NULL), 0);
    assert_near(effect[0], 12, 1e-9);
    assert_near(effect[1], -6, 1e-9);
    assert_near(effect[2], -6, 1e-9);
    assert_near(slot.spread, 18, 1e-9);
    for (size_t i = 0; i < 18; i++)
        scaled[i] = 1e-4 * y[i];
    assert_int_equal(diagnose_slot(&log_cells, effect, &slot, NULL), 0);
    assert_false(slot.flag);
    for (size_t i = 0; i < 18; i++)
        scaled[i] = 1.2e-3 * y[i];
    assert_int_equal(diagnose_slot(&log_cells, effect, &slot, NULL), 0);
    assert_true(slot.flag);
}

static void test_carry_over(void **state)
{
    static const double want[] = {4, -2, -2};
    struct diagnose_carry carry;
    double lambda[3], plain = 0.0;

    (void)state;
    assert_int_equal(diagnose_carry_over(&cells, lambda, NULL), 0);
    for (size_t q = 0; q < 3; q++)
        assert_near(lambda[q], want[q], 1e-9);
    for (size_t i = 0; i < 18; i++)
        plain += arms[i] == 1 ? y[i] / 6 : arms[i] == 0 ? -y[i] / 6 : 0;
    assert_near(plain, 32, 1e-9);
    diagnose_carry_bias(lambda, 3, 0, 1, plain, 3.9, &carry);
    assert_near(carry.bias, 2, 1e-9);
    assert_near(carry.corrected, 30, 1e-9);
    assert_true(carry.flag);
    diagnose_carry_bias(lambda, 3, 0, 1, plain, 4.1, &carry);
    assert_false(carry.flag);
}

/* Even K: effects that were put in come out again. */
static void test_carry_over_four(void **state)
{
    static const int order[] = {0, 1, 3, 2, 1, 2, 0, 3, 2, 3, 1, 0, 3, 0, 2, 1};
    static const double tau[] = {0, 30, -20, 5}, rho[] = {8, -3, 1, -6}, slots[] = {9, 2, -4, 1};
    double built[16], lambda[4];
    struct diagnose_cells four = {.nr_arms = 4, .nr_rounds = 4, .arm = order, .y = built};

    (void)state;
    for (size_t i = 0; i < 16; i++)
        built[i] = tau[order[i]] + slots[i % 4] + 100.0 * (double)(i / 4) +
                   (i % 4 ? rho[order[i - 1]] : 0.0);
    assert_int_equal(diagnose_carry_over(&four, lambda, NULL), 0);
    for (size_t q = 0; q < 4; q++)
        assert_near(lambda[q], rho[q], 1e-9);
}

static void test_cells_refusals(void **state)
{
    struct diagnose_cells part = {.nr_arms = 3, .nr_rounds = 5, .arm = arms, .y = y};
    struct diagnose_cells two = {.nr_arms = 2, .nr_rounds = 2, .arm = arms, .y = y};
    struct diagnose_slot slot;
    struct diagnose_carry carry;
    struct err err = ERR_INIT;
    double out[3];

    (void)state;
    assert_int_equal(diagnose_slot(&part, out, &slot, &err), -1);
    assert_non_null(strstr(err.text, "5 rounds of 3 arms"));
    assert_int_equal(diagnose_carry_over(&part, out, &err), -1);
    assert_int_equal(diagnose_carry_over(&two, out, NULL), 0);
    assert_nan(out[0]);
    diagnose_carry_bias(out, 2, 0, 1, 0.0, 0.005, &carry);
    assert_false(carry.flag);
}

static void test_autocorr(void **state)
{
    double wave[24], copy[5] = {1, 3, 5, 9, 100};
    struct verdict_process processes[2] = {{wave, 24, 0}, {wave, 11, 0}};
    struct diagnose_autocorr autocorr;

    (void)state;
    diagnose_autocorr(&process, 1, &autocorr);
    assert_near(autocorr.rho1, -0.0689, 5e-5);
    assert_false(autocorr.flag);
    for (size_t i = 0; i < 24; i++)
        wave[i] = i / 6 % 2 ? 1.0 : -1.0;
    diagnose_autocorr(processes, 1, &autocorr);
    assert_near(autocorr.rho1, 17.0 / 24, 1e-12); /* 20 pairs alike, 3 opposite */
    assert_true(autocorr.flag);
    diagnose_autocorr(processes, 2, &autocorr);
    assert_false(autocorr.flag);
    diagnose_autocorr(processes, 0, &autocorr);
    assert_nan(autocorr.rho1);
    assert_int_equal(diagnose_average_pairs(copy, 5), 2);
    assert_near(copy[0], 2, 0);
    assert_near(copy[1], 7, 0);
    assert_int_equal(diagnose_average_pairs(copy, 1), 0);
}

static void test_halves(void **state)
{
    static const double step[] = {1, 1, 1, 50, 2, 2, 2}, flat[] = {3, 3};
    struct verdict_process processes[2] = {{step, 7, 0}, {flat, 2, 0}};
    struct diagnose_halves halves;

    (void)state;
    assert_int_equal(diagnose_halves(processes, 1, 0.49, &halves, NULL), 0);
    assert_near(halves.difference, 1.0, 1e-12);
    assert_true(halves.flag);
    assert_int_equal(diagnose_halves(processes, 2, 0.49, &halves, NULL), 0);
    assert_near(halves.difference, 0.5, 1e-12);
    assert_false(halves.flag);
    processes[0].nr = 1;
    assert_int_equal(diagnose_halves(processes, 1, 0.49, &halves, NULL), 0);
    assert_nan(halves.difference);
    assert_false(halves.flag);
}

static void test_discard(void **state)
{
    static const size_t none[] = {0, 0, 0}, even[] = {4, 5, 3}, skewed[] = {0, 0, 6};
    static const size_t seven[] = {7, 0}, eight[] = {0, 8};
    struct diagnose_discard discard;

    (void)state;
    diagnose_discard(none, 3, &discard);
    assert_near(discard.p, 1.0, 0);
    diagnose_discard(even, 3, &discard);
    assert_false(discard.flag);
    diagnose_discard(skewed, 3, &discard);
    assert_near(discard.p, 1.0 / 729, 1e-12);
    assert_int_equal(discard.arm, 2);
    assert_true(discard.flag);
    diagnose_discard(seven, 2, &discard);
    assert_near(discard.p, 2.0 / 128, 1e-12);
    assert_false(discard.flag);
    diagnose_discard(eight, 2, &discard);
    assert_near(discard.p, 2.0 / 256, 1e-12);
    assert_true(discard.flag);
}

static void test_clock(void **state)
{
    (void)state;
    assert_true(diagnose_clock(VERDICT_FASTER, VERDICT_SAME));
    assert_true(diagnose_clock(VERDICT_SLOWER, VERDICT_SAME));
    assert_false(diagnose_clock(VERDICT_SLOWER, VERDICT_SLOWER));
    assert_false(diagnose_clock(VERDICT_SAME, VERDICT_SAME));
    assert_false(diagnose_clock(VERDICT_UNSURE, VERDICT_SAME));
}

/* `nr` values from `from` in steps of `step`. */
static void fill_steps(double *values, size_t nr, double from, double step)
{
    for (size_t i = 0; i < nr; i++)
        values[i] = from + (double)i * step;
}

/* 1000..1011 and 2000..2007, the upper group first: quartile ranges 5.5 and 3.5, gap 989. */
static void test_bimodal_two_groups(void **state)
{
    double values[20];
    struct diagnose_bimodal b;

    (void)state;
    fill_steps(values, 8, 2000, 1);
    fill_steps(values + 8, 12, 1000, 1);
    diagnose_bimodal(values, 20, 32, &b);
    assert_near(b.gap, 989, 0);
    assert_int_equal(b.below, 12);
    assert_true(b.flag);
    diagnose_bimodal(values, 20, 198, &b); /* 5 ticks are 990 */
    assert_false(b.flag);
    diagnose_bimodal(values, 20, NAN, &b);
    assert_false(b.flag);
    diagnose_bimodal(values, 19, 32, &b);
    assert_nan(b.gap);
    assert_false(b.flag);
    diagnose_bimodal(values, 0, 32, &b);
    assert_false(b.flag);
}

/* One far outlier beside two groups must not hide them: its gap leaves too few on one side. */
static void test_bimodal_behind_an_outlier(void **state)
{
    double values[21];
    struct diagnose_bimodal b;

    (void)state;
    fill_steps(values, 10, 1000, 1);
    fill_steps(values + 10, 10, 2000, 1);
    values[20] = 90000;
    diagnose_bimodal(values, 21, 32, &b);
    assert_near(b.gap, 991, 0);
    assert_int_equal(b.below, 10);
    assert_true(b.flag);
}

/* The gap of twice the larger quartile range: 0..90 in steps of 10 has one of 45. */
static void test_bimodal_against_spread(void **state)
{
    double values[20];
    struct diagnose_bimodal b;

    (void)state;
    fill_steps(values, 10, 0, 10);
    fill_steps(values + 10, 10, 180, 1);
    diagnose_bimodal(values, 20, 1, &b);
    assert_near(b.gap, 90, 0);
    assert_false(b.flag);
    for (size_t i = 10; i < 20; i++)
        values[i] += 0.5;
    diagnose_bimodal(values, 20, 1, &b);
    assert_near(b.gap, 90.5, 0);
    assert_true(b.flag);
}

static void test_bimodal_one_group(void **state)
{
    double values[120];
    struct diagnose_bimodal b;

    (void)state;
    fill_steps(values, 120, 1000, 50); /* broad */
    diagnose_bimodal(values, 120, 1, &b);
    assert_near(b.gap, 50, 0);
    assert_false(b.flag);
    fill_steps(values, 109, 1000, 1); /* 11 of 120 are less than a tenth */
    fill_steps(values + 109, 11, 9000, 1);
    diagnose_bimodal(values, 120, 1, &b);
    assert_false(b.flag);
    for (size_t i = 0; i < 120; i++) /* steps of a tick, no spread inside them */
        values[i] = 32 * (double)(40 + i % 3);
    diagnose_bimodal(values, 120, 32, &b);
    assert_near(b.gap, 32, 0);
    assert_false(b.flag);
    for (size_t i = 0; i < 120; i++) /* five ticks apart, still not more */
        values[i] = 32 * (double)(40 + 5 * (i % 2));
    diagnose_bimodal(values, 120, 32, &b);
    assert_near(b.gap, 160, 0);
    assert_false(b.flag);
    for (size_t i = 0; i < 120; i++)
        values[i] = 32;
    diagnose_bimodal(values, 120, 32, &b);
    assert_near(b.gap, 0, 0);
    assert_false(b.flag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_drift_flag),
        cmocka_unit_test(test_slot),
        cmocka_unit_test(test_carry_over),
        cmocka_unit_test(test_carry_over_four),
        cmocka_unit_test(test_cells_refusals),
        cmocka_unit_test(test_autocorr),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_discard),
        cmocka_unit_test(test_bimodal_two_groups),
        cmocka_unit_test(test_bimodal_behind_an_outlier),
        cmocka_unit_test(test_bimodal_against_spread),
        cmocka_unit_test(test_bimodal_one_group),
        cmocka_unit_test(test_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
