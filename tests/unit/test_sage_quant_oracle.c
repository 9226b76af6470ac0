/*
 * The models of the Sage quantisers: their oracles against the golden vectors, which come from the
 * contract alone, and the bars against deliberately wrong results.
 */
#include <stdio.h>

#include "test_quant_rig.h"

#define Q(name)  SAB_T_sage_quant_q_##name
#define KV(name) SAB_T_sage_quant_kv_##name

/* Reference values of an output against a tensor of the file that holds them in double. */
static void hold_exact(const struct quant_rig *r, const struct vector *v, uint32_t tensor,
                       const char *name)
{
    const struct vector_tensor *exact = vector_tensor_find(v, name);

    assert_non_null(exact);
    for (size_t i = 0; i < r->s.nr; i++)
        for (int64_t k = 0; r->s.item[i].tensor == tensor && k < r->s.item[i].n; k++) {
            const double want = exact->value[r->s.item[i].at + k];

            if (!(fabs(r->s.item[i].ref[k] - want) <= 1e-12 * want))
                fail_msg("%s: %s[%lld] is %.17g, must be %.17g", v->title, name,
                         (long long)(r->s.item[i].at + k), r->s.item[i].ref[k], want);
        }
}

static void hold_vector(const struct vector *v)
{
    const bool q = !strcmp(v->op, "sage_quant_q");
    struct quant_rig r;
    struct judgement j;

    rig_from_vector(&r, v, true);
    rig_oracle(&r);
    j = rig_judge(&r);
    if (!j.pass)
        fail_msg("%s: %s", v->title, j.text);
    if (q) {
        hold_exact(&r, v, Q(q_scale), "q_scale_exact");
    } else {
        hold_exact(&r, v, KV(k_scale), "k_scale_exact");
        hold_exact(&r, v, KV(v_scale), "v_scale_exact");
    }
    rig_release(&r);
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("sage_quant_q", 4, hold_vector);
    rig_each_vector("sage_quant_kv", 5, hold_vector);
}

/* The rounded mean of K that an oracle works with: k less its reference value. */
static void golden_mean(void **state)
{
    const struct vector_tensor *mean;
    struct quant_rig r;
    struct vector v;

    (void)state;
    rig_vector(&v, VECTORS_DIR "/sage_quant_kv/large_mean.txt");
    rig_from_vector(&r, &v, true);
    rig_oracle(&r);
    mean = vector_tensor_find(&v, "k_mean");
    assert_non_null(mean);
    for (size_t i = 0; i < r.s.nr; i++) {
        const struct op_slice *s = &r.s.item[i];

        for (int64_t k = 0; s->tensor == KV(k_int8) && k < s->n; k++) {
            const double key = numfmt_decode(SAB_BF16, ((uint16_t *)r.data[KV(k)])[s->at + k]);

            assert_true(key - s->ref[k] == mean->value[s->head * 128 + k % 128]);
        }
    }
    rig_release(&r);
    vector_release(&v);
}

static void open_vector(struct quant_rig *r, const char *path)
{
    struct vector v;

    rig_vector(&v, path);
    rig_from_vector(r, &v, true);
    vector_release(&v);
    rig_oracle(r);
    if (!rig_judge(r).pass)
        fail_msg("%s", rig_judge(r).text);
}

static void wrong_queries(void **state)
{
    struct quant_rig r;
    int8_t *q;
    float *scale;

    (void)state;
    open_vector(&r, VECTORS_DIR "/sage_quant_q/ragged.txt");
    q = r.data[Q(q_int8)];
    scale = r.data[Q(q_scale)];
    q[130]++;
    rig_expect_broken(&r, "q_int8[0,0,1,2]");
    q[130]--;
    /* A scale with the last bits gone still fits its queries, but not its bar. */
    scale[0] *= 1 + 3e-6f;
    rig_expect_broken(&r, "q_scale[0,0,0]");
    scale[0] /= 1 + 3e-6f;
    /* Groups beyond the queries hold the floor. */
    scale[3] = 0;
    rig_expect_broken(&r, "q_scale[0,0,3]");
    rig_release(&r);
}

/* Exactly half-way both neighbours are right, and nothing else is. */
static void ties(void **state)
{
    struct quant_rig r;
    int8_t *q;

    (void)state;
    open_vector(&r, VECTORS_DIR "/sage_quant_q/ties_to_even.txt");
    q = r.data[Q(q_int8)];
    for (int i = 0; i < 32 * 128; i++) {
        const double value = numfmt_decode(SAB_BF16, ((uint16_t *)r.data[Q(q)])[i]);

        if (fabs(value) < 127)
            q[i] = (int8_t)(2 * value - q[i]);
    }
    assert_true(rig_judge(&r).pass);
    q[2]++;
    q[2] += q[2] < 2 * numfmt_decode(SAB_BF16, ((uint16_t *)r.data[Q(q)])[2]) - q[2];
    rig_expect_broken(&r, "q_int8");
    rig_release(&r);
}

/* What a quantiser gives that leaves the mean in K. */
static void without_mean(struct quant_rig *r)
{
    const int64_t seqlen = r->p.tensor[KV(k)].shape[2], blocks = (seqlen + 63) / 64;
    const uint16_t *k = r->data[KV(k)];
    int8_t *out = r->data[KV(k_int8)];

    for (int64_t i = 0; i < r->p.tensor[KV(k)].elements / 128; i++) {
        const int64_t head = i / seqlen, block = i % seqlen / 64;
        const float scale = ((float *)r->data[KV(k_scale)])[head * blocks + block];

        for (int d = 0; d < 128; d++)
            out[i * 128 + d] = (int8_t)fmax(
                -127, fmin(127, rint(numfmt_decode(SAB_BF16, k[i * 128 + d]) / (double)scale)));
    }
}

