/*
 * The model of bsa_fwd: the oracle against the golden vectors, which come from the contract alone;
 * work and traffic against published numbers and counts by hand; and the bars against right and
 * deliberately wrong results.
 */
#include "test_bsa_rig.h"

static void hold_vector(const struct vector *v)
{
    static const char *const names[] = {"out", "lse"};
    struct dsa_rig r;

    bsa_from_vector(&r, v);
    rig_oracle(&r, 2);
    for (int i = 0; i < 2; i++) {
        const struct vector_tensor *want = vector_tensor_find(v, names[i]);
        const uint32_t tensor = i ? BSA(lse) : BSA(out);
        int64_t compared = 0;

        for (size_t k = 0; k < r.s.nr; k++)
            for (int64_t e = 0; r.s.item[k].tensor == tensor && e < r.s.item[k].n; e++) {
                const double ref = r.s.item[k].ref[e], w = want->value[r.s.item[k].at + e];

                compared++;
                if (!(ref == w || fabs(ref - w) <= 1e-12 + 1e-12 * fabs(w)))
                    fail_msg("%s: %s[%lld] is %.17g, must be %.17g", v->title, names[i],
                             (long long)(r.s.item[k].at + e), ref, w);
            }
        assert_int_equal(compared, want->elements);
    }
    rig_release(&r);
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("bsa_fwd", 13, hold_vector);
}

static struct op_cost cost_of(const char *axes)
{
    struct op_case c;
    struct op_cost cost;
    struct err err = ERR_INIT;

    if (rig_case(&c, "bsa_fwd", axes, &err) || c.op->cost(&c, &cost, &err))
        fail_msg("%s", err.text);
    return cost;
}

/* Contract, section 7: times and rates of one shape on two devices; section 6 says that they count
 * F_nominal. */
static void published_rates(void **state)
{
    static const double ms_tflops[][2] = {
        {5.077, 317.0}, {5.106, 315.2}, {5.754, 279.7}, {5.916, 272.0}};
    const struct op_cost cost = cost_of("heads=7 seqlen=109632 topk=64");

    (void)state;
    for (size_t i = 0; i < sizeof(ms_tflops) / sizeof(ms_tflops[0]); i++)
        assert_true(fabs(cost.flops_nominal / ms_tflops[i][0] * 1e-9 - ms_tflops[i][1]) < 0.06);
    assert_true(cost.flops_valid == cost.flops_nominal);
    assert_true(fabs(cost.density - 64.0 / 1713) < 1e-12);
}

/* Sq = 100: tiles of 64 and 36 rows. Sk = 150: blocks of 64, 64 and 22 tokens. Two slots a row. */
static void counted_by_hand(void **state)
{
    const char *const axes =
        "batch=2 heads=4 kv_heads=2 seqlen_q=100 seqlen_k=150 topk=2 pattern=topk promise=per_row ";
    char text[256];
    struct op_cost cost;
    const double metadata = 4 * (2 * 4 * 2 * 2 + 2 * 4 * 2);
    const double values = 2 * 128 * (2.0 * 2 * 4 * 100 + 2.0 * 2 * 2 * 150);

    (void)state;
    snprintf(text, sizeof(text), "%slse=off", axes);
    cost = cost_of(text);
    assert_true(cost.flops_nominal == 4.0 * 128 * 2 * 4 * 100 * 2 * 64);
    /* The pattern takes the tail block and, of three, block 0. */
    assert_true(cost.flops_valid == 4.0 * 128 * 2 * 4 * 100 * (64 + 22));
    assert_true(cost.flops_dense == 4.0 * 2 * 4 * 100 * 150 * 128);
    assert_true(cost.bytes_min == values + metadata);
    assert_true(cost.bytes_tiles == 32768.0 * 2 * 4 * 2 * 2);
    snprintf(text, sizeof(text), "%slse=on sizes_mode=3", axes);
    cost = cost_of(text);
    assert_true(cost.bytes_min == values + metadata + 4 * 2 * 4 * 100 + 4 * 2 * 4 * 3);
}

