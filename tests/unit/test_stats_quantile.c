/* Quantiles for display (harness.md 3.2), and the outlier count of 3.10. */
#include "test_stats_near.h"

#include "stats_quantile.h"

static void test_worked(void **state)
{
    double spans[] = {4896, 4800, 4832, 4800, 4864, 4832, 4800, 4832, 4800, 4832};
    struct stats_summary summary;

    (void)state;
    stats_summarise(spans, 10, 32.0, &summary);
    assert_int_equal(summary.nr, 10);
    assert_near(summary.min, 4800, 0);
    assert_near(summary.p10, 4800, 0);
    assert_near(summary.median, 4832, 0);
    assert_near(summary.p90, 4867.2, 1e-9);
    assert_near(summary.max, 4896, 0);
    assert_int_equal(summary.outliers, 0);
}

static void test_edges(void **state)
{
    double one[] = {3.0};
    double four[] = {4, 1, 3, 2};
    struct stats_summary summary;

    (void)state;
    assert_nan(stats_median(one, 0));
    assert_nan(stats_mean(one, 0));
    assert_near(stats_median(one, 1), 3.0, 0);
    assert_near(stats_median(four, 4), 2.5, 0);
    assert_near(stats_quantile_sorted(four, 4, 1.0), 4, 0);
    assert_nan(stats_quantile_sorted(four, 4, 1.5));
    assert_nan(stats_quantile_sorted(four, 4, NAN));
    stats_summarise(one, 0, 0.0, &summary);
    assert_nan(summary.median);
    assert_int_equal(summary.outliers, 0);
}

static void test_outliers(void **state)
{
    /* Median 5.5, distances 0.5 0.5 1.5 1.5 2.5 2.5 3.5 3.5 4.5 94.5: MAD 2.5, limit 12.5. */
    double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 100};
    double ticks[] = {10, 10, 10, 10, 10, 10, 11, 16, 4, 20};
    struct stats_summary summary;

    (void)state;
    stats_summarise(values, 10, 0.0, &summary);
    assert_int_equal(summary.outliers, 1);
    /* Distances 0 x6, 1, 6, 6, 10: MAD 0, so the tick of 1 decides and 5 ticks are allowed. */
    stats_summarise(ticks, 10, 1.0, &summary);
    assert_int_equal(summary.outliers, 3);
    stats_summarise(ticks, 10, 0.0, &summary);
    assert_int_equal(summary.outliers, 4);
    /* The limit is 18 on this side. */
    values[9] = 17.9;
    stats_summarise(values, 10, 0.0, &summary);
    assert_int_equal(summary.outliers, 0);
    values[9] = 18.1;
    stats_summarise(values, 10, 0.0, &summary);
    assert_int_equal(summary.outliers, 1);
}

static void test_ratio_of_medians(void **state)
{
    double arm[] = {1, 2, 3}, base[] = {3, 4, 5, 6};

    (void)state;
    assert_near(stats_ratio_of_medians(arm, 3, base, 4), 2.0 / 4.5, 1e-15);
    assert_nan(stats_ratio_of_medians(arm, 0, base, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_ratio_of_medians),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
