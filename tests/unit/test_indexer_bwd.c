/*
 * Both backward operators of the indexer: the oracle against finite differences, oracle and CPU
 * kernels on the golden vectors and on the contract's cases at small sizes, wrong answers,
 * refusals.
 */
#include "test_indexer_kernel.h"

#include "indexer_bwd_model.h"

extern const struct sab_kernel indexer_bwd_sparse_cpu_row, indexer_bwd_dense_cpu_row;

static const struct sab_kernel *row_of(const char *op)
{
    return strcmp(op, "indexer_bwd_sparse") ? &indexer_bwd_dense_cpu_row
                                            : &indexer_bwd_sparse_cpu_row;
}

static void hold_vector(const struct vector *v)
{
    const int64_t batch = vector_int(v, "batch", 0);

    rig_vector(v, vector_int(v, "total_q", batch * vector_int(v, "seqlen_q", 0)),
               vector_int(v, "total_k", batch * vector_int(v, "seqlen_k", 0)), row_of(v->op));
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("indexer_bwd_sparse", 7, hold_vector);
    rig_each_vector("indexer_bwd_dense", 5, hold_vector);
}

/* ---- finite differences ---- */

#define T 2
#define N 5
#define H 2
#define K 6
#define D IX_BWD_WIDTH

/* A small problem in f32, whose values are multiples of 2^-12: duplicates, an inactive slot. */
struct small {
    float q[T][H][D], w[T][H], k[N][D], target[T][K];
};

static const int32_t small_ids[T][K] = {{0, 2, 2, -1, 3, 1}, {4, 1, 0, 3, 9, 2}};
static const double small_scale = 0.125, small_factor = 0.75;

static float next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*seed >> 52) * 0x1p-12 - 0.5);
}

static void small_predict(const struct small *s, int t, double p[K])
{
    double sum = 0;

    for (int j = 0; j < K; j++) {
        const int32_t id = small_ids[t][j];
        double x = 0;

        for (int h = 0; id >= 0 && id < N && h < H; h++) {
            double dot = 0;

            for (int d = 0; d < D; d++)
                dot += (double)s->q[t][h][d] * (double)s->k[id][d];
            x += (dot > 0 ? dot : 0) * (double)s->w[t][h];
        }
        p[j] = id >= 0 && id < N ? exp(small_scale * x) : 0;
        sum += p[j];
    }
    for (int j = 0; j < K; j++)
        p[j] /= sum;
}

/* -sum t ln p: what of the loss depends on the inputs. */
static double small_loss(const struct small *s)
{
    double sum = 0, p[K];

    for (int t = 0; t < T; t++) {
        small_predict(s, t, p);
        for (int j = 0; j < K; j++)
            if (p[j] > 0)
                sum -= (double)s->target[t][j] * log(p[j]);
    }
    return sum * small_factor;
}

struct small_source {
    const struct small *s;
    float predict[T][K], grad_loss;
};

static int small_read(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    const struct small_source *src = ctx;
    const void *from = tensor == SAB_T_indexer_bwd_sparse_index_q   ? (const void *)src->s->q
                       : tensor == SAB_T_indexer_bwd_sparse_weights ? (const void *)src->s->w
                       : tensor == SAB_T_indexer_bwd_sparse_index_k ? (const void *)src->s->k
                       : tensor == SAB_T_indexer_bwd_sparse_target  ? (const void *)src->s->target
                       : tensor == SAB_T_indexer_bwd_sparse_predict ? (const void *)src->predict
                       : tensor == SAB_T_indexer_bwd_sparse_ids     ? (const void *)small_ids
                                                                    : (const void *)&src->grad_loss;

    memcpy(dst, (const char *)from + at * 4, (size_t)n * 4);
    return 0;
}

static void small_tensor(struct op_problem *p, uint32_t t, int32_t dtype, int32_t rank, int64_t a,
                         int64_t b, int64_t c)
{
    const int64_t shape[4] = {1, a, b, c};

    p->tensor[t].dtype = dtype;
    p->tensor[t].rank = rank;
    memcpy(p->tensor[t].shape, shape, sizeof(shape));
}

