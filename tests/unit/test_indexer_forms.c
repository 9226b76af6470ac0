/*
 * Host parts of indexer_topk/vector, indexer_fwd/wgmma and indexer_fwd/mma: what they refuse beyond
 * the contract, in both modes, and the forms that a call of the selection is tried in.
 */
#include "mma_items.h"
#include "test_validate_world.h"
#include "vector_args.h"
#include "vector_call.h"

/* ---- indexer_topk/vector ---- */

static void topk_world(struct world *w, long long rows, long long columns, long long slots)
{
    char in[64], lens[32], out[64];

    world_init(w, "indexer_topk");
    w->problem.arch = 90;
    w->problem.multiprocessors = 132;
    snprintf(in, sizeof(in), "%lld %lld", rows, columns);
    snprintf(lens, sizeof(lens), "%lld", rows);
    snprintf(out, sizeof(out), "%lld %lld", rows, slots);
    give(w, "values_in", SAB_F32, in)->memory = SAB_MEMORY_DEVICE;
    give(w, "seq_lens", SAB_I32, lens)->memory = SAB_MEMORY_DEVICE;
    give(w, "indices", SAB_I32, out)->memory = SAB_MEMORY_DEVICE;
    defaults(w);
}

static int topk_call(struct world *w, struct indexer_topk_call *call, unsigned flags)
{
    struct sab_message msg = {w->text, sizeof(w->text)};

    return indexer_topk_vector_call_init(call, &w->problem, flags, &msg);
}

static void topk_expect(struct world *w, int status, const char *named)
{
    static const unsigned modes[] = {SAB_VALIDATE_METADATA, SAB_VALIDATE_POINTERS};
    struct indexer_topk_call call;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(topk_call(w, &call, modes[i]), status);
        if (!strstr(w->text, named))
            fail_msg("'%s' does not name '%s'", w->text, named);
    }
}

static void topk_refusals(void **state)
{
    struct indexer_topk_call call;
    struct world w;

    (void)state;
    topk_world(&w, 3, 1000, 7);
    assert_int_equal(topk_call(&w, &call, SAB_VALIDATE_POINTERS), SAB_OK);
    assert_int_equal(call.rows, 3);
    assert_int_equal(call.slots, 7);
    w.problem.arch = 80;
    topk_expect(&w, SAB_UNSUPPORTED, "compute capability 8.0");
    topk_world(&w, 3, 3000, 2049);
    topk_expect(&w, SAB_UNSUPPORTED, "'indices'");
    /* ids of 32 bits name the columns of a row, not the rows */
    topk_world(&w, 2147483647, 1, 1);
    topk_expect(&w, SAB_OK, "");
    topk_world(&w, 2147483648, 1, 1);
    topk_expect(&w, SAB_UNSUPPORTED, "at most 2147483647 rows");
    topk_world(&w, 3, 1000, 7);
    tensor(&w, "indices")->memory = SAB_MEMORY_HOST;
    topk_expect(&w, SAB_INVALID, "'indices'");
}

static int forms_of(int64_t rows, int64_t columns, int64_t multiprocessors, int64_t shared,
                    struct topk_form forms[TOPK_FORMS])
{
    const struct indexer_topk_call call = {.rows = rows, .columns = columns, .slots = 2048};

    return topk_forms(&call, multiprocessors, shared, forms);
}

static void expect_form(const struct topk_form *f, uint32_t cluster, uint32_t threads,
                        uint32_t buffer_bytes)
{
    assert_int_equal(f->cluster, cluster);
    assert_int_equal(f->threads, threads);
    assert_int_equal(f->buffer_bytes, buffer_bytes);
    assert_int_equal(f->shared_bytes, 12544 + buffer_bytes);
}

/* Bytes of an H200's block; of sm_120's. */
#define WHOLE 232448
#define SMALL 101376

/* A block that has a row alone has room for its columns and 128 keys more, of 4 bytes, up to
 * 43 KiB; blocks of a cluster have 43 KiB where they are narrow, 64 KiB where they are wide. */
