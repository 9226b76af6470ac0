/*
 * recipe_scores.h - rows of scores to select from, the lengths of those rows, and segments of
 * packed batches (contracts: indexer, sections 1 and 3).
 *
 * Included by recipe_impl.h. Every element is computed by itself. Scores and lengths of a case take
 * their lengths from (length seed, row), so that both tensors agree.
 *
 * RECIPE_SCORES, shape [R,C], p[] below; L is the length of a row, K the slots.
 *   - SCORES_UNIFORM: 2U - 1
 *   - SCORES_NORMAL: N(0,1), made continuous by (U - 1/2)/8
 *   - SCORES_FEW: integers 0 to 7
 *   - SCORES_EQUAL: 0.75
 *   - SCORES_WINNERS_LEFT: K-1 values above 2 at random columns, 1 at the two leftmost, the rest
 *     below
 *   - SCORES_WINNERS_RIGHT: the same with the two rightmost of the length
 *   - SCORES_RELU: K/2 positive values on average, zeros of either sign elsewhere
 *   - SCORES_LOW_BITS: 1, different in the low 10 bits alone (bf16, which has fewer: the low 7)
 *   - SCORES_FEW_FINITE: 15K/16 finite values, -inf elsewhere
 *   - SCORES_RANGE: half of them below -65504; the largest of the type, the smallest subnormal
 *     ones, zeros, all of either sign
 *   - SCORES_SUBNORMAL: subnormal numbers of either sign
 *   - SCORES_ZEROS: zeros of either sign, a value in [-2^-10, 2^-10) every 16 on average
 *   - SCORES_NARROW: 3 + U/256
 *   - SCORES_POISON: 2U - 1, NaN from the length on
 *
 * RECIPE_ROW_LENGTHS, shape [R/next_n]: the same p[], SCORES_COLUMNS among them.
 *
 * RECIPE_SEGMENTS, shape [B+1]: where packed segments begin; p[0] mean tokens of a segment (at
 * least 1), p[1] B. Segments have 1 to 2 p[0] - 1 tokens; where there are three or more, the second
 * has one.
 */
#ifndef BENCH_MODEL_RECIPE_SCORES_H
#define BENCH_MODEL_RECIPE_SCORES_H

enum recipe_scores {
    SCORES_UNIFORM = 0,
    SCORES_NORMAL,
    SCORES_FEW,
    SCORES_EQUAL,
    SCORES_WINNERS_LEFT,
    SCORES_WINNERS_RIGHT,
    SCORES_RELU,
    SCORES_LOW_BITS,
    SCORES_FEW_FINITE,
    SCORES_RANGE,
    SCORES_SUBNORMAL,
    SCORES_ZEROS,
    SCORES_NARROW,
    SCORES_POISON,
    SCORES_KINDS_NR
};
enum recipe_row_lengths {
    ROW_LENGTHS_FULL = 0,
    ROW_LENGTHS_HALF,   /* uniform in [C/2, C] */
    ROW_LENGTHS_RAGGED, /* where kernels break: below 0 to above C, next to K; then random ones */
    ROW_LENGTHS_RANDOM, /* uniform in [0, C] */
    ROW_LENGTHS_CAUSAL, /* what a row of the indexer sees */
    ROW_LENGTHS_ZIGZAG, /* the rows of one rank in context parallelism (section 3.6) */
    ROW_LENGTHS_EMPTY
};
enum {
    SCORES_DATA = 0,
    SCORES_COLUMNS,
    SCORES_SLOTS,
    SCORES_NEXT_N,
    SCORES_LENGTHS,
    SCORES_LENGTH_SEED,
    SCORES_ROWS,   /* of all */
    SCORES_TOKENS, /* query rows of a batch, for CAUSAL */
    SCORES_RATIO,
    SCORES_OFFSET,
    SCORES_SHARD /* the rank of ZIGZAG */
};

/* Columns k < clamp(floor((offset + q + 1)/ratio), 0, columns) that row q sees (section 1). */
RECIPE_FN int64_t recipe_limit(int64_t offset, int64_t q, int64_t ratio, int64_t columns)
{
    const int64_t tokens = offset + q + 1, limit = tokens > 0 ? tokens / ratio : 0;

    return limit < columns ? limit : columns;
}

