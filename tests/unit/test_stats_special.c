/* Distribution functions: the values of harness.md 3.4, 3.5, 3.9, 3.10 and closed forms. */
#include "test_stats_near.h"

#include "stats_special.h"

static void test_t_quantiles(void **state)
{
    static const struct {
        double df, t;
    } rows[] = {{1, 12.706205}, {2, 4.302653}, {3, 3.182446}, {4, 2.776445},
                {5, 2.570582},  {6, 2.446912}, {9, 2.262157}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_near(stats_t_quantile(0.975, rows[i].df), rows[i].t, 5e-7);
        assert_near(stats_t_quantile(0.025, rows[i].df), -rows[i].t, 5e-7);
        assert_near(stats_t_cdf(rows[i].t, rows[i].df), 0.975, 1e-7);
        assert_near(stats_t_upper(rows[i].t, rows[i].df), 0.025, 1e-7);
    }
    assert_near(stats_t_quantile(0.80, 4), 0.940965, 5e-7);
    assert_near(stats_t_quantile(0.5, 4), 0.0, 1e-12);
    assert_true(isinf(stats_t_quantile(1.0, 4)));
    assert_nan(stats_t_quantile(1.5, 4));
    assert_nan(stats_t_quantile(0.5, 0));
}

/* df = 1 is Cauchy, df = 2 and 4 have closed forms. */
static void test_t_closed_forms(void **state)
{
    const double pi = acos(-1.0);

    (void)state;
    for (double p = 0.51; p < 0.9999; p += 0.007) {
        double a = 4.0 * p * (1.0 - p);
        double q = cos(acos(sqrt(a)) / 3.0) / sqrt(a);
        double t4 = 2.0 * sqrt(q - 1.0);
        double t1 = tan(pi * (p - 0.5));
        double t2 = (2.0 * p - 1.0) * sqrt(2.0 / a);

        assert_near(stats_t_quantile(p, 4), t4, 1e-8 * (1.0 + t4));
        assert_near(stats_t_quantile(p, 1), t1, 1e-10 * (1.0 + t1));
        assert_near(stats_t_quantile(p, 2), t2, 1e-10 * (1.0 + t2));
    }
    assert_near(stats_t_upper(1e6, 1) * pi * 1e6, 1.0, 1e-9);
}

static void test_normal(void **state)
{
    (void)state;
    assert_near(stats_normal_quantile(0.975), 1.959963985, 1e-9);
    assert_near(stats_normal_quantile(0.80), 0.841621234, 1e-9);
    assert_near(stats_normal_cdf(-2.58), 0.004940016, 1e-9);
    /* First term of Cornish and Fisher: z + (z^3 + z) / (4 df). */
    assert_near(stats_t_quantile(0.975, 1e5), 1.959963985 + 9.489209 / 4e5, 1e-8);
}

/* Integer arguments: I(x; a, b) is a binomial tail, here summed by hand. */
static void test_beta(void **state)
{
    (void)state;
    assert_near(stats_beta_inc(0.3, 1, 1), 0.3, 1e-15);
    assert_near(stats_beta_inc(0.5, 2, 3), 0.6875, 1e-14);
    assert_near(stats_beta_inc(0.2, 2, 3), 0.1808, 1e-14);
    assert_near(stats_beta_inc(0.9, 2, 3), 0.9963, 1e-14);
    assert_near(stats_beta_inc(0.0, 2, 3), 0.0, 0);
    assert_near(stats_beta_inc(1.0, 2, 3), 1.0, 0);
    assert_near(stats_beta_inc(0.5, 120, 120), 0.5, 1e-12);
    assert_nan(stats_beta_inc(1.1, 2, 3));
    assert_nan(stats_beta_inc(0.5, 0, 3));
}