static void forms(void **state)
{
    struct topk_form f[TOPK_FORMS];

    (void)state;
    assert_int_equal(forms_of(1, 131072, 132, WHOLE, f), 9);
    for (int i = 0; i < 8; i++)
        expect_form(&f[i], 16u >> i / 2, i % 2 ? 256 : 512, i % 2 ? 44032 : 65536);
    expect_form(&f[8], 1, 256, 44032);
    /* 2048 columns a block at least */
    assert_int_equal(forms_of(1, 8192, 132, WHOLE, f), 5);
    expect_form(&f[0], 4, 512, 65536);
    assert_int_equal(forms_of(1, 8191, 132, WHOLE, f), 3);
    expect_form(&f[0], 2, 512, 65536);
    expect_form(&f[2], 1, 256, (8191 + 128) * 4 + 4); /* in whole 16 bytes */
    assert_int_equal(forms_of(1, 4095, 132, WHOLE, f), 1);
    expect_form(&f[0], 1, 256, 16896);
    assert_int_equal(forms_of(1, 1, 132, WHOLE, f), 1);
    expect_form(&f[0], 1, 256, 528); /* 129 keys */
    /* many rows have a block each */
    assert_int_equal(forms_of(528, 131072, 132, WHOLE, f), 9);
    assert_int_equal(forms_of(529, 131072, 132, WHOLE, f), 1);
    expect_form(&f[0], 1, 256, 44032);
}

/* No form asks for more than a block may have, or for less than its passes need: a sample of 4096
 * keys, and behind the best 2048 pairs 512 more, which a warp may bring at once. */
static void forms_fit(void **state)
{
    static const int64_t shared[] = {SMALL, WHOLE}, rows[] = {1, 5, 64, 528, 100000};
    struct topk_form f[TOPK_FORMS];

    (void)state;
    for (int64_t columns = 1; columns < 1 << 23; columns += 1 + columns / 3)
        for (int i = 0; i < 10; i++) {
            const int nr = forms_of(rows[i % 5], columns, 132, shared[i / 5], f);

            assert_in_range(nr, 1, TOPK_FORMS);
            assert_int_equal(f[nr - 1].cluster, 1);
            for (int n = 0; n < nr; n++) {
                const int64_t stays = (columns / f[n].cluster + 128) * 4;

                assert_true(f[n].shared_bytes <= shared[i / 5]);
                assert_int_equal(f[n].buffer_bytes % 16, 0);
                assert_true(f[n].buffer_bytes >= stays || f[n].buffer_bytes >= (2048 + 512) * 8);
            }
        }
}

/* ---- indexer_fwd/wgmma and indexer_fwd/mma ---- */

static void fwd_world(struct world *w, long long rows, long long keys, int heads, int precision)
{
    static const char *const names[] = {"q", "k", "w", "q_scale", "k_scale", "scores"};
    const int32_t type = precision ? SAB_E4M3 : SAB_BF16;
    const int32_t scale = precision == INDEXER_MXFP8 ? SAB_E8M0 : SAB_F32;
    const int32_t dtypes[] = {type, type, SAB_BF16, scale, scale, SAB_F32};
    const char *four = precision == INDEXER_MXFP8 ? " 4" : "";
    char shapes[6][80];

    world_init(w, "indexer_fwd");
    w->problem.arch = 90;
    w->problem.multiprocessors = 132;
    snprintf(shapes[0], sizeof(shapes[0]), "1 %lld %d 128", rows, heads);
    snprintf(shapes[1], sizeof(shapes[1]), "1 %lld 1 128", keys);
    snprintf(shapes[2], sizeof(shapes[2]), "1 %lld %d", rows, heads);
    snprintf(shapes[3], sizeof(shapes[3]), "1 %lld %d%s", rows, heads, four);
    snprintf(shapes[4], sizeof(shapes[4]), "1 %lld%s", keys, four);
    snprintf(shapes[5], sizeof(shapes[5]), "1 %lld %lld", rows, keys);
    for (int i = 0; i < 6; i++)
        if (precision != INDEXER_BF16 || i < 3 || i == 5)
            give(w, names[i], dtypes[i], shapes[i])->memory = SAB_MEMORY_DEVICE;
    param(w, "precision")->i = precision;
    defaults(w);
}

