#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "rng.h"

/* SplitMix64 started at 1234567: the vector that Rosetta Code's task of that name prints. */
static void matches_splitmix64(void **state)
{
    static const uint64_t expected[] = {
        6457827717110365317u, 3203168211198807973u,  9817491932198370423u,
        4593380528125082431u, 16408922859458223821u,
    };
    size_t i;

    (void)state;
    for (i = 0; i < 5; i++)
        assert_true(rng_at(1234567, i) == expected[i]);
    assert_true(rng_mix(0) == 0);
}

static void coordinates_matter(void **state)
{
    (void)state;
    assert_true(rng_hash(1, 2, 3) == rng_at(rng_at(1, 2), 3));
    assert_true(rng_hash(1, 2, 3) != rng_hash(1, 3, 2));
    assert_true(rng_hash(1, 2, 3) != rng_hash(2, 2, 3));
    assert_true(rng_seed_of(1, "q") != rng_seed_of(1, "k"));
    assert_true(rng_seed_of(1, "") != rng_seed_of(2, ""));
}

static void below(void **state)
{
    unsigned count[7] = {0}, i;
    double chi2 = 0;

    (void)state;
    assert_int_equal(rng_u32_below(UINT64_MAX, 0), 0);
    assert_int_equal(rng_u32_below(UINT64_MAX, 1), 0);
    assert_int_equal(rng_u32_below(0, 10), 0);
    assert_int_equal(rng_u32_below(UINT64_MAX, 10), 9);
    assert_true(rng_u32_below(UINT64_MAX, UINT32_MAX) == UINT32_MAX - 1);
    assert_int_equal(rng_u32_below((uint64_t)1 << 63, 10), 5);
    for (i = 0; i < 70000; i++)
        count[rng_u32_below(rng_hash(9, 1, i), 7)]++;
    for (i = 0; i < 7; i++)
        chi2 += ((double)count[i] - 10000) * ((double)count[i] - 10000) / 10000;
    assert_true(chi2 < 22.5); /* 99.9 % of chi-squared with 6 degrees of freedom */
}

static void unit_interval(void **state)
{
    double sum = 0;
    unsigned i;

    (void)state;
    assert_true(rng_unit(0) == 0);
    assert_true(rng_unit(UINT64_MAX) < 1);
    for (i = 0; i < 10000; i++)
        sum += rng_unit(rng_at(3, i));
    assert_true(sum > 4900 && sum < 5100); /* 3.5 standard deviations */
}

/* All 24 orders of four items, about equally often. */
static void shuffles(void **state)
{
    unsigned count[256] = {0}, seen = 0, i;
    uint32_t a[4], b[1000], c[1000];
    unsigned char used[1000] = {0};

    (void)state;
    for (i = 0; i < 24000; i++) {
        rng_permutation_u32(a, 4, i);
        count[a[0] * 64 + a[1] * 16 + a[2] * 4 + a[3]]++;
    }
    for (i = 0; i < 256; i++) {
        seen += count[i] != 0;
        assert_true(!count[i] || (count[i] > 850 && count[i] < 1150));
    }
    assert_int_equal(seen, 24);
    rng_permutation_u32(b, 1000, 5);
    rng_permutation_u32(c, 1000, 5);
    assert_memory_equal(b, c, sizeof(b));
    rng_permutation_u32(c, 1000, 6);
    assert_memory_not_equal(b, c, sizeof(b));
    for (i = 0; i < 1000; i++)
        used[b[i]]++;
    for (i = 0; i < 1000; i++)
        assert_int_equal(used[i], 1);
    rng_shuffle_u32(NULL, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_splitmix64),
        cmocka_unit_test(coordinates_matter),
        cmocka_unit_test(below),
        cmocka_unit_test(unit_interval),
        cmocka_unit_test(shuffles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
