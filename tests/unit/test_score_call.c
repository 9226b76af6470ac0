/*
 * What the fast kernels of the score operators take from a problem before anything runs: sizes,
 * keys of all batches, workspaces, how the work is cut, devices and limits that are refused.
 */
#include "score_dense_call.h"
#include "score_dense_items_call.h"
#include "score_sparse_call.h"
#include "test_validate_world.h"

static void give_on_device(struct world *w, const char *name, int32_t dtype, const char *shape)
{
    give(w, name, dtype, shape)->memory = SAB_MEMORY_DEVICE;
}

/* B 2, Sq 3, Sk 7, H 5, D 128, K 11. */
static void sparse_world(struct world *w, int attention)
{
    world_init(w, attention ? "score_sparse_attention" : "score_sparse_indexer");
    w->problem.arch = 90;
    w->problem.multiprocessors = 132;
    give_on_device(w, "q", SAB_BF16, "2 3 5 128");
    give_on_device(w, "k", SAB_BF16, "2 7 128");
    give_on_device(w, attention ? "lse" : "w", attention ? SAB_F32 : SAB_BF16, "2 3 5");
    give_on_device(w, "ids", SAB_I32, "2 3 11");
    give_on_device(w, "length", SAB_I32, "2 3");
    give_on_device(w, attention ? "target" : "predict", SAB_F32, "2 3 11");
    defaults(w);
}

static void sparse_calls(void **state)
{
    (void)state;
    for (int attention = 0; attention < 2; attention++) {
        struct indexer_sparse d;
        struct world w;

        sparse_world(&w, attention);
        struct sab_message msg = {w.text, sizeof(w.text)};
        param(&w, "id_space")->i = 1;
        assert_int_equal(score_sparse_call_init(&d, &w.problem, attention, SAB_DEVICE_CUDA,
                                                SAB_VALIDATE_POINTERS, &msg),
                         SAB_OK);
        assert_int_equal(d.rows, 6);
        assert_int_equal(d.heads, 5);
        assert_int_equal(d.slots.slots, 11);
        assert_int_equal(d.slots.global, 1);
        assert_int_equal(d.attention, attention);
        assert_ptr_equal(attention ? (const void *)d.lse : d.w,
                         tensor(&w, attention ? "lse" : "w")->data);
        assert_int_equal(score_sparse_call_check_limits(&d, &msg), SAB_OK);
    }
}

/* By one beyond what is served, and what is. */
static void sparse_limits(void **state)
{
    const int64_t most = 2147483647LL - 65536;
    static const char *const named[] = {"q: ", "ids: ", "k: "};
    char text[256];
    struct sab_message msg = {text, sizeof(text)};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct indexer_sparse d = {.rows = most, .seqlen_k = most, .slots = {.slots = most}};

        assert_int_equal(score_sparse_call_check_limits(&d, &msg), SAB_OK);
        *(i == 0 ? &d.rows : i == 1 ? &d.slots.slots : &d.seqlen_k) += 1;
        assert_int_equal(score_sparse_call_check_limits(&d, &msg), SAB_UNSUPPORTED);
        assert_int_equal(strncmp(text, named[i], strlen(named[i])), 0);
        assert_non_null(strstr(text, "2147418112")); /* what was given */
    }
}

static void dense_world(struct world *w, int packed, int mxfp8)
{
    world_init(w, "score_dense_attention");
    w->problem.arch = 90;
    w->problem.multiprocessors = 132;
    const int32_t type = mxfp8 ? SAB_E4M3 : SAB_BF16;
    give_on_device(w, "q", type, packed ? "6 8 576" : "2 3 8 576");
    give_on_device(w, "k", type, packed ? "13 2 576" : "2 7 2 576");
    give_on_device(w, "lse", SAB_F32, packed ? "6 8" : "2 3 8");
    give_on_device(w, "out", SAB_F32, packed ? "6 7" : "2 3 7");
    give_on_device(w, "denom", SAB_F32, packed ? "6" : "2 3");
    if (packed) {
        give_on_device(w, "cu_seqlens_q", SAB_I32, "3");
        give_on_device(w, "cu_seqlens_k", SAB_I32, "3");
        param(w, "layout")->i = 1;
        param(w, "max_seqlen_q")->i = 4;
        param(w, "max_seqlen_k")->i = 7;
    }
    if (mxfp8) {
        give_on_device(w, "q_scale", SAB_E8M0, packed ? "6 8 18" : "2 3 8 18");
        give_on_device(w, "k_scale", SAB_E8M0, packed ? "13 2 18" : "2 7 2 18");
        param(w, "precision")->i = 1;
    }
    defaults(w);
}

/* Bytes of bf16 copies: rows * heads * width * 2, keys * kv heads * width * 2, each in whole 256.
 */
static void dense_workspaces(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const int packed = i / 2, mxfp8 = i % 2;
        const int64_t keys = packed ? 13 : 14;
        struct indexer_dense d;
        struct world w;

        dense_world(&w, packed, mxfp8);
        struct sab_message msg = {w.text, sizeof(w.text)};
        const int status =
            score_dense_call_init(&d, &w.problem, 1, SAB_DEVICE_CUDA, SAB_VALIDATE_POINTERS, &msg);
        if (status != SAB_OK)
            fail_msg("%s", w.text);
        assert_int_equal(score_dense_call_keys(&w.problem, 1), keys);
        assert_string_equal(score_dense_call_op(1), "score_dense_attention");
        assert_string_equal(score_dense_call_op(0), "score_dense_indexer");
        const uint64_t q = mxfp8 ? (6 * 8 * 576 * 2 + 255) / 256 * 256 : 0;
        const uint64_t k = mxfp8 ? ((uint64_t)keys * 2 * 576 * 2 + 255) / 256 * 256 : 0;
        assert_int_equal(score_dense_items_bytes_of_q(&d), q);
        assert_int_equal(score_dense_items_bytes(&d, keys), q + k);
    }
}