static void test_binomial(void **state)
{
    (void)state;
    assert_near(stats_binomial_upper(5, 4, 0.5), 6.0 / 32, 1e-14);
    assert_near(stats_binomial_lower(5, 1, 0.5), 6.0 / 32, 1e-14);
    assert_near(stats_binomial_upper(5, 0, 0.5), 1.0, 0);
    assert_near(stats_binomial_upper(5, 6, 0.5), 0.0, 0);
    assert_near(stats_binomial_lower(5, 5, 0.5), 1.0, 0);
    assert_near(stats_binomial_two_sided(5, 4, 0.5), 12.0 / 32, 1e-12);
    /* n = 3, p = 1/3: 8, 12, 6, 1 of 27. */
    assert_near(stats_binomial_two_sided(3, 3, 1.0 / 3), 1.0 / 27, 1e-12);
    assert_near(stats_binomial_two_sided(3, 2, 1.0 / 3), 7.0 / 27, 1e-12);
    assert_near(stats_binomial_two_sided(3, 0, 1.0 / 3), 15.0 / 27, 1e-12);
    assert_near(stats_binomial_two_sided(3, 1, 1.0 / 3), 1.0, 1e-12);
    assert_near(stats_binomial_two_sided(4, 4, 1.0), 1.0, 0);
    assert_near(stats_binomial_two_sided(0, 0, 0.5), 1.0, 1e-12);
    assert_nan(stats_binomial_two_sided(3, 4, 0.5));
    assert_nan(stats_binomial_upper(5, 2, -0.1));
}

static void test_clopper_pearson(void **state)
{
    static const struct {
        size_t x;
        double lo, hi;
    } rows[] = {{0, 0, .0881}, {2, .0061, .1692}, {5, .0419, .2680}, {6, .0571, .2984}};
    double lo, hi;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        stats_clopper_pearson(40, rows[i].x, 0.95, &lo, &hi);
        assert_near(lo, rows[i].lo, 5e-5);
        assert_near(hi, rows[i].hi, 5e-5);
    }
    stats_clopper_pearson(40, 0, 0.95, &lo, &hi);
    assert_near(hi, 1.0 - pow(0.025, 1.0 / 40), 1e-12);
    stats_clopper_pearson(40, 40, 0.95, &lo, &hi);
    assert_near(lo, pow(0.025, 1.0 / 40), 1e-12);
    assert_near(hi, 1.0, 0);
    stats_clopper_pearson(0, 0, 0.95, &lo, &hi);
    assert_near(hi - lo, 1.0, 0);
    stats_clopper_pearson(4, 5, 0.95, &lo, &hi);
    assert_nan(lo);
}

static void test_mann_kendall(void **state)
{
    (void)state;
    assert_near(stats_mann_kendall_p(8, 10), .2751, 5e-5);
    assert_near(stats_mann_kendall_p(8, -10), .2751, 5e-5);
    assert_near(stats_mann_kendall_p(3, 3), 2.0 / 6, 1e-14);
    assert_near(stats_mann_kendall_p(4, 4), 8.0 / 24, 1e-14); /* 1 3 5 6 5 3 1 */
    assert_near(stats_mann_kendall_p(4, 0), 1.0, 0);
    assert_near(stats_mann_kendall_p(1, 0), 1.0, 0);
    /* Exact and normal meet, each beside the normal formula written out here. */
    assert_near(stats_mann_kendall_p(240, 2442),
                2 * stats_normal_cdf(-2441 / sqrt(240.0 * 239 * 485 / 18)), 1e-4);
    assert_near(stats_mann_kendall_p(300, 3415),
                2 * stats_normal_cdf(-3414 / sqrt(300.0 * 299 * 605 / 18)), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_t_quantiles),  cmocka_unit_test(test_t_closed_forms),
        cmocka_unit_test(test_normal),       cmocka_unit_test(test_beta),
        cmocka_unit_test(test_binomial),     cmocka_unit_test(test_clopper_pearson),
        cmocka_unit_test(test_mann_kendall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
