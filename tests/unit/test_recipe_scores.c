/*
 * Rows of scores and their lengths: what each distribution promises, counted.
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recipe.h"

#define ROWS    20
#define COLUMNS 1003
#define SLOTS   40

static struct recipe make(int64_t data, int32_t dtype, int64_t lengths)
{
    struct recipe r = {
        .kind = RECIPE_SCORES, .dtype = dtype, .seed = 21, .rank = 2, .shape = {ROWS, COLUMNS}};

    r.p[SCORES_DATA] = data;
    r.p[SCORES_COLUMNS] = COLUMNS;
    r.p[SCORES_SLOTS] = SLOTS;
    r.p[SCORES_NEXT_N] = 1;
    r.p[SCORES_LENGTHS] = lengths;
    r.p[SCORES_LENGTH_SEED] = 4;
    r.p[SCORES_ROWS] = ROWS;
    r.p[SCORES_TOKENS] = ROWS / 2;
    r.p[SCORES_RATIO] = 1;
    return r;
}

static double at(const struct recipe *r, int64_t row, int64_t column)
{
    return numfmt_decode(r->dtype, recipe_element(r, row * COLUMNS + column));
}

/* How many of a row's values lie in [from, to]. */
static int64_t count(const struct recipe *r, int64_t row, double from, double to)
{
    int64_t n = 0;

    for (int64_t c = 0; c < recipe_row_limit(r, row); c++)
        n += at(r, row, c) >= from && at(r, row, c) <= to;
    return n;
}

/* K-1 winners, two ties at an end of the length, the rest below: by row, whatever its length. */
static void winners(void **state)
{
    (void)state;
    for (int right = 0; right < 2; right++) {
        const struct recipe r =
            make(right ? SCORES_WINNERS_RIGHT : SCORES_WINNERS_LEFT, SAB_F32, ROW_LENGTHS_RANDOM);

        for (int64_t row = 0; row < ROWS; row++) {
            const int64_t length = recipe_row_limit(&r, row);

            if (length < SLOTS + 2)
                continue;
            assert_int_equal(count(&r, row, 2, 4), SLOTS - 1);
            assert_int_equal(count(&r, row, 1, 1), 2);
            assert_true(at(&r, row, right ? length - 1 : 0) == 1);
            assert_true(at(&r, row, right ? length - 2 : 1) == 1);
            assert_int_equal(count(&r, row, 0, 0.5), length - SLOTS - 1);
        }
    }
}

static void fewer_than_k_finite(void **state)
{
    const struct recipe r = make(SCORES_FEW_FINITE, SAB_FP16, ROW_LENGTHS_FULL);

    (void)state;
    for (int64_t row = 0; row < ROWS; row++) {
        assert_int_equal(count(&r, row, -2, 2), SLOTS * 15 / 16);
        assert_int_equal(count(&r, row, -INFINITY, -INFINITY), COLUMNS - SLOTS * 15 / 16);
    }
}

static void masses_of_equals(void **state)
{
    struct recipe r = make(SCORES_RELU, SAB_BF16, ROW_LENGTHS_FULL);
    int64_t negative = 0, positive = 0;

    (void)state;
    for (int64_t row = 0; row < ROWS; row++) {
        positive += count(&r, row, 1e-6, 2);
        assert_int_equal(count(&r, row, 0, 0) + count(&r, row, 1e-6, 2), COLUMNS);
    }
    assert_true(positive > ROWS * SLOTS / 4 && positive < ROWS * SLOTS);
    for (int64_t c = 0; c < COLUMNS; c++)
        negative += recipe_element(&r, c) == 0x8000;
    assert_true(negative > COLUMNS / 4 && negative < 3 * COLUMNS / 4);
    r = make(SCORES_EQUAL, SAB_F32, ROW_LENGTHS_FULL);
    assert_int_equal(count(&r, 3, 0.75, 0.75), COLUMNS);
    r = make(SCORES_FEW, SAB_F32, ROW_LENGTHS_FULL);
    for (int value = 0; value < 8; value++)
        assert_true(count(&r, 3, value, value) > COLUMNS / 16);
}

