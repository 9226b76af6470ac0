#include "test_stats_near.h"

#include "stats_unpaired.h"

/* Student's sleep data (Biometrika 6, 1908), the example of R's t.test(): t = -1.8608, df = 17.776,
 * p-value = 0.07939, 95 percent confidence interval -3.3654832 0.2054832 for the first less the
 * second. */
static const double first[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
static const double second[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

static void students_sleep(void **state)
{
    struct unpaired u;

    (void)state;
    unpaired_welch(first, 10, second, 10, &u);
    assert_near(u.theta, 1.58, 1e-12);
    assert_near(u.theta / u.se, 1.8608, 5e-5);
    assert_near(u.df, 17.776, 5e-4);
    assert_near(u.lo, -0.2054832, 5e-8);
    assert_near(u.hi, 3.3654832, 5e-8);
    assert_near(unpaired_p(&u, 0), 0.07939, 5e-6);
    unpaired_welch(second, 10, first, 10, &u);
    assert_near(u.lo, -3.3654832, 5e-8);
    assert_near(u.hi, 0.2054832, 5e-8);
}

/*
 * By hand: s^2 = 2e-4 on both sides, SE^2 = 2e-4, df = (2e-4)^2 / (1e-8 + 1e-8) = 2, and
 * t(.975, 2) = 4.302653. With 2 degrees T(t) = 1/2 + t / (2 sqrt(2 + t^2)); t = 0.1 / 0.0141421 =
 * 7.071068, so p = 1 - 7.071068 / sqrt(52). With delta = 0.05: t = 3.535534, p = 1 - t/sqrt(14.5).
 */
static void two_processes_a_side(void **state)
{
    static const double before[] = {-0.01, 0.01}, after[] = {0.09, 0.11};
    struct unpaired u;

    (void)state;
    unpaired_welch(before, 2, after, 2, &u);
    assert_near(u.theta, 0.10, 1e-12);
    assert_near(u.se, 0.01414214, 5e-9);
    assert_near(u.df, 2, 1e-9);
    assert_near(u.half, 0.0608487, 5e-8);
    assert_near(unpaired_p(&u, 0), 0.0194193, 5e-7);
    assert_near(unpaired_p(&u, 0.05), 0.0715233, 5e-7);
    assert_near(unpaired_p(&u, 0.2), 1, 0);
}

/* Unequal spread and number: s^2 = 8e-4 of 2, 1e-4 of 3; shares 4e-4 and 1e-4/3;
 * df = (4.33333e-4)^2 / (1.6e-7 + 1.11111e-9 / 2) = 1.169550. */
static void degrees_between_the_extremes(void **state)
{
    static const double before[] = {0, 0.04}, after[] = {-0.01, 0, 0.01};
    struct unpaired u;

    (void)state;
    unpaired_welch(before, 2, after, 3, &u);
    assert_near(u.theta, -0.02, 1e-12);
    assert_near(u.se, 0.02081666, 5e-9);
    assert_near(u.df, 1.169550, 5e-6);
}

static void one_process_has_no_interval(void **state)
{
    struct unpaired u;

    (void)state;
    unpaired_welch(first, 1, second, 10, &u);
    assert_near(u.theta, 2.33 - 0.7, 1e-12);
    assert_nan(u.lo);
    assert_nan(u.hi);
    assert_nan(u.mde);
    assert_near(unpaired_p(&u, 0), 1, 0);
    unpaired_welch(first, 0, second, 10, &u);
    assert_nan(u.theta);
}

static void no_spread_leaves_no_doubt(void **state)
{
    static const double before[] = {1, 1}, after[] = {1.5, 1.5, 1.5};
    struct unpaired u;

    (void)state;
    unpaired_welch(before, 2, after, 3, &u);
    assert_near(u.df, 3, 0);
    assert_near(u.lo, 0.5, 0);
    assert_near(u.hi, 0.5, 0);
    assert_near(unpaired_p(&u, 0.1), 0, 0);
    assert_near(unpaired_p(&u, 0.6), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(students_sleep),
        cmocka_unit_test(two_processes_a_side),
        cmocka_unit_test(degrees_between_the_extremes),
        cmocka_unit_test(one_process_has_no_interval),
        cmocka_unit_test(no_spread_leaves_no_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
