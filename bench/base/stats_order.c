#include "stats_order.h"

#include <stdlib.h>

/*
 * The order of a round is part of the published protocol, so its random numbers are fixed here and
 * do not follow changes to any general generator: splitmix64 (Steele, Lea, Flood 2014).
 */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(*state);
}

static uint64_t start(const struct order_seed *seed)
{
    const uint64_t parts[] = {seed->seed, seed->case_id, seed->process, seed->super_round};
    uint64_t state = 0;

    /* A step of the generator between the parts keeps (1, 0) and (0, 1) apart. */
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        state = next(&state) ^ parts[i];
    return state;
}

/* Uniform in 0..nr-1: values of the incomplete last block are drawn again. */
static size_t below(uint64_t *state, size_t nr)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % nr;
    uint64_t value;

    do
        value = next(state);
    while (value >= limit);
    return (size_t)(value % nr);
}

size_t order_super_round(size_t nr_arms)
{
    if (nr_arms <= 1)
        return nr_arms;
    return nr_arms % 2 ? 2 * nr_arms : nr_arms;
}

size_t order_round_up(size_t rounds, size_t nr_arms)
{
    size_t whole = order_super_round(nr_arms);

    if (!whole)
        return 0;
    return (rounds + whole - 1) / whole * whole;
}

/* base = 0, 1, K-1, 2, K-2, ...; row i = base + i mod K; odd K: each row once more, reversed. */
static void plain_square(struct order *order)
{
    size_t nr = order->nr_arms;

    for (size_t round = 0; round < order->nr_rounds; round++) {
        for (size_t slot = 0; slot < nr; slot++) {
            size_t from = round < nr ? slot : nr - 1 - slot;
            size_t base = from % 2 ? (from + 1) / 2 : (nr - from / 2) % nr;

            order->arm[round * nr + slot] = (int)((base + round) % nr);
        }
    }
}

int order_init(struct order *order, size_t nr_arms, struct err *err)
{
    order->nr_arms = 0;
    order->nr_rounds = 0;
    order->arm = NULL;
    if (nr_arms < 1 || nr_arms > ORDER_ARMS_MAX)
        return err_set(err, ERR_CONFIG, "cannot order %zu arms, 1 to %d are possible", nr_arms,
                       ORDER_ARMS_MAX);
    order->arm = calloc(order_super_round(nr_arms) * nr_arms, sizeof(*order->arm));
    if (!order->arm)
        return err_memory(err);
    order->nr_arms = nr_arms;
    order->nr_rounds = order_super_round(nr_arms);
    plain_square(order);
    return 0;
}

void order_release(struct order *order)
{
    free(order->arm);
    order->arm = NULL;
    order->nr_arms = 0;
    order->nr_rounds = 0;
}

static void swap(int *a, int *b)
{
    int kept = *a;

    *a = *b;
    *b = kept;
}

void order_shuffle(struct order *order, const struct order_seed *seed)
{
    uint64_t state = start(seed);
    size_t nr = order->nr_arms;
    int label[ORDER_ARMS_MAX] = {0};

    plain_square(order);
    for (size_t i = 0; i < nr; i++)
        label[i] = (int)i;
    for (size_t i = nr; i > 1; i--)
        swap(&label[i - 1], &label[below(&state, i)]);
    for (size_t i = 0; i < order->nr_rounds * nr; i++)
        order->arm[i] = label[order->arm[i]];
    for (size_t i = order->nr_rounds; i > 1; i--) {
        size_t other = below(&state, i);

        for (size_t slot = 0; slot < nr; slot++)
            swap(&order->arm[(i - 1) * nr + slot], &order->arm[other * nr + slot]);
    }
}

int order_at(const struct order *order, size_t round, size_t slot)
{
    return order->arm[round * order->nr_arms + slot];
}

int order_predecessor(const struct order *order, size_t round, size_t slot)
{
    return slot ? order_at(order, round, slot - 1) : -1;
}

/* Counts slots and ordered neighbours; false if a row is not a permutation of the arms. */
static bool count_rows(const int *arm, size_t nr_rounds, size_t nr, size_t *in_slot, size_t *after)
{
    for (size_t round = 0; round < nr_rounds; round++) {
        const int *row = arm + round * nr;

        for (size_t slot = 0; slot < nr; slot++) {
            if (row[slot] < 0 || (size_t)row[slot] >= nr)
                return false;
            for (size_t before = 0; before < slot; before++) {
                if (row[before] == row[slot])
                    return false;
            }
            in_slot[(size_t)row[slot] * nr + slot]++;
            if (slot)
                after[(size_t)row[slot - 1] * nr + (size_t)row[slot]]++;
        }
    }
    return true;
}

bool order_balanced(const int *arm, size_t nr_rounds, size_t nr_arms)
{
    size_t *in_slot, *after;
    bool balanced = false;

    if (!nr_rounds || nr_arms < 1 || nr_arms > ORDER_ARMS_MAX)
        return false;
    in_slot = calloc(2 * nr_arms * nr_arms, sizeof(*in_slot));
    if (!in_slot)
        return false;
    after = in_slot + nr_arms * nr_arms;
    if (!count_rows(arm, nr_rounds, nr_arms, in_slot, after))
        goto out;
    for (size_t i = 0; i < nr_arms * nr_arms; i++) {
        bool diagonal = i / nr_arms == i % nr_arms;

        /* nr_arms slots and nr_arms possible successors less itself share the rounds evenly. */
        if (in_slot[i] * nr_arms != nr_rounds || (!diagonal && after[i] * nr_arms != nr_rounds))
            goto out;
    }
    balanced = true;
out:
    free(in_slot);
    return balanced;
}
