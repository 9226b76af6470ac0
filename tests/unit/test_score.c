/*
 * The four score operators: oracles and CPU kernels on the golden vectors and on the contract's
 * cases at small sizes, wrong answers, refusals, costs.
 */
#include "test_indexer_kernel.h"

extern const struct sab_kernel score_sparse_indexer_cpu_row, score_sparse_attention_cpu_row;
extern const struct sab_kernel score_dense_indexer_cpu_row, score_dense_attention_cpu_row;

static const struct sab_kernel *row_of(const char *op)
{
    static const struct sab_kernel *const rows[] = {
        &score_sparse_indexer_cpu_row, &score_sparse_attention_cpu_row,
        &score_dense_indexer_cpu_row, &score_dense_attention_cpu_row};

    for (size_t i = 0; i < 4; i++)
        if (strcmp(rows[i]->op, op) == 0)
            return rows[i];
    fail_msg("no kernel of %s", op);
    return NULL;
}

static void hold_vector(const struct vector *v)
{
    rig_vector(v,
               vector_int(v, "total_q", vector_int(v, "batch", 0) * vector_int(v, "seqlen_q", 0)),
               0, row_of(v->op));
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("score_sparse_indexer", 6, hold_vector);
    rig_each_vector("score_sparse_attention", 6, hold_vector);
    rig_each_vector("score_dense_indexer", 5, hold_vector);
    rig_each_vector("score_dense_attention", 6, hold_vector);
}

/* ---- cases ---- */

static void sparse_shapes(void **state)
{
    static const char *const axes[] = {
        "",
        "seqlen_q=8 seqlen_k=512 heads=32 topk=128 lengths=ragged",
        "batch=2 seqlen_q=9 seqlen_k=64 topk=33 id_space=local pattern=scattered",
        "batch=3 seqlen_q=9 seqlen_k=64 topk=33 id_space=global pattern=scattered lengths=random",
        "seqlen_q=4 seqlen_k=200 heads=64 head_dim=512 topk=96 lengths=short",
        "seqlen_q=3 seqlen_k=300 heads=128 head_dim=576 topk=130 lengths=random",
        "seqlen_q=5 seqlen_k=40 heads=3 topk=70 pattern=duplicates",
        "seqlen_q=5 seqlen_k=40 heads=3 topk=70 pattern=padded lengths=none",
        "seqlen_q=20 seqlen_k=33 heads=2 topk=16 data=poison lengths=ragged pattern=scattered",
        "seqlen_q=5 seqlen_k=40 heads=3 topk=7 pattern=invalid",
        "seqlen_q=5 seqlen_k=40 heads=3 topk=7 lengths=empty",
        "seqlen_q=2 seqlen_k=1300 heads=4 topk=1152 data=zero",
        "seqlen_q=7 seqlen_k=1 heads=1 topk=1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        rig_hold("score_sparse_indexer", axes[i], row_of("score_sparse_indexer"));
        rig_hold("score_sparse_attention", axes[i], row_of("score_sparse_attention"));
    }
    rig_hold("score_sparse_attention", "seqlen_q=9 seqlen_k=60 heads=7 topk=20 lse=mixed",
             row_of("score_sparse_attention"));
}

static void dense_shapes(void **state)
{
    static const char *const axes[] = {
        "",
        "seqlen_q=24 seqlen_k=96 heads=32 offset=end compress_ratio=4",
        "batch=2 seqlen_q=9 seqlen_k=67 heads=6 kv_heads=2 offset=whole",
        "batch=8 seqlen_q=9 seqlen_k=64 heads=4 offset=mixed",
        "batch=5 seqlen_q=9 seqlen_k=33 heads=4 layout=thd compress_ratio=2",
        "seqlen_q=3 seqlen_k=70 heads=128 head_dim=576 offset=whole",
        "seqlen_q=5 seqlen_k=70 heads=8 kv_heads=8 head_dim=512 offset=end",
        "batch=3 seqlen_q=1 seqlen_k=50 heads=5 offset=whole",
        "batch=3 seqlen_q=6 seqlen_k=50 heads=5 precision=mxfp8 sm_scale=0.001",
        "batch=2 seqlen_q=6 seqlen_k=51 heads=4 kv_heads=2 precision=mxfp8 head_dim=576 "
        "layout=thd sm_scale=0.001",
        "seqlen_q=33 seqlen_k=32 heads=3 compress_ratio=4 data=poison",
        "seqlen_q=10 seqlen_k=32 heads=3 data=zero",
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        char *scale;

        rig_hold("score_dense_indexer", axes[i], row_of("score_dense_indexer"));
        snprintf(text, sizeof(text), "%s", axes[i]);
        scale = strstr(text, "sm_scale");
        if (scale)
            snprintf(scale, 32, "softmax_scale=0.001");
        rig_hold("score_dense_attention", text, row_of("score_dense_attention"));
    }
    rig_hold("score_dense_attention", "seqlen_q=9 seqlen_k=60 heads=7 lse=mixed",
             row_of("score_dense_attention"));
}

