/* test_stats_near.h - cmocka and a comparison of doubles for the tests of bench/base/stats_*. */
#ifndef TEST_STATS_NEAR_H
#define TEST_STATS_NEAR_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline void near_at(double got, double want, double within, const char *what,
                           const char *file, int line)
{
    if (fabs(got - want) <= within)
        return;
    print_error("%s is %.10g, %.10g within %g is right\n", what, got, want, within);
    _fail(file, line);
}

#define assert_near(got, want, within) near_at(got, want, within, #got, __FILE__, __LINE__)
#define assert_nan(got)                assert_true(isnan(got))

#endif
