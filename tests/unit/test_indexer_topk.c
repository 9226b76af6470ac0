/*
 * indexer_topk: the oracle and the CPU kernel on the golden vectors and on the contract's edge
 * cases at small sizes, the comparison against wrong answers of every kind, and refusals.
 */
#include "test_indexer_kernel.h"

#include "indexer_topk_call.h"

extern const struct sab_kernel indexer_topk_cpu_row;

static void hold_vector(const struct vector *v)
{
    rig_vector(v, vector_int(v, "rows", 0), 0, &indexer_topk_cpu_row);
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("indexer_topk", 16, hold_vector);
}

/* Wrong ids are seen by the vectors' judge too. */
static void break_vector(const struct vector *v)
{
    struct ix_rig r;
    int32_t *ids;
    char text[600];

    rig_from_vector(&r, v);
    rig_run(&r, &indexer_topk_cpu_row, 1, 0);
    ids = rig_data(&r, "indices");
    for (int64_t i = 0; i < r.p.tensor[SAB_T_indexer_topk_indices].elements; i++)
        if (ids[i] >= 0) {
            const int32_t was = ids[i];

            ids[i] = (int32_t)vector_int(v, "cols", 0);
            assert_false(rig_judge_vector(&r, v, text, sizeof(text)));
            ids[i] = -1;
            assert_false(rig_judge_vector(&r, v, text, sizeof(text)));
            ids[i] = was;
        }
    numfmt_store(r.p.tensor[SAB_T_indexer_topk_values].dtype, rig_data(&r, "values"), 0, 0x1234);
    assert_false(rig_judge_vector(&r, v, text, sizeof(text)));
    rig_release(&r);
}

static void broken_vectors(void **state)
{
    (void)state;
    rig_each_vector("indexer_topk", 16, break_vector);
}

/* ---- edge cases ---- */

static const char *const distributions[] = {
    "uniform",  "normal",     "few",   "equal",     "winners_left", "winners_right", "relu",
    "low_bits", "few_finite", "range", "subnormal", "zeros",        "narrow",        "poison"};

/* Every distribution, type and tie rule; ragged lengths; K odd, 1, even; C no multiple of 4. */
static void all_distributions(void **state)
{
    static const char *const dtypes[] = {"f32", "fp16", "bf16"};
    static const char *const ties[] = {"any", "smaller", "larger"};
    static const int slots[] = {33, 1, 64};
    char axes[256];

    (void)state;
    for (size_t d = 0; d < sizeof(distributions) / sizeof(distributions[0]); d++)
        for (int t = 0; t < 3; t++)
            for (int k = 0; k < 3; k++) {
                snprintf(axes, sizeof(axes),
                         "seqlen_q=28 seqlen_k=1003 topk=%d data=%s dtype=%s tie_break=%s "
                         "lengths=ragged",
                         slots[(t + k) % 3], distributions[d], dtypes[t], ties[k]);
                rig_hold("indexer_topk", axes, &indexer_topk_cpu_row);
            }
}