/* lse of an exact forward over the visible columns: the denominator is H. */
static void exact_lse(void **state)
{
    const int64_t rows = 6, columns = 20, heads = 3, width = 128;
    struct ix_rig r;

    (void)state;
    rig_init(&r, "score_dense_attention", "seqlen_q=6 seqlen_k=20 heads=3 offset=whole");
    for (int64_t i = 0; i < rows * heads; i++) {
        double sum = 0;

        for (int64_t k = 0; k < columns; k++) {
            double dot = 0;

            for (int64_t d = 0; d < width; d++)
                dot += rig_value(&r, "q", i * width + d) * rig_value(&r, "k", k * width + d);
            sum += exp(dot * r.p.param[SAB_P_score_dense_attention_softmax_scale].f);
        }
        rig_set(&r, "lse", i, log(sum));
    }
    rig_oracle(&r, 2);
    rig_run(&r, row_of("score_dense_attention"), 2, 0);
    rig_expect_pass(&r, "exact lse");
    for (int64_t row = 0; row < rows; row++)
        assert_true(fabs(rig_value(&r, "denom", row) - (double)heads) < 1e-4);
    rig_release(&r);
}

/* Zero queries: exactly uniform, 1/K, and 1/257 where a length says so (contract, stale state). */
static void uniform(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_init(&r, "score_sparse_indexer", "seqlen_q=2 seqlen_k=1300 heads=4 topk=1152 data=zero");
    ((int32_t *)rig_data(&r, "length"))[1] = 257;
    rig_run(&r, row_of("score_sparse_indexer"), 2, 0);
    for (int64_t j = 0; j < 1152; j++) {
        assert_true(fabs(rig_value(&r, "predict", j) - 1 / 1152.0) < 1e-7);
        assert_true(fabs(rig_value(&r, "predict", 1152 + j) - (j < 257 ? 1 / 257.0 : 0)) < 1e-6);
        assert_true(j < 257 || rig_value(&r, "predict", 1152 + j) == 0);
    }
    rig_release(&r);
}

static void bits_do_not_depend_on_threads(void **state)
{
    static const char *const ops[] = {"score_sparse_indexer", "score_sparse_attention",
                                      "score_dense_indexer", "score_dense_attention"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct ix_rig a, b;

        rig_init(&a, ops[i], "seqlen_q=37 seqlen_k=76 heads=5");
        rig_init(&b, ops[i], "seqlen_q=37 seqlen_k=76 heads=5");
        rig_run(&a, row_of(ops[i]), 1, 0);
        rig_run(&b, row_of(ops[i]), 7, 0);
        for (uint32_t t = 0; t < a.p.spec->tensors_nr; t++)
            if (rig_is_output(&a, t))
                assert_memory_equal(a.data[t], b.data[t], a.p.tensor[t].bytes);
        rig_release(&a);
        rig_release(&b);
    }
}

/* ---- wrong answers ---- */

static void wrong_sparse(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_right(&r, "score_sparse_indexer", "seqlen_q=20 seqlen_k=90 topk=12 lengths=ragged");
    /* Row 1 has no active slot, row 0 neither (length -3). */
    rig_set(&r, "predict", 12, 1e-9);
    rig_expect_broken(&r, "predict[0,1,0]");
    rig_answer(&r);
    rig_set(&r, "predict", 12, NAN);
    rig_expect_broken(&r, "predict[0,1,0]");
    rig_answer(&r);
    /* Every value within its bar, the sum not. */
    for (int64_t j = 0; j < 12; j++)
        rig_set(&r, "predict", 10 * 12 + j, rig_value(&r, "predict", 10 * 12 + j) * 1.0005);
    rig_expect_broken(&r, "row 10 of predict sums to");
    rig_answer(&r);
    /* Two neighbours swapped. */
    const double first = rig_value(&r, "predict", 10 * 12);
    rig_set(&r, "predict", 10 * 12, rig_value(&r, "predict", 10 * 12 + 1));
    rig_set(&r, "predict", 10 * 12 + 1, first);
    rig_expect_broken(&r, "predict[0,10,0]");
    rig_release(&r);
    /* A head lost, lse lost. */
    rig_right(&r, "score_sparse_attention", "seqlen_q=4 seqlen_k=90 topk=12");
    for (int64_t row = 0; row < 4; row++)
        rig_set(&r, "lse", row * 32 + 5, INFINITY);
    rig_run(&r, row_of("score_sparse_attention"), 1, 0);
    rig_expect_broken(&r, "target");
    rig_release(&r);
}

