/*
 * test_probe.c - the running clock from pairs of readings, and when there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "probe.h"

#define SMS 132

/* Probes at `apart_ns` on a GPU at `mhz` whose global timer steps by `step_ns`; the blocks start
 * 1.7 ns after each other, SM counters differ, and block i of the second probe runs on another SM
 * than block i of the first. */
static void make(struct probe_reading *before, struct probe_reading *after, double apart_ns,
                 double mhz, double step_ns)
{
    for (int i = 0; i < SMS; i++) {
        const uint32_t sm = (uint32_t)i, other = (uint32_t)((i + 37) % SMS);
        const double at = 1e6 + 1.7 * i, then = 1e6 + apart_ns + 1.7 * i;

        before[i].sm = sm;
        before[i].time_ns = (uint64_t)(floor(at / step_ns) * step_ns);
        before[i].clock = 1000000u * sm + (uint64_t)(at * mhz / 1e3);
        after[i].sm = other;
        after[i].time_ns = (uint64_t)(floor(then / step_ns) * step_ns);
        after[i].clock = 1000000u * other + (uint64_t)(then * mhz / 1e3);
    }
}

static void test_figure(void **state)
{
    static const double apart[] = {2000, 14000, 1e6}, mhz[] = {345, 1530, 1980};
    struct probe_reading before[SMS], after[SMS];

    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            make(before, after, apart[i], mhz[k], 32);
            assert_true(fabs(probe_mhz(before, after, SMS, 32) / mhz[k] - 1) < 0.005);
        }
    }
}

static void test_coarse_timer(void **state)
{
    struct probe_reading before[SMS], after[SMS];

    (void)state;
    make(before, after, 12000, 1980, 1000);
    assert_true(isnan(probe_mhz(before, after, SMS, 1000)));
    make(before, after, 500000, 1980, 1000);
    assert_true(fabs(probe_mhz(before, after, SMS, 1000) / 1980 - 1) < 0.005);
}

static void test_few_pairs(void **state)
{
    struct probe_reading before[SMS], after[SMS];

    (void)state;
    make(before, after, 12000, 1980, 32);
    for (int i = 7; i < SMS; i++)
        before[i].sm = 1000;
    assert_true(isnan(probe_mhz(before, after, SMS, 32)));
    assert_true(isnan(probe_mhz(before, after, 0, 32)));
}

static void test_scatter(void **state)
{
    struct probe_reading before[SMS], after[SMS];

    (void)state;
    make(before, after, 12000, 1980, 32);
    for (int i = 0; i < SMS; i += 2)
        after[i].clock += 6000; /* half of the SMs seem a quarter faster */
    assert_true(isnan(probe_mhz(before, after, SMS, 32)));
}

/* Several blocks on one SM: the last before and the first after the launch count. */
static void test_shared_sm(void **state)
{
    struct probe_reading before[SMS], after[SMS];

    (void)state;
    make(before, after, 12000, 1980, 32);
    for (int i = 0; i < SMS / 2; i++) {
        before[SMS / 2 + i] = before[i];
        before[SMS / 2 + i].time_ns -= 5000; /* a stale pair, of another clock */
        before[SMS / 2 + i].clock -= 5;
    }
    assert_true(fabs(probe_mhz(before, after, SMS, 32) / 1980 - 1) < 0.005);
}

static void test_backwards(void **state)
{
    struct probe_reading before[SMS], after[SMS];

    (void)state;
    make(before, after, 12000, 1980, 32);
    assert_true(isnan(probe_mhz(after, before, SMS, 32)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure),    cmocka_unit_test(test_coarse_timer),
        cmocka_unit_test(test_few_pairs), cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_shared_sm), cmocka_unit_test(test_backwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
