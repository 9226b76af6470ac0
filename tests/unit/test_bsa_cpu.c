/*
 * bsa_fwd/cpu: golden vectors with every choice of `simd` that this processor has, the contract's
 * shapes against the oracle, its edges, what bits must not depend on, and refusals.
 */
#include "test_bsa_rig.h"

#define CHOICES 4

static void hold_vector(const struct vector *v)
{
    struct dsa_rig r;

    bsa_from_vector(&r, v);
    for (uint32_t choice = 0; choice < CHOICES; choice++) {
        struct vector_verdict verdict;
        struct err err = ERR_INIT;

        if (!rig_serves(&r, choice))
            continue;
        rig_run(&r, choice, 2);
        if (vector_judge(v, (const void *const *)r.data, NULL, 0, &verdict, &err) < 0)
            fail_msg("%s", err.text);
        if (!verdict.pass)
            fail_msg("%s, choice %u: %s", v->title, choice, verdict.text);
        assert_true(verdict.held >= 2);
    }
    rig_release(&r);
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("bsa_fwd", 13, hold_vector);
}

/* ---- the contract's shapes ---- */

/* Held against the oracle with both dtypes, and the widest and the plainest instructions. */
static void hold(const char *axes, void (*change)(struct dsa_rig *r))
{
    static const char *const dtypes[] = {"bf16", "fp16"};
    char text[512];

    for (int i = 0; i < 2; i++) {
        struct dsa_rig r;

        snprintf(text, sizeof(text), "%s dtype=%s", axes, dtypes[i]);
        rig_init(&r, "bsa_fwd", text);
        if (change)
            change(&r);
        rig_oracle(&r, 2);
        for (uint32_t choice = 0; choice < 2; choice++) {
            rig_run(&r, choice, 2);
            rig_expect_pass(&r, text);
        }
        rig_release(&r);
    }
}