static void small_gradients(const struct small *s, struct op_slices *out)
{
    struct small_source ctx = {.s = s, .grad_loss = 1.5f};
    struct op_source src = {&ctx, small_read};
    struct op_problem p = {.spec = sab_op_find("indexer_bwd_sparse")};
    struct err err = ERR_INIT;
    double predict[K];

    small_tensor(&p, SAB_T_indexer_bwd_sparse_index_q, SAB_F32, 4, T, H, D);
    small_tensor(&p, SAB_T_indexer_bwd_sparse_weights, SAB_F32, 3, T, H, 0);
    small_tensor(&p, SAB_T_indexer_bwd_sparse_index_k, SAB_F32, 3, N, D, 0);
    small_tensor(&p, SAB_T_indexer_bwd_sparse_target, SAB_F32, 3, T, K, 0);
    small_tensor(&p, SAB_T_indexer_bwd_sparse_predict, SAB_F32, 3, T, K, 0);
    small_tensor(&p, SAB_T_indexer_bwd_sparse_ids, SAB_I32, 3, T, K, 0);
    small_tensor(&p, SAB_T_indexer_bwd_sparse_grad_loss, SAB_F32, 1, 0, 0, 0);
    p.param[SAB_P_indexer_bwd_sparse_sm_scale].f = small_scale;
    p.param[SAB_P_indexer_bwd_sparse_grad_scale].f = 0.5; /* times grad_loss: small_factor */
    for (int t = 0; t < T; t++) {
        small_predict(s, t, predict);
        for (int j = 0; j < K; j++)
            ctx.predict[t][j] = (float)predict[j];
    }
    op_slices_init(out);
    for (int t = 0; t < T; t++) {
        op_slices_add(out, SAB_T_indexer_bwd_sparse_d_index_q, t * H * D, H * D, &err)->tile = t;
        op_slices_add(out, SAB_T_indexer_bwd_sparse_d_weights, t * H, H, &err)->tile = t;
    }
    for (int n = 0; n < N; n++)
        op_slices_add(out, SAB_T_indexer_bwd_sparse_d_index_k, n * D, D, &err)->tile = n;
    if (op_model_find("indexer_bwd_sparse")->oracle(&p, &src, NULL, 0, 3, out, &err))
        fail_msg("%s", err.text);
}

static void hold_difference(struct small *s, float *x, double want)
{
    const float at = *x, step = 0x1p-10f;
    double more, less, got;

    *x = at + step;
    more = small_loss(s);
    *x = at - step;
    less = small_loss(s);
    *x = at;
    got = (more - less) / (2 * (double)step);
    if (!(fabs(got - want) <= 2e-6 * (1 + fabs(want))))
        fail_msg("a derivative is %.12g, by differences %.12g", want, got);
}

static void finite_differences(void **state)
{
    struct op_slices g;
    static struct small s;
    uint64_t seed = 5;

    (void)state;
    for (size_t i = 0; i < sizeof(s) / sizeof(float); i++)
        ((float *)&s)[i] = next_random(&seed);
    /* Teachers sum to 1 over the active slots. */
    for (int t = 0; t < T; t++)
        for (int j = 0; j < K; j++)
            s.target[t][j] =
                small_ids[t][j] < 0 || small_ids[t][j] >= N ? 7 : (j % 2 ? 0.1f : 0.25f);
    for (int t = 0; t < T; t++) {
        double sum = 0;

        for (int j = 0; j < K; j++)
            sum += s.target[t][j] < 1 ? (double)s.target[t][j] : 0;
        for (int j = 0; j < K; j++)
            s.target[t][j] = s.target[t][j] < 1 ? (float)((double)s.target[t][j] / sum) : 7;
    }
    small_gradients(&s, &g);
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < H * D; i += 3)
            hold_difference(&s, &s.q[t][0][0] + i, g.item[2 * t].ref[i]);
        for (int h = 0; h < H; h++)
            hold_difference(&s, &s.w[t][h], g.item[2 * t + 1].ref[h]);
    }
    for (int n = 0; n < N; n++)
        for (int d = 0; d < D; d += 3)
            hold_difference(&s, &s.k[n][d], g.item[2 * T + n].ref[d]);
    op_slices_release(&g);
}

