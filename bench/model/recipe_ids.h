/*
 * recipe_ids.h - rows of ids of key/value rows, and how many slots of a row count.
 *
 * Included by recipe_impl.h. Every slot is computed by itself. Both tensors of a case take their
 * lengths from (length seed, row), so that ids know which slots count.
 *
 * RECIPE_IDS, shape [T,K], ids of [0, p[IDS_DOMAIN]); where the domain is used up: -1.
 *   p[IDS_PATTERN]   IDS_UNIQUE      a random order of the domain, another one in every row
 *                    IDS_SORTED      one random id from each of K equal parts, ascending
 *                    IDS_DUPLICATES  each slot one of K/2 ids of the row, at random
 *                    IDS_OVERLAP     a window of one random order of the domain, which moves on by
 *                                    p[IDS_STEP] from row to row: neighbours share K - step ids
 *                    IDS_SINGLE      the same id in every slot of every row
 *                    IDS_SCATTERED   unique, but every eighth slot, from another one in every row,
 *                                    holds an invalid id
 *                    IDS_PADDED      unique, the last quarter of the slots is -1
 *                    IDS_INVALID     invalid ids alone
 *   p[IDS_ROWS]      rows that exist; invalid ids (contracts: dsa, section 2.5) lie outside of them
 *   p[IDS_SLOTS]     K, p[IDS_LENGTHS] LENGTHS_*, p[IDS_LENGTH_SEED]
 *   p[IDS_BEHIND]    0, or one more than the id that all slots behind the length hold
 *   p[IDS_BATCH_ROWS] 0, or rows of a batch: ids that exist count from the first one of all
 *                    batches, p[IDS_ROWS] a batch
 *   p[IDS_ODD_FROM]  0, or the slot from which on an id x of the domain stands for row 2x + 1,
 *                    before it for row 2x
 * RECIPE_LENGTHS, shape [T]: the same places.
 */
#ifndef BENCH_MODEL_RECIPE_IDS_H
#define BENCH_MODEL_RECIPE_IDS_H

enum recipe_ids_pattern {
    IDS_UNIQUE = 0,
    IDS_SORTED,
    IDS_DUPLICATES,
    IDS_OVERLAP,
    IDS_SINGLE,
    IDS_SCATTERED,
    IDS_PADDED,
    IDS_INVALID
};
enum recipe_lengths {
    LENGTHS_NONE = 0, /* no tensor: every slot counts */
    LENGTHS_FULL,
    LENGTHS_RAGGED, /* row by row the lengths at which kernels break, then random ones */
    LENGTHS_RANDOM, /* uniform in [0, K] */
    LENGTHS_SHORT,  /* uniform in [1, K/4], at least 1 */
    LENGTHS_EMPTY   /* 0 everywhere */
};
enum {
    IDS_PATTERN = 0,
    IDS_ROWS,
    IDS_DOMAIN,
    IDS_SLOTS,
    IDS_LENGTHS,
    IDS_LENGTH_SEED,
    IDS_STEP,
    IDS_BEHIND,
    IDS_BATCH_ROWS,
    IDS_ODD_FROM
};

#define RECIPE_IDS_ROUNDS 6

/* Place `x` of a random order of [0, n), n >= 1, one order a key: a Feistel network over the
 * smallest power of two that holds n (the halves may differ by a bit), walked until inside. */
RECIPE_FN uint32_t recipe_permute(uint64_t key, uint32_t x, uint32_t n)
{
    int bits = 0, low_bits;
    uint32_t low, high;

    while (bits < 32 && ((uint64_t)1 << bits) < n)
        bits++;
    low_bits = bits - bits / 2;
    low = (uint32_t)(((uint64_t)1 << low_bits) - 1);
    high = (uint32_t)(((uint64_t)1 << (bits / 2)) - 1);
    do {
        uint32_t right = x & low, left = x >> low_bits;

        for (int round = 0; round < RECIPE_IDS_ROUNDS; round += 2) {
            left ^= (uint32_t)(recipe_hash(key + (uint64_t)round, right) >> 32) & high;
            right ^= (uint32_t)(recipe_hash(key + (uint64_t)round + 1, left) >> 32) & low;
        }
        x = left << low_bits | right;
    } while (x >= n);
    return x;
}

