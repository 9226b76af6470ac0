/*
 * indexer_fwd: the oracle and the CPU kernel on the golden vectors and on the contract's cases at
 * small sizes, what the mask shows, wrong answers, and refusals.
 */
#include "test_indexer_kernel.h"

#include "indexer_fwd_call.h"

extern const struct sab_kernel indexer_fwd_cpu_row;

#define ROW (&indexer_fwd_cpu_row)

static void hold_vector(const struct vector *v)
{
    rig_vector(v,
               vector_int(v, "total_q", vector_int(v, "batch", 0) * vector_int(v, "seqlen_q", 0)),
               0, ROW);
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("indexer_fwd", 10, hold_vector);
}

/* ---- the mask ---- */

/* The contract's example: ratio 4, Sk 3. */
static void mask_example(void **state)
{
    static const int64_t offsets[] = {0, 4, 9};
    static const int64_t limits[3][5] = {{0, 0, 0, 1, 1}, {1, 1, 1, 2, 2}, {2, 2, 3, 3, 3}};

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int64_t q = 0; q < 5; q++) {
            assert_int_equal(indexer_limit(offsets[i], q, 4, 3), limits[i][q]);
            assert_int_equal(recipe_limit(offsets[i], q, 4, 3), limits[i][q]);
        }
    assert_int_equal(indexer_limit(INT32_MIN, 3, 1, 9), 0);
    assert_int_equal(indexer_limit(INT32_MAX, INT32_MAX, 1, 9), 9);
    assert_int_equal(indexer_limit(-4, 3, 1, 9), 0);
    assert_int_equal(indexer_limit(-3, 3, 1, 9), 1);
}

/* Rows of packed segments, empty ones among them. */
static void packed_places(void **state)
{
    static const int32_t cu_q[] = {0, 2, 2, 3, 7}, cu_k[] = {0, 4, 9, 9, 11};
    static const int64_t batch[] = {0, 0, 2, 3, 3, 3, 3}, q[] = {0, 1, 0, 0, 1, 2, 3};

    (void)state;
    for (int64_t row = 0; row < 7; row++) {
        const struct indexer_place place = indexer_packed_place(cu_q, cu_k, 4, row);

        assert_int_equal(place.batch, batch[row]);
        assert_int_equal(place.q, q[row]);
        assert_int_equal(place.first_k, cu_k[batch[row]]);
        assert_int_equal(place.keys, cu_k[batch[row] + 1] - cu_k[batch[row]]);
    }
}

/* Segments as they are made: whole, none empty, the second of one token. */
static void made_segments(void **state)
{
    struct recipe r = {.kind = RECIPE_SEGMENTS, .dtype = SAB_I32, .seed = 3, .rank = 1};

    (void)state;
    for (int64_t mean = 1; mean < 40; mean += 7)
        for (int64_t batch = 1; batch < 9; batch++) {
            r.shape[0] = batch + 1;
            r.p[0] = mean;
            r.p[1] = batch;
            assert_int_equal(recipe_element(&r, 0), 0);
            assert_int_equal(recipe_element(&r, batch), mean * batch);
            for (int64_t i = 0; i < batch; i++) {
                const int64_t n = recipe_segment(&r, i + 1) - recipe_segment(&r, i);

                assert_true(n >= 1 && n < 2 * mean + (mean == 1));
                if (i == 1 && batch >= 3)
                    assert_int_equal(n, 1);
            }
        }
}

/* ---- cases ---- */

static const char *const offsets[] = {"none",     "zero",    "end",     "whole",
                                      "negative", "int_min", "int_max", "mixed"};
static const char *const precisions[] = {"bf16", "fp8", "mxfp8"};

static void offsets_and_ratios(void **state)
{
    static const int ratios[] = {1, 4, 128};
    char axes[256];

    (void)state;
    for (int o = 0; o < 8; o++)
        for (int i = 0; i < 3; i++) {
            snprintf(axes, sizeof(axes),
                     "batch=%d heads=16 seqlen_q=11 seqlen_k=72 offset=%s compress_ratio=%d "
                     "precision=%s layout=%s",
                     o == 7 ? 8 : 3, offsets[o], ratios[i], precisions[(o + i) % 3],
                     (o + i) % 2 ? "thd" : "bshd");
            rig_hold("indexer_fwd", axes, ROW);
        }
}

