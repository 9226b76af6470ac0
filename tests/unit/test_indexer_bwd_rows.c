/*
 * indexer_bwd_rows_call: what the GPU kernels of the indexer's backward with a block a query row
 * serve, what they refuse before anything is launched (contracts/indexer.md, 6.5), and their
 * workspace.
 */
#include "indexer_bwd_rows_call.h"
#include "test_validate_world.h"

#define TARGETS "90a;100a;120a"

struct given {
    const char *tensor;
    int32_t dtype;
    const char *shape;
};

static void give_all(struct world *w, const struct given *list, size_t nr)
{
    for (size_t i = 0; i < nr; i++)
        give(w, list[i].tensor, list[i].dtype, list[i].shape)->memory = SAB_MEMORY_DEVICE;
    w->problem.arch = 90;
    w->problem.multiprocessors = 132;
}

/* Two batches of 3 rows, 16 heads, 5 keys, 7 slots. */
static void sparse_world(struct world *w)
{
    static const struct given list[] = {
        {"index_q", SAB_BF16, "2 3 16 128"},
        {"weights", SAB_BF16, "2 3 16"},
        {"index_k", SAB_BF16, "2 5 128"},
        {"target", SAB_F32, "2 3 7"},
        {"predict", SAB_F32, "2 3 7"},
        {"ids", SAB_I32, "2 3 7"},
        {"length", SAB_I32, "2 3"},
        {"grad_loss", SAB_F32, "1"},
        {"d_index_q", SAB_BF16, "2 3 16 128"},
        {"d_weights", SAB_BF16, "2 3 16"},
        {"d_index_k", SAB_BF16, "2 5 128"},
    };

    world_init(w, "indexer_bwd_sparse");
    give_all(w, list, sizeof(list) / sizeof(list[0]));
    defaults(w);
}

/* The same, dense, ratio 1. */
static void dense_world(struct world *w)
{
    static const struct given list[] = {
        {"index_q", SAB_BF16, "2 3 16 128"}, {"weights", SAB_BF16, "2 3 16"},
        {"index_k", SAB_BF16, "2 5 128"},    {"attn_raw", SAB_F32, "2 3 5"},
        {"attn_l1norm", SAB_F32, "2 3"},     {"index_raw", SAB_F32, "2 3 5"},
        {"index_lse", SAB_F32, "2 3"},       {"grad_loss", SAB_F32, "1"},
        {"q_causal_offset", SAB_I32, "2"},   {"d_index_q", SAB_BF16, "2 3 16 128"},
        {"d_weights", SAB_BF16, "2 3 16"},   {"d_index_k", SAB_BF16, "2 5 128"},
    };

    world_init(w, "indexer_bwd_dense");
    give_all(w, list, sizeof(list) / sizeof(list[0]));
    defaults(w);
}

static void right(struct world *w, int sparse)
{
    if (sparse)
        sparse_world(w);
    else
        dense_world(w);
}

static int init(struct indexer_bwd_call *call, struct world *w, int sparse, unsigned flags)
{
    struct sab_message msg = {w->text, sizeof(w->text)};

    return indexer_bwd_rows_init(call, &w->problem, sparse, TARGETS, flags, &msg);
}

static void serves_both_operators(void **state)
{
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        struct indexer_bwd_call call;
        struct world w;

        right(&w, sparse);
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_POINTERS), SAB_OK);
        assert_int_equal(call.sparse, sparse);
        assert_int_equal(call.rows, 6);
        assert_int_equal(call.keys, 10);
        assert_int_equal(call.heads, 16);
        assert_int_equal(call.columns, sparse ? 7 : 5);
        assert_ptr_equal(call.dk, tensor(&w, "d_index_k")->data);
    }
}

static void workspace_holds_sums_of_dk(void **state)
{
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        struct indexer_bwd_call call;
        struct world w;

        right(&w, sparse);
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_METADATA), SAB_OK);
        assert_int_equal(indexer_bwd_rows_workspace_bytes(&call), 10 * 128 * 4);
        tensor(&w, "d_index_k")->dtype = SAB_F32;
        sab_contiguous(tensor(&w, "d_index_k"));
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_METADATA), SAB_OK);
        assert_int_equal(indexer_bwd_rows_workspace_bytes(&call), 0);
    }
}

