/*
 * Recipes: known values of the generator, distributions, rows of blocks, and the poison of the sage
 * contract (9.2).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recipe.h"

#define SAMPLES 200000

/* The first outputs of SplitMix64 from seed 0, as published with its reference code. */
static void known_hashes(void **state)
{
    (void)state;
    assert_true(recipe_hash(0, 0) == 0xe220a8397b1dcdafull);
    assert_true(recipe_hash(0, 1) == 0x6e789e6aa1b965f4ull);
    assert_true(recipe_hash(0, 2) == 0x06c45d188009454full);
    assert_true(recipe_seed(1, 2) != recipe_seed(2, 1));
    assert_true(recipe_seed(1, 2) != recipe_seed(1, 3));
}

static void table_is_the_inverse_distribution(void **state)
{
    (void)state;
    for (int i = 0; i < RECIPE_TABLE_HALF; i++) {
        const double upper = 0.5 * erfc((double)recipe_table_host[i] / sqrt(2));

        assert_true(fabs(upper - (4095.0 - 2 * i) / 8192) < 1e-7);
    }
}

static struct recipe make(uint32_t kind, int32_t dtype, float scale, float offset)
{
    struct recipe r = {.kind = kind, .dtype = dtype, .seed = 4691, .rank = 1, .shape = {SAMPLES}};

    r.f[0] = scale;
    r.f[1] = offset;
    return r;
}

static void moments(const struct recipe *r, double *mean, double *variance, double *correlation)
{
    double sum = 0, square = 0, next = 0, before = 0;

    for (int64_t i = 0; i < SAMPLES; i++) {
        const double x = numfmt_decode(r->dtype, recipe_element(r, i));

        sum += x;
        square += x * x;
        next += x * before;
        before = x;
    }
    *mean = sum / SAMPLES;
    *variance = square / SAMPLES - *mean * *mean;
    *correlation = (next / SAMPLES - *mean * *mean) / *variance;
}

/* Bounds of four standard errors. */
static void distributions(void **state)
{
    double mean, variance, correlation;
    struct recipe r = make(RECIPE_NORMAL, SAB_F32, 1, 0);

    (void)state;
    moments(&r, &mean, &variance, &correlation);
    assert_true(fabs(mean) < 4 / sqrt(SAMPLES));
    assert_true(fabs(variance - 0.99968) < 4 * sqrt(2.0 / SAMPLES));
    assert_true(fabs(correlation) < 4 / sqrt(SAMPLES));
    r = make(RECIPE_REAL, SAB_F32, 0.75f, 0.25f);
    moments(&r, &mean, &variance, &correlation);
    assert_true(fabs(mean - 0.625) < 4 * 0.2165 / sqrt(SAMPLES));
    assert_true(fabs(variance - 0.75 * 0.75 / 12) < 0.001);
    assert_true(fabs(correlation) < 4 / sqrt(SAMPLES));
    for (int64_t i = 0; i < SAMPLES; i++) {
        const double x = numfmt_decode(SAB_F32, recipe_element(&r, i));

        assert_true(x >= 0.25 && x < 1.0);
    }
}

static void integers_are_uniform(void **state)
{
    struct recipe r = make(RECIPE_INT, SAB_I8, 0, 0);
    double chi2 = 0;
    int seen[65] = {0};

    (void)state;
    r.p[0] = -32;
    r.p[1] = 32;
    for (int64_t i = 0; i < SAMPLES; i++) {
        const int x = (int)numfmt_decode(SAB_I8, recipe_element(&r, i));

        assert_in_range(x + 32, 0, 64);
        seen[x + 32]++;
    }
    for (int i = 0; i < 65; i++)
        chi2 += pow(seen[i] - SAMPLES / 65.0, 2) / (SAMPLES / 65.0);
    assert_true(chi2 < 64 + 4 * sqrt(2 * 64.0));
}

static void constants(void **state)
{
    struct recipe r = make(RECIPE_BYTES, SAB_BF16, 0, 0);

    (void)state;
    r.p[0] = 0xa5;
    assert_int_equal(recipe_element(&r, 7), 0xa5a5);
    r.dtype = SAB_E4M3;
    assert_int_equal(recipe_element(&r, 7), 0xa5);
    r = make(RECIPE_CONST, SAB_F32, 0, 0);
    r.p[0] = 0x7fc00000;
    assert_int_equal(recipe_element(&r, 7), 0x7fc00000);
    r = make(RECIPE_NONE, SAB_F32, 0, 0);
    assert_int_equal(recipe_element(&r, 7), 0);
    r = make(RECIPE_RANDOM, SAB_U8, 0, 0);
    for (int64_t i = 0; i < 100; i++)
        assert_true(recipe_element(&r, i) < 256);
}

