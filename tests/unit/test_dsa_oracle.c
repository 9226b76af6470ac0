/*
 * The models of dsa_fwd and dsa_bwd: their oracles against the golden vectors, which come from the
 * contract alone, and against finite differences; and what a case holds.
 */
#include "dsa_math.h"
#include "test_dsa_rig.h"

static void hold_vector(const struct vector *v)
{
    struct dsa_rig r;

    rig_from_vector(&r, v);
    rig_oracle(&r, 1 + (int)(v->tensors_nr % 3));
    rig_answer(&r);
    rig_hold_vector(&r, v);
    /* The answers of the file, against the oracle's, to what a file of 14 digits can hold. */
    for (size_t i = 0; i < r.s.nr; i++) {
        const struct op_slice *s = &r.s.item[i];
        const struct vector_tensor *want = vector_tensor_find(v, r.p.spec->tensors[s->tensor].name);

        assert_non_null(want);
        for (int64_t k = 0; k < s->n; k++) {
            const double value = want->value[s->at + k];

            if (!(s->ref[k] == value || fabs(s->ref[k] - value) <= 1e-12 * (1 + fabs(value))))
                fail_msg("%s: %s[%lld] is %.17g, must be %.17g", v->title, want->name,
                         (long long)(s->at + k), s->ref[k], value);
        }
    }
    rig_release(&r);
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("dsa_fwd", 14, hold_vector);
    rig_each_vector("dsa_bwd", 15, hold_vector);
}

/* ---- finite differences ---- */

/* A small problem in double: duplicates, inactive ids, an empty row, finite sinks. */
#define T 3
#define N 4
#define H 2
#define K 6
#define D 576

struct small {
    double q[T][H][D], kv[N][D], dout[T][H][DSA_V], sink[H];
    double scale;
};

static const int small_ids[T][K] = {
    {0, 2, 2, -1, 3, 7}, {-1, 9, -5, 4, 4, -1}, {1, 1, 1, 0, 2, -9}};

static double next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53 - 0.5;
}

static void fold_small(const struct small *s, int t, int h, struct dsa_fold *f)
{
    dsa_fold_init(f);
    for (int j = 0; j < K; j++)
        if (small_ids[t][j] >= 0 && small_ids[t][j] < N)
            dsa_fold_add(f, s->scale * dsa_dot(s->q[t][h], s->kv[small_ids[t][j]], D),
                         s->kv[small_ids[t][j]], false);
}

static double loss(const struct small *s)
{
    double out[DSA_V], sum = 0;
    struct dsa_fold f;

    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            fold_small(s, t, h, &f);
            dsa_fold_out(&f, s->sink[h], out);
            sum += dsa_dot(out, s->dout[t][h], DSA_V);
        }
    return sum;
}

static void gradients(const struct small *s, struct small *g)
{
    memset(g, 0, sizeof(*g));
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            double out[DSA_V];
            struct dsa_fold f;
            struct dsa_norm norm;

            fold_small(s, t, h, &f);
            dsa_fold_out(&f, s->sink[h], out);
            dsa_norm_init(&norm, dsa_fold_lse(&f), s->sink[h]);
            const double delta = dsa_dot(out, s->dout[t][h], DSA_V);
            const struct dsa_grad grad = {D, s->scale, norm.nl, delta, s->q[t][h], s->dout[t][h]};

            for (int j = 0; j < K; j++)
                if (small_ids[t][j] >= 0 && small_ids[t][j] < N)
                    dsa_grad_add(&grad, s->kv[small_ids[t][j]], 1, g->q[t][h],
                                 g->kv[small_ids[t][j]]);
            g->sink[h] -= norm.p_sink * delta;
        }
}