/* Contract, section 5; blocks and heads as there where a test can afford them. */
static void shapes(void **state)
{
    static const char *const axes[] = {
        "heads=2 seqlen=1024 density=.25 pattern=topk",
        "heads=8 seqlen=256 density=.75 pattern=topk",
        "heads=4 seqlen=512 density=.5 pattern=topk softmax_scale=0.5",
        "heads=4 kv_heads=2 seqlen=512 density=.5 pattern=topk",
        "heads=8 kv_heads=2 seqlen=256 density=.5 pattern=topk counts=per_row",
        "heads=8 kv_heads=1 seqlen=256 density=.25",
        "heads=4 seqlen_q=256 seqlen_k=512 density=.5 pattern=topk",
        "heads=2 seqlen_q=512 seqlen_k=256 density=.5 pattern=topk",
        "heads=8 seqlen=256 density=1 counts=varying",
        "batch=2 heads=4 kv_heads=2 seqlen_q=100 seqlen_k=257 topk=2 cap=3 pattern=topk",
        "batch=2 heads=4 kv_heads=2 seqlen_q=100 seqlen_k=257 topk=2 cap=3 promise=scalar",
        "batch=2 heads=4 kv_heads=2 seqlen_q=100 seqlen_k=257 topk=2 cap=3 promise=per_row",
        "batch=2 heads=4 kv_heads=2 seqlen_q=100 seqlen_k=257 topk=2 cap=3 promise=uniform",
        "heads=2 seqlen_q=128 seqlen_k=4033 topk=16 pattern=topk promise=per_row",
        "seqlen_q=65 seqlen_k=1 topk=1",
        "seqlen_q=1 seqlen_k=63 topk=1",
        "seqlen_q=1 seqlen_k=65 topk=2",
        "seqlen=1 topk=1",
        "seqlen_q=65 seqlen_k=1000 topk=16",
        "heads=4 seqlen=320 topk=3 cap=20 pattern=topk promise=per_row",
        "seqlen=128 topk=2 sizes_mode=1",
        "batch=2 seqlen=128 topk=2 sizes_mode=2",
        "batch=2 heads=4 kv_heads=2 seqlen=500 topk=7 sizes_mode=3 counts=varying",
        "batch=2 heads=3 seqlen_q=200 seqlen_k=1025 topk=9",
        "density=0 cap=3 promise=scalar",
        "density=0 cap=3 promise=uniform",
        "density=0 cap=3 promise=uniform_contiguous",
        "heads=2 seqlen=300 topk=3 data=equal",
        "heads=2 seqlen=300 topk=3 data=large pattern=topk",
        "heads=2 seqlen=200 density=1 lse=off",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        hold(axes[i], NULL);
}

/* Rule B8: every length in one shape. */
static void every_length(void **state)
{
    (void)state;
    for (int s = 1; s <= 257; s++) {
        struct dsa_rig r;
        char axes[128];

        snprintf(axes, sizeof(axes), "heads=1 seqlen_q=%d seqlen_k=%d density=1 dtype=%s",
                 s % 7 + 1, s, s % 2 ? "bf16" : "fp16");
        rig_init(&r, "bsa_fwd", axes);
        rig_oracle(&r, 2);
        rig_run(&r, 0, 2);
        rig_expect_pass(&r, axes);
        rig_release(&r);
    }
}

static void duplicate_slots(struct dsa_rig *r)
{
    int32_t *index = r->data[BSA(q2k_block_index)];
    const int64_t cap = r->p.tensor[BSA(q2k_block_index)].shape[3];

    for (int64_t i = 0; i < r->p.tensor[BSA(q2k_block_index)].elements; i++)
        if (i % cap % 2 == 1)
            index[i] = index[i - 1];
}

/* Values that poison every place: none of them may be read where the block is not used. */
static void odd_sizes(struct dsa_rig *r)
{
    static const int32_t sizes[] = {0, -5, 64, 65, INT32_MAX, 40, 1, INT32_MIN, 63};
    int32_t *size = r->data[BSA(block_sizes)];

    for (int64_t i = 0; i < r->p.tensor[BSA(block_sizes)].elements; i++)
        size[i] = sizes[(size_t)i % (sizeof(sizes) / sizeof(sizes[0]))];
    for (uint32_t t = BSA(k); t <= BSA(v); t++)
        for (int64_t i = 0; i < r->p.tensor[t].elements; i++)
            rig_set(r, t, i, (double)(i * 37 % 101 - 50) / 32);
}

static void no_tokens(struct dsa_rig *r)
{
    for (int64_t i = 0; i < r->p.tensor[BSA(block_sizes)].elements; i++)
        ((int32_t *)r->data[BSA(block_sizes)])[i] = -(int32_t)i;
}

/* Counts that the scalar and uniform forms must not look at. */
static void contradict(struct dsa_rig *r)
{
    for (int64_t i = 0; i < r->p.tensor[BSA(q2k_block_nums)].elements; i++)
        ((int32_t *)r->data[BSA(q2k_block_nums)])[i] = INT32_MAX;
}

static void contents(void **state)
{
    (void)state;
    hold("heads=3 seqlen=700 topk=6 pattern=topk promise=per_row", duplicate_slots);
    hold("heads=3 seqlen_q=200 seqlen_k=1100 topk=11 pattern=topk promise=per_row sizes_mode=1",
         odd_sizes);
    hold("batch=3 seqlen_q=200 seqlen_k=1100 topk=11 sizes_mode=2", odd_sizes);
    hold("heads=6 kv_heads=3 seqlen_q=200 seqlen_k=1100 topk=11 sizes_mode=3", odd_sizes);
    hold("seqlen=320 topk=5 sizes_mode=1", no_tokens);
    hold("heads=2 seqlen=320 topk=2 promise=uniform", contradict);
}

/* ---- bits ---- */

static void expect_same(const struct dsa_rig *r, uint32_t t, const void *bits)
{
    assert_memory_equal(r->data[t], bits, r->p.tensor[t].bytes);
}

static void bits_do_not_depend_on(void **state)
{
    static const int threads[] = {1, 3, 7};
    struct dsa_rig r;
    void *out, *lse;

    (void)state;
    rig_init(&r, "bsa_fwd", "batch=2 heads=4 kv_heads=2 seqlen_q=200 seqlen_k=450 topk=5");
    rig_run(&r, 0, 2);
    out = rig_copy(&r, BSA(out));
    lse = rig_copy(&r, BSA(lse));
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        rig_run(&r, 0, threads[i]);
        expect_same(&r, BSA(out), out);
        expect_same(&r, BSA(lse), lse);
    }
    bsa_drop(&r, BSA(lse)); /* not asked for */
    rig_run(&r, 0, 2);
    expect_same(&r, BSA(out), out);
    r.p.param[BSA_PARAM(contiguous_block_indices)].i = 0; /* the same mask, said otherwise */
    rig_run(&r, 0, 2);
    expect_same(&r, BSA(out), out);
    r.p.param[BSA_PARAM(uniform_block_count)].i = 0;
    bsa_drop(&r, BSA(q2k_block_nums));
    rig_run(&r, 0, 2);
    expect_same(&r, BSA(out), out);
    free(lse);
    free(out);
    rig_release(&r);
}

/* Block 2 of 4, in the middle of every row, has no tokens; then it is not listed. What its places
 * hold is NaN in K and V. */