/* One case has one mask, in bf16, in fp16 and for Sage. */
static void the_mask_is_that_of_sage(void **state)
{
    static const char *const ops[] = {"sage_fwd", "bsa_fwd", "bsa_fwd"};
    static const char *const tensors[] = {"q2k_block_index", "q2k_block_nums", "block_sizes"};
    const char *const axes = "batch=2 heads=3 seqlen=900 pattern=topk counts=varying sizes_mode=3 ";
    struct dsa_rig r[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        char text[256];

        snprintf(text, sizeof(text), "%s%s", axes, i == 2 ? "dtype=fp16" : "");
        rig_init(&r[i], ops[i], text);
    }
    for (int k = 0; k < 3; k++) {
        const void *first = NULL;

        for (int i = 0; i < 3; i++)
            for (uint32_t t = 0; t < r[i].p.spec->tensors_nr; t++) {
                if (strcmp(r[i].p.spec->tensors[t].name, tensors[k]))
                    continue;
                if (i == 0)
                    first = r[i].data[t];
                assert_memory_equal(r[i].data[t], first, r[i].p.tensor[t].bytes);
            }
    }
    for (int i = 0; i < 3; i++)
        rig_release(&r[i]);
}

/* Places that no query head may see hold NaN in K and 64 in V; the first head of a group has the
 * largest sizes. Two blocks of 64 and 40: sizes by head are 0 and 40 - 7b - 11h. */
static void masked_places_are_poison(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_init(&r, "bsa_fwd", "batch=2 heads=4 kv_heads=2 seqlen=104 density=1 sizes_mode=3");
    for (int64_t line = 0; line < 2 * 2 * 104; line++) {
        const int64_t token = line % 104, head = line / 104 % 2 * 2, batch = line / 208;
        const bool seen = token >= 64 && token - 64 < 40 - 7 * batch - 11 * head;
        const double k = rig_value(&r, BSA(k), line * 128 + 5);
        const double v = rig_value(&r, BSA(v), line * 128 + 77);

        assert_true(seen ? isfinite(k) && fabs(k) < 4 : isnan(k));
        assert_true(seen ? fabs(v) < 4 : v == 64);
    }
    rig_release(&r);
}

static void impossible_cases_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"heads=4 kv_heads=3", "kv_heads = 3 does not divide heads = 4"},
        {"heads=2 kv_heads=4", "kv_heads = 4 does not divide heads = 2"},
        {"topk=4 cap=3", "cap = 3 is below the 4 blocks"},
        {"pattern=topk promise=uniform_contiguous", "would be broken by pattern = topk"},
        {"counts=varying promise=scalar", "would be broken by counts = varying"},
    };
    struct op_case c;
    struct dsa_rig r;
    struct op_source src;
    struct op_buffers buffers;
    struct err none = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(rig_case(&c, "bsa_fwd", rows[i][0], &err), -1);
        if (!strstr(err.text, rows[i][1]))
            fail_msg("'%s' does not say '%s'", err.text, rows[i][1]);
    }
    rig_init(&r, "bsa_fwd", "seqlen=64 head_dim=64");
    rig_source(&r, &buffers, &src);
    assert_int_equal(r.c.op->slices(&r.c, 1e9, &r.s, &none), 0);
    assert_int_equal(r.c.op->oracle(&r.p, &src, NULL, 0, 1, &r.s, &none), -1);
    assert_non_null(strstr(none.text, "head_dim = 64"));
    rig_release(&r);
}

/* The last slot is slot 1 of the last row. */
static void broken_metadata_is_named(void **state)
{
    struct dsa_rig r;
    struct op_source src;
    struct op_buffers buffers;
    struct err err = ERR_INIT, more = ERR_INIT;

    (void)state;
    rig_init(&r, "bsa_fwd", "heads=3 seqlen=130 topk=2 pattern=topk promise=per_row");
    rig_source(&r, &buffers, &src);
    assert_int_equal(r.c.op->slices(&r.c, 1e12, &r.s, &err), 0);
    ((int32_t *)r.data[BSA(q2k_block_index)])[3 * 3 * 2 - 1] = 3;
    assert_int_equal(r.c.op->oracle(&r.p, &src, NULL, 0, 2, &r.s, &err), -1);
    assert_string_equal(err.text, "q2k_block_index of batch 0, head 2, row 2, slot 1 is 3, must be "
                                  "0 to 2");
    ((int32_t *)r.data[BSA(q2k_block_nums)])[4] = 3;
    assert_int_equal(r.c.op->oracle(&r.p, &src, NULL, 0, 2, &r.s, &more), -1);
    assert_string_equal(more.text, "the count of batch 0, head 1, row 1 is 3, must be 0 to 2");
    rig_release(&r);
}

