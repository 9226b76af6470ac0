/*
 * bsa_fwd: the table from keys to readings against section 6 of contracts/sage.md, the limits of
 * the GPU kernels, and the arithmetic that deals query tiles to blocks and key blocks to a stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rows_call.h"
#include "wgmma_deal.h"

static char text[256];
static struct sab_message msg = {text, sizeof(text)};

static struct bsa_call small_call(void)
{
    struct bsa_call call = {.batch = 2,
                            .heads = 8,
                            .kv_heads = 2,
                            .seqlen_q = 100,
                            .seqlen_k = 257,
                            .cap = 7,
                            .group = 4,
                            .query_tiles = 2,
                            .key_blocks = 5,
                            .block_sparse_num = 3};

    call.key.full_tiles = 1;
    return call;
}

/* The five legal (N,U,C) and the five legal (M,F). */
static int is_legal(const struct bsa_key *k)
{
    const int counts = k->block_nums ? !k->nonempty && !k->contiguous : 1;
    const int sizes = k->sizes_mode == 0 ? 1 : k->sizes_mode <= 3 && !k->full_tiles;

    return counts && sizes;
}

static void test_every_key(void **state)
{
    int legal = 0;

    (void)state;
    for (int bits = 0; bits < 128; bits++) {
        struct bsa_call call = small_call();
        struct bsa_rows rows;

        call.key.block_nums = bits & 1;
        call.key.full_tiles = bits >> 1 & 1;
        call.key.nonempty = bits >> 2 & 1;
        call.key.contiguous = bits >> 3 & 1;
        call.key.sizes_mode = (uint8_t)(bits >> 4);
        const int status = bsa_rows_init(&rows, &call, &msg);
        legal += status == SAB_OK;
        assert_int_equal(status, is_legal(&call.key) ? SAB_OK : SAB_FAILED);
        if (status != SAB_OK)
            continue;
        assert_int_equal(rows.reading.counted, call.key.block_nums);
        assert_int_equal(rows.reading.sizes_mode, call.key.sizes_mode);
        assert_int_equal(rows.reading.contiguous, call.key.contiguous);
    }
    assert_int_equal(legal, 25);
}

static void test_missing_key_is_named(void **state)
{
    struct bsa_call call = small_call();
    struct bsa_rows rows;

    (void)state;
    call.key.sizes_mode = 2; /* with full tiles */
    assert_int_equal(bsa_rows_init(&rows, &call, &msg), SAB_FAILED);
    assert_string_equal(text, "no kernel for key 02100");
}

static void test_limits(void **state)
{
    struct bsa_call call = small_call();

    (void)state;
    assert_int_equal(bsa_rows_check_limits(&call, &msg), SAB_OK);
    call.seqlen_k = INT32_MAX - 64;
    assert_int_equal(bsa_rows_check_limits(&call, &msg), SAB_OK);
    call.seqlen_k++;
    assert_int_equal(bsa_rows_check_limits(&call, &msg), SAB_UNSUPPORTED);
    assert_string_equal(text, "keys of a sequence: at most 2147483583 is served, given 2147483584");
    call = small_call();
    call.batch = 1 << 26; /* 2^26 x 8 x 2 query tiles */
    assert_int_equal(bsa_rows_check_limits(&call, &msg), SAB_UNSUPPORTED);
    assert_non_null(strstr(text, "67108864 x 8 x 2"));
    call.batch = 1 << 25;
    assert_int_equal(bsa_rows_check_limits(&call, &msg), SAB_OK);
}

enum { MOST = 64 };

/* The class at each place of the stream. Every place is taken once. */
static uint32_t lay_out(const uint32_t (*class_nr)[BSA_DEAL_CLASSES], uint32_t *stream)
{
    struct bsa_deal deal;
    uint32_t nr = 0;

    memset(stream, 0, MOST * sizeof(*stream));
    bsa_deal_init(&deal, *class_nr);
    for (uint32_t c = 1; c < BSA_DEAL_CLASSES; c++)
        nr += (*class_nr)[c];
    assert_true(nr <= MOST);
    for (uint32_t c = 1; c < BSA_DEAL_CLASSES; c++) {
        for (uint32_t k = 0; k < (*class_nr)[c]; k++) {
            const uint32_t at = bsa_deal_at(&deal, c, k);

            assert_true(at < nr);
            assert_int_equal(stream[at], 0);
            stream[at] = c;
        }
    }
    return nr;
}

/* Worked by hand: two blocks of all; 1 with 6, twice; 2 with 5, once; what is left of 1 and 5 and
 * all of 4. */
static void test_stream_in_turn(void **state)
{
    const uint32_t class_nr[BSA_DEAL_CLASSES] = {0, 3, 1, 0, 2, 3, 2, 2};
    const uint32_t expected[] = {7, 7, 1, 6, 1, 6, 2, 5, 1, 5, 4, 5, 4};
    uint32_t stream[MOST];

    (void)state;
    assert_int_equal(lay_out(&class_nr, stream), 13);
    assert_memory_equal(stream, expected, sizeof(expected));
}

/* Class sizes that give each of three tiles `n` blocks: none of them is ever ahead by more than
 * one. */