/* topk_length of a row as the tensor shows it, negative and above K included. */
RECIPE_FN int32_t recipe_length(const struct recipe *r, int64_t row)
{
    const int64_t slots = r->p[IDS_SLOTS];
    const uint64_t h = recipe_hash((uint64_t)r->p[IDS_LENGTH_SEED], (uint64_t)row);
    const uint32_t random = (uint32_t)(h >> 32);

    switch (r->p[IDS_LENGTHS]) {
    case LENGTHS_RAGGED:
        switch (row % 16) {
        case 0:
            return -3;
        case 1:
        case 2:
            return (int32_t)(row % 16) - 1;
        case 3:
        case 4:
        case 5:
            return (int32_t)(64 + row % 16 - 4);
        case 6:
        case 7:
        case 8:
            return (int32_t)(128 + row % 16 - 7);
        case 9:
            return (int32_t)(slots - 1);
        case 10:
            return (int32_t)slots;
        case 11:
            return (int32_t)(slots + 5);
        default:
            return (int32_t)recipe_below(random, (uint32_t)slots + 1);
        }
    case LENGTHS_RANDOM:
        return (int32_t)recipe_below(random, (uint32_t)slots + 1);
    case LENGTHS_SHORT:
        return (int32_t)(1 + recipe_below(random, (uint32_t)(slots < 4 ? 1 : slots / 4)));
    case LENGTHS_EMPTY:
        return 0;
    default:
        return (int32_t)slots;
    }
}

/* Slots of a row that its length lets count. */
RECIPE_FN int64_t recipe_length_clamped(const struct recipe *r, int64_t row)
{
    const int64_t length = recipe_length(r, row), slots = r->p[IDS_SLOTS];

    return length < 0 ? 0 : length > slots ? slots : length;
}

/* One of the invalid ids of the contract, moved out of [0, rows) where that holds it. */
RECIPE_FN int32_t recipe_invalid_id(uint64_t h, int64_t rows)
{
    int64_t id;

    switch (h & 7) {
    case 0:
        id = INT32_MIN;
        break;
    case 1:
        id = -123456;
        break;
    case 2:
        id = rows;
        break;
    case 3:
        id = 114514;
        break;
    case 4:
        id = 1919810;
        break;
    case 5:
        id = 2147480000;
        break;
    case 6:
        id = INT32_MAX;
        break;
    default:
        id = -1;
        break;
    }
    return (int32_t)(id >= 0 && id < rows ? -1 - id : id);
}

/* A random id of part `slot` of `slots` equal parts of the domain. */
RECIPE_FN int32_t recipe_sorted_id(uint64_t key, int64_t slot, int64_t slots, int64_t domain)
{
    const int64_t from = slot * domain / slots, to = (slot + 1) * domain / slots;
    const uint32_t random = (uint32_t)(recipe_hash(key, (uint64_t)slot) >> 32);

    return (int32_t)(from + recipe_below(random, (uint32_t)(to - from)));
}

RECIPE_FN int32_t recipe_duplicate_id(uint64_t key, int64_t slot, int64_t slots, int64_t domain)
{
    const uint32_t random = (uint32_t)(recipe_hash(key, (uint64_t)slot) >> 32);
    int64_t pool = slots / 2 < domain ? slots / 2 : domain;

    if (pool < 1)
        pool = 1;
    return (int32_t)recipe_permute(key, recipe_below(random, (uint32_t)pool), (uint32_t)domain);
}

