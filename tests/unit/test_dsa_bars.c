/*
 * The models of dsa_fwd and dsa_bwd: bars against deliberately wrong results, costs, samples, and
 * the cases that are refused.
 */
#include "test_dsa_rig.h"

/* ---- bars ---- */

/* Every value of an output times a factor, as if rounded in another type. */
static void through_bf16(struct dsa_rig *r, uint32_t t)
{
    for (int64_t i = 0; i < r->p.tensor[t].elements; i++)
        rig_set(r, t, i, numfmt_decode(SAB_BF16, numfmt_encode(SAB_BF16, rig_value(r, t, i))));
}

/* fp16 computed as bf16 is what the difference bar is there for; bf16 itself passes its own. */
static void fp16_as_bf16(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_right(&r, "dsa_fwd", "dtype=fp16 seqlen_q=9 seqlen_k=64 data=unit");
    through_bf16(&r, FWD(out));
    rig_expect_broken(&r, "difference of out");
    rig_release(&r);
    rig_right(&r, "dsa_bwd", "dtype=fp16 seqlen_q=9 seqlen_k=64");
    through_bf16(&r, BWD(dq));
    rig_expect_broken(&r, "relative L2 of dq");
    rig_answer(&r);
    through_bf16(&r, BWD(dkv));
    rig_expect_broken(&r, "relative L2 of dkv");
    rig_release(&r);
}

static void wrong_forwards(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_right(&r, "dsa_fwd", "seqlen_q=20 seqlen_k=40 lengths=ragged lse_prefix=8 sink=mixed");
    rig_set(&r, FWD(lse), 9, rig_value(&r, FWD(lse), 2 * 8) + 0.7); /* row 1 is empty */
    rig_expect_broken(&r, "lse[1,1]");
    rig_answer(&r);
    rig_set(&r, FWD(lse_indexer), 5 * 8, -INFINITY);
    rig_expect_broken(&r, "lse_indexer[5,0]");
    rig_answer(&r);
    rig_set(&r, FWD(max_logits), 5 * 8 + 1, rig_value(&r, FWD(max_logits), 5 * 8 + 1) + 1e-4);
    rig_expect_broken(&r, "max_logits[5,1]");
    rig_answer(&r);
    /* Zero bits in an empty row; in the row of an infinite sink (head 2) zero of either sign. */
    numfmt_store(SAB_BF16, r.data[FWD(out)], 3, 0x8000);
    rig_expect_broken(&r, "to the bit");
    rig_answer(&r);
    numfmt_store(SAB_BF16, r.data[FWD(out)], (4 * 8 + 2) * 512 + 7, 0x8000);
    rig_expect_pass(&r, "-0 where the sink is infinite");
    rig_set(&r, FWD(out), (4 * 8 + 2) * 512 + 7, 1e-30);
    rig_expect_broken(&r, "out[4,2,7]");
    rig_release(&r);
    /* The sink dropped: all of out is larger by its share. */
    rig_right(&r, "dsa_fwd", "seqlen_q=5 seqlen_k=64 sink=ln_k");
    for (int64_t i = 0; i < r.p.tensor[FWD(out)].elements; i++)
        rig_set(&r, FWD(out), i, 2 * rig_value(&r, FWD(out), i));
    rig_expect_broken(&r, "out");
    rig_release(&r);
}

static void wrong_backwards(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_right(&r, "dsa_bwd", "seqlen_q=20 seqlen_k=40 topk=8 lengths=ragged sink=mixed");
    /* Head 1 has no sink: its gradient is 0 and nothing else. */
    assert_true(rig_value(&r, BWD(d_sink), 1) == 0);
    rig_set(&r, BWD(d_sink), 1, 1e-7);
    rig_expect_broken(&r, "d_sink");
    rig_answer(&r);
    rig_set(&r, BWD(d_sink), 0, rig_value(&r, BWD(d_sink), 0) + 1e-3);
    rig_expect_broken(&r, "d_sink[0]");
    rig_answer(&r);
    /* Row 0 is empty. */
    rig_set(&r, BWD(dq), 100, 1e-6);
    rig_expect_broken(&r, "dq[0,0,100]");
    rig_answer(&r);
    rig_set(&r, BWD(dkv), 512 * 3, NAN);
    rig_expect_broken(&r, "dkv[3,0]");
    rig_release(&r);
}