static void low_bits(void **state)
{
    static const int32_t dtypes[] = {SAB_F32, SAB_FP16, SAB_BF16};
    static const uint32_t one[] = {0x3f800000u, 0x3c00u, 0x3f80u}, low[] = {1023, 1023, 127};

    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct recipe r = make(SCORES_LOW_BITS, dtypes[i], ROW_LENGTHS_FULL);
        uint32_t any = 0;

        for (int64_t c = 0; c < COLUMNS; c++) {
            assert_int_equal(recipe_element(&r, c) & ~low[i], one[i]);
            any |= recipe_element(&r, c);
        }
        assert_int_equal(any, one[i] | low[i]);
    }
}

/* Fewer than K values above -65504 there are none of in fp16, half of the rest are in the others.
 */
static void whole_range(void **state)
{
    const struct recipe r = make(SCORES_RANGE, SAB_F32, ROW_LENGTHS_FULL);
    const int64_t below = count(&r, 2, -INFINITY, -65504);

    (void)state;
    assert_true(below > COLUMNS * 4 / 10 && below < COLUMNS * 7 / 10);
    assert_true(count(&r, 2, 3.4e38, 3.5e38) > 0 && count(&r, 2, 1e-46, 1e-43) > 0);
    assert_int_equal(count(&r, 2, -INFINITY, -INFINITY), 0);
}

static void poison(void **state)
{
    const struct recipe r = make(SCORES_POISON, SAB_F32, ROW_LENGTHS_RAGGED);

    (void)state;
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t c = 0; c < COLUMNS; c++)
            assert_int_equal(isnan(at(&r, row, c)) != 0, c >= recipe_row_limit(&r, row));
}

/* ---- lengths ---- */

static void lengths(void **state)
{
    struct recipe r = make(SCORES_UNIFORM, SAB_F32, ROW_LENGTHS_ZIGZAG);

    (void)state;
    r.p[SCORES_SHARD] = 3; /* rows 31..40, then 964..973 of 1003 columns */
    for (int64_t row = 0; row < ROWS; row++)
        assert_int_equal(recipe_row_limit(&r, row), row < 10 ? 31 + row : 964 + row - 10);
    r = make(SCORES_UNIFORM, SAB_F32, ROW_LENGTHS_CAUSAL);
    r.p[SCORES_RATIO] = 4;
    r.p[SCORES_OFFSET] = 9;
    for (int64_t row = 0; row < ROWS; row++)
        assert_int_equal(recipe_row_limit(&r, row), (9 + row % 10 + 1) / 4);
    r = make(SCORES_UNIFORM, SAB_F32, ROW_LENGTHS_RAGGED);
    assert_int_equal(recipe_row_length(&r, 0), -3);
    assert_int_equal(recipe_row_length(&r, 9), INT32_MAX);
    assert_int_equal(recipe_row_limit(&r, 0), 0);
    assert_int_equal(recipe_row_limit(&r, 8), COLUMNS);
    r = make(SCORES_UNIFORM, SAB_F32, ROW_LENGTHS_HALF);
    for (int64_t row = 0; row < ROWS; row++)
        assert_in_range(recipe_row_limit(&r, row), COLUMNS / 2, COLUMNS);
}

/* Ids of all batches: valid ones moved, invalid ones never valid. */
static void ids_of_batches(void **state)
{
    struct recipe r = {
        .kind = RECIPE_IDS, .dtype = SAB_I32, .seed = 3, .rank = 2, .shape = {12, 20}};

    (void)state;
    r.p[IDS_PATTERN] = IDS_SCATTERED;
    r.p[IDS_ROWS] = r.p[IDS_DOMAIN] = 114514 / 3; /* an invalid id falls into the fourth batch */
    r.p[IDS_SLOTS] = 20;
    for (int64_t i = 0; i < 240; i++) {
        const int64_t rows = r.p[IDS_ROWS], batch = i / 20 / 3;
        int32_t local, global;

        r.p[IDS_BATCH_ROWS] = 0;
        local = (int32_t)recipe_element(&r, i);
        r.p[IDS_BATCH_ROWS] = 3;
        global = (int32_t)recipe_element(&r, i);
        if (local >= 0 && local < rows)
            assert_int_equal(global, local + batch * rows);
        else
            assert_true(global < batch * rows || global >= (batch + 1) * rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(winners),          cmocka_unit_test(fewer_than_k_finite),
        cmocka_unit_test(masses_of_equals), cmocka_unit_test(low_bits),
        cmocka_unit_test(whole_range),      cmocka_unit_test(poison),
        cmocka_unit_test(lengths),          cmocka_unit_test(ids_of_batches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