/* Slots below this hold ids of the domain, whatever the length; for IDS_SCATTERED but for the
 * invalid ones among them. */
RECIPE_FN int64_t recipe_ids_filled(const struct recipe *r)
{
    const int64_t slots = r->p[IDS_SLOTS], domain = r->p[IDS_DOMAIN];
    const int64_t unique = slots < domain ? slots : domain;

    switch (r->p[IDS_PATTERN]) {
    case IDS_DUPLICATES:
    case IDS_SINGLE:
        return domain > 0 ? slots : 0;
    case IDS_PADDED:
        return unique < slots - slots / 4 ? unique : slots - slots / 4;
    case IDS_INVALID:
        return 0;
    default:
        return unique;
    }
}

/* What the pattern has in a slot that it fills. */
RECIPE_FN int32_t recipe_filled_id(const struct recipe *r, int64_t row, int64_t slot, uint64_t key)
{
    const int64_t slots = r->p[IDS_SLOTS], domain = r->p[IDS_DOMAIN];

    switch (r->p[IDS_PATTERN]) {
    case IDS_SORTED:
        return slots >= domain ? (int32_t)slot : recipe_sorted_id(key, slot, slots, domain);
    case IDS_DUPLICATES:
        return recipe_duplicate_id(key, slot, slots, domain);
    case IDS_OVERLAP:
        return (int32_t)recipe_permute(r->seed, (uint32_t)((row * r->p[IDS_STEP] + slot) % domain),
                                       (uint32_t)domain);
    case IDS_SINGLE:
        return (int32_t)(domain / 2);
    default:
        return (int32_t)recipe_permute(key, (uint32_t)slot, (uint32_t)domain);
    }
}

RECIPE_FN int32_t recipe_id(const struct recipe *r, int64_t at)
{
    const int64_t slots = r->p[IDS_SLOTS], row = at / slots, slot = at % slots;
    const uint64_t key = recipe_hash(r->seed, (uint64_t)row);
    int32_t id;

    if (r->p[IDS_BEHIND] > 0 && slot >= recipe_length_clamped(r, row))
        return (int32_t)(r->p[IDS_BEHIND] - 1);
    if (r->p[IDS_PATTERN] == IDS_INVALID ||
        (r->p[IDS_PATTERN] == IDS_SCATTERED && (slot + (int64_t)(key & 7)) % 8 == 0))
        return recipe_invalid_id(recipe_hash(key, (uint64_t)slot), r->p[IDS_ROWS]);
    if (slot >= recipe_ids_filled(r))
        return -1;
    id = recipe_filled_id(r, row, slot, key);
    return r->p[IDS_ODD_FROM] > 0 ? 2 * id + (slot >= r->p[IDS_ODD_FROM]) : id;
}

/* An id as the tensor shows it. */
RECIPE_FN int32_t recipe_id_shown(const struct recipe *r, int64_t at)
{
    const int64_t rows = r->p[IDS_ROWS], batch_rows = r->p[IDS_BATCH_ROWS];
    const int64_t id = recipe_id(r, at);
    int64_t first;

    if (batch_rows == 0)
        return (int32_t)id;
    first = at / r->p[IDS_SLOTS] / batch_rows * rows;
    if (id >= 0 && id < rows)
        return (int32_t)(first + id);
    return (int32_t)(id >= first && id < first + rows ? -1 - id : id);
}

/* Active slots of a row, without making it. */
RECIPE_FN int64_t recipe_ids_active(const struct recipe *r, int64_t row)
{
    const int64_t length = recipe_length_clamped(r, row), filled = recipe_ids_filled(r);
    const int64_t n = length < filled ? length : filled;
    const int64_t shift = (int64_t)(recipe_hash(r->seed, (uint64_t)row) & 7);

    if (r->p[IDS_PATTERN] != IDS_SCATTERED)
        return n;
    return n - ((n + shift + 7) / 8 - (shift + 7) / 8);
}

#endif