RECIPE_FN int64_t recipe_ragged_length(int64_t i, uint32_t random, int64_t slots, int64_t columns)
{
    switch (i % 14) {
    case 0:
        return -3;
    case 1:
        return 0;
    case 2:
        return 1;
    case 3:
        return slots - 1;
    case 4:
        return slots;
    case 5:
        return slots + 1;
    case 6:
        return columns - 1;
    case 7:
        return columns;
    case 8:
        return columns + 5;
    case 9:
        return INT32_MAX;
    case 10:
        return 2;
    default:
        return recipe_below(random, (uint32_t)columns + 1);
    }
}

/* Element i of seq_lens as the tensor shows it. */
RECIPE_FN int32_t recipe_row_length(const struct recipe *r, int64_t i)
{
    const int64_t columns = r->p[SCORES_COLUMNS], next_n = r->p[SCORES_NEXT_N];
    const int64_t half = r->p[SCORES_ROWS] / next_n / 2, shard = r->p[SCORES_SHARD];
    const uint32_t random =
        (uint32_t)(recipe_hash((uint64_t)r->p[SCORES_LENGTH_SEED], (uint64_t)i) >> 32);

    switch (r->p[SCORES_LENGTHS]) {
    case ROW_LENGTHS_HALF:
        return (int32_t)(columns / 2 + recipe_below(random, (uint32_t)(columns - columns / 2) + 1));
    case ROW_LENGTHS_RAGGED:
        return (int32_t)recipe_ragged_length(i, random, r->p[SCORES_SLOTS], columns);
    case ROW_LENGTHS_RANDOM:
        return (int32_t)recipe_below(random, (uint32_t)columns + 1);
    case ROW_LENGTHS_CAUSAL:
        return (int32_t)recipe_limit(r->p[SCORES_OFFSET],
                                     (i * next_n + next_n - 1) % r->p[SCORES_TOKENS],
                                     r->p[SCORES_RATIO], columns);
    case ROW_LENGTHS_ZIGZAG:
        return (int32_t)(i < half ? shard * half + 1 + i
                                  : columns - (shard + 1) * half + 1 + (i - half));
    case ROW_LENGTHS_EMPTY:
        return 0;
    default:
        return (int32_t)columns;
    }
}

/* L of a row (section 3.1). */
RECIPE_FN int64_t recipe_row_limit(const struct recipe *r, int64_t row)
{
    const int64_t next_n = r->p[SCORES_NEXT_N];
    const int64_t length = (int64_t)recipe_row_length(r, row / next_n) - next_n + row % next_n + 1;

    return length < 0 ? 0 : length < r->p[SCORES_COLUMNS] ? length : r->p[SCORES_COLUMNS];
}

RECIPE_FN uint32_t recipe_signed(int32_t dtype, uint32_t bits, uint64_t h)
{
    return h & 1 ? bits | (dtype == SAB_F32 ? 0x80000000u : 0x8000u) : bits;
}

RECIPE_FN double recipe_score_uniform(uint64_t h)
{
    return (double)(uint32_t)(h >> 40) * 0x1p-24;
}

/* Whether column `c` is one of `taken` random ones of the row's first `length`. */
RECIPE_FN int recipe_score_taken(const struct recipe *r, int64_t row, int64_t c, int64_t length,
                                 int64_t taken)
{
    return c >= 0 && c < length &&
           recipe_permute(recipe_hash(r->seed, (uint64_t)row), (uint32_t)c, (uint32_t)length) <
               (uint32_t)taken;
}

RECIPE_FN uint32_t recipe_score_winner(const struct recipe *r, int64_t row, int64_t c, uint64_t h)
{
    const int right = r->p[SCORES_DATA] == SCORES_WINNERS_RIGHT;
    const int64_t length = recipe_row_limit(r, row), others = length > 2 ? length - 2 : 0;
    const int64_t place = right ? c : c - 2;
    const double u = recipe_score_uniform(h);

    if (place < 0 || (place >= others && place < others + 2))
        return numfmt_encode(r->dtype, 1.0);
    if (recipe_score_taken(r, row, place, others, r->p[SCORES_SLOTS] - 1))
        return numfmt_encode(r->dtype, 2.25 + u);
    return numfmt_encode(r->dtype, u * 0.5);
}

/* Raw bits of a type's largest finite number, and those of its mantissa. */
RECIPE_FN uint32_t recipe_score_largest(int32_t dtype)
{
    return dtype == SAB_F32 ? 0x7f7fffffu : dtype == SAB_FP16 ? 0x7bffu : 0x7f7fu;
}
RECIPE_FN uint32_t recipe_score_mantissa(int32_t dtype)
{
    return dtype == SAB_F32 ? 0x7fffffu : dtype == SAB_FP16 ? 0x3ffu : 0x7fu;
}