static void wrong_dense(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_right(&r, "score_dense_attention", "seqlen_q=8 seqlen_k=16 heads=4 compress_ratio=2");
    rig_set(&r, "out", 4 * 16 + 2, 0); /* masked: -inf, not 0 */
    rig_expect_broken(&r, "out[0,4,2]");
    rig_answer(&r);
    rig_set(&r, "denom", 0, -INFINITY); /* sees nothing: 0 */
    rig_expect_broken(&r, "denom[0,0]");
    rig_release(&r);
    rig_right(&r, "score_dense_indexer", "seqlen_q=8 seqlen_k=16 heads=4 compress_ratio=2");
    rig_set(&r, "denom", 0, 0); /* sees nothing: -inf */
    rig_expect_broken(&r, "denom[0,0]");
    rig_release(&r);
    /* The wrong grouping of heads: h modulo Hkv. */
    rig_right(&r, "score_dense_indexer", "seqlen_q=6 seqlen_k=12 heads=4 kv_heads=2");
    for (int64_t i = 0; i < 6; i++) {
        uint16_t *q = (uint16_t *)rig_data(&r, "q") + i * 512 + 128, keep[128];

        memcpy(keep, q, sizeof(keep));
        memcpy(q, q + 128, sizeof(keep));
        memcpy(q + 128, keep, sizeof(keep));
    }
    rig_run(&r, row_of("score_dense_indexer"), 1, 0);
    rig_expect_broken(&r, "out");
    rig_release(&r);
}

/* ---- refusals and cost ---- */

static void refusals(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_init(&r, "score_sparse_indexer", "seqlen_q=4 seqlen_k=20 heads=2 topk=4");
    r.p.param[SAB_P_score_sparse_indexer_sm_scale].f = 0;
    rig_expect_refused(&r, row_of("score_sparse_indexer"), SAB_INVALID, "sm_scale");
    r.p.param[SAB_P_score_sparse_indexer_sm_scale].f = 1;
    r.p.param[SAB_P_score_sparse_indexer_id_space].i = 2;
    rig_expect_refused(&r, row_of("score_sparse_indexer"), SAB_INVALID, "id_space");
    rig_release(&r);
    rig_init(&r, "score_dense_attention", "seqlen_q=4 seqlen_k=20 heads=2");
    r.p.param[SAB_P_score_dense_attention_ratio].i = 0;
    rig_expect_refused(&r, row_of("score_dense_attention"), SAB_INVALID, "ratio");
    r.p.param[SAB_P_score_dense_attention_ratio].i = 1;
    r.p.param[SAB_P_score_dense_attention_softmax_scale].f = INFINITY;
    rig_expect_refused(&r, row_of("score_dense_attention"), SAB_INVALID, "softmax_scale");
    rig_release(&r);
}

static void refused_cases(void **state)
{
    static const struct {
        const char *op, *axes, *why;
    } cases[] = {
        {"score_dense_indexer", "heads=6 kv_heads=4", "does not divide"},
        {"score_dense_attention", "head_dim=256", "head_dim = 256"},
        {"score_sparse_indexer", "head_dim=64", "head_dim = 64"},
        {"score_sparse_attention", "data=poison batch=2", "batch = 1"},
        {"score_sparse_attention", "topk=32 seqlen_k=40 pattern=overlap", "at least 48"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct op_case c;
        struct err err = ERR_INIT;

        assert_int_not_equal(rig_case(&c, cases[i].op, cases[i].axes, &err), 0);
        if (!strstr(err.text, cases[i].why))
            fail_msg("'%s' does not name '%s'", err.text, cases[i].why);
    }
}

/* Section 4: 2*B*Sq*K*H*D, 2*H*D*sum limit. */
static void costs(void **state)
{
    struct op_case c;
    struct op_cost cost;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(rig_case(&c, "score_sparse_attention",
                              "batch=2 seqlen_q=32 seqlen_k=256 topk=128 heads=64 head_dim=512",
                              &err),
                     0);
    assert_int_equal(c.op->cost(&c, &cost, &err), 0);
    assert_true(cost.flops_nominal == 2.0 * 2 * 32 * 128 * 64 * 512);
    assert_true(cost.flops_valid == cost.flops_nominal && cost.density == 0.5);
    /* 4096 rows of 2048 slots of 512 channels gather 8.6 GB, from 4096 keys of 1 KiB */
    assert_int_equal(rig_case(&c, "score_sparse_attention",
                              "seqlen_q=4096 seqlen_k=4096 heads=64 head_dim=512 topk=2048", &err),
                     0);
    assert_int_equal(c.op->cost(&c, &cost, &err), 0);
    assert_true(cost.use[OP_GATHER].amount == 4096.0 * 2048 * 1024);
    assert_true(cost.use[OP_GATHER].footprint_bytes == 4096.0 * 1024);
    assert_true(cost.use[OP_WRITE].amount == 4096.0 * 2048 * 4);
    assert_true(cost.use[OP_READ].amount == cost.bytes_min - cost.use[OP_WRITE].amount);
    assert_true(cost.use[OP_EXP2].amount == 4096.0 * 2048 * 64);
    assert_int_equal(rig_case(&c, "score_dense_indexer", "seqlen_q=5 seqlen_k=8 heads=2", &err), 0);
    assert_int_equal(c.op->cost(&c, &cost, &err), 0);
    assert_true(cost.flops_nominal == 2.0 * 2 * 128 * (1 + 2 + 3 + 4 + 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors), cmocka_unit_test(sparse_shapes),
        cmocka_unit_test(dense_shapes),   cmocka_unit_test(exact_lse),
        cmocka_unit_test(uniform),        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(wrong_sparse),   cmocka_unit_test(wrong_dense),
        cmocka_unit_test(refusals),       cmocka_unit_test(refused_cases),
        cmocka_unit_test(costs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