static void masked_block_changes_no_bit(void **state)
{
    static const int32_t with[] = {0, 2, 3}, without[] = {0, 3, -1};
    struct dsa_rig r;
    void *out, *lse;

    (void)state;
    rig_init(&r, "bsa_fwd",
             "seqlen_q=100 seqlen_k=256 topk=3 pattern=topk promise=scalar "
             "sizes_mode=1 heads=1");
    for (int i = 0; i < 4; i++)
        ((int32_t *)r.data[BSA(block_sizes)])[i] = i == 2 ? 0 : 64;
    for (int64_t i = 0; i < 256 * 128; i++)
        for (uint32_t t = BSA(k); t <= BSA(v); t++)
            rig_set(&r, t, i, i / 128 / 64 == 2 ? NAN : (double)(i * 37 % 101 - 50) / 32);
    for (int row = 0; row < 2; row++)
        memcpy((int32_t *)r.data[BSA(q2k_block_index)] + 3 * row, with, sizeof(with));
    rig_oracle(&r, 2);
    rig_run(&r, 0, 2);
    rig_expect_pass(&r, "with a masked block");
    out = rig_copy(&r, BSA(out));
    lse = rig_copy(&r, BSA(lse));
    for (int row = 0; row < 2; row++)
        memcpy((int32_t *)r.data[BSA(q2k_block_index)] + 3 * row, without, sizeof(without));
    r.p.param[BSA_PARAM(block_sparse_num)].i = 2;
    rig_run(&r, 0, 2);
    expect_same(&r, BSA(out), out);
    expect_same(&r, BSA(lse), lse);
    free(lse);
    free(out);
    rig_release(&r);
}

/* Contract, section 3: lse = s + ln(number of valid tokens); here s = 0, 64 + 44 tokens. */
static void equal_logits(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_init(&r, "bsa_fwd", "heads=1 seqlen_q=70 seqlen_k=108 density=1 data=equal");
    rig_run(&r, 0, 2);
    for (int row = 0; row < 70; row++)
        assert_true(fabs(rig_value(&r, BSA(lse), row) - log(108)) < 1e-6);
    rig_release(&r);
}

/* ---- refusals and faults ---- */

static void expect_refused(struct dsa_rig *r, int status, const char *what)
{
    const struct rig_call call = {.choice = 0, .threads = 1};
    char text[512] = "";

    assert_int_equal(rig_cpu(r, &call, text, sizeof(text)), status);
    if (!strstr(text, what))
        fail_msg("'%s' does not say '%s'", text, what);
}

static void refusals(void **state)
{
    const char *const axes = "heads=4 kv_heads=2 seqlen=128 density=1 sizes_mode=3";
    struct rig_call call = {.choice = CHOICES, .threads = 1};
    char text[512] = "";
    struct dsa_rig r;

    (void)state;
    rig_init(&r, "bsa_fwd", axes);
    r.p.tensor[BSA(v)].dtype = SAB_FP16;
    expect_refused(&r, SAB_INVALID, "'v'");
    r.p.tensor[BSA(v)].dtype = SAB_BF16;
    r.p.tensor[BSA(block_sizes)].shape[1] = 2; /* heads of K, not of Q */
    expect_refused(&r, SAB_INVALID, "'block_sizes'");
    r.p.tensor[BSA(block_sizes)].shape[1] = 4;
    r.p.tensor[BSA(lse)].shape[2] = 127;
    expect_refused(&r, SAB_INVALID, "'lse'");
    r.p.tensor[BSA(lse)].shape[2] = 128;
    r.p.param[BSA_PARAM(softmax_scale)].f = 0;
    expect_refused(&r, SAB_INVALID, "'softmax_scale'");
    r.p.param[BSA_PARAM(softmax_scale)].f = 1;
    assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
    assert_non_null(strstr(text, "simd is choice 4"));
    call = (struct rig_call){.choice = 0, .threads = 0};
    assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
    assert_non_null(strstr(text, "threads is 0"));
    rig_release(&r);
    rig_init(&r, "bsa_fwd", "seqlen=64 head_dim=64");
    expect_refused(&r, SAB_UNSUPPORTED, "only 128 is");
    rig_release(&r);
}

static void bad_slot_is_named(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_init(&r, "bsa_fwd", "batch=2 heads=3 seqlen=130 topk=2 pattern=topk promise=per_row");
    ((int32_t *)r.data[BSA(q2k_block_index)])[(3 + 1) * 3 * 2 + 3] = -7;
    expect_refused(&r, SAB_INVALID,
                   "q2k_block_index[1, 1, 1, 1] is -7, expected a key block of 0 to 2");
    rig_release(&r);
}

/* A kernel that takes fp16 for bf16 gives numbers everywhere, and they are wrong. */
static void wrong_type_is_caught(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_init(&r, "bsa_fwd", "seqlen=200 density=1 dtype=fp16");
    rig_oracle(&r, 2);
    for (uint32_t t = 0; t < r.p.spec->tensors_nr; t++)
        if (r.p.tensor[t].dtype == SAB_FP16)
            r.p.tensor[t].dtype = SAB_BF16;
    rig_run(&r, 0, 2);
    for (uint32_t t = 0; t < r.p.spec->tensors_nr; t++)
        if (r.p.tensor[t].dtype == SAB_BF16)
            r.p.tensor[t].dtype = SAB_FP16;
    rig_expect_broken(&r, "out[0,0,0,");
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors),        cmocka_unit_test(shapes),
        cmocka_unit_test(every_length),          cmocka_unit_test(contents),
        cmocka_unit_test(bits_do_not_depend_on), cmocka_unit_test(masked_block_changes_no_bit),
        cmocka_unit_test(equal_logits),          cmocka_unit_test(refusals),
        cmocka_unit_test(bad_slot_is_named),     cmocka_unit_test(wrong_type_is_caught),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
