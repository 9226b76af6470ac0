/*
 * test_activity.c - joining and adding up what a GPU did, and the step of its stamps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "activity.h"

static void add(struct activity_log *log, uint64_t start, uint64_t end, uint32_t correlation,
                enum activity_kind kind, const char *name)
{
    const struct activity a = {start, end, correlation, kind, name, 0};

    activity_log_add(log, &a);
}

static int setup(void **state)
{
    static struct activity_log log;

    activity_log_init(&log);
    *state = &log;
    return 0;
}

static int teardown(void **state)
{
    activity_log_release(*state);
    return 0;
}

static void test_totals(void **state)
{
    struct activity_log *log = *state;
    const struct activity_total *t;

    /* Id 40: two kernels that overlap and a fill behind a gap; records out of order. */
    add(log, 900, 950, 3, ACTIVITY_FILL, "memset");
    add(log, 150, 250, 2, ACTIVITY_KERNEL, "b");
    add(log, 100, 200, 1, ACTIVITY_KERNEL, "a");
    add(log, 10, 20, 7, ACTIVITY_KERNEL, "another");
    add(log, 1000, 1100, 99, ACTIVITY_KERNEL, "nobody's");
    activity_log_link(log, 7, 41);
    activity_log_link(log, 3, 40);
    activity_log_link(log, 1, 40);
    activity_log_link(log, 2, 40);
    activity_log_link(log, 5, 42);
    assert_int_equal(activity_log_close(log, NULL), 0);

    t = activity_log_find(log, 40);
    assert_non_null(t);
    assert_int_equal(t->nr, 3);
    assert_int_equal(t->start_ns, 100);
    assert_int_equal(t->end_ns, 950);
    assert_int_equal(t->busy_ns, 100 + 100 + 50);
    assert_int_equal(t->unstamped, 0);
    t = activity_log_find(log, 41);
    assert_int_equal(t->nr, 1);
    assert_int_equal(t->busy_ns, 10);
    assert_null(activity_log_find(log, 42)); /* an API call without activities */
    assert_null(activity_log_find(log, 99));
    assert_string_equal(log->item[0].name, "a");

    /* More may come later. */
    add(log, 2000, 2001, 5, ACTIVITY_COPY, "memcpy");
    assert_int_equal(activity_log_close(log, NULL), 0);
    assert_int_equal(activity_log_find(log, 42)->nr, 1);
    assert_int_equal(activity_log_find(log, 40)->nr, 3);
}

static void test_graph(void **state)
{
    struct activity_log *log = *state;

    /* All nodes of a graph launch carry one correlation number. */
    add(log, 100, 200, 1, ACTIVITY_KERNEL, "a");
    add(log, 200, 300, 1, ACTIVITY_KERNEL, "a");
    activity_log_link(log, 1, 8);
    assert_int_equal(activity_log_close(log, NULL), 0);
    assert_int_equal(activity_log_find(log, 8)->nr, 2);
    assert_int_equal(activity_log_find(log, 8)->end_ns, 300);
}

static void test_set(void **state)
{
    static const struct {
        enum activity_kind kind;
        const char *name;
        uint64_t id;
    } row[] = {
        {ACTIVITY_KERNEL, "a", 1}, {ACTIVITY_KERNEL, "b", 1}, /* a set */
        {ACTIVITY_KERNEL, "b", 2}, {ACTIVITY_KERNEL, "a", 2}, /* the same in another order */
        {ACTIVITY_KERNEL, "a", 3}, {ACTIVITY_KERNEL, "a", 3}, /* a multiset counts */
        {ACTIVITY_KERNEL, "a", 4}, {ACTIVITY_FILL, "b", 4},   /* the kind counts */
        {ACTIVITY_KERNEL, "a", 5}, {ACTIVITY_KERNEL, NULL, 5},
    };
    struct activity_log *log = *state;
    uint64_t set[6];

    for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        add(log, 100 + i, 200 + i, i, row[i].kind, row[i].name);
        activity_log_link(log, i, row[i].id);
    }
    assert_int_equal(activity_log_close(log, NULL), 0);
    for (uint64_t id = 1; id <= 5; id++)
        set[id] = activity_log_find(log, id)->set;
    assert_true(set[1] == set[2]);
    assert_true(set[1] != set[3] && set[1] != set[4] && set[1] != set[5] && set[3] != set[4]);
}

static void test_unstamped(void **state)
{
    struct activity_log *log = *state;

    add(log, 0, 0, 1, ACTIVITY_KERNEL, "a");
    add(log, 300, 200, 1, ACTIVITY_KERNEL, "a");
    add(log, 100, 200, 1, ACTIVITY_KERNEL, "a");
    activity_log_link(log, 1, 8);
    assert_int_equal(activity_log_close(log, NULL), 0);
    assert_int_equal(activity_log_find(log, 8)->unstamped, 2);
    assert_int_equal(activity_log_find(log, 8)->busy_ns, 100);
}

static void test_empty(void **state)
{
    struct activity_log *log = *state;

    assert_int_equal(activity_log_close(log, NULL), 0);
    assert_null(activity_log_find(log, 1));
    assert_int_equal(activity_log_tick_ns(log), 0);
    add(log, 1, 2, 3, ACTIVITY_KERNEL, "a");
    assert_int_equal(activity_log_close(log, NULL), 0);
    assert_null(activity_log_find(log, 1));
    activity_log_clear(log);
    assert_int_equal(log->nr, 0);
    log->oom = true;
    {
        struct err err = ERR_INIT;

        assert_int_equal(activity_log_close(log, &err), -1);
        assert_int_equal(err.kind, ERR_MEMORY);
    }
}

static void test_tick(void **state)
{
    struct activity_log *log = *state;

    /* Durations on a grid of 32 ns, starts off it. */
    add(log, 1001, 1001 + 576, 1, ACTIVITY_KERNEL, "a");
    assert_int_equal(activity_log_tick_ns(log), 0); /* one duration tells nothing */
    add(log, 5007, 5007 + 608, 2, ACTIVITY_KERNEL, "a");
    assert_int_equal(activity_log_tick_ns(log), 32);
    add(log, 7000, 7000 + 1600, 3, ACTIVITY_KERNEL, "a");
    assert_int_equal(activity_log_tick_ns(log), 32);
    /* As seen on an H200: a stamp may lie a nanosecond beside the grid. */
    add(log, 9000, 9000 + 177023, 6, ACTIVITY_KERNEL, "a");
    add(log, 9000, 9000 + 176449, 7, ACTIVITY_KERNEL, "a");
    assert_int_equal(activity_log_tick_ns(log), 32);
    /* No grid: the smallest difference between two of them. */
    add(log, 9000, 9000 + 977, 4, ACTIVITY_KERNEL, "a");
    add(log, 9000, 9000 + 982, 5, ACTIVITY_KERNEL, "a");
    assert_int_equal(activity_log_tick_ns(log), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_totals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_graph, setup, teardown),
        cmocka_unit_test_setup_teardown(test_set, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unstamped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tick, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
