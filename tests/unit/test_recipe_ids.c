/*
 * Rows of ids and what goes with them: ids without repetition, shares that neighbours have in
 * common, invalid ids, lengths, and the recipes of sinks.
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

static struct recipe make(int64_t pattern, int64_t rows, int64_t slots, int64_t keys)
{
    struct recipe r = {
        .kind = RECIPE_IDS, .dtype = SAB_I32, .seed = 99, .rank = 2, .shape = {rows, slots}};

    r.p[IDS_PATTERN] = pattern;
    r.p[IDS_ROWS] = r.p[IDS_DOMAIN] = keys;
    r.p[IDS_SLOTS] = slots;
    r.p[IDS_LENGTH_SEED] = 5;
    return r;
}

static int32_t id_at(const struct recipe *r, int64_t row, int64_t slot)
{
    return (int32_t)recipe_element(r, row * r->p[IDS_SLOTS] + slot);
}

/* Marks an id that must be in range and new. */
static void mark(unsigned char *seen, int64_t id, int64_t nr)
{
    if (id < 0 || id >= nr || seen[id])
        fail_msg("id %lld is out of range or was there before", (long long)id);
    else
        seen[id] = 1;
}

/* Every order is one: nothing twice, nothing left out. */
static void orders(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 31, 33, 64, 100, 1000, 4095, 4096, 4097};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (uint64_t key = 0; key < 5; key++) {
            unsigned char *seen = calloc(4097, 1);

            assert_non_null(seen);
            for (uint32_t x = 0; x < sizes[i]; x++)
                mark(seen, recipe_permute(key, x, sizes[i]), sizes[i]);
            free(seen);
        }
    assert_true(recipe_permute(1, 0, INT32_MAX) < INT32_MAX);
}

/* Each place is taken by each id about equally often: chi-square with 63*63 degrees of freedom. */
static void orders_are_random(void **state)
{
    static int seen[64][64];
    const int keys = 6400;
    double chi2 = 0;

    (void)state;
    for (int key = 0; key < keys; key++)
        for (uint32_t x = 0; x < 64; x++)
            seen[x][recipe_permute(recipe_hash(7, (uint64_t)key), x, 64)]++;
    for (int x = 0; x < 64; x++)
        for (int y = 0; y < 64; y++)
            chi2 += (seen[x][y] - keys / 64.0) * (seen[x][y] - keys / 64.0) / (keys / 64.0);
    assert_true(fabs(chi2 - 63 * 63) < 5 * sqrt(2.0 * 63 * 63));
}

static void unique_rows(void **state)
{
    static const int64_t sizes[][2] = {{5, 8}, {64, 64}, {64, 65}, {100, 40}, {1, 1}, {640, 4096}};

    (void)state;
    for (int pattern = IDS_UNIQUE; pattern <= IDS_SORTED; pattern++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            const int64_t slots = sizes[i][0], keys = sizes[i][1];
            const struct recipe r = make(pattern, 4, slots, keys);

            for (int64_t row = 0; row < 4; row++) {
                unsigned char *seen = calloc(4096, 1);
                int32_t last = -1;

                assert_non_null(seen);
                for (int64_t slot = 0; slot < slots; slot++) {
                    const int32_t id = id_at(&r, row, slot);

                    if (slot >= keys) {
                        assert_int_equal(id, -1);
                        continue;
                    }
                    mark(seen, id, keys);
                    assert_true(pattern == IDS_UNIQUE || id > last);
                    last = id;
                }
                free(seen);
            }
        }
}

static int64_t common(const struct recipe *r, int64_t a, int64_t b)
{
    int64_t n = 0;

    for (int64_t i = 0; i < r->p[IDS_SLOTS]; i++)
        for (int64_t k = 0; k < r->p[IDS_SLOTS]; k++)
            n += id_at(r, a, i) == id_at(r, b, k);
    return n;
}

/* Neighbours share exactly K - step ids, also where the window has come round. */
static void overlap(void **state)
{
    static const int64_t steps[] = {0, 1, 20, 64, 100};

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct recipe r = make(IDS_OVERLAP, 30, 100, 211);

        r.p[IDS_STEP] = steps[i];
        for (int64_t row = 0; row + 1 < 30; row++) {
            assert_int_equal(common(&r, row, row), 100);
            assert_int_equal(common(&r, row, row + 1), 100 - steps[i]);
        }
    }
}

