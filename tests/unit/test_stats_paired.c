/* Paired log-ratios and the signed-rank method: harness.md 3.2, 3.3. */
#include "test_stats_near.h"

#include <string.h>

#include "stats_paired.h"

static const double worked[] = {-2.9, -2.1, -2.6, -3.4, -2.5, -1.8, -2.7, +1.9};
static const double ties[] = {0, 1, 1, -1, 2, 2, 3, 4};

static void test_means(void **state)
{
    static const struct paired_round rounds[] = {
        {0, 10.0, 9.8}, {0, 10.2, 9.9}, {1, 1.0, 2.0}, {3, 1.0, 1.0}, {3, 1.0, 1.0}};
    double d[2];
    size_t nr;

    (void)state;
    assert_int_equal(paired_means(rounds, 1, 1, d, &nr, NULL), 0);
    assert_near(d[0], -0.0202027, 5e-8);
    assert_int_equal(paired_means(rounds + 1, 1, 1, d, &nr, NULL), 0);
    assert_near(d[0], -0.0298530, 5e-8);
    /* Super-round 1 lost a round: it is left out whole. */
    assert_int_equal(paired_means(rounds, 5, 2, d, &nr, NULL), 0);
    assert_int_equal(nr, 2);
    assert_near(d[0], -0.0250278, 5e-8);
    assert_near(100 * expm1(d[0]), -2.472, 5e-4);
    assert_near(d[1], 0.0, 0);
    assert_int_equal(paired_means(rounds, 0, 2, d, &nr, NULL), 0);
    assert_int_equal(nr, 0);
}

static void test_means_refusals(void **state)
{
    struct paired_round rounds[] = {{0, 10.0, 9.8}, {0, 10.2, 9.9}, {1, 1.0, 2.0}};
    struct err err = ERR_INIT;
    double d[3];
    size_t nr;

    (void)state;
    assert_int_equal(paired_means(rounds, 3, 0, d, &nr, &err), -1);
    assert_int_equal(paired_means(rounds, 3, 1, d, &nr, &err), -1);
    assert_non_null(strstr(err.text, "has 2 rounds, 1 are right"));
    rounds[1].arm = 0.0;
    assert_int_equal(paired_means(rounds, 3, 2, d, &nr, &err), -1);
    assert_non_null(strstr(err.text, "above zero"));
    rounds[1].arm = NAN;
    assert_int_equal(paired_means(rounds, 3, 2, d, &nr, &err), -1);
    rounds[1] = (struct paired_round){7, 1, 1};
    assert_int_equal(paired_means(rounds, 3, 1, d, &nr, &err), -1);
    assert_non_null(strstr(err.text, "super-round 1 follows super-round 7"));
}

static void test_k_table(void **state)
{
    static const struct {
        size_t m;
        long k;
        double level, within;
    } rows[] = {{6, 1, 96.875, 5e-10},   {7, 3, 95.3125, 5e-10},    {8, 4, 96.094, 5e-4},
                {10, 9, 95.117, 5e-4},   {12, 14, 95.752, 5e-4},    {20, 53, 95.156, 5e-4},
                {40, 265, 95.024, 5e-4}, {120, 2882, 95.027, 5e-4}, {240, 12351, 95.004, 5e-4}};
    double level;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(signed_rank_k(rows[i].m, 0.95, &level, NULL), rows[i].k);
        assert_near(100 * level, rows[i].level, rows[i].within);
    }
    for (size_t m = 0; m < PAIRED_MIN_SUPER_ROUNDS; m++) {
        assert_int_equal(signed_rank_k(m, 0.95, &level, NULL), 0);
        assert_nan(level);
    }
    assert_int_equal(signed_rank_k(3, -5.0, NULL, NULL), 4);
}

static void test_worked(void **state)
{
    struct signed_rank_test test;
    struct signed_rank rank;

    (void)state;
    assert_int_equal(signed_rank_interval(worked, 8, 0.95, &rank, NULL), 0);
    assert_near(rank.estimate, -2.45, 1e-12);
    assert_near(rank.lo, -3.0, 1e-12);
    assert_near(rank.hi, -0.3, 1e-12);
    assert_near(100 * rank.level, 96.094, 5e-4);
    assert_int_equal(signed_rank_p(worked, 8, &test, NULL), 0);
    assert_near(test.w_plus, 2, 0);
    assert_near(test.rank_sum, 36, 0);
    assert_near(test.p_two_sided, 3.0 / 128, 1e-14);
    /* Patterns with W+ <= 1: {} and {1}; so W+ >= 2 is the rest of 256. */
    assert_near(test.p_upper, 254.0 / 256, 1e-14);
}

static void test_ties(void **state)
{
    struct signed_rank_test test;
    struct signed_rank rank;

    (void)state;
    assert_int_equal(signed_rank_interval(ties, 8, 0.95, &rank, NULL), 0);
    assert_near(rank.estimate, 1.5, 0);
    assert_near(rank.lo, 0, 0);
    assert_near(rank.hi, 3, 0);
    assert_int_equal(signed_rank_p(ties, 8, &test, NULL), 0);
    assert_near(test.w_plus, 32, 0);
    assert_near(test.rank_sum, 35, 0);
    assert_near(test.p_two_sided, 1.0 / 16, 1e-14);
    assert_near(test.p_upper, 1.0 / 32, 1e-14);
}

static void test_edges(void **state)
{
    static const double zeros[3] = {0, -0.0, 0};
    struct signed_rank_test test;
    struct signed_rank rank;
    struct err err = ERR_INIT;
    double estimate;

    (void)state;
    assert_int_equal(signed_rank_p(zeros, 3, &test, NULL), 0);
    assert_near(test.p_two_sided, 1.0, 0);
    assert_near(test.p_upper, 1.0, 0);
    assert_int_equal(signed_rank_p(zeros, 0, &test, NULL), 0);
    assert_near(test.p_two_sided, 1.0, 0);
    assert_int_equal(signed_rank_interval(worked, 5, 0.95, &rank, NULL), 0);
    assert_int_equal(rank.k, 0);
    assert_nan(rank.lo);
    assert_near(rank.estimate, -2.7, 1e-12);
    assert_int_equal(signed_rank_interval(worked, 0, 0.95, &rank, &err), -1);
    assert_int_equal(hodges_lehmann(worked, 0, &estimate, &err), -1);
    assert_int_equal(hodges_lehmann(worked, 1, &estimate, NULL), 0);
    assert_near(estimate, -2.9, 0);
}

/* The interval and the test agree: 0 lies outside [lo, hi] exactly when p <= 1 - level. */
static void test_duality(void **state)
{
    double d[9] = {0.9, -0.2, 0.35, 1.1, 0.71, 0.44, -0.08, 1.3, 0.5}, moved[9];
    struct signed_rank_test test;
    struct signed_rank rank;

    (void)state;
    assert_int_equal(signed_rank_interval(d, 9, 0.95, &rank, NULL), 0);
    for (double shift = -0.513; shift < 1.6; shift += 0.0101) {
        for (size_t i = 0; i < 9; i++)
            moved[i] = d[i] - shift;
        assert_int_equal(signed_rank_p(moved, 9, &test, NULL), 0);
        assert_int_equal(test.p_two_sided <= 1.0 - rank.level + 1e-12,
                         shift < rank.lo || shift > rank.hi);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),   cmocka_unit_test(test_means_refusals),
        cmocka_unit_test(test_k_table), cmocka_unit_test(test_worked),
        cmocka_unit_test(test_ties),    cmocka_unit_test(test_edges),
        cmocka_unit_test(test_duality),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
