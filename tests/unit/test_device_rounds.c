/*
 * test_device_rounds.c - device cpu: rounds, timed samples, scrubs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

#define MIB (1024u * 1024u)

static struct device *open_cpu(enum device_timer timer)
{
    const struct device_request request = {.kind = SAB_DEVICE_CPU, .timer = timer, .threads = 2};
    struct device *dev = NULL;
    struct err err = ERR_INIT;

    if (device_open(&dev, &request, &err) < 0)
        fail_msg("%s", err.text);
    return dev;
}

static int setup(void **state)
{
    *state = open_cpu(DEVICE_TIMER_MONOTONIC);
    return 0;
}

static int teardown(void **state)
{
    device_close(*state);
    return 0;
}

static void *alloc(struct device *dev, uint64_t bytes)
{
    struct err err = ERR_INIT;
    void *ptr;

    if (device_alloc(dev, bytes, &ptr, &err) < 0)
        fail_msg("%s", err.text);
    return ptr;
}

static void busy(double ns, struct device *dev)
{
    const double end = device_now_ns(dev) + ns;

    while (device_now_ns(dev) < end)
        ;
}

static void test_samples(void **state)
{
    struct device *dev = *state;
    unsigned char *out = alloc(dev, 4096), *in = alloc(dev, 4096);
    const struct device_prepare prepare[] = {
        {DEVICE_PREPARE_FILL, out, NULL, 0x5a, 4096},
        {DEVICE_PREPARE_COPY, out + 100, in, 0, 10},
    };
    const struct device_span touch[] = {{out, 4096}, {in + 3, 100}, {in, 0}};
    const uint64_t id[] = {7, DEVICE_SAMPLE_EXTRA, 3, 9};
    struct device_sample s[3];
    struct device_conditions c;

    memset(in, 1, 4096);
    assert_int_equal(device_round_begin(dev, NULL), 0);
    device_idle(dev, 2e6);
    for (size_t i = 0; i < 4; i++) {
        memset(out, 0, 4096);
        assert_int_equal(
            device_sample_begin(dev, id[i], (enum device_cache)(i % 3), prepare, 2, touch, 3, NULL),
            0);
        assert_int_equal(out[99], 0x5a);
        assert_int_equal(out[100], 1);
        assert_int_equal(out[4095], 0x5a);
        busy(1e5 * (double)(i + 1), dev);
        assert_int_equal(device_sample_end(dev, NULL), 0);
    }
    assert_int_equal(device_round_end(dev, s, 3, NULL), 0);
    assert_int_equal(s[0].id, 7);
    assert_int_equal(s[1].id, 3);
    assert_int_equal(s[2].id, 9);
    assert_true(s[0].idle_before_ns >= 2e6 && s[1].idle_before_ns == 0);
    for (size_t i = 0; i < 3; i++) {
        const double least = 1e5 * (double)(i == 0 ? 1 : i + 2);

        assert_true(s[i].span_ns >= least && s[i].busy_ns == s[i].span_ns);
        assert_int_equal(s[i].activities, 1);
        assert_true(s[i].activity_set == s[0].activity_set);
        assert_true(s[i].scrub_ns > 0);
        assert_true(i == 0 || s[i].start_ns > s[i - 1].start_ns + s[i - 1].span_ns);
        assert_true(isnan(s[i].run_mhz) || (s[i].run_mhz > 50 && s[i].run_mhz < 20000));
        print_message("clock %.0f MHz\n", s[i].run_mhz);
    }
    device_conditions_at(dev, s[0].start_ns, &c);
    assert_true(isnan(c.sm_mhz) && isnan(c.power_w) && c.throttle_bits == 0);
    device_free(dev, out);
    device_free(dev, in);
}

/* Three launches of one sample, of 1, 2 and 3 units. */
static void test_parts(void **state)
{
    struct device *dev = *state;
    struct device_sample s;
    struct err err = ERR_INIT;
    double sum = 0;

    assert_int_equal(device_sample_part(dev, 0, &err), -1);
    assert_int_equal(device_round_begin(dev, NULL), 0);
    assert_int_equal(device_sample_part(dev, 0, &err), -1);
    assert_int_equal(device_sample_begin(dev, 0, DEVICE_WARM, NULL, 0, NULL, 0, NULL), 0);
    assert_int_equal(device_sample_part(dev, 1, &err), -1);
    assert_int_equal(err.kind, ERR_BUG);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(device_sample_part(dev, i, NULL), 0);
        busy(1e5 * (double)(i + 1), dev);
    }
    assert_int_equal(device_sample_end(dev, NULL), 0);
    assert_int_equal(device_round_end(dev, &s, 1, NULL), 0);
    assert_int_equal(s.parts_nr, 3);
    assert_int_equal(s.activities, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(s.part[i].span_ns >= 1e5 * (double)(i + 1));
        assert_true(s.part[i].busy_ns == s.part[i].span_ns);
        sum += s.part[i].span_ns;
    }
    assert_true(sum <= s.span_ns && s.span_ns < sum + 1e6);
}

