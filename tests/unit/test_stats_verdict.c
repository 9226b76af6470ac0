/* Interval, verdict, settling size and stopping: harness.md 3.4 to 3.8. */
#include "test_stats_near.h"

#include <string.h>

#include "stats_verdict.h"

static const double faster[] = {-.0262, -.0248, -.0271, -.0255, -.0239};
static const double unsure[] = {.0102, .0045, .0119, .0051, .0083};
static const double single[] = {-.029, -.021, -.026, -.034, -.025, -.018, -.027, .019};

/* One super-round a process: its D is its estimate. */
static struct verdict_result compare(const double *theta, size_t nr, double delta)
{
    struct verdict_process processes[12];
    struct verdict_result result;

    for (size_t i = 0; i < nr; i++)
        processes[i] = (struct verdict_process){.d = theta + i, .nr = 1, .rounds = 24};
    assert_int_equal(verdict_compare(processes, nr, delta, &result, NULL), 0);
    return result;
}

static struct verdict_result compare_one(const double *d, size_t nr, size_t rounds, double delta)
{
    struct verdict_process process = {.d = d, .nr = nr, .rounds = rounds};
    struct verdict_result result;

    assert_int_equal(verdict_compare(&process, 1, delta, &result, NULL), 0);
    return result;
}

static void test_cluster(void **state)
{
    struct cluster cluster;

    (void)state;
    cluster_t(faster, 5, &cluster);
    assert_near(cluster.theta, -0.0255, 1e-12);
    assert_near(cluster.s, 0.00123491, 5e-9);
    assert_near(cluster.se, 0.000552268, 5e-10);
    assert_near(cluster.half, 0.00153334, 5e-9);
    assert_near(cluster.lo, -0.0270333, 5e-8);
    assert_near(cluster.hi, -0.0239667, 5e-8);
    assert_near(100 * expm1(cluster.theta), -2.518, 5e-4);
    assert_near(100 * expm1(cluster.lo), -2.667, 5e-4);
    assert_near(100 * expm1(cluster.hi), -2.368, 5e-4);
    cluster_t(faster, 1, &cluster);
    assert_near(cluster.theta, -.0262, 0);
    assert_nan(cluster.half);
    cluster_t(faster, 0, &cluster);
    assert_nan(cluster.theta);
}

static void test_mde(void **state)
{
    (void)state;
    assert_near(verdict_mde(1.0, INFINITY), 1.429, 5e-4);
    assert_near(verdict_mde(1.0, 4), 1.3389, 5e-5);
    assert_near(verdict_mde(0.00153334, 4), 0.00205301, 5e-8);
    assert_near(100 * expm1(verdict_mde(0.00153334, 4)), 0.206, 5e-4);
}

static void test_delta(void **state)
{
    (void)state;
    assert_near(verdict_delta(32, 100000, 0), log(1.005), 1e-15);
    assert_near(verdict_delta(32, 4800, 0), log(1.01), 1e-15);
    assert_near(verdict_delta(32, 4800, 0.03), log(1.03), 1e-15);
    assert_near(verdict_delta(0, 4800, 0), log(1.005), 1e-15);
    assert_near(verdict_target(32, 100000), log(1.0025), 1e-15);
    assert_near(verdict_target(32, 3200), log(1.01), 1e-15);
}

static void test_verdict_of(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(-0.03, -0.011, 0.01), VERDICT_FASTER);
    assert_int_equal(verdict_of(-0.03, -0.01, 0.01), VERDICT_UNSURE);
    assert_int_equal(verdict_of(0.011, 0.03, 0.01), VERDICT_SLOWER);
    assert_int_equal(verdict_of(0.01, 0.03, 0.01), VERDICT_UNSURE);
    assert_int_equal(verdict_of(-0.01, 0.01, 0.01), VERDICT_SAME);
    assert_int_equal(verdict_of(-0.02, 0.02, 0.01), VERDICT_UNSURE);
    assert_int_equal(verdict_of(NAN, NAN, 0.01), VERDICT_UNSURE);
    assert_string_equal(verdict_name(VERDICT_FASTER), "FASTER");
    assert_string_equal(verdict_name(VERDICT_SLOWER), "SLOWER");
    assert_string_equal(verdict_name(VERDICT_SAME), "SAME");
    assert_string_equal(verdict_name(VERDICT_UNSURE), "UNSURE");
    assert_string_equal(ci_kind_name(CI_CLUSTER_T), "cluster_t");
    assert_string_equal(ci_kind_name(CI_SIGNED_RANK), "signed_rank");
    assert_string_equal(ci_kind_name(CI_NONE), "");
}