/* Duplicates merged, as a reference on a mask of T x N does. */
static void merged_duplicates(void **state)
{
    struct dsa_rig r, merged;

    (void)state;
    rig_right(&r, "dsa_fwd",
              "seqlen_q=3 seqlen_k=40 topk=16 pattern=duplicates sink=none data=unit");
    rig_right(&merged, "dsa_fwd",
              "seqlen_q=3 seqlen_k=40 topk=16 pattern=duplicates sink=none data=unit");
    for (int64_t t = 0; t < 3; t++)
        for (int64_t j = 0; j < 16; j++)
            for (int64_t k = 0; k < j; k++) {
                int32_t *ids = (int32_t *)merged.data[FWD(topk_idxs)] + 16 * t;

                ids[j] = ids[k] == ids[j] ? -1 : ids[j];
            }
    rig_oracle(&merged, 1);
    rig_answer(&merged);
    memcpy(r.data[FWD(out)], merged.data[FWD(out)], r.p.tensor[FWD(out)].bytes);
    rig_expect_broken(&r, "out");
    rig_release(&merged);
    rig_release(&r);
}

/* A wrong pairing of lse and sink (contract, 1.7): the sink counted twice, and dropped. */
static void wrong_pairings(void **state)
{
    struct dsa_rig r, wrong;

    (void)state;
    rig_right(&r, "dsa_bwd", "seqlen_q=4 seqlen_k=64 heads=2 sink=ln_k");
    for (int twice = 0; twice < 2; twice++) {
        rig_right(&wrong, "dsa_bwd", "seqlen_q=4 seqlen_k=64 heads=2 sink=ln_k");
        for (int64_t i = 0; i < 8; i++) {
            const double lse = rig_value(&wrong, BWD(lse), i);

            if (twice)
                rig_set(&wrong, BWD(lse), i, log(exp(lse) + 32));
            else
                rig_set(&wrong, BWD(attn_sink), i % 2, -INFINITY);
        }
        rig_oracle(&wrong, 1);
        rig_answer(&wrong);
        memcpy(r.data[BWD(dq)], wrong.data[BWD(dq)], r.p.tensor[BWD(dq)].bytes);
        rig_expect_broken(&r, "relative L2 of dq");
        rig_release(&wrong);
    }
    rig_release(&r);
}