static void test_round_misuse(void **state)
{
    struct device *dev = *state;
    struct device_sample s[2];
    struct err err = ERR_INIT;

    assert_int_equal(device_sample_begin(dev, 1, DEVICE_WARM, NULL, 0, NULL, 0, &err), -1);
    assert_int_equal(device_sample_end(dev, &err), -1);
    assert_int_equal(device_round_end(dev, s, 0, &err), -1);
    assert_int_equal(device_round_begin(dev, &err), 0);
    assert_int_equal(device_round_begin(dev, &err), -1);
    assert_int_equal(device_sample_begin(dev, 1, DEVICE_WARM, NULL, 0, NULL, 0, &err), 0);
    assert_int_equal(device_sample_begin(dev, 1, DEVICE_WARM, NULL, 0, NULL, 0, &err), -1);
    assert_int_equal(device_sample_end(dev, &err), 0);
    assert_int_equal(device_round_end(dev, s, 2, &err), -1);
    assert_int_equal(err.kind, ERR_BUG);
    /* A launch that failed: the sample stays open, the round is given up, the next one works. */
    assert_int_equal(device_round_begin(dev, &err), 0);
    assert_int_equal(device_sample_begin(dev, 1, DEVICE_WARM, NULL, 0, NULL, 0, &err), 0);
    assert_int_equal(device_round_end(dev, NULL, 0, &err), 0);
    assert_int_equal(device_round_begin(dev, &err), 0);
    assert_int_equal(device_round_end(dev, NULL, 0, &err), 0);
}

static void test_untimed(void **state)
{
    struct device *dev = open_cpu(DEVICE_TIMER_NONE);
    struct device_sample s;

    (void)state;
    assert_int_equal(device_round_begin(dev, NULL), 0);
    assert_int_equal(device_sample_begin(dev, 1, DEVICE_COLD, NULL, 0, NULL, 0, NULL), 0);
    assert_int_equal(device_sample_end(dev, NULL), 0);
    assert_int_equal(device_round_end(dev, &s, 1, NULL), 0);
    assert_true(isnan(s.span_ns) && isnan(s.run_mhz));
    assert_int_equal(s.activities, 0);
    device_close(dev);
}

/* Median span of reading `bytes` in a regime. */
static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double read_ns(struct device *dev, const uint64_t *data, uint64_t bytes,
                      enum device_cache cache)
{
    const struct device_span touch = {data, bytes};
    double span[7];

    assert_int_equal(device_round_begin(dev, NULL), 0);
    for (uint64_t i = 0; i < 7; i++) {
        volatile uint64_t sum = 0;
        uint64_t part = 0;

        assert_int_equal(device_sample_begin(dev, i, cache, NULL, 0, &touch, 1, NULL), 0);
        for (uint64_t k = 0; k < bytes / 8; k++)
            part += data[k];
        sum = part;
        (void)sum;
        assert_int_equal(device_sample_end(dev, NULL), 0);
    }
    {
        struct device_sample s[7];

        assert_int_equal(device_round_end(dev, s, 7, NULL), 0);
        for (int i = 0; i < 7; i++)
            span[i] = s[i].span_ns;
    }
    qsort(span, 7, sizeof(span[0]), by_value);
    return span[3];
}

/* Printed, not judged: how much colder cold is depends on the machine. */
static void test_cold(void **state)
{
    static const uint64_t mib[] = {1, 32};
    struct device *dev = *state;

    for (size_t i = 0; i < 2; i++) {
        uint64_t *data = alloc(dev, mib[i] * MIB);

        memset(data, 1, mib[i] * MIB);
        print_message("read of %2d MiB: warm %.0f us, cold %.0f us, dirty %.0f us\n", (int)mib[i],
                      read_ns(dev, data, mib[i] * MIB, DEVICE_WARM) / 1e3,
                      read_ns(dev, data, mib[i] * MIB, DEVICE_COLD) / 1e3,
                      read_ns(dev, data, mib[i] * MIB, DEVICE_DIRTY) / 1e3);
        device_free(dev, data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),      cmocka_unit_test(test_parts),
        cmocka_unit_test(test_round_misuse), cmocka_unit_test(test_untimed),
        cmocka_unit_test(test_cold),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
