/*
 * dsa_fwd/cpu and dsa_bwd/cpu: golden vectors with every choice of `simd` that this processor has,
 * the shapes of the contract against the oracle, the edge cases, and what bits must not depend on.
 */
#include "dsa_cpu.h"
#include "test_dsa_cpu.h"

#define CHOICES 4

static void hold_vector(const struct vector *v)
{
    struct dsa_rig r;

    rig_from_vector(&r, v);
    for (uint32_t choice = 0; choice < CHOICES; choice++) {
        if (!rig_serves(&r, choice))
            continue;
        rig_run(&r, choice, 2);
        rig_hold_vector(&r, v);
    }
    rig_release(&r);
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("dsa_fwd", 14, hold_vector);
    rig_each_vector("dsa_bwd", 15, hold_vector);
}

/* Every fp16 and bf16 number, and roundings of floats, against the integer arithmetic of the model.
 */
static void conversions(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (uint32_t x = 0; x < 65536; x++) {
        const float half = dsa_of_fp16((uint16_t)x), brain = dsa_of_bf16((uint16_t)x);

        assert_true(isnan(half) ? isnan(numfmt_decode_fp16(x))
                                : dsa_bits(half) == dsa_bits(numfmt_decode_fp16(x)));
        assert_true(isnan(brain) || dsa_bits(brain) == dsa_bits(numfmt_decode_bf16(x)));
        assert_true(isnan(half) || dsa_to_fp16(half) == x);
        assert_true(isnan(brain) || dsa_to_bf16(brain) == x);
    }
    for (int i = 0; i < 4000000; i++) {
        float x;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x = dsa_float((uint32_t)(seed >> 32));
        if (isnan(x)) {
            assert_true(isnan(dsa_of_fp16(dsa_to_fp16(x))) && isnan(dsa_of_bf16(dsa_to_bf16(x))));
            continue;
        }
        assert_int_equal(dsa_to_fp16(x), numfmt_encode_fp16((double)x));
        assert_int_equal(dsa_to_bf16(x), numfmt_encode_bf16((double)x));
    }
    for (float x = -130; x <= 1; x += 0.00731f) {
        const double want = x < -126 ? 0 : exp2((double)x);

        assert_true(fabs((double)dsa_exp2(x) - want) <= 2.5e-7 * want);
    }
    assert_true(dsa_exp2(-INFINITY) == 0 && dsa_exp2(0) == 1);
}

/* ---- the contract's shapes ---- */

/* Held against the oracle with both dtypes, and the widest and the plainest instructions. */
static void hold(const char *op, const char *axes)
{
    static const char *const dtypes[] = {"bf16", "fp16"};
    char text[512];

    for (int i = 0; i < 2; i++) {
        struct dsa_rig r;

        snprintf(text, sizeof(text), "%s dtype=%s", axes, dtypes[i]);
        rig_init(&r, op, text);
        rig_oracle(&r, 2);
        for (uint32_t choice = 0; choice < 2; choice++) {
            rig_run(&r, choice, 2);
            rig_expect_pass(&r, text);
        }
        rig_release(&r);
    }
}