static const struct {
    int operators; /* bit 0 dense, bit 1 sparse */
    struct given wrong;
} refusals[] = {
    {3, {"d_index_q", SAB_F32, "2 3 16 128"}}, {3, {"d_index_q", SAB_FP16, "2 3 16 128"}},
    {3, {"d_weights", SAB_F32, "2 3 16"}},     {3, {"d_index_k", SAB_FP16, "2 5 128"}},
    {3, {"d_index_k", SAB_BF16, "2 6 128"}},   {3, {"index_q", SAB_E4M3, "2 3 16 128"}},
    {3, {"weights", SAB_BF16, "2 3 32"}},      {3, {"grad_loss", SAB_F32, "2"}},
    {3, {"grad_loss", SAB_BF16, "1"}},         {3, {"cu_seqlens_q", SAB_I32, "3"}},
    {2, {"target", SAB_BF16, "2 3 7"}},        {2, {"predict", SAB_F32, "2 3 8"}},
    {2, {"length", SAB_I32, "3 2"}},           {1, {"attn_raw", SAB_F32, "2 3 6"}},
    {1, {"index_lse", SAB_F32, "2 4"}},        {1, {"attn_l1norm", SAB_BF16, "2 3"}},
    {1, {"q_causal_offset", SAB_I32, "3"}},
};

static void refuses_wrong_tensors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        for (int sparse = 0; sparse < 2; sparse++) {
            const struct given *x = &refusals[i].wrong;
            struct indexer_bwd_call call;
            struct world w;

            if (!(refusals[i].operators >> sparse & 1))
                continue;
            right(&w, sparse);
            give(&w, x->tensor, x->dtype, x->shape)->memory = SAB_MEMORY_DEVICE;
            if (init(&call, &w, sparse, SAB_VALIDATE_METADATA) != SAB_INVALID)
                fail_msg("%s %s: expected a refusal, got '%s'", x->tensor, x->shape, w.text);
        }
    }
}

static void refuses_wrong_places_and_numbers(void **state)
{
    struct indexer_bwd_call call;
    struct world w;

    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        right(&w, sparse);
        param(&w, "sm_scale")->f = -1.0;
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_METADATA), SAB_INVALID);
        right(&w, sparse);
        tensor(&w, "grad_loss")->memory = SAB_MEMORY_HOST;
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_METADATA), SAB_INVALID);
        right(&w, sparse);
        tensor(&w, "d_index_k")->data = tensor(&w, "index_k")->data;
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_POINTERS), SAB_INVALID);
        right(&w, sparse);
        tensor(&w, "weights")->data = (uint8_t *)tensor(&w, "weights")->data + 4;
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_POINTERS), SAB_INVALID);
    }
    dense_world(&w);
    param(&w, "ratio")->i = -1;
    assert_int_equal(init(&call, &w, 0, SAB_VALIDATE_METADATA), SAB_INVALID);
}

static void says_what_is_not_served(void **state)
{
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        struct indexer_bwd_call call;
        struct world w;

        right(&w, sparse);
        param(&w, "deterministic")->i = 1;
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_METADATA), SAB_UNSUPPORTED);
        assert_non_null(strstr(w.text, "deterministic"));
        right(&w, sparse);
        w.problem.arch = 103;
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_METADATA), SAB_UNSUPPORTED);
        assert_non_null(strstr(w.text, "10.3"));
        right(&w, sparse);
        w.problem.arch = 120;
        assert_int_equal(init(&call, &w, sparse, SAB_VALIDATE_METADATA), SAB_OK);
    }
}

static void knows_its_limits(void **state)
{
    static const struct {
        int64_t rows, keys, columns;
        const char *named; /* NULL: served */
    } limits[] = {
        {INT32_MAX, INT32_MAX, INT32_MAX - 512, NULL},
        {INT32_MAX + 1LL, 5, 7, "rows of index_q"},
        {6, INT32_MAX + 1LL, 7, "rows of index_k"},
        {6, 5, INT32_MAX - 511, "columns of index_raw"},
        {0, 0, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        const struct indexer_bwd_call call = {
            .rows = limits[i].rows, .keys = limits[i].keys, .columns = limits[i].columns};
        char text[256] = "";
        struct sab_message msg = {text, sizeof(text)};
        const int status = indexer_bwd_rows_check(&call, &msg);

        assert_int_equal(status, limits[i].named ? SAB_UNSUPPORTED : SAB_OK);
        if (limits[i].named)
            assert_non_null(strstr(text, limits[i].named));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serves_both_operators),
        cmocka_unit_test(workspace_holds_sums_of_dk),
        cmocka_unit_test(refuses_wrong_tensors),
        cmocka_unit_test(refuses_wrong_places_and_numbers),
        cmocka_unit_test(says_what_is_not_served),
        cmocka_unit_test(knows_its_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