static void hold_difference(struct small *s, double *x, double want)
{
    const double at = *x, step = 1e-4;
    double more, less, got;

    *x = at + step;
    more = loss(s);
    *x = at - step;
    less = loss(s);
    *x = at;
    got = (more - less) / (2 * step);
    if (!(fabs(got - want) <= 1e-9 * (1 + fabs(want))))
        fail_msg("a derivative is %.15g, by differences %.15g", want, got);
}

static void finite_differences(void **state)
{
    static struct small s, g;
    uint64_t seed = 3;

    (void)state;
    for (size_t i = 0; i < sizeof(s) / sizeof(double); i++)
        ((double *)&s)[i] = 2 * next_random(&seed);
    s.scale = 1 / sqrt(D);
    s.sink[0] = 0.7;
    s.sink[1] = -1.3;
    gradients(&s, &g);
    assert_true(fabs(g.sink[0]) > 1e-3 && fabs(g.q[2][1][5]) > 1e-4);
    for (size_t i = 0; i < T * H * D; i += 7)
        hold_difference(&s, &s.q[0][0][0] + i, (&g.q[0][0][0])[i]);
    for (size_t i = 0; i < N * D; i += 5)
        hold_difference(&s, &s.kv[0][0] + i, (&g.kv[0][0])[i]);
    for (int h = 0; h < H; h++)
        hold_difference(&s, &s.sink[h], g.sink[h]);
}

#undef T
#undef N
#undef H
#undef K
#undef D

/* ---- contents ---- */

/* Both operators of one case have the same inputs, bit for bit. */
static void shared_inputs(void **state)
{
    static const char axes[] = "seqlen_q=6 seqlen_k=50 lengths=random sink=mixed pattern=scattered";
    static const uint32_t pairs[][2] = {{BWD(q), FWD(q)},
                                        {BWD(kv), FWD(kv)},
                                        {BWD(topk_idxs), FWD(topk_idxs)},
                                        {BWD(attn_sink), FWD(attn_sink)},
                                        {BWD(topk_length), FWD(topk_length)}};
    struct dsa_rig f, b;

    (void)state;
    rig_init(&f, "dsa_fwd", axes);
    rig_init(&b, "dsa_bwd", axes);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        assert_memory_equal(b.data[pairs[i][0]], f.data[pairs[i][1]],
                            f.p.tensor[pairs[i][1]].bytes);
    rig_release(&b);
    rig_release(&f);
}

/* A row of NaN that no active slot names reaches nothing. */
static void poisoned_row(void **state)
{
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};
    struct dsa_rig r;

    (void)state;
    for (int i = 0; i < 2; i++) {
        rig_right(&r, ops[i],
                  "seqlen_q=20 seqlen_k=33 data=poison lengths=ragged pattern=scattered");
        assert_true(isnan(rig_value(&r, i ? BWD(kv) : FWD(kv), 32 * 512)));
        for (size_t k = 0; k < r.s.nr; k++)
            for (int64_t n = 0; n < r.s.item[k].n; n++)
                assert_false(isnan(r.s.item[k].ref[n]));
        rig_release(&r);
    }
}

static void logits_near_minus_100(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_right(&r, "dsa_fwd", "seqlen_q=4 seqlen_k=64 data=deep");
    assert_true(fabs(rig_value(&r, FWD(lse), 0) + 100 - log(32)) < 5);
    assert_true(fabs(rig_value(&r, FWD(out), 5)) > 0.1);
    rig_release(&r);
}

/* Logits of row `row`, head 0, slot by slot, from the inputs. */
static double logit(const struct dsa_rig *r, int64_t row, int64_t slot)
{
    const int64_t heads = r->p.tensor[FWD(q)].shape[1], width = r->p.tensor[FWD(q)].shape[2];
    const int64_t slots = r->p.tensor[FWD(topk_idxs)].shape[1];
    const int64_t id = ((int32_t *)r->data[FWD(topk_idxs)])[row * slots + slot];
    double sum = 0;

    assert_in_range(id, 0, r->p.tensor[FWD(kv)].shape[0] - 1);
    for (int64_t d = 0; d < width; d++)
        sum +=
            rig_value(r, FWD(q), row * heads * width + d) * rig_value(r, FWD(kv), id * width + d);
    return sum * r->p.param[SAB_P_dsa_fwd_softmax_scale].f;
}