static void fwd_expect(struct world *w, int wgmma, int status, const char *named)
{
    struct sab_message msg = {w->text, sizeof(w->text)};
    struct indexer_fwd_call call;
    const int got = wgmma ? indexer_wgmma_call_init(&call, &w->problem, SAB_VALIDATE_METADATA, &msg)
                          : indexer_mma_call_init(&call, &w->problem, SAB_VALIDATE_METADATA, &msg);

    if (got != status || !strstr(w->text, named))
        fail_msg("%s: status %d, '%s', expected %d and '%s'", wgmma ? "wgmma" : "mma", got, w->text,
                 status, named);
}

static void fwd_precisions(void **state)
{
    struct world w;

    (void)state;
    for (int precision = INDEXER_BF16; precision <= INDEXER_MXFP8; precision++)
        for (int heads = 16; heads <= 64; heads *= 2) {
            fwd_world(&w, 5, 8, heads, precision);
            fwd_expect(&w, 0, SAB_OK, "");
            if (precision == INDEXER_MXFP8)
                fwd_expect(&w, 1, SAB_UNSUPPORTED, "given mxfp8");
            else
                fwd_expect(&w, 1, SAB_OK, "");
        }
    fwd_world(&w, 5, 8, 8, INDEXER_BF16);
    fwd_expect(&w, 0, SAB_UNSUPPORTED, "'q'");
    fwd_expect(&w, 1, SAB_UNSUPPORTED, "'q'");
}

static void fwd_devices(void **state)
{
    struct world w;

    (void)state;
    fwd_world(&w, 5, 8, 64, INDEXER_FP8);
    w.problem.arch = 100;
    fwd_expect(&w, 0, SAB_OK, "");
    fwd_expect(&w, 1, SAB_UNSUPPORTED, "compute capability 10.0");
    w.problem.arch = 120;
    fwd_expect(&w, 0, SAB_OK, "");
    fwd_expect(&w, 1, SAB_UNSUPPORTED, "compute capability 12.0");
    w.problem.arch = 103;
    fwd_expect(&w, 0, SAB_UNSUPPORTED, "compute capability 10.3");
}

/* Rows times heads, and keys with a tile behind the last one, are numbers of 31 bits:
 * 2^31 - 1 - 512. */
static void fwd_sizes(void **state)
{
    struct world w;

    (void)state;
    for (int wgmma = 0; wgmma < 2; wgmma++) {
        fwd_world(&w, 33554423, 4, 64, INDEXER_BF16); /* (2^31 - 513) / 64, rounded down */
        fwd_expect(&w, wgmma, SAB_OK, "");
        fwd_world(&w, 33554424, 4, 64, INDEXER_BF16);
        fwd_expect(&w, wgmma, SAB_UNSUPPORTED, "at most 33554423 rows");
        fwd_world(&w, 134217695, 4, 16, INDEXER_BF16);
        fwd_expect(&w, wgmma, SAB_OK, "");
        fwd_world(&w, 1, 2147483132, 16, INDEXER_BF16);
        fwd_expect(&w, wgmma, SAB_OK, "");
        fwd_world(&w, 1, 2147483136, 16, INDEXER_BF16);
        fwd_expect(&w, wgmma, SAB_UNSUPPORTED, "at most 2147483135 keys");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topk_refusals), cmocka_unit_test(forms),
        cmocka_unit_test(forms_fit),     cmocka_unit_test(fwd_precisions),
        cmocka_unit_test(fwd_devices),   cmocka_unit_test(fwd_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
