/*
 * recipe_impl.h - the one interpreter of recipes. Included by recipe.h.
 *
 * Bits are equal on host and device because nothing here can round in two ways: hashes are integer
 * arithmetic, the product of two floats is exact in double, and so U*f[0] + f[1] rounds twice (sum
 * to double, double to dtype) whether or not a compiler fuses the multiplication into the addition.
 */
#ifndef BENCH_MODEL_RECIPE_IMPL_H
#define BENCH_MODEL_RECIPE_IMPL_H

#include "numfmt.h"

/* One finaliser of SplitMix64 (Steele, Lea, Flood 2014) over a Weyl sequence: value `n` of stream
 * `seed`. */
RECIPE_FN uint64_t recipe_hash(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Seed of tensor number `tensor` of a case. Two rounds, so that streams of neighbouring cases and
 * tensors are not shifted copies of each other. */
RECIPE_FN uint64_t recipe_seed(uint64_t case_seed, uint32_t tensor)
{
    return recipe_hash(recipe_hash(case_seed, 0x7365656400ull + tensor), tensor);
}

/* Random bits to [0, n); the bias is below n / 2^32. */
RECIPE_FN uint32_t recipe_below(uint32_t random, uint32_t n)
{
    return (uint32_t)(((uint64_t)random * n) >> 32);
}

#include "recipe_ids.h"
#include "recipe_rows.h"
#include "recipe_scores.h"

/* U in [0,1) with 24 bits. */
RECIPE_FN float recipe_uniform(uint64_t h)
{
    return (float)(uint32_t)(h >> 40) * 0x1p-24f;
}

RECIPE_FN float recipe_normal(uint64_t h)
{
    const uint32_t at = (uint32_t)(h >> 52); /* 12 bits: sign and entry */
    const uint32_t entry = at & (RECIPE_TABLE_HALF - 1);
#ifdef __CUDA_ARCH__
    const float x = recipe_table_device[entry];
#else
    const float x = recipe_table_host[entry];
#endif
    return at & RECIPE_TABLE_HALF ? x : -x;
}

RECIPE_FN double recipe_scaled(const struct recipe *r, float x)
{
    return (double)x * (double)r->f[0] + (double)r->f[1];
}

RECIPE_FN uint32_t recipe_outlier(const struct recipe *r, int64_t at, float x)
{
    const float wide = at % r->shape[r->rank - 1] == r->p[0] ? r->f[2] : r->f[0];

    return numfmt_encode(r->dtype, (double)x * (double)wide + (double)r->f[1]);
}

/* Steps are counted from the first element: the quotient of exact numbers rounds once. */
RECIPE_FN uint32_t recipe_line(const struct recipe *r, int64_t at)
{
    const int64_t last = r->shape[0] - 1;
    const double whole = ((double)r->f[1] - (double)r->f[0]) * (double)at;

    return numfmt_encode(r->dtype, (double)r->f[0] + (last > 0 ? whole / (double)last : 0.0));
}

/* Both products are exact in double. The two draws use different bits of the hash. */
RECIPE_FN uint32_t recipe_blend(const struct recipe *r, uint64_t h)
{
    const double normal = (double)recipe_normal(h) * (double)r->f[0];
    const double uniform = ((double)recipe_uniform(h << 12) - 0.5) * (double)r->f[1];

    return numfmt_encode(r->dtype, normal + uniform);
}

RECIPE_FN uint32_t recipe_poisoned(const struct recipe *r, int64_t at, float x)
{
    if (at / r->shape[r->rank - 1] >= r->p[0])
        return numfmt_encode(r->dtype, (double)numfmt_f32_of_bits(0x7fc00000u));
    return numfmt_encode(r->dtype, recipe_scaled(r, x));
}

RECIPE_FN uint32_t recipe_odd_rows(const struct recipe *r, int64_t at, float x)
{
    const float level = at / r->shape[r->rank - 1] % 2 ? r->f[2] : r->f[1];

    return numfmt_encode(r->dtype, (double)x * (double)r->f[0] + (double)level);
}

/* Where logical token `t` of a group of 16 comes from: logical token of physical place
 * (contracts: sage, section 3). */
RECIPE_FN int recipe_sage_logical(int place)
{
    return 8 * ((place >> 1) & 1) + 2 * (place >> 2) + (place & 1);
}

/*
 * RECIPE_SAGE_V, shape [B,H,D,Skp], tokens permuted in each group of 16:
 *   p[SAGE_V_TOKENS] Sk, p[SAGE_V_SIZES] rank of the block sizes (0: none)
 * f[0]*N(0,1) + f[1] where a token exists, SAGE_V_POISON where none does.
 */
enum { SAGE_V_TOKENS = 0, SAGE_V_SIZES };
#define RECIPE_SAGE_V_POISON 64.0

RECIPE_FN uint32_t recipe_sage_v(const struct recipe *r, int64_t at)
{
    const int64_t padded = r->shape[3];
    const int64_t line = at / padded, place = at % padded;
    const int64_t token = place - place % 16 + recipe_sage_logical((int)(place % 16));
    const int64_t block = token / RECIPE_BLOCK_LEN;
    const int64_t head = line / r->shape[2] % r->shape[1];
    const int64_t batch = line / r->shape[2] / r->shape[1];
    const int64_t valid = recipe_block_valid((int)r->p[SAGE_V_SIZES], batch, head, block,
                                             padded / RECIPE_BLOCK_LEN, r->p[SAGE_V_TOKENS]);

    if (token % RECIPE_BLOCK_LEN >= valid)
        return numfmt_encode(r->dtype, RECIPE_SAGE_V_POISON);
    return numfmt_encode(
        r->dtype,
        recipe_scaled(r, recipe_normal(recipe_hash(r->seed, (uint64_t)(line * padded + token)))));
}

/*
 * RECIPE_BLOCK_TOKENS, shape [B,Hk,Sk,D]:
 *   p[TOKENS_SIZES]  rank of the block sizes (0: none); their heads are query heads
 *   p[TOKENS_GROUP]  query heads that share a head of this tensor
 *   p[TOKENS_POISON] raw bits where a token exists for none of them
 * Of the heads of a group the first has the largest declared sizes (RECIPE_BLOCK_SIZES).
 */
enum { TOKENS_SIZES = 0, TOKENS_GROUP, TOKENS_POISON };

RECIPE_FN uint32_t recipe_block_tokens(const struct recipe *r, int64_t at, float x)
{
    const int64_t tokens = r->shape[2], line = at / r->shape[3];
    const int64_t token = line % tokens, block = token / RECIPE_BLOCK_LEN;
    const int64_t head = line / tokens % r->shape[1] * r->p[TOKENS_GROUP];
    const int64_t batch = line / tokens / r->shape[1];
    const int64_t blocks = (tokens - 1) / RECIPE_BLOCK_LEN + 1;

    if (token % RECIPE_BLOCK_LEN >=
        recipe_block_valid((int)r->p[TOKENS_SIZES], batch, head, block, blocks, tokens))
        return (uint32_t)r->p[TOKENS_POISON];
    return numfmt_encode(r->dtype, recipe_scaled(r, x));
}

/* An integer as an element: as it is in integer types and e8m0, rounded in the others. */
RECIPE_FN uint32_t recipe_integer(const struct recipe *r, int64_t value)
{
    switch (r->dtype) {
    case SAB_I8:
    case SAB_U8:
    case SAB_E8M0:
        return (uint8_t)value;
    case SAB_I32:
        return (uint32_t)value;
    default:
        return numfmt_encode(r->dtype, (double)value);
    }
}

RECIPE_FN uint32_t recipe_mask(const struct recipe *r, uint32_t bits)
{
    const uint32_t size = numfmt_size(r->dtype);

    return size >= 4 ? bits : bits & ((1u << (8 * size)) - 1);
}

RECIPE_FN int recipe_by_row(const struct recipe *r)
{
    return r->kind == RECIPE_BLOCK_ROWS;
}

RECIPE_FN uint32_t recipe_element(const struct recipe *r, int64_t at)
{
    const uint64_t h = recipe_hash(r->seed, (uint64_t)at);

    switch (r->kind) {
    case RECIPE_BYTES:
        return recipe_mask(r, ((uint32_t)r->p[0] & 0xff) * 0x01010101u);
    case RECIPE_CONST:
        return recipe_mask(r, (uint32_t)r->p[0]);
    case RECIPE_INT:
        return recipe_integer(
            r, r->p[0] + recipe_below((uint32_t)(h >> 32), (uint32_t)(r->p[1] - r->p[0] + 1)));
    case RECIPE_REAL:
        return numfmt_encode(r->dtype, recipe_scaled(r, recipe_uniform(h)));
    case RECIPE_NORMAL:
        return numfmt_encode(r->dtype, recipe_scaled(r, recipe_normal(h)));
    case RECIPE_OUTLIER:
        return recipe_outlier(r, at, recipe_normal(h));
    case RECIPE_CYCLE:
        return recipe_mask(r, (uint32_t)r->p[1 + at % r->p[0]]);
    case RECIPE_LINE:
        return recipe_line(r, at);
    case RECIPE_BLEND:
        return recipe_blend(r, h);
    case RECIPE_POISONED:
        return recipe_poisoned(r, at, recipe_normal(h));
    case RECIPE_ODD_ROWS:
        return recipe_odd_rows(r, at, recipe_normal(h));
    case RECIPE_IDS:
        return (uint32_t)recipe_id_shown(r, at);
    case RECIPE_LENGTHS:
        return (uint32_t)recipe_length(r, at);
    case RECIPE_SCORES:
        return recipe_score(r, at, recipe_normal(h));
    case RECIPE_ROW_LENGTHS:
        return (uint32_t)recipe_row_length(r, at);
    case RECIPE_SEGMENTS:
        return (uint32_t)recipe_segment(r, at);
    case RECIPE_RANDOM:
        return recipe_mask(r, (uint32_t)(h >> 32));
    case RECIPE_BLOCK_COUNTS:
        return (uint32_t)recipe_rows_count_shown(r, at);
    case RECIPE_BLOCK_SIZES:
        return (uint32_t)recipe_sizes_element(r, at);
    case RECIPE_SAGE_V:
        return recipe_sage_v(r, at);
    case RECIPE_BLOCK_TOKENS:
        return recipe_block_tokens(r, at, recipe_normal(h));
    default:
        return 0;
    }
}

RECIPE_FN void recipe_row(const struct recipe *r, int64_t row, int32_t *out)
{
    recipe_rows_fill(r, row, out);
}

#endif
