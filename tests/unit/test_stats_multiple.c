/* Many rows: the vectors of harness.md 3.7; the noise floor and the twin of 3.9. */
#include "test_stats_near.h"

#include <string.h>

#include "stats_aa.h"
#include "stats_multiple.h"

static const double p[] = {.012, .0004, .21, .034, .049, .012};

static size_t at_most(const double *values, size_t nr, double level)
{
    size_t found = 0;

    for (size_t i = 0; i < nr; i++)
        found += values[i] <= level;
    return found;
}

static void test_worked(void **state)
{
    static const double want_q[] = {.024, .0024, .21, .051, .0588, .024};
    static const double want_h[] = {.06, .0024, .21, .102, .102, .06};
    double q[6], h[6];

    (void)state;
    assert_int_equal(multiple_bh(p, 6, q, NULL), 0);
    assert_int_equal(multiple_holm(p, 6, h, NULL), 0);
    for (size_t i = 0; i < 6; i++) {
        assert_near(q[i], want_q[i], 1e-12);
        assert_near(h[i], want_h[i], 1e-12);
    }
    assert_int_equal(at_most(p, 6, MULTIPLE_LEVEL), 5);
    assert_int_equal(at_most(q, 6, MULTIPLE_LEVEL), 3);
    assert_int_equal(at_most(h, 6, MULTIPLE_LEVEL), 1);
    assert_near(multiple_holm_min(p, 6), .0024, 1e-12);
}

static void test_edges(void **state)
{
    double bad[] = {0.5, 1.5}, ones[] = {1, 1, 1}, out[3];
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(multiple_bh(bad, 2, out, &err), -1);
    assert_non_null(strstr(err.text, "1.5"));
    bad[1] = NAN;
    assert_int_equal(multiple_holm(bad, 2, out, &err), -1);
    assert_int_equal(multiple_bh(NULL, 0, NULL, NULL), 0);
    assert_int_equal(multiple_holm(ones, 3, out, NULL), 0);
    assert_near(out[2], 1.0, 0);
    assert_int_equal(multiple_bh(ones, 3, out, NULL), 0);
    assert_near(out[0], 1.0, 0);
    assert_near(multiple_holm_min(ones, 3), 1.0, 0);
    assert_near(multiple_holm_min(NULL, 0), 1.0, 0);
}

static void test_floor(void **state)
{
    double theta[40], floor;
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < 40; i++)
        theta[i] = (i % 2 ? -0.001 : 0.001) * (double)(40 - i);
    assert_int_equal(aa_floor(theta, 40, &floor, NULL), 0);
    assert_near(floor, 0.038, 1e-15);
    assert_int_equal(aa_floor(theta, 1, &floor, NULL), 0);
    assert_near(floor, 0.040, 1e-15);
    assert_int_equal(aa_floor(theta + 20, 20, &floor, NULL), 0);
    assert_near(floor, 0.019, 1e-15);
    assert_int_equal(aa_floor(theta, 0, &floor, &err), -1);
}

static void test_inject(void **state)
{
    double sum = 0.0;

    (void)state;
    assert_near(aa_inject_ns(4800, 0.01, 32, 0.0), 4832, 0); /* 151.5 ticks */
    assert_near(aa_inject_ns(4800, 0.01, 32, 0.4), 4832, 0);
    assert_near(aa_inject_ns(4800, 0.01, 32, 0.6), 4864, 0);
    assert_near(aa_inject_ns(4800, 0.01, 0, 0.6), 4848, 1e-9);
    for (int i = 0; i < 1000; i++)
        sum += aa_inject_ns(4800, 0.005, 32, (i + 0.5) / 1000);
    assert_near(sum / 1000, 4824, 1e-9); /* unbiased although 24 ns is no tick */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_inject),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