static void mean_left_in(void **state)
{
    struct quant_rig r;

    (void)state;
    open_vector(&r, VECTORS_DIR "/sage_quant_kv/large_mean.txt");
    without_mean(&r);
    rig_expect_broken(&r, "k_int8");
    rig_release(&r);
    /* Also where the mean is small: N(0,1) data, 1,024 keys. */
    rig_init(&r, "sage_quant_kv", 1, 1, 1024, 0);
    rig_run(&r, 0, 2, 0);
    rig_oracle(&r);
    assert_true(rig_judge(&r).pass);
    without_mean(&r);
    rig_expect_broken(&r, "k_int8");
    rig_release(&r);
}

/* Stores V in another order: place i of each group of 16 gets what belongs to place map[i]. */
static void reorder(struct quant_rig *r, const int map[16])
{
    uint8_t *v = r->data[KV(v_fp8)], group[16];

    for (int64_t i = 0; i < r->p.tensor[KV(v_fp8)].elements; i += 16) {
        memcpy(group, v + i, 16);
        for (int k = 0; k < 16; k++)
            v[i + k] = group[map[k]];
    }
}

static void wrong_order(void **state)
{
    /* Section 3: logical -> physical, and physical -> logical. */
    static const int to_physical[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
    static const int to_logical[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
    struct quant_rig r;

    (void)state;
    open_vector(&r, VECTORS_DIR "/sage_quant_kv/permutation_and_ties.txt");
    reorder(&r, to_physical); /* no permutation at all */
    rig_expect_broken(&r, "v_fp8");
    reorder(&r, to_physical); /* the inverse one: the order of the permutation is three */
    rig_expect_broken(&r, "v_fp8");
    reorder(&r, to_physical);
    assert_true(rig_judge(&r).pass);
    reorder(&r, to_logical);
    rig_expect_broken(&r, "v_fp8");
    rig_release(&r);
}

static void wrong_values(void **state)
{
    struct quant_rig r;
    uint8_t *v;

    (void)state;
    open_vector(&r, VECTORS_DIR "/sage_quant_kv/ragged.txt");
    v = r.data[KV(v_fp8)];
    v[5]++;
    rig_expect_broken(&r, "v_fp8[0,0,0,5]");
    v[5]--;
    /* -0 is no zero byte: token 66 of 65, at place 68. */
    v[68] = 0x80;
    rig_expect_broken(&r, "to the bit");
    v[68] = 0x00;
    ((float *)r.data[KV(v_scale)])[7] *= 1 + 3e-6f;
    rig_expect_broken(&r, "v_scale[0,0,7]");
    rig_release(&r);
}

static void wrong_key_scale(void **state)
{
    struct quant_rig r;
    float *scale;

    (void)state;
    open_vector(&r, VECTORS_DIR "/sage_quant_kv/ragged.txt");
    scale = r.data[KV(k_scale)];
    scale[1] *= 1.01f;
    rig_expect_broken(&r, "k_");
    scale[1] = NAN;
    rig_expect_broken(&r, "k_");
    rig_release(&r);
}

/* Traffic, by hand: 2 B read and 1 B written an element, and the scales. */
static void costs(void **state)
{
    struct op_cost cost;
    struct quant_rig r;
    struct err err = ERR_INIT;

    (void)state;
    rig_init(&r, "sage_quant_q", 2, 3, 130, 0);
    assert_int_equal(r.c.op->cost(&r.c, &cost, &err), 0);
    assert_true(cost.bytes_min == 6 * (130 * 128 * 3 + 4 * 8) && cost.flops_nominal == 0);
    rig_release(&r);
    rig_init(&r, "sage_quant_kv", 2, 3, 130, 0);
    assert_int_equal(r.c.op->cost(&r.c, &cost, &err), 0);
    assert_true(cost.bytes_min == 6 * (130 * 128 * 3 + 128 * (2 * 130 + 192) + 4 * 3 + 4 * 128));
    rig_release(&r);
}

/* Within a budget only some heads or groups are held, the last one among them. */
static void samples(void **state)
{
    static const char *const ops[] = {"sage_quant_q", "sage_quant_kv"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct op_slice *last;
        struct op_slices s;
        struct quant_rig r;
        struct err err = ERR_INIT;

        rig_init(&r, ops[i], 2, 8, 256, 0);
        op_slices_init(&s);
        assert_int_equal(r.c.op->slices(&r.c, r.c.op->oracle_flops(&r.c) / 4, &s, &err), 0);
        assert_false(s.complete);
        assert_true(s.nr > 0);
        last = &s.item[s.nr - 1];
        assert_int_equal(last->head, 15);
        assert_int_equal(last->at + last->n, r.p.tensor[last->tensor].elements);
        op_slices_release(&s);
        rig_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors), cmocka_unit_test(golden_mean),
        cmocka_unit_test(wrong_queries),  cmocka_unit_test(ties),
        cmocka_unit_test(mean_left_in),   cmocka_unit_test(wrong_order),
        cmocka_unit_test(wrong_values),   cmocka_unit_test(wrong_key_scale),
        cmocka_unit_test(costs),          cmocka_unit_test(samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