/* ---- the bars ---- */

/* Each is one way to be wrong that random data would hide from a loose bar. */
static void wrong_results_are_seen(void **state)
{
    const char *const axes = "heads=2 seqlen=300 counts=varying density=0.8 dtype=fp16";
    struct dsa_rig r;
    int64_t empty = -1;

    (void)state;
    rig_right(&r, "bsa_fwd", axes);
    for (int64_t row = 0; row < 2 * 300 && empty < 0; row++)
        if (rig_value(&r, BSA(lse), row) == -INFINITY)
            empty = row;
    assert_true(empty >= 0);
    rig_set(&r, BSA(lse), empty, INFINITY); /* as dsa_fwd marks it */
    rig_expect_broken(&r, "lse[0,");
    rig_answer(&r);
    ((uint16_t *)r.data[BSA(out)])[empty * 128 + 3] = 0x8000;
    rig_expect_broken(&r, "of an empty row");
    rig_answer(&r);
    for (int64_t row = 0; row < 2 * 300; row++) /* in log2 units */
        rig_set(&r, BSA(lse), row, rig_value(&r, BSA(lse), row) / 0.69314718055994531);
    rig_expect_broken(&r, "lse[0,0,");
    rig_answer(&r);
    for (int64_t i = 0; i < r.p.tensor[BSA(out)].elements; i++) /* to seven bits */
        rig_set(&r, BSA(out), i,
                numfmt_decode_bf16(numfmt_encode_bf16(rig_value(&r, BSA(out), i))));
    rig_expect_broken(&r, "relative L2 of out");
    rig_answer(&r);
    rig_set(&r, BSA(out), 299 * 128, rig_value(&r, BSA(out), 299 * 128) + 0.03);
    rig_expect_broken(&r, "out[0,0,299,0]");
    rig_release(&r);
}

/* A query head that takes the keys of its neighbour's group. */
static void wrong_group_is_seen(void **state)
{
    struct dsa_rig r, other;

    (void)state;
    rig_right(&r, "bsa_fwd", "heads=4 kv_heads=2 seqlen=128 density=1");
    rig_init(&other, "bsa_fwd", "heads=4 kv_heads=2 seqlen=128 density=1");
    for (uint32_t t = BSA(k); t <= BSA(v); t++) {
        const size_t half = other.p.tensor[t].bytes / 2;

        memcpy(other.data[t], (char *)r.data[t] + half, half);
    }
    rig_oracle(&other, 2);
    rig_answer(&other);
    memcpy(r.data[BSA(out)], other.data[BSA(out)], r.p.tensor[BSA(out)].bytes);
    rig_expect_broken(&r, "out[0,0,0,");
    rig_release(&other);
    rig_release(&r);
}

/* A few tiles of a large case, both outputs of each. */
static void samples(void **state)
{
    struct op_case c;
    struct op_slices s;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(rig_case(&c, "bsa_fwd", "batch=2 heads=7 seqlen=109632 topk=64", &err), 0);
    op_slices_init(&s);
    assert_int_equal(c.op->slices(&c, 1e9, &s, &err), 0);
    assert_false(s.complete);
    assert_true(s.nr >= 4 && s.nr % 2 == 0);
    for (size_t i = 0; i < s.nr; i += 2) {
        assert_int_equal(s.item[i].tensor, BSA(out));
        assert_int_equal(s.item[i + 1].tensor, BSA(lse));
        assert_int_equal(s.item[i].at, 128 * s.item[i + 1].at);
        assert_int_equal(s.item[i].n, 128 * s.item[i + 1].n);
    }
    assert_int_equal(s.item[3].at + s.item[3].n, 2 * 7 * 109632);
    op_slices_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors),           cmocka_unit_test(published_rates),
        cmocka_unit_test(counted_by_hand),          cmocka_unit_test(the_mask_is_that_of_sage),
        cmocka_unit_test(masked_places_are_poison), cmocka_unit_test(impossible_cases_are_refused),
        cmocka_unit_test(broken_metadata_is_named), cmocka_unit_test(wrong_results_are_seen),
        cmocka_unit_test(wrong_group_is_seen),      cmocka_unit_test(samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
