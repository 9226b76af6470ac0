/*
 * recipe_rows.h - rows of key-block numbers, their counts, and declared block sizes.
 *
 * Included by recipe_impl.h. A row is (b, h, qb) of a tensor [B,H,Qb,slots]; its count, and with it
 * the number of slots in use, is a pure function of (count seed, row), so that the tensor of rows
 * and the tensor of counts agree without knowing of each other.
 *
 * RECIPE_BLOCK_ROWS, shape [B,H,Qb,slots]:
 *   p[ROWS_PATTERN]  PATTERN_CONTIGUOUS: slot i holds (3b + 5h + 7qb + i) mod Kb
 *                    (contracts: sage, section 9.2)
 *                    PATTERN_TOPK: ascending, with a guaranteed gap: always the tail block Kb-1,
 *                    never its predecessor, the others a uniform random subset of the first Kb-2.
 *                    A count of Kb or more leaves no gap: the row then holds every block once.
 *   p[ROWS_BLOCKS]   Kb
 *   p[ROWS_COUNTS]   COUNTS_*, p[ROWS_SELECTED] slots asked for, p[ROWS_COUNT_SEED]
 * RECIPE_BLOCK_COUNTS, shape [B,H,Qb]: the same places; p[ROWS_CONTRADICT] = c > 0: values in [0,c]
 *   that all differ from the true count (poison for a promise that makes the tensor unused).
 * RECIPE_BLOCK_SIZES, shape [Kb], [B,Kb] or [B,H,Kb]: 64, but block 0 is 0 and the last one
 *   40 (rank 1), 40-7b (rank 2), 40-7b-11h (rank 3), at least 0; a single block is a last one.
 */
#ifndef BENCH_MODEL_RECIPE_ROWS_H
#define BENCH_MODEL_RECIPE_ROWS_H

enum recipe_pattern { PATTERN_CONTIGUOUS = 0, PATTERN_TOPK };
enum recipe_counts {
    COUNTS_UNIFORM = 0, /* `selected` everywhere */
    COUNTS_PER_ROW,     /* uniform in [1, selected] */
    COUNTS_VARYING /* 1/8 empty, 1/2 within one of a multiple of 8, the rest in [0, selected] */
};
enum {
    ROWS_PATTERN = 0,
    ROWS_BLOCKS,
    ROWS_COUNTS,
    ROWS_SELECTED,
    ROWS_COUNT_SEED,
    ROWS_CONTRADICT
};

#define RECIPE_BLOCK_LEN 64

/* Number of slots that row `row` uses. */
RECIPE_FN int32_t recipe_rows_count(const struct recipe *r, int64_t row)
{
    const uint32_t selected = (uint32_t)r->p[ROWS_SELECTED];
    uint64_t h;
    int64_t n;

    if (r->p[ROWS_COUNTS] == COUNTS_UNIFORM || selected == 0)
        return (int32_t)selected;
    h = recipe_hash((uint64_t)r->p[ROWS_COUNT_SEED], (uint64_t)row);
    if (r->p[ROWS_COUNTS] == COUNTS_PER_ROW)
        return (int32_t)(1 + recipe_below((uint32_t)(h >> 32), selected));
    if ((h & 7) == 0)
        return 0;
    if ((h & 7) > 4)
        return (int32_t)recipe_below((uint32_t)(h >> 32), selected + 1);
    n = 8 * (int64_t)(1 + recipe_below((uint32_t)(h >> 32), selected / 8 + 1));
    n += (int64_t)((h >> 8) % 3) - 1;
    return (int32_t)(n > (int64_t)selected ? (int64_t)selected : n);
}

/* Element of a tensor of counts. */
RECIPE_FN int32_t recipe_rows_count_shown(const struct recipe *r, int64_t row)
{
    const int64_t n = recipe_rows_count(r, row);
    const uint32_t limit = (uint32_t)r->p[ROWS_CONTRADICT];
    uint64_t h;

    if (limit == 0)
        return (int32_t)n;
    h = recipe_hash(r->seed, (uint64_t)row);
    return (int32_t)((n + 1 + recipe_below((uint32_t)(h >> 32), limit)) % ((int64_t)limit + 1));
}

/* First block of a contiguous row. */
RECIPE_FN int64_t recipe_rows_first(const struct recipe *r, int64_t row)
{
    const int64_t qb = row % r->shape[2];
    const int64_t h = row / r->shape[2] % r->shape[1];
    const int64_t b = row / r->shape[2] / r->shape[1];

    return (3 * b + 5 * h + 7 * qb) % r->p[ROWS_BLOCKS];
}

