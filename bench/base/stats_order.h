/*
 * stats_order.h - balanced orders of arms (Williams squares), harness.md 3.1.
 *
 * A super-round is the smallest set of rounds in which every arm stood in every slot, and followed
 * every other arm within a round, equally often: K rounds for even K, 2K for odd K, one for K = 1.
 * Arms are numbered 0..K-1. An order is a pure function of its seed, so it can be rebuilt when a
 * round is repeated or a run resumed.
 */
#ifndef BENCH_BASE_STATS_ORDER_H
#define BENCH_BASE_STATS_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define ORDER_ARMS_MAX 256

struct order_seed {
    uint64_t seed;    /* of the run */
    uint64_t case_id; /* any stable number of the case */
    uint64_t process; /* replicate, from 0 */
    uint64_t super_round;
};

/* One super-round. `arm[round * nr_arms + slot]` is owned by the order. */
struct order {
    size_t nr_arms;
    size_t nr_rounds;
    int *arm;
};

/* Rounds of one super-round of `nr_arms` arms; 0 for no arms. */
size_t order_super_round(size_t nr_arms);
/* The smallest whole number of super-rounds, in rounds, that holds `rounds`; 0 stays 0. */
size_t order_round_up(size_t rounds, size_t nr_arms);

/* The plain square, unshuffled, as printed in 3.1. Refuses nr_arms outside 1..ORDER_ARMS_MAX. */
int order_init(struct order *order, size_t nr_arms, struct err *err);
void order_release(struct order *order);
/* Rebuilds the plain square, then relabels the arms and shuffles the rounds, both by the seed. */
void order_shuffle(struct order *order, const struct order_seed *seed);

int order_at(const struct order *order, size_t round, size_t slot);
/* The arm just before within the round, -1 in slot 0. */
int order_predecessor(const struct order *order, size_t round, size_t slot);

/*
 * True if `nr_rounds` rows of `nr_arms` arms, any number of super-rounds, hold every arm once a
 * round, every arm in every slot and every ordered pair of neighbours equally often. A plan for
 * which this is false must be refused (harness.md 5). False also when memory runs out.
 */
bool order_balanced(const int *arm, size_t nr_rounds, size_t nr_arms);

#endif