RECIPE_FN uint32_t recipe_score_range(const struct recipe *r, uint64_t h)
{
    const double u = recipe_score_uniform(h);

    switch (h >> 8 & 15) {
    case 0:
        return recipe_signed(r->dtype, recipe_score_largest(r->dtype), h);
    case 1:
        return recipe_signed(r->dtype, 1 + (uint32_t)(h >> 16 & 15), h);
    case 2:
        return recipe_signed(r->dtype, 0, h);
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
        return numfmt_encode(r->dtype, 2 * u - 1);
    default:
        if (r->dtype == SAB_FP16) /* the type ends there */
            return numfmt_encode(r->dtype, -65504 + 1024 * u);
        return numfmt_encode(r->dtype, -65504 * (1 + 4 * u));
    }
}

/* Where the value depends on more than chance. */
RECIPE_FN uint32_t recipe_score_placed(const struct recipe *r, int64_t row, int64_t c, uint64_t h)
{
    const uint32_t nan = numfmt_encode(r->dtype, (double)numfmt_f32_of_bits(0x7fc00000u));
    const uint32_t minus_inf = r->dtype == SAB_F32    ? 0xff800000u
                               : r->dtype == SAB_FP16 ? 0xfc00u
                                                      : 0xff80u;

    switch (r->p[SCORES_DATA]) {
    case SCORES_FEW_FINITE:
        return recipe_score_taken(r, row, c, recipe_row_limit(r, row), r->p[SCORES_SLOTS] * 15 / 16)
                   ? numfmt_encode(r->dtype, 2 * recipe_score_uniform(h) - 1)
                   : minus_inf;
    case SCORES_POISON:
        return c < recipe_row_limit(r, row)
                   ? numfmt_encode(r->dtype, 2 * recipe_score_uniform(h) - 1)
                   : nan;
    default:
        return recipe_score_winner(r, row, c, h);
    }
}

RECIPE_FN uint32_t recipe_score(const struct recipe *r, int64_t at, float normal)
{
    const int64_t columns = r->p[SCORES_COLUMNS];
    const uint64_t h = recipe_hash(r->seed, (uint64_t)at);
    const double u = recipe_score_uniform(h);

    switch (r->p[SCORES_DATA]) {
    case SCORES_UNIFORM:
        return numfmt_encode(r->dtype, 2 * u - 1);
    case SCORES_NORMAL:
        return numfmt_encode(r->dtype,
                             (double)normal + (recipe_score_uniform(h << 12) - 0.5) * 0.125);
    case SCORES_FEW:
        return numfmt_encode(r->dtype, (double)(h >> 61));
    case SCORES_EQUAL:
        return numfmt_encode(r->dtype, 0.75);
    case SCORES_RELU:
        return (h >> 32) * 2 * (uint64_t)columns < (uint64_t)r->p[SCORES_SLOTS] << 32
                   ? numfmt_encode(r->dtype, 0x1p-10 + (double)(h & 0xffffff) * 0x1p-24)
                   : recipe_signed(r->dtype, 0, h);
    case SCORES_LOW_BITS:
        return numfmt_encode(r->dtype, 1) |
               ((uint32_t)(h >> 32) & 1023 & recipe_score_mantissa(r->dtype));
    case SCORES_RANGE:
        return recipe_score_range(r, h);
    case SCORES_SUBNORMAL:
        return recipe_signed(r->dtype, (uint32_t)(h >> 32) & recipe_score_mantissa(r->dtype), h);
    case SCORES_ZEROS:
        return (h >> 8 & 15) == 0 ? numfmt_encode(r->dtype, (2 * u - 1) * 0x1p-10)
                                  : recipe_signed(r->dtype, 0, h);
    case SCORES_NARROW:
        return numfmt_encode(r->dtype, 3 + u * 0x1p-8);
    default:
        return recipe_score_placed(r, at / columns, at % columns, h);
    }
}

/* First token of segment i. */
RECIPE_FN int64_t recipe_segment(const struct recipe *r, int64_t i)
{
    const int64_t mean = r->p[0], segments = r->p[1];
    const int64_t from = i == 2 && segments >= 3 ? 1 : i;
    const uint64_t h = recipe_hash(r->seed, (uint64_t)from);

    if (i == 0 || i == segments)
        return i * mean;
    return from * mean + recipe_below((uint32_t)(h >> 32), (uint32_t)mean) + (i - from);
}

#endif