static struct recipe rows_make(int64_t pattern, int64_t blocks, int64_t counts, int64_t selected,
                               int64_t slots)
{
    struct recipe r = {.kind = RECIPE_BLOCK_ROWS,
                       .dtype = SAB_I32,
                       .seed = 99,
                       .rank = 4,
                       .shape = {2, 3, 50, slots}};

    r.p[ROWS_PATTERN] = pattern;
    r.p[ROWS_BLOCKS] = blocks;
    r.p[ROWS_COUNTS] = counts;
    r.p[ROWS_SELECTED] = selected;
    r.p[ROWS_COUNT_SEED] = 1234;
    return r;
}
#define ROWS (2 * 3 * 50)

static void contiguous_rows(void **state)
{
    const struct recipe r = rows_make(PATTERN_CONTIGUOUS, 11, COUNTS_UNIFORM, 6, 8);
    int32_t row[8];

    (void)state;
    assert_true(recipe_by_row(&r));
    for (int64_t i = 0; i < ROWS; i++) {
        recipe_row(&r, i, row);
        for (int64_t slot = 0; slot < 8; slot++)
            assert_int_equal(
                row[slot],
                slot < 6 ? (3 * (i / 150) + 5 * (i / 50 % 3) + 7 * (i % 50) + slot) % 11 : -1);
    }
}

static void topk_rows(void **state)
{
    int used[40] = {0};

    (void)state;
    for (int64_t selected = 0; selected <= 40; selected++) {
        const struct recipe r = rows_make(PATTERN_TOPK, 40, COUNTS_UNIFORM, selected, 42);
        int32_t row[42];

        for (int64_t i = 0; i < ROWS; i++) {
            recipe_row(&r, i, row);
            for (int64_t slot = 0; slot < 42; slot++) {
                if (slot >= selected) {
                    assert_int_equal(row[slot], -1);
                    continue;
                }
                assert_in_range(row[slot], slot ? row[slot - 1] + 1 : 0, 39);
                used[row[slot]] += selected == 14;
                /* A guaranteed gap, wherever the count leaves room for one. */
                if (selected < 40)
                    assert_int_not_equal(row[slot], 38);
            }
            if (selected > 0)
                assert_int_equal(row[selected - 1], 39);
        }
    }
    /* 13 of the first 38 in each of 300 rows: 102.6 on average, standard deviation 8.2. */
    for (int block = 0; block < 38; block++)
        assert_in_range(used[block], 66, 140);
}

static void small_topk_rows(void **state)
{
    int32_t row[2];
    struct recipe r = rows_make(PATTERN_TOPK, 1, COUNTS_UNIFORM, 1, 2);

    (void)state;
    recipe_row(&r, 0, row);
    assert_int_equal(row[0], 0);
    assert_int_equal(row[1], -1);
    r = rows_make(PATTERN_TOPK, 2, COUNTS_UNIFORM, 1, 2);
    recipe_row(&r, 0, row);
    assert_int_equal(row[0], 1);
    r = rows_make(PATTERN_TOPK, 2, COUNTS_UNIFORM, 2, 2);
    recipe_row(&r, 0, row);
    assert_int_equal(row[0], 0);
    assert_int_equal(row[1], 1);
}