/* Slots behind the prefix stand far above those of it, whose sum is held against one by itself; a
 * scale of 0.2 puts the others beyond what an exponential in double reaches. */
static void prefix_far_below(void **state)
{
    static const struct {
        const char *axes;
        double least;
    } cases[] = {{"heads=2 seqlen_q=3 seqlen_k=101 topk=50 lse_prefix=33 lengths=none "
                  "data=prefix_below",
                  200},
                 {"heads=1 seqlen_q=2 seqlen_k=100 topk=40 lse_prefix=1 head_dim=576 dtype=fp16 "
                  "data=prefix_below pattern=sorted",
                  200},
                 {"heads=3 seqlen_q=3 seqlen_k=60 topk=20 lse_prefix=19 data=prefix_below "
                  "softmax_scale=0.2 pattern=duplicates",
                  1000}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dsa_rig r;

        rig_init(&r, "dsa_fwd", cases[i].axes);
        const int64_t prefix = r.p.param[SAB_P_dsa_fwd_lse_prefix].i;
        const int64_t slots = r.p.tensor[FWD(topk_idxs)].shape[1];

        rig_oracle(&r, 1);
        for (size_t k = 0; k < r.s.nr; k++) {
            const struct op_slice *s = &r.s.item[k];
            double above = -INFINITY, sum = 0;

            if (s->tensor != FWD(lse_indexer))
                continue;
            for (int64_t j = 0; j < prefix; j++) {
                sum += exp(logit(&r, s->tile, j));
                above = fmax(above, logit(&r, s->tile, j));
            }
            for (int64_t j = prefix; j < slots; j++)
                assert_true(logit(&r, s->tile, j) > above + cases[i].least);
            assert_true(fabs(s->ref[0] - log(sum)) < 1e-12 * log(sum));
        }
        rig_release(&r);
    }
}

/* Values do not depend on the threads beyond the order of sums. */
static void threads(void **state)
{
    struct dsa_rig a, b;

    (void)state;
    rig_right(&a, "dsa_bwd", "seqlen_q=30 seqlen_k=20 heads=2");
    rig_right(&b, "dsa_bwd", "seqlen_q=30 seqlen_k=20 heads=2");
    rig_oracle(&b, 5);
    for (size_t i = 0; i < a.s.nr; i++)
        for (int64_t k = 0; k < a.s.item[i].n; k++)
            assert_true(fabs(a.s.item[i].ref[k] - b.s.item[i].ref[k]) < 1e-14);
    rig_release(&b);
    rig_release(&a);
}

/* A backward whose out and lse are nowhere has no oracle, and says so. */
static void unread_inputs(void **state)
{
    struct op_source src;
    struct op_slices s;
    struct dsa_rig r;
    struct err err = ERR_INIT;

    (void)state;
    rig_init(&r, "dsa_bwd", "seqlen_q=2 seqlen_k=40");
    op_source_recipes(&src, &r.p);
    op_slices_init(&s);
    assert_int_equal(r.c.op->slices(&r.c, 1e18, &s, &err), 0);
    assert_int_not_equal(r.c.op->oracle(&r.p, &src, NULL, 0, 1, &s, &err), 0);
    assert_non_null(strstr(err.text, "dsa_bwd"));
    op_slices_release(&s);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors),        cmocka_unit_test(finite_differences),
        cmocka_unit_test(shared_inputs),         cmocka_unit_test(poisoned_row),
        cmocka_unit_test(logits_near_minus_100), cmocka_unit_test(threads),
        cmocka_unit_test(unread_inputs),         cmocka_unit_test(prefix_far_below),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