static void test_equal_tiles_advance_together(void **state)
{
    const uint32_t n = 9;

    (void)state;
    for (uint32_t bits = 0; bits < 256; bits++) {
        const uint32_t all = bits & 3, ab = bits >> 2 & 3, ac = bits >> 4 & 3, bc = bits >> 6 & 3;
        const uint32_t class_nr[BSA_DEAL_CLASSES] = {
            0, n - all - ab - ac, n - all - ab - bc, ab, n - all - ac - bc, ac, bc, all};
        uint32_t stream[MOST], done[BSA_WGMMA_GROUPS] = {0};
        const uint32_t nr = lay_out(&class_nr, stream);

        for (uint32_t i = 0; i < nr; i++) {
            uint32_t least = UINT32_MAX, most = 0;
            for (int w = 0; w < BSA_WGMMA_GROUPS; w++) {
                done[w] += stream[i] >> w & 1;
                least = done[w] < least ? done[w] : least;
                most = done[w] > most ? done[w] : most;
            }
            assert_true(most - least <= 1);
        }
        assert_int_equal(done[0], n);
    }
}

static void test_uneven_tiles_leave_no_gap(void **state)
{
    uint32_t stream[MOST];

    (void)state;
    for (uint32_t seed = 0; seed < 2000; seed++) {
        uint32_t class_nr[BSA_DEAL_CLASSES] = {0}, x = seed * 2654435761u + 12345u;

        for (int c = 1; c < BSA_DEAL_CLASSES; c++) {
            x = x * 1664525u + 1013904223u;
            class_nr[c] = x >> 28 & 7;
        }
        (void)lay_out((const uint32_t(*)[BSA_DEAL_CLASSES]) & class_nr, stream);
    }
}

enum { CHUNK = 16 };

static uint32_t draw(uint32_t *x, uint32_t most)
{
    *x = *x * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*x >> 8) * (most + 1) >> 24);
}

/* Classes that give tile w `nr[w]` blocks. */
static void draw_classes(uint32_t *x, const uint32_t *nr, uint32_t *class_nr)
{
    static const uint32_t shared[] = {7, 3, 5, 6};
    uint32_t left[BSA_WGMMA_GROUPS];

    memcpy(left, nr, sizeof(left));
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        uint32_t most = CHUNK;

        for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
            most = shared[i] >> w & 1 && left[w] < most ? left[w] : most;
        class_nr[shared[i]] = draw(x, 3) ? draw(x, most) : 0;
        for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
            left[w] -= shared[i] >> w & 1 ? class_nr[shared[i]] : 0;
    }
    for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
        class_nr[1 << w] = left[w];
}

/* A chunk of an item: how far each tile goes from one entry that it wants to the next. */
static uint32_t go_on(const uint32_t *class_nr, uint32_t begin, int64_t *latest)
{
    uint32_t stream[MOST];
    const uint32_t nr = lay_out((const uint32_t(*)[BSA_DEAL_CLASSES])class_nr, stream);

    for (uint32_t i = 0; i < nr; i++) {
        for (int w = 0; w < BSA_WGMMA_GROUPS; w++) {
            if (!(stream[i] >> w & 1))
                continue;
            assert_true((int64_t)begin + i - latest[w] <= BSA_DEAL_FARTHEST);
            latest[w] = (int64_t)begin + i;
        }
    }
    return begin + nr;
}

/* What the parities of wgmma's barriers rely on, over the ends of chunks too. */
static void test_no_tile_is_far_ahead(void **state)
{
    uint32_t x = 1;

    (void)state;
    for (int item = 0; item < 20000; item++) {
        uint32_t left[BSA_WGMMA_GROUPS], nr[BSA_WGMMA_GROUPS], begin = 0;
        int64_t latest[BSA_WGMMA_GROUPS] = {-1, -1, -1};

        for (int w = 0; w < BSA_WGMMA_GROUPS; w++)
            left[w] = draw(&x, 3 * CHUNK);
        while (left[0] || left[1] || left[2]) {
            uint32_t class_nr[BSA_DEAL_CLASSES] = {0};

            for (int w = 0; w < BSA_WGMMA_GROUPS; w++) {
                nr[w] = left[w] < CHUNK ? left[w] : CHUNK;
                left[w] -= nr[w];
            }
            draw_classes(&x, nr, class_nr);
            begin = go_on(class_nr, begin, latest);
        }
    }
}

/* Every tile is in one item, and no block serves more tiles than another by over one item's worth
 * of rounding. */
static void test_items_are_a_partition(void **state)
{
    static const int32_t sizes[][2] = {{1, 1},     {2, 2},      {131, 131},  {132, 132}, {400, 132},
                                       {528, 132}, {4096, 132}, {1713, 132}, {397, 132}, {7, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const int32_t tiles = sizes[i][0], blocks = sizes[i][1];
        const int32_t rounds = tiles / (blocks * BSA_WGMMA_GROUPS);
        const int32_t rest = tiles % (blocks * BSA_WGMMA_GROUPS);
        uint8_t served[4096] = {0};

        for (int32_t block = 0; block < blocks; block++) {
            int32_t nr = 0;
            for (int32_t round = 0;; round++) {
                const struct bsa_item item = bsa_item_of(rounds, rest, blocks, block, round);
                if (item.nr == 0)
                    break;
                assert_in_range(item.nr, 1, BSA_WGMMA_GROUPS);
                for (int32_t t = item.first; t < item.first + item.nr; t++)
                    assert_int_equal(served[t]++, 0);
                nr += item.nr;
            }
            assert_in_range(nr, tiles / blocks, tiles / blocks + 1);
        }
        for (int32_t t = 0; t < tiles; t++)
            assert_int_equal(served[t], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_missing_key_is_named),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_stream_in_turn),
        cmocka_unit_test(test_equal_tiles_advance_together),
        cmocka_unit_test(test_uneven_tiles_leave_no_gap),
        cmocka_unit_test(test_no_tile_is_far_ahead),
        cmocka_unit_test(test_items_are_a_partition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