static void other_patterns(void **state)
{
    struct recipe r = make(IDS_DUPLICATES, 4, 64, 1000);
    int64_t different = 0;

    (void)state;
    for (int64_t i = 0; i < 64; i++) {
        int64_t k = 0;

        assert_true(id_at(&r, 2, i) >= 0 && id_at(&r, 2, i) < 1000);
        while (id_at(&r, 2, k) != id_at(&r, 2, i))
            k++;
        different += k == i;
    }
    assert_true(different > 16 && different <= 32);
    r = make(IDS_SINGLE, 4, 64, 1000);
    for (int64_t i = 0; i < 256; i++)
        assert_int_equal(id_at(&r, i / 64, i % 64), 500);
    r = make(IDS_PADDED, 4, 64, 1000);
    for (int64_t i = 0; i < 64; i++)
        assert_int_equal(id_at(&r, 1, i) < 0, i >= 48);
}

/* Invalid ids are outside of [0, N) for every N, and of all kinds. */
static void invalid_ids(void **state)
{
    static const int64_t keys[] = {0, 1, 200000, 1919811, INT32_MAX};
    bool least = false, most = false, next = false;

    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct recipe r = make(IDS_INVALID, 10, 64, keys[i]);

        for (int64_t k = 0; k < 640; k++) {
            const int32_t id = id_at(&r, k / 64, k % 64);

            assert_true(id < 0 || id >= keys[i]);
            least |= id == INT_MIN;
            most |= id == INT_MAX;
            next |= id == keys[i];
        }
    }
    assert_true(least && most && next);
}