#undef T
#undef N
#undef H
#undef K
#undef D

/* ---- cases ---- */

static void sparse_shapes(void **state)
{
    static const char *const axes[] = {
        "seqlen_q=20 seqlen_k=64 heads=16",
        "seqlen_q=16 seqlen_k=128 topk=128 heads=64 dk_dtype=f32",
        "seqlen_q=9 seqlen_k=70 topk=1 heads=32",
        "seqlen_q=9 seqlen_k=70 topk=33 heads=32 pattern=duplicates grad_loss=0.5",
        "seqlen_q=9 seqlen_k=20 topk=33 heads=16 inputs=random grad_scale=0.01",
        "seqlen_q=20 seqlen_k=70 topk=33 heads=16 lengths=ragged pattern=scattered",
        "batch=3 seqlen_q=5 seqlen_k=30 topk=12 heads=16 id_space=global pattern=scattered",
        "batch=3 seqlen_q=5 seqlen_k=30 topk=12 heads=16 id_space=local dk_dtype=f32",
        "batch=4 seqlen_q=7 seqlen_k=30 topk=12 heads=16 layout=thd",
        "seqlen_q=9 seqlen_k=70 topk=33 heads=16 inputs=extreme",
        "seqlen_q=5 seqlen_k=30 topk=12 heads=16 lengths=empty",
        "seqlen_q=5 seqlen_k=30 topk=12 heads=16 pattern=invalid inputs=random",
        "seqlen_q=40 seqlen_k=300 topk=12 heads=16 pattern=single inputs=random",
        "seqlen_q=5 seqlen_k=200 topk=130 heads=16 deterministic=1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        rig_hold("indexer_bwd_sparse", axes[i], &indexer_bwd_sparse_cpu_row);
}

static void dense_shapes(void **state)
{
    static const char *const axes[] = {
        "seqlen_q=20 seqlen_k=64 heads=16",
        "seqlen_q=16 seqlen_k=128 heads=64 dk_dtype=f32 offset=end",
        "seqlen_q=30 seqlen_k=40 heads=32 compress_ratio=4 offset=negative",
        "batch=7 seqlen_q=5 seqlen_k=70 heads=16 offset=mixed inputs=random",
        "batch=4 seqlen_q=9 seqlen_k=70 heads=16 layout=thd offset=whole",
        "seqlen_q=13 seqlen_k=70 heads=16 inputs=extreme offset=whole",
        "seqlen_q=5 seqlen_k=33 heads=16 offset=int_min",
        "batch=2 seqlen_q=1 seqlen_k=33 heads=16 offset=whole grad_loss=-2",
        "seqlen_q=150 seqlen_k=8 heads=16 compress_ratio=16 dk_dtype=f32",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        rig_hold("indexer_bwd_dense", axes[i], &indexer_bwd_dense_cpu_row);
}

/* Inputs stay as they were, bits depend on no thread, dK on no byte that was there before. */
static void bits(void **state)
{
    static const char *const ops[] = {"indexer_bwd_sparse", "indexer_bwd_dense"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ix_rig a, b;

        rig_init(&a, ops[i], "seqlen_q=37 seqlen_k=150 heads=16 dk_dtype=f32");
        rig_init(&b, ops[i], "seqlen_q=37 seqlen_k=150 heads=16 dk_dtype=f32");
        rig_run(&a, row_of(ops[i]), 1, 0);
        rig_run(&b, row_of(ops[i]), 7, 0);
        for (uint32_t t = 0; t < a.p.spec->tensors_nr; t++)
            if (rig_has(&a, t))
                assert_memory_equal(a.data[t], b.data[t], a.p.tensor[t].bytes);
        rig_release(&a);
        rig_release(&b);
    }
}

/* With sum p = 1 the G of a row sum to 0: no gradient of a constant in the scores. All queries of a
 * head equal to a multiple of one key make x a constant where all keys are equal: dW is 0. */
static void constant_scores(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_init(&r, "indexer_bwd_sparse", "seqlen_q=4 seqlen_k=40 topk=16 heads=16");
    for (int64_t i = 128; i < 40 * 128; i++)
        rig_set(&r, "index_k", i, rig_value(&r, "index_k", i % 128));
    for (int64_t i = 0; i < 4 * 16; i++)
        rig_set(&r, "predict", i, 1 / 16.0);
    rig_run(&r, &indexer_bwd_sparse_cpu_row, 1, 0);
    for (int64_t i = 0; i < 4 * 16; i++)
        assert_true(fabs(rig_value(&r, "d_weights", i)) < 1e-6);
    rig_release(&r);
}

/* ---- wrong answers ---- */

static void wrong_answers(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_right(&r, "indexer_bwd_sparse", "seqlen_q=20 seqlen_k=90 topk=12 heads=16 lengths=ragged");
    /* Row 1 has no active slot. */
    rig_set(&r, "d_index_q", 16 * 128 + 5, 1e-12);
    rig_expect_broken(&r, "d_index_q[0,1,0,5]");
    rig_answer(&r);
    /* A head lost. */
    for (int64_t row = 0; row < 20; row++)
        rig_set(&r, "d_weights", row * 16 + 3, 0);
    rig_expect_broken(&r, "d_weights");
    rig_answer(&r);
    /* A key's gradient given to its neighbour. */
    for (int64_t d = 0; d < 128; d++) {
        rig_set(&r, "d_index_k", 11 * 128 + d, rig_value(&r, "d_index_k", 10 * 128 + d));
        rig_set(&r, "d_index_k", 10 * 128 + d, 0);
    }
    rig_expect_broken(&r, "d_index_k");
    rig_release(&r);
    /* Twice the scale, the sum over p forgotten (t - p instead of G), sm_scale lost. */
    rig_right(&r, "indexer_bwd_dense", "seqlen_q=8 seqlen_k=24 heads=16 offset=end");
    r.p.param[SAB_P_indexer_bwd_dense_grad_scale].f = 1.02;
    rig_run(&r, &indexer_bwd_dense_cpu_row, 1, 0);
    rig_expect_broken(&r, "relative L2 of d_index_q");
    rig_release(&r);
}

/* ---- refusals ---- */

static void refusals(void **state)
{
    const struct rig_call short_workspace = {
        .row = &indexer_bwd_sparse_cpu_row, .threads = 1, .less_bytes = 1};
    char text[512] = "";
    struct ix_rig r;

    (void)state;
    rig_init(&r, "indexer_bwd_sparse", "seqlen_q=4 seqlen_k=20 topk=4 heads=16 inputs=random");
    assert_int_equal(rig_call(&r, &short_workspace, text, sizeof(text)), SAB_INVALID);
    assert_non_null(strstr(text, "workspace"));
    r.p.param[SAB_P_indexer_bwd_sparse_sm_scale].f = -1;
    rig_expect_refused(&r, &indexer_bwd_sparse_cpu_row, SAB_INVALID, "sm_scale");
    r.p.param[SAB_P_indexer_bwd_sparse_sm_scale].f = 1;
    r.p.tensor[SAB_T_indexer_bwd_sparse_d_index_q].dtype = SAB_FP16;
    rig_expect_refused(&r, &indexer_bwd_sparse_cpu_row, SAB_INVALID, "d_index_q");
    r.p.tensor[SAB_T_indexer_bwd_sparse_d_index_q].dtype = SAB_BF16;
    r.p.tensor[SAB_T_indexer_bwd_sparse_target].shape[2] = 3;
    rig_expect_refused(&r, &indexer_bwd_sparse_cpu_row, SAB_INVALID, "");
    rig_release(&r);
    rig_init(&r, "indexer_bwd_dense", "seqlen_q=4 seqlen_k=20 heads=16 inputs=random");
    r.p.param[SAB_P_indexer_bwd_dense_ratio].i = 0;
    rig_expect_refused(&r, &indexer_bwd_dense_cpu_row, SAB_INVALID, "ratio");
    rig_release(&r);
}

static void refused_cases(void **state)
{
    static const struct {
        const char *op, *axes, *why;
    } cases[] = {
        {"indexer_bwd_sparse", "heads=8", "heads = 8"},
        {"indexer_bwd_dense", "head_dim=64", "head_dim = 64"},
        {"indexer_bwd_sparse", "layout=thd id_space=global", "id_space = local"},
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

/* Section 6.6: about 484 us at K = 512 are 426 TFLOPS (Sq 8192, H 64). */
static void costs(void **state)
{
    struct op_case c;
    struct op_cost cost;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(
        rig_case(&c, "indexer_bwd_sparse", "seqlen_q=8192 seqlen_k=4096 topk=512", &err), 0);
    assert_int_equal(c.op->cost(&c, &cost, &err), 0);
    assert_true(cost.flops_nominal == 6.0 * 8192 * 64 * 128 * 512);
    assert_true(fabs(cost.flops_nominal / 484e-6 / 426e12 - 1) < 2e-3);
    /* 2.1 GB are added to rows of keys, half as much is gathered */
    assert_true(cost.use[OP_REDUCE].amount == 8192.0 * 512 * 128 * 4);
    assert_true(cost.use[OP_GATHER].amount == cost.use[OP_REDUCE].amount / 2);
    assert_true(cost.use[OP_BF16].amount == cost.flops_valid);
    assert_int_equal(rig_case(&c, "indexer_bwd_dense", "seqlen_q=5 seqlen_k=8 heads=16", &err), 0);
    assert_int_equal(c.op->cost(&c, &cost, &err), 0);
    assert_true(cost.flops_nominal == 6.0 * 16 * 128 * (1 + 2 + 3 + 4 + 5));
    /* three keys of eight are seen by nobody; outputs are written whole */
    assert_true(cost.use[OP_READ].amount < cost.bytes_min - cost.use[OP_WRITE].amount);
    assert_true(cost.use[OP_WRITE].amount == 5.0 * 16 * (128 + 1) * 2 + 8 * 128 * 2);
    assert_true(cost.use[OP_REDUCE].amount == 0);
}

/* Samples hold rows and keys, and their oracle agrees with the whole one's. */
static void samples(void **state)
{
    struct op_buffers buffers;
    struct op_source src;
    struct op_slices s;
    struct ix_rig r;
    struct err err = ERR_INIT;

    (void)state;
    rig_right(&r, "indexer_bwd_sparse", "seqlen_q=60 seqlen_k=90 topk=12 heads=16");
    op_slices_init(&s);
    assert_int_equal(r.c.op->slices(&r.c, 1e5, &s, &err), 0);
    assert_false(s.complete);
    rig_source(&r, &buffers, &src);
    assert_int_equal(r.c.op->oracle(&r.p, &src, NULL, 0, 2, &s, &err), 0);
    for (size_t i = 0; i < s.nr; i++)
        for (size_t k = 0; k < r.s.nr; k++)
            if (r.s.item[k].tensor == s.item[i].tensor && r.s.item[k].at == s.item[i].at)
                for (int64_t n = 0; n < s.item[i].n; n++)
                    assert_true(fabs(s.item[i].ref[n] - r.s.item[k].ref[n]) < 1e-14);
    assert_true(s.nr >= 6);
    op_slices_release(&s);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors), cmocka_unit_test(finite_differences),
        cmocka_unit_test(sparse_shapes),  cmocka_unit_test(dense_shapes),
        cmocka_unit_test(bits),           cmocka_unit_test(constant_scores),
        cmocka_unit_test(wrong_answers),  cmocka_unit_test(refusals),
        cmocka_unit_test(refused_cases),  cmocka_unit_test(costs),
        cmocka_unit_test(samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