static void counts(void **state)
{
    struct recipe r = rows_make(PATTERN_TOPK, 100, COUNTS_PER_ROW, 40, 40);
    int32_t row[40];
    int empty = 0, near_eight = 0, least = 40, most = 0;

    (void)state;
    for (int64_t i = 0; i < ROWS; i++) {
        const int32_t n = recipe_rows_count(&r, i);

        recipe_row(&r, i, row);
        assert_in_range(n, 1, 40);
        for (int slot = 0; slot < 40; slot++)
            assert_int_equal(row[slot] >= 0, slot < n);
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    assert_true(least <= 2 && most >= 39);
    r = rows_make(PATTERN_TOPK, 100, COUNTS_VARYING, 40, 40);
    for (int64_t i = 0; i < ROWS; i++) {
        const int32_t n = recipe_rows_count(&r, i);

        assert_in_range(n, 0, 40);
        empty += n == 0;
        near_eight += n > 0 && ((n + 1) % 8 <= 2);
    }
    assert_in_range(empty, 20, 70);
    assert_in_range(near_eight, 120, 230);
    /* Counts that a promise makes unused contradict it, in range. */
    r = rows_make(PATTERN_TOPK, 100, COUNTS_UNIFORM, 40, 40);
    r.kind = RECIPE_BLOCK_COUNTS;
    r.p[ROWS_CONTRADICT] = 40;
    for (int64_t i = 0; i < ROWS; i++) {
        assert_int_not_equal(recipe_element(&r, i), 40);
        assert_in_range(recipe_element(&r, i), 0, 40);
    }
}

static void ends_without_the_row(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 2 * 3 * 12; i++) {
        const int64_t selected = i % 12;
        const struct recipe r = rows_make(i / 12 % 2, 9, i / 24, selected < 9 ? selected : 9, 12);
        int32_t row[12];

        for (int64_t k = 0; k < ROWS; k++) {
            int first, last, has_first = 0, has_last = 0;

            recipe_row(&r, k, row);
            for (int slot = 0; slot < 12; slot++) {
                has_first |= row[slot] == 0;
                has_last |= row[slot] == 8;
            }
            recipe_rows_ends(&r, k, &first, &last);
            assert_int_equal(first, has_first);
            assert_int_equal(last, has_last);
        }
    }
}

static void sizes(void **state)
{
    struct recipe r = {.kind = RECIPE_BLOCK_SIZES, .dtype = SAB_I32, .rank = 3, .shape = {2, 4, 5}};

    (void)state;
    for (int64_t b = 0; b < 2; b++)
        for (int64_t h = 0; h < 4; h++) {
            const int64_t last = 40 - 7 * b - 11 * h;

            assert_int_equal(recipe_element(&r, (b * 4 + h) * 5), 0);
            assert_int_equal(recipe_element(&r, (b * 4 + h) * 5 + 1), 64);
            assert_int_equal(recipe_element(&r, (b * 4 + h) * 5 + 4), last > 0 ? last : 0);
        }
    r = (struct recipe){.kind = RECIPE_BLOCK_SIZES, .dtype = SAB_I32, .rank = 2, .shape = {2, 5}};
    assert_int_equal(recipe_element(&r, 9), 33);
    r = (struct recipe){.kind = RECIPE_BLOCK_SIZES, .dtype = SAB_I32, .rank = 1, .shape = {1}};
    assert_int_equal(recipe_element(&r, 0), 40);
}

/* The permutation as the contract prints it, and poison where no token is. */
static void values_of_sage(void **state)
{
    static const int logical[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
    struct recipe r = {
        .kind = RECIPE_SAGE_V, .dtype = SAB_E4M3, .seed = 5, .rank = 4, .shape = {2, 2, 128, 192}};
    struct recipe plain;

    (void)state;
    r.p[SAGE_V_TOKENS] = 170;
    r.p[SAGE_V_SIZES] = 2;
    r.f[0] = 0.25f;
    plain = r;
    plain.kind = RECIPE_NORMAL;
    for (int place = 0; place < 16; place++)
        assert_int_equal(recipe_sage_logical(place), logical[place]);
    for (int64_t at = 0; at < 2 * 2 * 128 * 192; at++) {
        const int64_t line = at / 192, place = at % 192, batch = line / 256;
        const int64_t token = place / 16 * 16 + logical[place % 16];
        const int64_t size[3] = {0, 64, 40 - 7 * batch};
        const int64_t declared = size[token / 64];

        if (token % 64 >= declared || token >= 170)
            assert_int_equal(recipe_element(&r, at), 0x68); /* 64.0 */
        else
            assert_int_equal(recipe_element(&r, at), recipe_element(&plain, line * 192 + token));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_hashes),  cmocka_unit_test(table_is_the_inverse_distribution),
        cmocka_unit_test(distributions), cmocka_unit_test(integers_are_uniform),
        cmocka_unit_test(constants),     cmocka_unit_test(contiguous_rows),
        cmocka_unit_test(topk_rows),     cmocka_unit_test(small_topk_rows),
        cmocka_unit_test(counts),        cmocka_unit_test(ends_without_the_row),
        cmocka_unit_test(sizes),         cmocka_unit_test(values_of_sage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