/* The closed form against the slots themselves. */
static void active_slots(void **state)
{
    static const int64_t sizes[][2] = {{0, 8}, {1, 8}, {65, 200}, {65, 40}, {130, 0}, {130, 1}};

    (void)state;
    for (int64_t pattern = IDS_UNIQUE; pattern <= IDS_INVALID; pattern++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            for (int64_t lengths = LENGTHS_NONE; lengths <= LENGTHS_EMPTY; lengths++) {
                struct recipe r = make(pattern, 40, sizes[i][0], sizes[i][1]);

                r.p[IDS_LENGTHS] = lengths;
                r.p[IDS_STEP] = 3;
                for (int64_t row = 0; row < 40; row++) {
                    int64_t n = 0;

                    for (int64_t k = 0; k < recipe_length_clamped(&r, row); k++) {
                        const int32_t id = id_at(&r, row, k);

                        n += id >= 0 && id < sizes[i][1];
                    }
                    assert_int_equal(recipe_ids_active(&r, row), n);
                }
            }
}

static void lengths(void **state)
{
    static const int32_t ragged[] = {-3, 0, 1, 63, 64, 65, 127, 128, 129, 199, 200, 205};
    struct recipe r = make(IDS_UNIQUE, 64, 200, 1000);

    (void)state;
    r.kind = RECIPE_LENGTHS;
    r.rank = 1;
    r.p[IDS_LENGTHS] = LENGTHS_RAGGED;
    for (int64_t row = 0; row < 64; row++) {
        const int32_t length = (int32_t)recipe_element(&r, row);

        if (row % 16 < 12)
            assert_int_equal(length, ragged[row % 16]);
        else
            assert_true(length >= 0 && length <= 200);
        assert_true(recipe_length_clamped(&r, row) >= 0 && recipe_length_clamped(&r, row) <= 200);
    }
    r.p[IDS_LENGTHS] = LENGTHS_SHORT;
    for (int64_t row = 0; row < 64; row++)
        assert_true(recipe_length(&r, row) >= 1 && recipe_length(&r, row) <= 50);
}

/* Slots behind the length hold the poisoned row, those before never. */
static void behind_the_length(void **state)
{
    struct recipe r = make(IDS_UNIQUE, 40, 70, 100);

    (void)state;
    r.p[IDS_LENGTHS] = LENGTHS_RAGGED;
    r.p[IDS_DOMAIN] = 99;
    r.p[IDS_BEHIND] = 100;
    for (int64_t row = 0; row < 40; row++)
        for (int64_t k = 0; k < 70; k++)
            assert_int_equal(id_at(&r, row, k) == 99, k >= recipe_length_clamped(&r, row));
}

/* Ids of the slots before one are even, from it on odd: none has one of the other's. */
static void odd_from(void **state)
{
    (void)state;
    for (int64_t pattern = IDS_UNIQUE; pattern <= IDS_INVALID; pattern++) {
        struct recipe r = make(pattern, 40, 70, 201), plain;

        r.p[IDS_DOMAIN] = 100;
        r.p[IDS_STEP] = 3;
        plain = r;
        r.p[IDS_ODD_FROM] = 33;
        for (int64_t row = 0; row < 40; row++) {
            int64_t active = 0;

            for (int64_t k = 0; k < 70; k++) {
                const int32_t id = id_at(&r, row, k), half = id_at(&plain, row, k);

                if (half < 0 || half >= 100)
                    assert_int_equal(id, half);
                else
                    assert_int_equal(id, k < 33 ? 2 * half : 2 * half + 1);
                active += id >= 0 && id < 201;
            }
            assert_int_equal(recipe_ids_active(&r, row), active);
        }
    }
}

static double real_at(const struct recipe *r, int64_t i)
{
    return numfmt_decode(r->dtype, recipe_element(r, i));
}

static void values(void **state)
{
    struct recipe r = {.kind = RECIPE_LINE, .dtype = SAB_F32, .rank = 1, .shape = {5}};
    double sum = 0, square = 0;

    (void)state;
    r.f[0] = -2;
    r.f[1] = 2;
    for (int64_t i = 0; i < 5; i++)
        assert_true(real_at(&r, i) == (double)(i - 2));
    r.shape[0] = 1;
    assert_true(real_at(&r, 0) == -2);
    r = (struct recipe){.kind = RECIPE_CYCLE, .dtype = SAB_I32, .rank = 1, .shape = {9}};
    r.p[0] = 3;
    r.p[1] = 7;
    r.p[2] = -1;
    r.p[3] = INT32_MAX;
    for (int64_t i = 0; i < 9; i++)
        assert_int_equal((int32_t)recipe_element(&r, i), r.p[1 + i % 3]);
    r = (struct recipe){.kind = RECIPE_BLEND, .dtype = SAB_F32, .rank = 1, .shape = {100000}};
    r.f[0] = 0.1f;
    r.f[1] = 0.1f;
    for (int64_t i = 0; i < 100000; i++) {
        sum += real_at(&r, i);
        square += real_at(&r, i) * real_at(&r, i);
    }
    assert_true(fabs(sum / 100000) < 4 * 0.104 / sqrt(100000));
    assert_true(fabs(square / 100000 - (0.01 + 0.01 / 12)) < 1e-4);
    r = (struct recipe){.kind = RECIPE_POISONED, .dtype = SAB_BF16, .rank = 2, .shape = {4, 8}};
    r.f[0] = 1;
    r.p[0] = 3;
    for (int64_t i = 0; i < 32; i++)
        assert_int_equal(isnan(real_at(&r, i)) != 0, i >= 24);
    r = (struct recipe){.kind = RECIPE_ODD_ROWS, .dtype = SAB_F32, .rank = 2, .shape = {5, 8}};
    r.f[1] = 0.25f;
    r.f[2] = -3;
    for (int64_t i = 0; i < 40; i++)
        assert_true(real_at(&r, i) == (i / 8 % 2 ? -3 : 0.25));
    r.f[0] = 2;
    for (int64_t i = 0; i < 40; i++) {
        struct recipe normal = r;

        normal.kind = RECIPE_NORMAL;
        normal.f[1] = i / 8 % 2 ? -3 : 0.25f;
        assert_true(real_at(&r, i) == real_at(&normal, i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders),
        cmocka_unit_test(orders_are_random),
        cmocka_unit_test(unique_rows),
        cmocka_unit_test(overlap),
        cmocka_unit_test(other_patterns),
        cmocka_unit_test(invalid_ids),
        cmocka_unit_test(active_slots),
        cmocka_unit_test(lengths),
        cmocka_unit_test(behind_the_length),
        cmocka_unit_test(odd_from),
        cmocka_unit_test(values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