static void test_compare_table(void **state)
{
    double delta = verdict_delta(0, 1, 0);
    struct verdict_result result = compare(faster, 5, delta);

    (void)state;
    assert_int_equal(result.verdict, VERDICT_FASTER);
    assert_int_equal(result.ci_kind, CI_CLUSTER_T);
    assert_near(result.ci_level, 0.95, 0);
    assert_near(result.mde, 0.00205301, 5e-9);
    assert_near((fabs(result.theta) - delta) / result.se, 37.14, 5e-3);
    assert_near(result.p, 3.14e-6, 5e-9);
    assert_false(result.few || result.few_processes || result.on_delta);
    assert_int_equal(result.settle_processes, 0);

    result = compare(unsure, 5, delta);
    assert_int_equal(result.verdict, VERDICT_UNSURE);
    assert_near(result.theta, .0080, 1e-12);
    assert_near(result.half, .00396556, 5e-9);
    assert_near(100 * expm1(result.lo), 0.404, 5e-4);
    assert_near(100 * expm1(result.hi), 1.204, 5e-4);
    assert_int_equal(result.settle_processes, 7);
    assert_int_equal(result.settle_rounds, 7 * 24);
    assert_false(result.on_delta);
}

static void test_compare_few_processes(void **state)
{
    static const double same[] = {.001, -.001, 0};
    static const double equal[] = {.02, .02};
    static const double edge[] = {.0049, .0051};
    struct verdict_result result = compare(same, 3, 0.005);

    (void)state;
    assert_int_equal(result.verdict, VERDICT_SAME);
    assert_true(result.few_processes);
    assert_near(result.p, 1.0, 0);
    result = compare(equal, 2, 0.005);
    assert_int_equal(result.verdict, VERDICT_SLOWER);
    assert_near(result.p, 0.0, 0);
    result = compare(edge, 2, 0.005);
    assert_int_equal(result.verdict, VERDICT_UNSURE);
    assert_true(result.on_delta);
    assert_int_equal(result.settle_rounds, 0);
}

static void test_compare_single(void **state)
{
    struct verdict_result result = compare_one(single, 8, 48, 0.0045);

    (void)state;
    assert_int_equal(result.ci_kind, CI_SIGNED_RANK);
    assert_near(result.theta, -0.0245, 1e-12);
    assert_near(result.lo, -0.030, 1e-12);
    assert_near(result.hi, -0.003, 1e-12);
    assert_near(result.half, 0.0135, 1e-12);
    assert_near(100 * result.ci_level, 96.094, 5e-4);
    assert_near(result.mde / result.half, 1.429, 5e-4);
    assert_int_equal(result.verdict, VERDICT_UNSURE);
    /* gap 0.02: ceil(48 (135/200)^2) = ceil(21.87). */
    assert_int_equal(result.settle_rounds, 22);
    assert_nan(result.se);
    /* D + 0.0045 has one value above zero, .0235, of rank 6: 14 subsets of 1..8 reach 6 at most. */
    assert_near(result.p, 2.0 * 14 / 256, 1e-12);
    result = compare_one(single, 8, 48, 0.0245);
    assert_near(result.p, 1.0, 0);
    /* [-0.030, -0.003] lies wholly inside. */
    result = compare_one(single, 8, 48, 0.031);
    assert_int_equal(result.verdict, VERDICT_SAME);
}

static void test_compare_too_little(void **state)
{
    struct verdict_process empty[2] = {{single, 0, 5}, {NULL, 0, 0}};
    struct verdict_result result = compare_one(single, 5, 30, 0.005);

    (void)state;
    assert_int_equal(result.verdict, VERDICT_UNSURE);
    assert_int_equal(result.ci_kind, CI_NONE);
    assert_true(result.few);
    assert_nan(result.lo);
    assert_false(isnan(result.theta));
    assert_int_equal(result.settle_rounds, 36);
    assert_int_equal(verdict_compare(empty, 2, 0.005, &result, NULL), 0);
    assert_int_equal(result.verdict, VERDICT_UNSURE);
    assert_int_equal(result.nr_processes, 0);
    assert_true(result.few);
    assert_nan(result.theta);
    assert_near(result.p, 1.0, 0);
    assert_int_equal(verdict_compare(NULL, 0, 0.005, &result, NULL), 0);
    /* A process without a super-round leaves one, not a cluster of two. */
    empty[1] = (struct verdict_process){single, 8, 48};
    assert_int_equal(verdict_compare(empty, 2, 0.005, &result, NULL), 0);
    assert_int_equal(result.ci_kind, CI_SIGNED_RANK);
    assert_int_equal(result.rounds, 48);
}