/* Section 2.5, at heads that a test can afford. */
static void forward_shapes(void **state)
{
    static const char *const axes[] = {
        "seqlen_q=3 seqlen_k=96 topk=65 heads=16 data=poison pattern=scattered lengths=ragged",
        "seqlen_q=1 seqlen_k=73 topk=65 heads=64 lse_prefix=65",
        "seqlen_q=37 seqlen_k=90 topk=65 heads=8 lengths=ragged lse_prefix=33",
        "seqlen_q=16 seqlen_k=73 topk=1152 heads=4 lse_prefix=1024",
        "seqlen_q=5 seqlen_k=592 topk=128 heads=70 head_dim=576 data=flashmla sink=mixed",
        "seqlen_q=4 seqlen_k=1840 topk=256 heads=8 data=flashmla pattern=scattered",
        "seqlen_q=3 seqlen_k=1592 topk=384 heads=5 head_dim=576 data=cudnn pattern=duplicates",
        "seqlen_q=3 seqlen_k=95 topk=128 heads=7 data=cudnn lengths=short sink=ln_k",
        "seqlen_q=2 seqlen_k=32 topk=2048 heads=3 pattern=padded",
        "seqlen_q=2 seqlen_k=64 topk=8192 heads=3 sink=neg_inf",
        "seqlen_q=7 seqlen_k=128 topk=128 heads=3 pattern=invalid lse_prefix=9",
        "seqlen_q=7 seqlen_k=128 topk=127 heads=3 lengths=empty lse_prefix=9",
        "seqlen_q=20 seqlen_k=200 topk=131 heads=1 lengths=ragged sink=mixed data=unit",
        "seqlen_q=9 seqlen_k=200 topk=64 heads=9 data=deep pattern=sorted lse_prefix=64",
        "seqlen_q=9 seqlen_k=200 topk=64 heads=9 data=deep sink=none pattern=single",
        "seqlen_q=9 seqlen_k=200 topk=50 heads=9 pattern=overlap overlap=0.8",
        "seqlen_q=3 seqlen_k=0 topk=5 heads=2 lse_prefix=5",
        "seqlen_q=3 seqlen_k=9 topk=0 heads=2",
        "seqlen_q=0 seqlen_k=9 topk=5 heads=2",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        hold("dsa_fwd", axes[i]);
}

/* Logits behind the prefix 256 above those of it: the prefix ends with a tile, with the first key
 * of one, and in its middle. */
static void prefix_far_below(void **state)
{
    static const int heads[] = {1, 8, 16, 32, 64, 128}, prefixes[] = {64, 65, 100};
    char axes[256];

    (void)state;
    for (int i = 0; i < 18; i++) {
        snprintf(axes, sizeof(axes),
                 "seqlen_q=1 seqlen_k=300 topk=131 lengths=none data=prefix_below heads=%d "
                 "lse_prefix=%d head_dim=%d",
                 heads[i / 3], prefixes[i % 3], (i / 3 + i) % 2 ? 576 : 512);
        hold("dsa_fwd", axes);
    }
    hold("dsa_fwd", "seqlen_q=20 seqlen_k=300 topk=131 lengths=ragged data=prefix_below heads=2 "
                    "lse_prefix=100 pattern=scattered");
}

/* Section 3.6. */
static void backward_shapes(void **state)
{
    static const char *const axes[] = {
        "seqlen_q=4 seqlen_k=128 topk=64 heads=64",
        "seqlen_q=4 seqlen_k=128 topk=64 heads=8 lengths=none",
        "seqlen_q=33 seqlen_k=300 topk=140 heads=4 lengths=ragged data=unit sink=mixed",
        "seqlen_q=20 seqlen_k=300 topk=131 heads=5 lengths=ragged data=poison pattern=scattered",
        "seqlen_q=6 seqlen_k=640 topk=513 heads=16",
        "seqlen_q=6 seqlen_k=700 topk=65 heads=96 head_dim=576 data=cudnn",
        "seqlen_q=2 seqlen_k=64 topk=32 heads=32 pattern=overlap overlap=0",
        "seqlen_q=1 seqlen_k=1 topk=1 heads=2 sink=neg_inf",
        "seqlen_q=9 seqlen_k=50 topk=8 heads=3 sink=none pattern=single data=unit",
        "seqlen_q=8 seqlen_k=65 topk=64 heads=2 head_dim=576 deterministic=1",
        "seqlen_q=9 seqlen_k=127 topk=130 heads=2 pattern=duplicates",
        "seqlen_q=40 seqlen_k=99 topk=40 heads=3 pattern=single data=unit",
        "seqlen_q=12 seqlen_k=90 topk=40 heads=9 data=deep lengths=random",
        "seqlen_q=12 seqlen_k=90 topk=40 heads=3 pattern=invalid",
        "seqlen_q=12 seqlen_k=90 topk=40 heads=3 lengths=empty sink=pos_inf",
        "seqlen_q=6 seqlen_k=90 topk=40 heads=3 sink=pos_inf",
        "seqlen_q=6 seqlen_k=90 topk=40 heads=3 sink=overflow",
        "seqlen_q=6 seqlen_k=90 topk=40 heads=3 sink=large data=unit",
        "seqlen_q=6 seqlen_k=90 topk=40 heads=3 sink=ln_k data=flashmla",
        "seqlen_q=3 seqlen_k=0 topk=5 heads=2",
        "seqlen_q=3 seqlen_k=9 topk=0 heads=2",
        "seqlen_q=0 seqlen_k=9 topk=5 heads=2",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        hold("dsa_bwd", axes[i]);
}

/* d_sink to the tight bar of 3.6, over enough rows that several blocks of the kernel are run. */
static void sink_gradient(void **state)
{
    struct op_case c;
    struct dsa_rig r;
    struct err none = ERR_INIT;

    (void)state;
    assert_int_equal(rig_case(&c, "dsa_bwd", "seqlen_q=257 seqlen_k=256 topk=64 heads=128", &none),
                     0);
    rig_open(&r, &c);
    rig_forward(&r, rig_by_cpu);
    rig_run(&r, 0, 2);
    for (int64_t h = 0; h < 128; h++) {
        struct err err = ERR_INIT;
        struct op_slice *s = op_slices_add(&r.s, BWD(d_sink), h, 1, &err);

        assert_non_null(s);
        s->head = h;
    }
    {
        struct op_buffers buffers;
        struct op_source src;
        struct err err = ERR_INIT;

        rig_source(&r, &buffers, &src);
        assert_int_equal(r.c.op->oracle(&r.p, &src, NULL, 0, 2, &r.s, &err), 0);
    }
    for (int64_t h = 0; h < 128; h++) {
        const double want = r.s.item[h].ref[0], got = rig_value(&r, BWD(d_sink), h);

        assert_true(fabs(want) > 1e-7);
        assert_true(fabs(got - want) <= 2e-6 + 2e-6 * fabs(want));
    }
    rig_release(&r);
}

/* ---- edges ---- */

static void expect_same(const struct dsa_rig *r, uint32_t t, const void *bits)
{
    assert_memory_equal(r->data[t], bits, r->p.tensor[t].bytes);
}

/* Sinks never touch max_logits and lse; -inf and -3e38 leave every bit as without one. */
static void sinks_and_bits(void **state)
{
    static const char axes[] = "seqlen_q=6 seqlen_k=80 heads=8 lengths=ragged sink=mixed topk=20";
    struct dsa_rig with, without;

    (void)state;
    rig_init(&with, "dsa_fwd", axes);
    rig_init(&without, "dsa_fwd", axes);
    free(without.data[FWD(attn_sink)]);
    without.data[FWD(attn_sink)] = NULL;
    memset(&without.p.tensor[FWD(attn_sink)], 0, sizeof(without.p.tensor[0]));
    rig_run(&with, 0, 2);
    rig_run(&without, 0, 2);
    expect_same(&with, FWD(max_logits), without.data[FWD(max_logits)]);
    expect_same(&with, FWD(lse), without.data[FWD(lse)]);
    for (int64_t row = 0; row < 6; row++) {
        const uint16_t *a = (uint16_t *)with.data[FWD(out)] + row * 8 * 512;
        const uint16_t *b = (uint16_t *)without.data[FWD(out)] + row * 8 * 512;

        /* Heads 1 and 6; 2, 4 and 5 are above everything. */
        assert_memory_equal(a + 512, b + 512, 1024);
        assert_memory_equal(a + 6 * 512, b + 6 * 512, 1024);
        for (int d = 0; d < 512; d++)
            assert_true(a[2 * 512 + d] == 0 && a[4 * 512 + d] == 0 && a[5 * 512 + d] == 0);
    }
    rig_release(&without);
    rig_release(&with);
}

/* All gradients of a head with a sink above everything are 0, dout being what it may. */
static void dead_heads(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_init(&r, "dsa_bwd", "seqlen_q=6 seqlen_k=80 heads=8 sink=mixed topk=20 data=unit");
    rig_run(&r, 0, 2);
    for (int64_t row = 0; row < 6; row++)
        for (int64_t d = 0; d < 512; d++) {
            assert_true(rig_value(&r, BWD(dq), (row * 8 + 2) * 512 + d) == 0);
            assert_true(rig_value(&r, BWD(dq), (row * 8 + 4) * 512 + d) == 0);
            assert_true(rig_value(&r, BWD(dq), (row * 8 + 5) * 512 + d) == 0);
            assert_true(rig_value(&r, BWD(dq), (row * 8 + 3) * 512 + d) != 0);
        }
    for (int h = 0; h < 8; h++)
        assert_int_equal(rig_value(&r, BWD(d_sink), h) == 0,
                         h == 1 || h == 2 || (h >= 4 && h <= 6));
    rig_release(&r);
}

/* NaN in out and dout of a row without an active slot stays there; dkv and d_sink never see it. */
static void empty_row_of_nan(void **state)
{
    struct dsa_rig r, clean;

    (void)state;
    rig_init(&clean, "dsa_bwd", "seqlen_q=18 seqlen_k=80 heads=3 lengths=ragged");
    rig_init(&r, "dsa_bwd", "seqlen_q=18 seqlen_k=80 heads=3 lengths=ragged");
    memset((char *)r.data[BWD(out)] + 3 * 1024, 0xff, 3 * 1024); /* row 1 */
    memset((char *)r.data[BWD(dout)] + 3 * 1024, 0xff, 3 * 1024);
    assert_true(isinf(rig_value(&r, BWD(lse), 3)));
    rig_run(&clean, 0, 2);
    rig_run(&r, 0, 2);
    expect_same(&r, BWD(dq), clean.data[BWD(dq)]);
    expect_same(&r, BWD(dkv), clean.data[BWD(dkv)]);
    expect_same(&r, BWD(d_sink), clean.data[BWD(d_sink)]);
    rig_release(&r);
    rig_release(&clean);
}

/* One active slot, no sink: out is the value's bits, whatever they are. */
static void one_slot(void **state)
{
    static const char *const dtypes[] = {"bf16", "fp16"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        char axes[128];
        struct dsa_rig r;

        snprintf(axes, sizeof(axes), "seqlen_q=5 seqlen_k=9 topk=1 sink=none data=unit dtype=%s",
                 dtypes[i]);
        rig_init(&r, "dsa_fwd", axes);
        for (int64_t k = 0; k < 9 * 512; k += 3) /* subnormal numbers too */
            numfmt_store(SAB_FP16, r.data[FWD(kv)], k, (uint32_t)k & 0x83ff);
        rig_run(&r, 0, 1);
        for (int64_t t = 0; t < 5; t++) {
            const int32_t id = ((int32_t *)r.data[FWD(topk_idxs)])[t];

            for (int64_t h = 0; h < 8; h++)
                for (int64_t d = 0; d < 512; d++)
                    assert_true(rig_value(&r, FWD(out), (t * 8 + h) * 512 + d) ==
                                rig_value(&r, FWD(kv), id * 512 + d));
            assert_true(rig_value(&r, FWD(lse), t * 8) == rig_value(&r, FWD(max_logits), t * 8));
        }
        rig_release(&r);
    }
}

/* More query rows than a grid's y or z dimension can hold. */
static void many_rows(void **state)
{
    struct dsa_rig r;
    uint16_t *out;

    (void)state;
    rig_init(&r, "dsa_fwd", "seqlen_q=70001 seqlen_k=3 topk=1 heads=1 sink=none");
    rig_run(&r, 0, 2);
    out = r.data[FWD(out)];
    for (int64_t t = 0; t < 70001; t++)
        assert_memory_equal(
            out + 512 * t,
            (uint16_t *)r.data[FWD(kv)] + 512 * ((int32_t *)r.data[FWD(topk_idxs)])[t], 1024);
    rig_release(&r);
}

/* ---- bits ---- */

static void bits_do_not_depend_on(void **state)
{
    static const int threads[] = {1, 2, 3, 7, 20};
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        void *bits[SAB_MAX_TENSORS] = {NULL};
        struct dsa_rig r;

        rig_init(&r, ops[i], "seqlen_q=23 seqlen_k=150 topk=130 heads=66 lengths=ragged");
        rig_run(&r, 0, 1);
        for (uint32_t t = 0; t < r.p.spec->tensors_nr; t++)
            if (rig_has(&r, t) && rig_is_output(&r, t))
                bits[t] = rig_copy(&r, t);
        for (size_t k = 0; k < sizeof(threads) / sizeof(threads[0]); k++) {
            const struct rig_call call = {.threads = threads[k], .fill = 0x11 * (int)(k + 1)};
            char text[512];

            assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_OK);
            for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
                if (bits[t])
                    expect_same(&r, t, bits[t]);
        }
        for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
            free(bits[t]);
        rig_release(&r);
    }
}