/* Whether candidate `block` of a top-k row is taken, where `want` of the candidates from it up to
 * `candidates` - 1 are still to be taken: Knuth's algorithm S with one hash a candidate. */
RECIPE_FN int recipe_rows_take(const struct recipe *r, int64_t row, int64_t block,
                               int64_t candidates, int64_t want)
{
    const uint64_t h =
        recipe_hash(r->seed, (uint64_t)row * (uint64_t)r->p[ROWS_BLOCKS] + (uint64_t)block);

    return (int64_t)recipe_below((uint32_t)(h >> 32), (uint32_t)(candidates - block)) < want;
}

RECIPE_FN void recipe_rows_topk(const struct recipe *r, int64_t row, int64_t n, int32_t *out)
{
    const int64_t blocks = r->p[ROWS_BLOCKS];
    int64_t used = 0;

    if (n >= blocks) {
        for (int64_t block = 0; block < blocks; block++)
            out[used++] = (int32_t)block;
        return;
    }
    for (int64_t block = 0; block < blocks - 2 && used < n - 1; block++)
        if (recipe_rows_take(r, row, block, blocks - 2, n - 1 - used))
            out[used++] = (int32_t)block;
    if (n > 0)
        out[used] = (int32_t)(blocks - 1);
}

/* Whether a row holds block 0 and block Kb-1, the only ones that sizes and tails shorten, without
 * making the row. Both are 1 where Kb is 1 and the row is not empty. */
RECIPE_FN void recipe_rows_ends(const struct recipe *r, int64_t row, int *first, int *last)
{
    const int64_t blocks = r->p[ROWS_BLOCKS];
    const int64_t n = recipe_rows_count(r, row);

    if (n == 0 || n >= blocks) {
        *first = *last = n != 0;
    } else if (r->p[ROWS_PATTERN] == PATTERN_CONTIGUOUS) {
        const int64_t start = recipe_rows_first(r, row);

        *first = start == 0 || start + n > blocks;
        *last = start + n >= blocks;
    } else {
        *first = n > 1 && recipe_rows_take(r, row, 0, blocks - 2, n - 1);
        *last = 1;
    }
}

/* Row of slots; those not in use hold -1. */
RECIPE_FN void recipe_rows_fill(const struct recipe *r, int64_t row, int32_t *out)
{
    const int64_t slots = r->shape[3];
    const int64_t n = recipe_rows_count(r, row);

    if (r->p[ROWS_PATTERN] == PATTERN_CONTIGUOUS) {
        int64_t block = n > 0 ? recipe_rows_first(r, row) : 0;

        for (int64_t slot = 0; slot < n; slot++) {
            out[slot] = (int32_t)block;
            block = block + 1 == r->p[ROWS_BLOCKS] ? 0 : block + 1;
        }
    } else {
        recipe_rows_topk(r, row, n, out);
    }
    for (int64_t slot = n; slot < slots; slot++)
        out[slot] = -1;
}

/* Declared size of a block; rank is that of the tensor of sizes, 1 to 3. */
RECIPE_FN int32_t recipe_block_size(int rank, int64_t b, int64_t h, int64_t block, int64_t blocks)
{
    int64_t size = RECIPE_BLOCK_LEN;

    if (block == blocks - 1) {
        size = 40 - (rank >= 2 ? 7 * b : 0) - (rank >= 3 ? 11 * h : 0);
        if (size < 0)
            size = 0;
    } else if (block == 0) {
        size = 0;
    }
    return (int32_t)size;
}

/* Tokens of a block that exist (contracts: sage, section 4); rank 0: no declared sizes. */
RECIPE_FN int64_t recipe_block_valid(int rank, int64_t b, int64_t h, int64_t block, int64_t blocks,
                                     int64_t tokens)
{
    int64_t left = tokens - block * RECIPE_BLOCK_LEN;

    if (left > RECIPE_BLOCK_LEN)
        left = RECIPE_BLOCK_LEN;
    if (left < 0)
        left = 0;
    if (rank > 0) {
        const int64_t declared = recipe_block_size(rank, b, h, block, blocks);

        if (declared < left)
            left = declared;
    }
    return left;
}

RECIPE_FN int32_t recipe_sizes_element(const struct recipe *r, int64_t at)
{
    const int64_t blocks = r->shape[r->rank - 1];
    const int64_t lead = at / blocks;
    const int64_t heads = r->rank == 3 ? r->shape[1] : 1;

    return recipe_block_size(r->rank, lead / heads, lead % heads, at % blocks, blocks);
}

#endif