static void refused_cases(void **state)
{
    static const struct {
        const char *op, *axes, *why;
    } cases[] = {
        {"dsa_fwd", "head_dim=520", "head_dim = 520"},
        {"dsa_fwd", "topk=8 lse_prefix=9", "lse_prefix = 9"},
        {"dsa_fwd", "seqlen_k=1 data=poison", "poison"},
        {"dsa_fwd", "data=prefix_below", "lse_prefix = 0"},
        {"dsa_bwd", "seqlen_k=63 topk=32 pattern=overlap overlap=0", "at least 64"},
        {"dsa_bwd", "data=deep sink=none", "sink = none"},
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

/* ---- cost ---- */

static void cost_of(const char *op, const char *axes, struct op_cost *cost)
{
    struct op_case c;
    struct err err = ERR_INIT;

    if (rig_case(&c, op, axes, &err) || c.op->cost(&c, cost, &err))
        fail_msg("%s", err.text);
}

static bool near(double got, double want, double within)
{
    return fabs(got - want) <= within * want;
}

/* Section 6: V4-Flash at 4096 in the contract's words, published rates, and by hand. */
static void costs(void **state)
{
    struct op_cost cost;

    (void)state;
    cost_of("dsa_bwd", "seqlen_q=4096 seqlen_k=4096 heads=64 topk=640 lengths=none", &cost);
    assert_true(near(cost.flops_nominal, 0.859e12, 1e-3));
    assert_true(near(cost.bytes_tiles, 3.50e9 + 0.27e9 + 5.37e9 + 2 * 4096 * 512 * 4.0, 5e-3));
    assert_true(cost.flops_valid == cost.flops_nominal);
    /* 2.664 ms are 322.5 TFLOPS (6.2); V4-Pro forward 0.871 ms 1420, GLM-5.3 1.076 ms 1086 (6.3).
     */
    assert_true(near(cost.flops_nominal / 2.664e-3, 322.5e12, 5e-4));
    cost_of("dsa_fwd", "seqlen_q=4096 seqlen_k=4096 heads=128 topk=1152 lse_prefix=1024", &cost);
    assert_true(near(cost.flops_nominal / 0.871e-3, 1420e12, 1e-3));
    cost_of("dsa_fwd", "seqlen_q=4096 seqlen_k=4096 heads=64 head_dim=576 topk=2048", &cost);
    assert_true(near(cost.flops_nominal / 1.076e-3, 1086e12, 1e-3));
    cost_of("dsa_fwd", "seqlen_q=10 seqlen_k=20 heads=3 topk=5 lengths=none sink=none", &cost);
    assert_true(cost.bytes_min == 10 * 3 * 1024 * 2 + 10 * 5 * 4 + 20 * 512 * 2 + 8 * 10 * 3);
    assert_true(cost.bytes_tiles == 50 * 512 * 2 + 10 * 3 * 1024 * 2);
    assert_true(cost.flops_dense == 2.0 * 10 * 3 * 20 * 1024 && cost.density == 0.25);
    cost_of("dsa_fwd", "seqlen_q=16 seqlen_k=20 topk=8 pattern=scattered lengths=full", &cost);
    assert_true(near(cost.flops_valid, cost.flops_nominal * 7 / 8, 1e-12));
    cost_of("dsa_fwd", "seqlen_q=0 seqlen_k=0", &cost);
    assert_true(cost.flops_nominal == 0 && isnan(cost.density));
}

/* ---- samples ---- */

/* Within a budget some rows are held; their values are those of the whole. */
static void samples(void **state)
{
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct op_buffers buffers;
        struct op_source src;
        struct op_slices some;
        struct dsa_rig r;
        struct err err = ERR_INIT;
        size_t found = 0;

        rig_right(&r, ops[i], "seqlen_q=40 seqlen_k=60 heads=4 lengths=random pattern=duplicates");
        rig_source(&r, &buffers, &src);
        op_slices_init(&some);
        assert_int_equal(r.c.op->slices(&r.c, r.c.op->oracle_flops(&r.c) / 4, &some, &err), 0);
        assert_false(some.complete);
        assert_true(some.nr > 6 && some.nr < r.s.nr);
        assert_int_equal(r.c.op->oracle(&r.p, &src, NULL, 0, 3, &some, &err), 0);
        for (size_t k = 0; k < some.nr; k++)
            for (size_t n = 0; n < r.s.nr; n++) {
                if (some.item[k].tensor != r.s.item[n].tensor || some.item[k].at != r.s.item[n].at)
                    continue;
                found++;
                for (int64_t e = 0; e < some.item[k].n; e++)
                    assert_true(some.item[k].ref[e] == r.s.item[n].ref[e] ||
                                fabs(some.item[k].ref[e] - r.s.item[n].ref[e]) <
                                    1e-12 * fabs(r.s.item[n].ref[e]) + 1e-15);
            }
        assert_int_equal(found, some.nr);
        op_slices_release(&some);
        rig_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp16_as_bf16),    cmocka_unit_test(wrong_forwards),
        cmocka_unit_test(wrong_backwards), cmocka_unit_test(merged_duplicates),
        cmocka_unit_test(wrong_pairings),  cmocka_unit_test(refused_cases),
        cmocka_unit_test(costs),           cmocka_unit_test(samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