static void test_compare_autocorrelated(void **state)
{
    double d[24];
    struct verdict_result result;

    (void)state;
    for (size_t i = 0; i < 24; i++)
        d[i] = 0.02 + 0.004 * sin((double)i / 4.0);
    result = compare_one(d, 24, 144, 0.005);
    assert_true(result.autocorr);
    assert_int_equal(result.averaged, 2);
    assert_near(100 * result.ci_level, 96.875, 1e-9); /* of the six that are left */
    assert_int_equal(result.verdict, VERDICT_SLOWER);
}

static void test_gate(void **state)
{
    struct verdict_process processes[5], one = {.d = single, .nr = 8, .rounds = 48};
    double p;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        processes[i] = (struct verdict_process){.d = unsure + i, .nr = 1, .rounds = 24};
    /* SE .00142831: t = (.008 - .005) / SE = 2.1004; closed form of df = 4 in the tail. */
    assert_int_equal(verdict_gate_p(processes, 5, 0.0, 0.005, &p, NULL), 0);
    assert_near(p, 0.0518, 5e-5);
    /* A gate above delta takes over: ln 1.008 < .008 leaves t just above 0. */
    assert_int_equal(verdict_gate_p(processes, 5, 0.008, 0.005, &p, NULL), 0);
    assert_in_range((int)(1000 * p), 480, 499);
    assert_int_equal(verdict_gate_p(processes, 5, 0.5, 0.005, &p, NULL), 0);
    assert_true(p > 0.999999);
    /* A faster arm is far from failing the gate. */
    assert_int_equal(verdict_gate_p(&one, 1, 0.02, 0.005, &p, NULL), 0);
    assert_true(p > 0.95);
    assert_int_equal(verdict_gate_p(NULL, 0, 0.02, 0.005, &p, NULL), 0);
    assert_near(p, 1.0, 0);
}

static void test_gate_single(void **state)
{
    double d[8];
    struct verdict_process one = {.d = d, .nr = 8, .rounds = 48};
    double p;

    (void)state;
    for (size_t i = 0; i < 8; i++)
        d[i] = 0.03 + 0.001 * (double)(i * i % 5);
    assert_int_equal(verdict_gate_p(&one, 1, 0.02, 0.005, &p, NULL), 0);
    assert_near(p, 1.0 / 256, 1e-14);
}

static void test_may_stop(void **state)
{
    struct verdict_result result = compare(faster, 5, 0.005);

    (void)state;
    assert_true(verdict_may_stop(&result, 0.0016));
    assert_false(verdict_may_stop(&result, 0.0015));
    result.rounds = 39;
    assert_false(verdict_may_stop(&result, 0.0016));
    result = compare_one(single, 5, 60, 0.005);
    assert_false(verdict_may_stop(&result, 1.0));
    result = compare_one(single, 6, 60, 0.005);
    assert_true(verdict_may_stop(&result, 1.0));
}

static void test_geomean(void **state)
{
    /* Two rows, five processes: 3.4's sample shifted by +-0.01; the third row is not whole. */
    double theta[3 * 5];
    struct cluster cluster;
    size_t used;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        theta[i] = faster[i] + 0.01;
        theta[5 + i] = faster[i] - 0.01;
        theta[10 + i] = 99.0;
    }
    theta[12] = NAN;
    assert_int_equal(cluster_geomean(theta, 3, 5, &cluster, &used, NULL), 0);
    assert_int_equal(used, 2);
    assert_near(cluster.theta, -0.0255, 1e-12);
    assert_near(cluster.half, 0.00153334, 5e-9);
    assert_int_equal(cluster_geomean(theta + 10, 1, 5, &cluster, &used, NULL), 0);
    assert_int_equal(used, 0);
    assert_nan(cluster.theta);
    assert_int_equal(cluster_geomean(theta, 2, 1, &cluster, NULL, NULL), 0);
    assert_near(cluster.theta, (theta[0] + theta[1]) / 2, 1e-15);
    assert_nan(cluster.half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_mde),
        cmocka_unit_test(test_delta),
        cmocka_unit_test(test_verdict_of),
        cmocka_unit_test(test_compare_table),
        cmocka_unit_test(test_compare_few_processes),
        cmocka_unit_test(test_compare_single),
        cmocka_unit_test(test_compare_too_little),
        cmocka_unit_test(test_compare_autocorrelated),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_gate_single),
        cmocka_unit_test(test_may_stop),
        cmocka_unit_test(test_geomean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