static void shapes(void **state)
{
    static const char *const axes[] = {
        "",
        "seqlen_q=1024 seqlen_k=1024 topk=512 lengths=half",
        "seqlen_q=633 seqlen_k=768 topk=512 data=few_finite",
        "seqlen_q=633 seqlen_k=768 topk=512 data=few_finite tie_break=larger values=0",
        "seqlen_q=3 seqlen_k=4099 topk=2047 data=relu tie_break=smaller",
        "seqlen_q=3 seqlen_k=2048 topk=2048 data=equal",
        "seqlen_q=3 seqlen_k=100 topk=2048 data=range",
        "seqlen_q=5 seqlen_k=1 topk=1 lengths=ragged",
        "seqlen_q=2 seqlen_k=270001 topk=2048 data=normal",
        "seqlen_q=2 seqlen_k=262144 topk=1024 data=few tie_break=larger",
        "seqlen_q=24 seqlen_k=90 topk=40 next_n=2 lengths=ragged data=poison",
        "seqlen_q=24 seqlen_k=90 topk=40 next_n=4 lengths=ragged tie_break=smaller data=few",
        "seqlen_q=70001 seqlen_k=5 topk=3 lengths=random values=0",
        "seqlen_q=16 seqlen_k=64 topk=9 lengths=zigzag shard=1",
        "batch=3 seqlen_q=16 seqlen_k=64 topk=9 lengths=causal compress_ratio=4 offset=end",
        "seqlen_q=16 seqlen_k=64 topk=9 lengths=empty",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        rig_hold("indexer_topk", axes[i], &indexer_topk_cpu_row);
}

/* NaN inside the prefix: no contract but this: ids valid and distinct, values those at the ids. */
static void nan_inside(void **state)
{
    struct ix_rig r;

    (void)state;
    rig_init(&r, "indexer_topk", "seqlen_q=4 seqlen_k=200 topk=50");
    for (int64_t i = 0; i < 800; i += 3)
        ((uint32_t *)rig_data(&r, "values_in"))[i] = i % 2 ? 0x7fc00001u : 0xffc12345u;
    rig_run(&r, &indexer_topk_cpu_row, 2, 0);
    for (int64_t row = 0; row < 4; row++)
        for (int64_t j = 0; j < 50; j++) {
            const int32_t *ids = (int32_t *)rig_data(&r, "indices") + 50 * row;

            assert_true(ids[j] >= 0 && ids[j] < 200);
            for (int64_t k = 0; k < j; k++)
                assert_int_not_equal(ids[j], ids[k]);
            assert_int_equal(((uint32_t *)rig_data(&r, "values"))[50 * row + j],
                             ((uint32_t *)rig_data(&r, "values_in"))[200 * row + ids[j]]);
        }
    rig_release(&r);
}

/* Length 2 with next_n 4 gives 0 0 1 2 (contract, 3.1). */
static void lengths_of_groups(void **state)
{
    const int32_t lengths[2] = {2, INT32_MIN};
    const struct indexer_topk_call call = {.seq_lens = lengths, .next_n = 4, .columns = 100};

    (void)state;
    for (int64_t row = 0; row < 4; row++)
        assert_int_equal(indexer_topk_length(&call, row), row < 2 ? 0 : row - 1);
    for (int64_t row = 4; row < 8; row++)
        assert_int_equal(indexer_topk_length(&call, row), 0);
}

/* Keys order like numbers, zeros alike, -inf lowest. */
static void keys_order(void **state)
{
    static const double up[] = {-INFINITY, -3.38e38, -65504,  -1, -0x1p-14, -0x1p-24,
                                0,         0x1p-24,  0x1p-14, 1,  65504,    INFINITY};

    (void)state;
    for (size_t i = 1; i < sizeof(up) / sizeof(up[0]); i++) {
        const bool fp16 = up[i - 1] != -3.38e38 && up[i] != -3.38e38;

        assert_true(indexer_topk_key32(numfmt_encode(SAB_F32, up[i])) >
                    indexer_topk_key32(numfmt_encode(SAB_F32, up[i - 1])));
        assert_true(indexer_topk_key16(numfmt_encode(SAB_BF16, up[i])) >
                    indexer_topk_key16(numfmt_encode(SAB_BF16, up[i - 1])));
        if (fp16)
            assert_true(indexer_topk_key16(numfmt_encode(SAB_FP16, up[i])) >
                        indexer_topk_key16(numfmt_encode(SAB_FP16, up[i - 1])));
    }
    assert_int_equal(indexer_topk_key32(0x80000000u), indexer_topk_key32(0));
    assert_int_equal(indexer_topk_key16(0x8000), indexer_topk_key16(0));
    assert_int_equal(indexer_topk_key32(0xff800000u), 0x007fffff);
}

/* ---- the comparison ---- */

static void swap_ids(struct ix_rig *r, int64_t a, int64_t b)
{
    int32_t *ids = rig_data(r, "indices");
    uint32_t *values = rig_data(r, "values");
    const int32_t id = ids[a];
    const uint32_t value = values[a];

    ids[a] = ids[b];
    ids[b] = id;
    values[a] = values[b];
    values[b] = value;
}

/* Puts column `id` into a slot, with its value. */
static void put(struct ix_rig *r, int64_t row, int64_t slot, int32_t id)
{
    const int64_t columns = r->p.tensor[0].shape[1], slots = r->p.tensor[2].shape[1];

    ((int32_t *)rig_data(r, "indices"))[row * slots + slot] = id;
    ((uint32_t *)rig_data(r, "values"))[row * slots + slot] =
        ((uint32_t *)rig_data(r, "values_in"))[row * columns + id];
}

/* A column that is not selected, with a value that is larger or smaller than the last selected. */
static int32_t loser(const struct ix_rig *r, int64_t row)
{
    const int64_t columns = r->p.tensor[0].shape[1], slots = r->p.tensor[2].shape[1];
    const int32_t *ids = (int32_t *)rig_data(r, "indices") + row * slots;

    for (int32_t id = 0; id < columns; id++) {
        int64_t j = 0;

        while (j < slots && ids[j] != id)
            j++;
        if (j == slots)
            return id;
    }
    return -1;
}

static void wrong_answers(void **state)
{
    struct ix_rig r;
    int32_t *ids;

    (void)state;
    rig_right(&r, "indexer_topk", "seqlen_q=3 seqlen_k=300 topk=20");
    ids = rig_data(&r, "indices");
    swap_ids(&r, 2, 17);
    rig_expect_pass(&r, "another order of slots");
    put(&r, 1, 4, loser(&r, 1));
    rig_expect_broken(&r, "row 1 of indices");
    rig_answer(&r);
    ids[20] = ids[21];
    rig_expect_broken(&r, "twice");
    rig_answer(&r);
    ids[45] = 300;
    rig_expect_broken(&r, "must be in [0,300)");
    ids[45] = -1;
    rig_expect_broken(&r, "must be in [0,300)");
    rig_answer(&r);
    ((uint32_t *)rig_data(&r, "values"))[7] ^= 1;
    rig_expect_broken(&r, "values[7]");
    rig_release(&r);
}

static void wrong_ties(void **state)
{
    struct ix_rig r;

    (void)state;
    /* All equal: any set will do without a rule, one alone with a rule. */
    rig_right(&r, "indexer_topk", "seqlen_q=1 seqlen_k=90 topk=8 data=equal");
    put(&r, 0, 3, 80);
    rig_expect_pass(&r, "another tie");
    rig_release(&r);
    rig_right(&r, "indexer_topk", "seqlen_q=1 seqlen_k=90 topk=8 data=equal tie_break=smaller");
    put(&r, 0, 3, 80);
    rig_expect_broken(&r, "misses id 3");
    rig_release(&r);
    rig_right(&r, "indexer_topk", "seqlen_q=1 seqlen_k=90 topk=8 data=equal tie_break=larger");
    put(&r, 0, 0, 80);
    rig_expect_broken(&r, "misses id 82");
    rig_release(&r);
    /* A winner lost for the second of two ties: by id, and not by chance. */
    rig_right(&r, "indexer_topk", "seqlen_q=1 seqlen_k=90 topk=8 data=winners_left");
    for (int64_t j = 0; j < 8; j++)
        if (((int32_t *)rig_data(&r, "indices"))[j] > 1) {
            put(&r, 0, j, ((int32_t *)rig_data(&r, "indices"))[0] == 0 ? 1 : 0);
            break;
        }
    rig_expect_broken(&r, "above the last selected");
    rig_release(&r);
    /* Padding and the order of rows that are selected whole. */
    rig_right(&r, "indexer_topk", "seqlen_q=2 seqlen_k=6 topk=8");
    ((int32_t *)rig_data(&r, "indices"))[7] = 0;
    rig_expect_broken(&r, "must hold -1");
    rig_answer(&r);
    swap_ids(&r, 8, 9);
    rig_expect_broken(&r, "in order");
    rig_answer(&r);
    rig_set(&r, "values", 6, 0);
    rig_expect_broken(&r, "-inf");
    rig_release(&r);
}

/* ---- refusals and the rest ---- */

static void refusals(void **state)
{
    const struct sab_kernel *row = &indexer_topk_cpu_row;
    struct ix_rig r;

    (void)state;
    rig_init(&r, "indexer_topk", "seqlen_q=4 seqlen_k=20 topk=5");
    r.p.param[SAB_P_indexer_topk_tie_break].i = 3;
    rig_expect_refused(&r, row, SAB_INVALID, "tie_break");
    r.p.param[SAB_P_indexer_topk_tie_break].i = 0;
    r.p.param[SAB_P_indexer_topk_next_n].i = 0;
    rig_expect_refused(&r, row, SAB_INVALID, "next_n");
    r.p.param[SAB_P_indexer_topk_next_n].i = 2;
    rig_expect_refused(&r, row, SAB_INVALID, "seq_lens");
    r.p.param[SAB_P_indexer_topk_next_n].i = 1;
    r.p.tensor[SAB_T_indexer_topk_values].dtype = SAB_I32;
    rig_expect_refused(&r, row, SAB_INVALID, "values");
    rig_release(&r);
    rig_init(&r, "indexer_topk", "seqlen_q=1 seqlen_k=20 topk=2049");
    rig_expect_refused(&r, row, SAB_UNSUPPORTED, "2048");
    rig_release(&r);
}

static void refused_cases(void **state)
{
    static const struct {
        const char *axes, *why;
    } cases[] = {
        {"seqlen_q=5 next_n=2", "no multiple of next_n"},
        {"seqlen_q=64 seqlen_k=63 lengths=zigzag", "at least 64"},
        {"lengths=causal offset=mixed", "offset = mixed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct op_case c;
        struct err err = ERR_INIT;

        assert_int_not_equal(rig_case(&c, "indexer_topk", cases[i].axes, &err), 0);
        if (!strstr(err.text, cases[i].why))
            fail_msg("'%s' does not name '%s'", err.text, cases[i].why);
    }
}

/* Section 3.6 by hand: half of the zigzag rows see 1 to R/2 columns, the others C - R/2 + 1 to C.
 */
static void costs(void **state)
{
    struct op_case c;
    struct op_cost cost;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(
        rig_case(&c, "indexer_topk", "seqlen_q=8 seqlen_k=1000 topk=10 lengths=zigzag", &err), 0);
    assert_int_equal(c.op->cost(&c, &cost, &err), 0);
    assert_true(cost.bytes_min == 4 * (1 + 2 + 3 + 4 + 997 + 998 + 999 + 1000) + 8 * 10 * 8);
    assert_true(cost.flops_nominal == 0);
    assert_true(cost.density == (1 + 2 + 3 + 4 + 40) / 4004.0);
    assert_true(cost.use[OP_READ].amount == 4 * 4004 && cost.use[OP_WRITE].amount == 8 * 10 * 8);
}

/* Samples are distinct rows, the first and the last among them. */
static void samples(void **state)
{
    struct op_case c;
    struct op_slices s;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(rig_case(&c, "indexer_topk", "seqlen_q=5000 seqlen_k=4096 topk=7", &err), 0);
    op_slices_init(&s);
    assert_int_equal(c.op->slices(&c, 1e6, &s, &err), 0);
    assert_false(s.complete);
    assert_true(s.nr > 20 && s.nr % 2 == 0);
    assert_int_equal(s.item[0].tile, 0);
    assert_int_equal(s.item[s.nr - 1].tile, 4999);
    for (size_t i = 2; i < s.nr; i += 2)
        assert_true(s.item[i].tile > s.item[i - 2].tile);
    op_slices_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors),    cmocka_unit_test(broken_vectors),
        cmocka_unit_test(all_distributions), cmocka_unit_test(shapes),
        cmocka_unit_test(nan_inside),        cmocka_unit_test(lengths_of_groups),
        cmocka_unit_test(keys_order),        cmocka_unit_test(wrong_answers),
        cmocka_unit_test(wrong_ties),        cmocka_unit_test(refusals),
        cmocka_unit_test(refused_cases),     cmocka_unit_test(costs),
        cmocka_unit_test(samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
