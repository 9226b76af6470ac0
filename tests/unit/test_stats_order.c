/* Balanced orders: the table and the properties of harness.md 3.1. */
#include "test_stats_near.h"

#include <string.h>

#include "stats_order.h"

static const struct {
    size_t nr_arms;
    const char *rounds[10];
} squares[] = {
    {2, {"AB", "BA"}},
    {3, {"ABC", "BCA", "CAB", "CBA", "ACB", "BAC"}},
    {4, {"ABDC", "BCAD", "CDBA", "DACB"}},
    {5, {"ABECD", "BCADE", "CDBEA", "DECAB", "EADBC", "DCEBA", "EDACB", "AEBDC", "BACED", "CBDAE"}},
};

static void test_plain_squares(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(squares) / sizeof(squares[0]); i++) {
        struct order order;

        assert_int_equal(order_init(&order, squares[i].nr_arms, NULL), 0);
        for (size_t round = 0; round < order.nr_rounds; round++) {
            for (size_t slot = 0; slot < order.nr_arms; slot++)
                assert_int_equal('A' + order_at(&order, round, slot),
                                 squares[i].rounds[round][slot]);
        }
        order_release(&order);
    }
}

/* Slot counts, neighbour counts (1 even, 2 odd) and the sums of positions, counted afresh. */
static void check_properties(const struct order *order)
{
    size_t nr = order->nr_arms, per_slot = order->nr_rounds / nr;

    for (size_t a = 0; a < nr; a++) {
        size_t positions = 0, all = order->nr_rounds * nr;

        for (size_t b = 0; b < nr; b++) {
            size_t slots = 0, neighbours = 0;

            for (size_t round = 0; round < order->nr_rounds; round++) {
                slots += order_at(order, round, b) == (int)a;
                for (size_t slot = 0; slot < nr; slot++)
                    neighbours += order_at(order, round, slot) == (int)a &&
                                  order_predecessor(order, round, slot) == (int)b;
            }
            assert_int_equal(slots, per_slot);
            assert_int_equal(neighbours, a == b ? 0 : per_slot);
        }
        for (size_t at = 0; at < all; at++)
            positions += order->arm[at] == (int)a ? at : 0;
        assert_int_equal(positions, all * (all - 1) / 2 / nr);
    }
    assert_true(order_balanced(order->arm, order->nr_rounds, nr));
}

static void test_properties(void **state)
{
    (void)state;
    for (size_t nr = 1; nr <= 13; nr++) {
        struct order_seed seed = {.seed = 7, .case_id = 3};
        struct order order;

        assert_int_equal(order_init(&order, nr, NULL), 0);
        assert_int_equal(order.nr_rounds, nr == 1 ? 1 : nr % 2 ? 2 * nr : nr);
        check_properties(&order);
        for (seed.super_round = 0; seed.super_round < 5; seed.super_round++) {
            order_shuffle(&order, &seed);
            check_properties(&order);
        }
        order_release(&order);
    }
}

static void test_seed(void **state)
{
    struct order_seed seed = {.seed = 1, .case_id = 2, .process = 3, .super_round = 4};
    uint64_t *parts[] = {&seed.seed, &seed.case_id, &seed.process, &seed.super_round};
    struct order first, again;
    size_t bytes;

    (void)state;
    assert_int_equal(order_init(&first, 5, NULL), 0);
    assert_int_equal(order_init(&again, 5, NULL), 0);
    bytes = first.nr_rounds * first.nr_arms * sizeof(int);
    order_shuffle(&first, &seed);
    seed.super_round = 5;
    order_shuffle(&again, &seed);
    seed.super_round = 4;
    order_shuffle(&again, &seed);
    assert_memory_equal(first.arm, again.arm, bytes);
    for (size_t i = 0; i < 4; i++) {
        *parts[i] += 1;
        order_shuffle(&again, &seed);
        assert_memory_not_equal(first.arm, again.arm, bytes);
        *parts[i] -= 1;
    }
    order_release(&first);
    order_release(&again);
}

/* Two arms: AB first about as often as BA first, or the shuffle would be none. */
static void test_seed_spreads(void **state)
{
    struct order_seed seed = {.seed = 1};
    struct order order;
    int a_first = 0;

    (void)state;
    assert_int_equal(order_init(&order, 2, NULL), 0);
    for (seed.super_round = 0; seed.super_round < 1000; seed.super_round++) {
        order_shuffle(&order, &seed);
        a_first += order_at(&order, 0, 0) == 0;
    }
    assert_in_range(a_first, 430, 570);
    order_release(&order);
}

static void test_round_up(void **state)
{
    (void)state;
    assert_int_equal(order_super_round(3), 6);
    assert_int_equal(order_round_up(24, 3), 24);
    assert_int_equal(order_round_up(24, 5), 30);
    assert_int_equal(order_round_up(1, 4), 4);
    assert_int_equal(order_round_up(0, 3), 0);
    assert_int_equal(order_round_up(24, 0), 0);
    assert_int_equal(order_round_up(24, 1), 24);
}

static void test_refusals(void **state)
{
    static const int fixed[] = {0, 1, 0, 1};
    static const int twice[] = {0, 0, 1, 1};
    static const int foreign[] = {0, 2, 2, 0};
    /* Every arm in every slot, yet A always before B, B before C, C before A. */
    static const int latin[] = {0, 1, 2, 1, 2, 0, 2, 0, 1};
    struct err err = ERR_INIT;
    struct order order;

    (void)state;
    assert_int_equal(order_init(&order, 0, &err), -1);
    assert_non_null(strstr(err.text, "0 arms"));
    assert_int_equal(order_init(&order, ORDER_ARMS_MAX + 1, &err), -1);
    order_release(&order);
    assert_false(order_balanced(fixed, 2, 2));
    assert_false(order_balanced(twice, 2, 2));
    assert_false(order_balanced(foreign, 2, 2));
    assert_false(order_balanced(latin, 3, 3));
    assert_false(order_balanced(fixed, 0, 2));
    assert_false(order_balanced(fixed + 0, 1, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_squares), cmocka_unit_test(test_properties),
        cmocka_unit_test(test_seed),          cmocka_unit_test(test_seed_spreads),
        cmocka_unit_test(test_round_up),      cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