static void dense_limits(void **state)
{
    const int64_t most = 2147483647LL - 65536;
    char text[256];
    struct sab_message msg = {text, sizeof(text)};
    struct indexer_dense d = {.rows = most, .columns = most};

    (void)state;
    assert_int_equal(score_dense_items_check(&d, most, &msg), SAB_OK);
    assert_int_equal(score_dense_items_check(&d, most + 1, &msg), SAB_UNSUPPORTED);
    assert_int_equal(strncmp(text, "k: ", 3), 0);
    d.rows++;
    assert_int_equal(score_dense_items_check(&d, most, &msg), SAB_UNSUPPORTED);
    assert_int_equal(strncmp(text, "q: ", 3), 0);
    d.rows--;
    d.columns++;
    assert_int_equal(score_dense_items_check(&d, most, &msg), SAB_UNSUPPORTED);
    assert_int_equal(strncmp(text, "k: ", 3), 0);
}

static void heads_of_a_group(void **state)
{
    static const int cases[][4] = {
        /* heads, kv heads, most, form */
        {1, 1, 128, 16},  {16, 1, 128, 16}, {17, 1, 128, 32},  {64, 1, 128, 64}, {65, 1, 128, 128},
        {128, 1, 64, 64}, {128, 8, 64, 16}, {128, 4, 128, 32}, {96, 1, 64, 64},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct indexer_dense d = {.heads = cases[i][0], .kv_heads = cases[i][1]};

        assert_int_equal(score_dense_items_heads(&d, cases[i][2]), cases[i][3]);
    }
}

/* Every row and column is in an item, and no worker is without one. */
static void items_cover_the_work(void **state)
{
    static const int64_t cases[][5] = {
        /* rows, columns, heads, kv heads, workers */
        {1, 1, 1, 1, 132},        {1, 100000, 64, 1, 132},     {4096, 4096, 64, 1, 132},
        {133, 9000, 128, 2, 132}, {70000, 64, 16, 16, 132},    {2000000000, 3, 128, 1, 132},
        {5, 130, 100, 1, 1},      {65, 2147418111, 7, 7, 264},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct indexer_dense d = {.rows = cases[i][0],
                                        .columns = cases[i][1],
                                        .heads = cases[i][2],
                                        .kv_heads = cases[i][3],
                                        .scale = 0.5f};
        struct score_dense_items items;
        const int heads = score_dense_items_heads(&d, 64);
        const unsigned workers =
            score_dense_items_init(&items, &d, heads, 64, (unsigned)cases[i][4]);
        const int64_t units = (d.columns + 127) / 128;

        assert_int_equal(items.tokens * (unsigned)heads, 64);
        assert_true((int64_t)items.blocks * items.tokens >= d.rows);
        assert_true(((int64_t)items.blocks - 1) * items.tokens < d.rows);
        assert_true(items.splits >= 1 && items.splits <= units);
        assert_true((int64_t)items.blocks * items.splits < 2147483647LL);
        assert_true(workers >= 1 && workers <= cases[i][4]);
        assert_true(workers <= (int64_t)items.blocks * items.splits);
        /* groups of a kv head hold its heads, and none is empty */
        assert_true(items.parts * items.group_heads >= items.kv_heads);
        assert_true((items.parts - 1) * items.group_heads < items.kv_heads);
        assert_int_equal(items.kv_heads * d.kv_heads, d.heads);
        assert_true(fabsf(items.factor - 0.72134752f) < 1e-7f); /* 0.5 / ln 2 */
    }
}

/* A long row alone is shared by all workers. */
static void one_row_is_split(void **state)
{
    const struct indexer_dense d = {.rows = 1, .columns = 128 * 64, .heads = 64, .kv_heads = 1};
    struct score_dense_items items;

    (void)state;
    assert_int_equal(score_dense_items_init(&items, &d, 64, 64, 132), 64);
    assert_int_equal(items.splits, 64);
}

static void devices(void **state)
{
    static const struct {
        int32_t arch;
        const char *targets;
        int status;
    } of[] = {{90, "90a", SAB_OK},
              {100, "90a", SAB_UNSUPPORTED},
              {120, "90a", SAB_UNSUPPORTED},
              {120, "90a;100a;120a", SAB_OK},
              {100, "90a;100a;120a", SAB_OK},
              {103, "90a;100a;120a", SAB_UNSUPPORTED},
              {80, "90a;100a;120a", SAB_UNSUPPORTED}};
    struct world w;

    (void)state;
    sparse_world(&w, 0);
    struct sab_message msg = {w.text, sizeof(w.text)};
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        w.problem.arch = of[i].arch;
        assert_int_equal(score_sparse_call_check_arch(&w.problem, of[i].targets, &msg),
                         of[i].status);
        assert_int_equal(score_dense_call_check_arch(&w.problem, of[i].targets, &msg),
                         of[i].status);
        if (of[i].status != SAB_OK)
            assert_non_null(strstr(w.text, of[i].targets));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_calls),     cmocka_unit_test(sparse_limits),
        cmocka_unit_test(dense_workspaces), cmocka_unit_test(dense_limits),
        cmocka_unit_test(heads_of_a_group), cmocka_unit_test(items_cover_the_work),
        cmocka_unit_test(one_row_is_split), cmocka_unit_test(devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