static void shapes(void **state)
{
    static const char *const axes[] = {
        "",
        "seqlen_q=40 seqlen_k=64 heads=16 compress_ratio=4 offset=end",
        "seqlen_q=40 seqlen_k=64 heads=32 compress_ratio=4 offset=whole lse=0",
        "seqlen_q=9 seqlen_k=260 heads=64 compress_ratio=4 offset=end precision=fp8",
        "seqlen_q=5 seqlen_k=128 heads=32 compress_ratio=1 offset=end precision=mxfp8",
        "seqlen_q=9 seqlen_k=132 heads=32 precision=fp8 weights=f32",
        "seqlen_q=9 seqlen_k=132 heads=16 weights=f32",
        "seqlen_q=33 seqlen_k=32 heads=16 compress_ratio=4 data=poison",
        "seqlen_q=33 seqlen_k=32 heads=16 compress_ratio=4 data=poison precision=fp8",
        "seqlen_q=10 seqlen_k=32 heads=16 data=zero",
        "batch=5 seqlen_q=20 seqlen_k=30 heads=16 layout=thd offset=whole",
        "batch=2 seqlen_q=1 seqlen_k=64 heads=16 offset=whole layout=thd precision=fp8",
        "seqlen_q=1 seqlen_k=63 heads=16 offset=whole",
        "seqlen_q=300 seqlen_k=8 heads=16 compress_ratio=16 sm_scale=0.5",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        rig_hold("indexer_fwd", axes[i], ROW);
}

/* Every choice of instructions that this processor has. */
static void instructions(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_init(&r, "indexer_fwd", "seqlen_q=9 seqlen_k=76 heads=32 offset=whole");
    rig_oracle(&r, 2);
    for (uint32_t choice = 0; choice < ROW->options[0].choices_nr; choice++) {
        const struct rig_call call = {
            .row = ROW, .threads = 2, .choices = &choice, .choices_nr = 1};
        char text[512] = "";
        const int status = rig_call(&r, &call, text, sizeof(text));

        assert_true(status == SAB_OK || (choice > 1 && status == SAB_UNSUPPORTED));
        if (status == SAB_OK)
            rig_expect_pass(&r, ROW->options[0].choices[choice].name);
    }
    rig_release(&r);
}

static void bits_do_not_depend_on_threads(void **state)
{
    struct ix_rig a, b;

    (void)state;
    rig_init(&a, "indexer_fwd", "seqlen_q=37 seqlen_k=76 heads=16 compress_ratio=2");
    rig_init(&b, "indexer_fwd", "seqlen_q=37 seqlen_k=76 heads=16 compress_ratio=2");
    rig_run(&a, ROW, 1, 0);
    rig_run(&b, ROW, 7, 4);
    assert_memory_equal(rig_data(&a, "scores"), rig_data(&b, "scores"),
                        a.p.tensor[SAB_T_indexer_fwd_scores].bytes);
    assert_memory_equal(rig_data(&a, "lse"), rig_data(&b, "lse"),
                        a.p.tensor[SAB_T_indexer_fwd_lse].bytes);
    rig_release(&a);
    rig_release(&b);
}

/* ---- wrong answers ---- */

static void wrong_answers(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_right(&r, "indexer_fwd", "seqlen_q=8 seqlen_k=16 heads=16 compress_ratio=2");
    /* Row 4 sees two columns. */
    rig_set(&r, "scores", 4 * 16 + 2, 0);
    rig_expect_broken(&r, "scores[0,4,2]");
    rig_answer(&r);
    rig_set(&r, "scores", 4 * 16 + 1, -INFINITY);
    rig_expect_broken(&r, "scores[0,4,1]");
    rig_answer(&r);
    rig_set(&r, "scores", 4 * 16 + 1, rig_value(&r, "scores", 4 * 16 + 1) * 1.001 + 1e-3);
    rig_expect_broken(&r, "scores[0,4,1]");
    rig_answer(&r);
    rig_set(&r, "lse", 0, 0); /* sees nothing */
    rig_expect_broken(&r, "lse[0,0]");
    rig_release(&r);
    /* A head lost. */
    rig_right(&r, "indexer_fwd", "seqlen_q=8 seqlen_k=16 heads=16 precision=fp8");
    for (int64_t row = 0; row < 8; row++)
        rig_set(&r, "w", row * 16 + 3, 0);
    rig_run(&r, ROW, 1, 0);
    rig_expect_broken(&r, "scores");
    rig_release(&r);
}

/* ---- refusals ---- */

static void refusals(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_init(&r, "indexer_fwd", "seqlen_q=4 seqlen_k=20 heads=16");
    r.p.param[SAB_P_indexer_fwd_ratio].i = 0;
    rig_expect_refused(&r, ROW, SAB_INVALID, "ratio");
    r.p.param[SAB_P_indexer_fwd_ratio].i = 1;
    r.p.param[SAB_P_indexer_fwd_sm_scale].f = NAN;
    rig_expect_refused(&r, ROW, SAB_INVALID, "sm_scale");
    r.p.param[SAB_P_indexer_fwd_sm_scale].f = 1;
    r.p.param[SAB_P_indexer_fwd_precision].i = INDEXER_FP8;
    rig_expect_refused(&r, ROW, SAB_INVALID, "q_scale");
    r.p.param[SAB_P_indexer_fwd_precision].i = 0;
    r.p.param[SAB_P_indexer_fwd_layout].i = 1;
    rig_expect_refused(&r, ROW, SAB_INVALID, "");
    rig_release(&r);
    rig_init(&r, "indexer_fwd", "seqlen_q=4 seqlen_k=20 heads=16 precision=fp8");
    r.p.tensor[SAB_T_indexer_fwd_k_scale].dtype = SAB_NONE;
    rig_expect_refused(&r, ROW, SAB_INVALID, "k_scale");
    rig_release(&r);
}

static void refused_cases(void **state)
{
    static const struct {
        const char *axes, *why;
    } cases[] = {
        {"heads=24", "heads = 24"},
        {"head_dim=64", "head_dim = 64"},
        {"seqlen_k=63", "64 is one"},
        {"precision=mxfp8 weights=f32", "weights = bf16"},
        {"data=poison layout=thd", "layout = bshd"},
        {"data=poison batch=2", "batch = 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct op_case c;
        struct err err = ERR_INIT;

        assert_int_not_equal(rig_case(&c, "indexer_fwd", cases[i].axes, &err), 0);
        if (!strstr(err.text, cases[i].why))
            fail_msg("'%s' does not name '%s'", err.text, cases[i].why);
    }
}

/* Section 2: the closed form of the visible columns, and 1161 TFLOPS at 59.2 us. */
static void costs(void **state)
{
    struct op_case c;
    struct op_cost cost;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(
        rig_case(&c, "indexer_fwd", "seqlen_q=4096 seqlen_k=2048 compress_ratio=2", &err), 0);
    assert_int_equal(c.op->cost(&c, &cost, &err), 0);
    const double x = 4096, m = 2048, r = 0;
    assert_true(cost.flops_nominal == 2.0 * 64 * 128 * (2 * m * (m - 1) / 2 + m * (r + 1) + 0 * x));
    assert_true(fabs(cost.flops_nominal / 59.2e-6 / 1161e12 - 1) < 1e-3);
    assert_true(cost.bytes_min == 4096.0 * 64 * 128 * 2 + 2048 * 128 * 2 + 4096 * 64 * 2 +
                                      4 * 4096.0 * 2048 + 4 * 4096);
    /* The first row sees nothing, the last one all columns. */
    assert_true(cost.use[OP_WRITE].amount == 4 * 4096.0 * 2048 + 4 * 4096);
    assert_true(fabs(cost.use[OP_READ].amount - (4095.0 * 64 * (128 * 2 + 2) + 2048 * 128 * 2)) <
                1);
    assert_true(cost.use[OP_BF16].amount == cost.flops_valid && cost.use[OP_E4M3].amount == 0);
    /* Keys that no row sees need not be read: of 100 a batch, 5 are seen. */
    assert_int_equal(rig_case(&c, "indexer_fwd",
                              "batch=2 heads=16 seqlen_q=5 seqlen_k=100 precision=fp8 lse=0", &err),
                     0);
    assert_int_equal(c.op->cost(&c, &cost, &err), 0);
    assert_true(fabs(cost.use[OP_READ].amount - (2 * 5 * 16 * (128 + 4 + 2) + 2 * 5 * (128 + 4))) <
                1e-6);
    assert_true(cost.use[OP_E4M3].amount == 2.0 * 16 * 128 * 2 * (1 + 2 + 3 + 4 + 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors),     cmocka_unit_test(mask_example),
        cmocka_unit_test(packed_places),      cmocka_unit_test(made_segments),
        cmocka_unit_test(offsets_and_ratios), cmocka_unit_test(shapes),
        cmocka_unit_test(instructions),       cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(wrong_answers),      cmocka_unit_test(refusals),
        cmocka_unit_test(refused_cases),      cmocka_unit_test(costs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