/* ---- refusals ---- */

static void refusals(void **state)
{
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};
    char text[512];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig_call call = {.choice = CHOICES, .threads = 1};
        struct dsa_rig r;

        rig_init(&r, ops[i], "seqlen_q=2 seqlen_k=40 heads=1");
        assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
        assert_non_null(strstr(text, "simd"));
        call = (struct rig_call){.threads = 0};
        assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
        assert_non_null(strstr(text, "threads"));
        call = (struct rig_call){.threads = 1, .less_bytes = 1};
        if (i == 1) {
            assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
            assert_non_null(strstr(text, "workspace"));
        }
        call = (struct rig_call){.threads = 1};
        r.p.param[0].f = 0;
        assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
        assert_non_null(strstr(text, "softmax_scale"));
        rig_release(&r);
    }
}

static void rows(void **state)
{
    static const struct sab_kernel *const kernels[] = {&dsa_fwd_cpu_row, &dsa_bwd_cpu_row};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct sab_op_spec *op = sab_op_find(kernels[i]->op);

        assert_string_equal(kernels[i]->name, "cpu");
        assert_true(kernels[i]->schema_hash == sab_schema_hash(op, op->tensors_nr, op->params_nr));
        assert_int_equal(kernels[i]->options[0].choices_nr, CHOICES);
        assert_true(kernels[i]->flags & SAB_KERNEL_DETERMINISTIC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors),   cmocka_unit_test(conversions),
        cmocka_unit_test(forward_shapes),   cmocka_unit_test(prefix_far_below),
        cmocka_unit_test(backward_shapes),  cmocka_unit_test(sink_gradient),
        cmocka_unit_test(sinks_and_bits),   cmocka_unit_test(dead_heads),
        cmocka_unit_test(empty_row_of_nan), cmocka_unit_test(one_slot),
        cmocka_unit_test(many_rows),        cmocka_unit_test(bits_do_not_depend_on),
        cmocka_unit_test(refusals),         cmocka_unit_test(rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
