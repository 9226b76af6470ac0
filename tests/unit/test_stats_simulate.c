/*
 * The whole chain on simulated noise with fixed seeds: the rates that harness.md 3 and 5 state.
 * Bounds leave three standard deviations of the number of trials.
 */
#include "test_stats_near.h"

#include <string.h>

#include "stats_order.h"
#include "stats_paired.h"
#include "stats_verdict.h"

#define NR_ARMS      3
#define SUPER_ROUNDS 12
#define ROUNDS       (6 * SUPER_ROUNDS)

struct noise {
    uint64_t state;
    double slow; /* an autoregressive part, as of clocks and temperature */
};

static double uniform(struct noise *noise)
{
    uint64_t x = noise->state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    noise->state = x;
    return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct noise *noise)
{
    return sqrt(-2.0 * log(uniform(noise))) * cos(2.0 * acos(-1.0) * uniform(noise));
}

/* Slot 0 is 0.6 % slower; 0.5 % of fast noise, 0.3 % of slow noise, 2 % of drift over the run.
 */
static double launch_ns(struct noise *noise, size_t round, size_t slot)
{
    noise->slow = 0.95 * noise->slow + 0.001 * normal(noise);
    return 20000.0 * exp(noise->slow + 0.005 * normal(noise) + (slot ? 0.0 : 0.006) +
                         0.02 * (double)round / ROUNDS);
}

/* One process of arm 1 against arm 0; `effect` is the log-ratio that is really there. */
static void simulate(struct noise *noise, bool balanced, const struct order_seed *from,
                     double effect, double *d)
{
    struct paired_round rounds[ROUNDS];
    struct order_seed seed = *from;
    struct order order;
    size_t nr;

    assert_int_equal(order_init(&order, NR_ARMS, NULL), 0);
    for (size_t round = 0; round < ROUNDS; round++) {
        seed.super_round = round / 6;
        if (balanced && round % 6 == 0)
            order_shuffle(&order, &seed);
        rounds[round].super_round = round / 6;
        for (size_t slot = 0; slot < NR_ARMS; slot++) {
            double t = launch_ns(noise, round, slot);
            int arm = balanced ? order_at(&order, round % 6, slot) : (int)slot;

            if (arm == 0)
                rounds[round].base = t;
            if (arm == 1)
                rounds[round].arm = t * exp(effect);
        }
    }
    order_release(&order);
    assert_int_equal(paired_means(rounds, ROUNDS, 6, d, &nr, NULL), 0);
    assert_int_equal(nr, SUPER_ROUNDS);
}

/* Share of trials in which one process's interval excludes `truth`. */
static double miss_rate(int trials, bool balanced, double process_effect, double truth)
{
    struct noise noise = {.state = 88172645463325252ULL};
    int misses = 0;

    for (int trial = 0; trial < trials; trial++) {
        struct order_seed seed = {.seed = 1, .case_id = (uint64_t)trial};
        struct signed_rank rank;
        double d[SUPER_ROUNDS];

        simulate(&noise, balanced, &seed, truth + process_effect * normal(&noise), d);
        assert_int_equal(signed_rank_interval(d, SUPER_ROUNDS, 0.95, &rank, NULL), 0);
        misses += rank.lo > truth || rank.hi < truth;
    }
    return (double)misses / trials;
}

static void test_balanced_order(void **state)
{
    double rate = miss_rate(600, true, 0.0, 0.0);

    (void)state;
    assert_in_range((int)(1000 * rate), 10, 77);
}

static void test_fixed_order(void **state)
{
    double rate = miss_rate(100, false, 0.0, 0.0);

    (void)state;
    assert_true(rate >= 0.96);
}

static void test_pooled_process(void **state)
{
    double rate = miss_rate(300, true, 0.002, 0.0);

    (void)state;
    assert_true(rate > 0.20);
}

static void test_cluster_coverage(void **state)
{
    struct noise noise = {.state = 362436069ULL};
    const double truth = log(1.01);
    int covered = 0, wrong = 0, trials = 300;

    (void)state;
    for (int trial = 0; trial < trials; trial++) {
        struct verdict_process processes[5];
        struct verdict_result result;
        double d[5][SUPER_ROUNDS];

        for (size_t p = 0; p < 5; p++) {
            struct order_seed seed = {.seed = 2, .case_id = (uint64_t)trial, .process = p};

            simulate(&noise, true, &seed, truth + 0.002 * normal(&noise), d[p]);
            processes[p] = (struct verdict_process){d[p], SUPER_ROUNDS, ROUNDS};
        }
        assert_int_equal(verdict_compare(processes, 5, log(1.005), &result, NULL), 0);
        covered += result.lo <= truth && truth <= result.hi;
        wrong += result.verdict == VERDICT_FASTER || result.verdict == VERDICT_SAME;
    }
    assert_in_range(covered, trials * 91 / 100, trials * 99 / 100);
    assert_in_range(wrong, 0, trials / 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_balanced_order),
        cmocka_unit_test(test_fixed_order),
        cmocka_unit_test(test_pooled_process),
        cmocka_unit_test(test_cluster_coverage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
