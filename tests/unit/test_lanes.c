/*
 * test_lanes.c - which GPUs a `device =` names, and which of them runs which case: on lists that
 * stand for machines with several, or none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lanes.h"

static const struct device_listing twins[] = {{"NVIDIA H200", "GPU-a", "0:1", 90},
                                              {"NVIDIA H200", "GPU-b", "0:2", 90},
                                              {"NVIDIA H200", "GPU-c", "0:3", 90}};
static const struct device_listing mixed[] = {{"NVIDIA H200", "GPU-a", "0:1", 90},
                                              {"NVIDIA L4", "GPU-b", "0:2", 89},
                                              {"NVIDIA H200", "GPU-c", "0:3", 90}};

/* Chooses and writes the places down as "0 2". */
static void expect(const char *want, const struct device_listing *list, size_t nr, const char *text)
{
    size_t at[LANES_MAX], lanes = 0;
    struct err err = ERR_INIT;
    char got[64] = "";

    if (lanes_choose(want, list, nr, at, &lanes, &err))
        fail_msg("%s: %s", want, err.text);
    for (size_t i = 0; i < lanes; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%zu", i ? " " : "", at[i]);
    assert_string_equal(got, text);
}

static void refuse(const char *want, const struct device_listing *list, size_t nr,
                   enum err_kind kind, const char *text)
{
    size_t at[LANES_MAX], lanes;
    struct err err = ERR_INIT;

    assert_int_equal(lanes_choose(want, list, nr, at, &lanes, &err), -1);
    assert_int_equal(err.kind, kind);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

static void chosen(void **state)
{
    (void)state;
    expect("cuda", twins, 3, "0");
    expect("cuda:0", twins, 3, "0");
    expect("cuda:2", twins, 3, "2");
    expect("cuda:2,0", twins, 3, "0 2");
    expect("cuda:all", twins, 3, "0 1 2");
    expect("cuda:all", twins, 1, "0");
    /* One model, whatever else is in the machine. */
    expect("cuda:0,2", mixed, 3, "0 2");
    expect("cuda:1", mixed, 3, "1");
}

static void refused(void **state)
{
    (void)state;
    refuse("cuda", twins, 0, ERR_ENVIRONMENT, "no usable GPU");
    refuse("cuda:all", twins, 0, ERR_ENVIRONMENT, "no usable GPU");
    refuse("cuda:3", twins, 3, ERR_ENVIRONMENT, "device = cuda:3, but this machine has 3 GPUs");
    refuse("cuda:0,1", twins, 1, ERR_ENVIRONMENT, "has 1 GPU");
    refuse("cuda:1,1", twins, 3, ERR_CONFIG, "names GPU 1 twice");
    refuse("cuda:all", mixed, 3, ERR_ENVIRONMENT,
           "GPU 0 is 'NVIDIA H200' and GPU 1 is 'NVIDIA L4'");
    refuse("cuda:1,2", mixed, 3, ERR_ENVIRONMENT, "name GPUs of one model");
}

#define NR 7

static void assigned(void **state)
{
    static const double cost[NR] = {1, 8, 2, 5, 4, 0, 3};
    /* By hand: 8 to 0; 5 to 1; 4 to 1 (5 < 8); 3 to 0 (8 < 9); 2 to 1 (9 < 11); then 11 each: 1 to
     * 0; 0 to 1 (11 < 12). */
    static const int by_hand[NR] = {0, 0, 1, 1, 1, 1, 0};
    int fixed[NR], lane[NR], again[NR];

    (void)state;
    for (size_t i = 0; i < NR; i++)
        fixed[i] = -1;
    lanes_assign(cost, fixed, NR, 2, lane);
    assert_memory_equal(lane, by_hand, sizeof(lane));
    lanes_assign(cost, fixed, NR, 2, again);
    assert_memory_equal(lane, again, sizeof(lane));
    lanes_assign(cost, fixed, NR, 1, lane);
    for (size_t i = 0; i < NR; i++)
        assert_int_equal(lane[i], 0);
}

/* A resumed run: what has begun stays, and its load counts. */
static void assigned_where_begun(void **state)
{
    static const double cost[] = {1, 8, 2, 5};
    static const int fixed[] = {-1, 2, -1, 2};
    /* 13 lie on 2; 2 to 0, 1 to 1. */
    static const int want[] = {1, 2, 0, 2};
    static const int gone[] = {-1, 3, -1, 9};
    int lane[4];

    (void)state;
    lanes_assign(cost, fixed, 4, 3, lane);
    assert_memory_equal(lane, want, sizeof(lane));
    /* A lane that there is not is no place to stay. */
    lanes_assign(cost, gone, 4, 2, lane);
    for (size_t i = 0; i < 4; i++)
        assert_in_range(lane[i], 0, 1);
    lanes_assign(NULL, NULL, 0, 2, lane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen),
        cmocka_unit_test(refused),
        cmocka_unit_test(assigned),
        cmocka_unit_test(assigned_where_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
