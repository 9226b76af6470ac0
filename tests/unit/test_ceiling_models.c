/*
 * The ceiling operators: oracles against loops by the definitions in ops/ceiling.h, wrong results,
 * and what a case says it moves or computes.
 */
#include "test_dsa_rig.h"

static uint32_t word(const struct dsa_rig *r, uint32_t t, int64_t i)
{
    return ((const uint32_t *)r->data[t])[i];
}

static double ref_of(const struct dsa_rig *r, uint32_t tensor, int64_t at)
{
    for (size_t i = 0; i < r->s.nr; i++)
        if (r->s.item[i].tensor == tensor && at >= r->s.item[i].at &&
            at < r->s.item[i].at + r->s.item[i].n)
            return r->s.item[i].ref[at - r->s.item[i].at];
    fail_msg("no reference for element %lld", (long long)at);
    return 0;
}

static void read_sums(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_right(&r, "read", "size=100016"); /* parts of 8192 words, the last of 428 */
    for (int64_t part = 0; part < 4; part++) {
        uint32_t sum = 0;

        for (int64_t i = 8192 * part; i < 8192 * (part + 1) && i < 25004; i++)
            sum += word(&r, SAB_T_read_src, i);
        assert_true(ref_of(&r, SAB_T_read_sums, part) == (double)(int32_t)sum);
    }
    ((int32_t *)r.data[SAB_T_read_sums])[3] += 1;
    rig_expect_broken(&r, "sums[3]");
    rig_release(&r);
}

static void gathered_rows(void **state)
{
    const char *const axes = "footprint=3200 row_bytes=64 streams=7 picks=33";
    struct dsa_rig r;

    (void)state;
    rig_right(&r, "gather", axes); /* 50 rows of 16 words */
    for (int64_t c = 0; c < 7; c++) {
        uint32_t sum = 0;

        for (int64_t s = 0; s < 33; s++) {
            const uint32_t row = word(&r, SAB_T_gather_ids, 33 * c + s);

            assert_true(row < 50);
            sum += word(&r, SAB_T_gather_src, row * 16 + s % 16);
        }
        assert_true(ref_of(&r, SAB_T_gather_sums, c) == (double)(int32_t)sum);
    }
    ((int32_t *)r.data[SAB_T_gather_sums])[6] ^= 1 << 20;
    rig_expect_broken(&r, "sums[6]");
    rig_release(&r);
}

static void reduced_rows(void **state)
{
    struct dsa_rig r;
    double all = 0;

    (void)state;
    rig_right(&r, "gather_reduce", "footprint=640 row_bytes=64 streams=5 picks=9");
    for (int64_t row = 0; row < 10; row++) { /* of 32 numbers */
        double count = 0;

        for (int64_t i = 0; i < 45; i++)
            count += word(&r, SAB_T_gather_reduce_ids, i) == row;
        assert_true(ref_of(&r, SAB_T_gather_reduce_acc, 32 * row + 31) == count);
        all += count;
    }
    assert_true(all == 45);
    rig_set(&r, SAB_T_gather_reduce_acc, 319, rig_value(&r, SAB_T_gather_reduce_acc, 319) + 1);
    rig_expect_broken(&r, "acc[9,31]");
    rig_release(&r);
    rig_right(&r, "reduce", "footprint=640 row_bytes=64 streams=5 picks=9");
    assert_true(r.p.spec->tensors[SAB_T_reduce_acc].role == SAB_INOUT);
    rig_release(&r);
}

static void products(void **state)
{
    static const char *const dtypes[] = {"bf16", "fp16", "e4m3", "i8"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        char axes[96];
        struct dsa_rig r;
        double sum = 0;

        snprintf(axes, sizeof(axes), "tiles=2 m=8 n=4 row_bytes=32 iterations=3 dtype=%s",
                 dtypes[i]);
        rig_right(&r, "mma_peak", axes);
        const int64_t k = i < 2 ? 16 : 32;
        for (int64_t d = 0; d < k; d++) /* tile 1, row 7, column 2 */
            sum += rig_value(&r, SAB_T_mma_peak_a, (8 + 7) * k + d) *
                   rig_value(&r, SAB_T_mma_peak_b, (4 + 2) * k + d);
        assert_true(fabs(ref_of(&r, SAB_T_mma_peak_out, (8 + 7) * 4 + 2) - 3 * sum) < 1e-9);
        for (int64_t e = 0; e < 64; e++) /* an iteration is missing */
            rig_set(&r, SAB_T_mma_peak_out, e, rig_value(&r, SAB_T_mma_peak_out, e) * 2 / 3);
        rig_expect_broken(&r, "out");
        rig_release(&r);
    }
}

static void exponentials(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_right(&r, "exp2", "elements=10 iterations=256");
    for (int64_t i = 0; i < 10; i++) {
        double sum = 0;

        for (int j = 0; j < 256; j++)
            sum += exp2(rig_value(&r, SAB_T_exp2_src, i) - j / 1024.0);
        assert_true(fabs(ref_of(&r, SAB_T_exp2_out, i) - sum) < 1e-9 * sum);
    }
    rig_set(&r, SAB_T_exp2_out, 4, rig_value(&r, SAB_T_exp2_out, 4) * 255 / 256);
    rig_expect_broken(&r, "out[4]");
    rig_release(&r);
}

static struct op_cost cost_of(const char *op, const char *axes)
{
    struct op_case c;
    struct op_cost cost;
    struct err err = ERR_INIT;

    memset(&cost, 0, sizeof(cost));
    if (rig_case(&c, op, axes, &err) || c.op->cost(&c, &cost, &err))
        fail_msg("%s", err.text);
    return cost;
}

static void what_is_used(void **state)
{
    struct op_cost c = cost_of("gather", "footprint=1m row_bytes=16k streams=3 picks=5");

    (void)state;
    assert_true(c.use[OP_FEED].amount == 15 * 16384 && c.use[OP_GATHER].amount == 0);
    assert_true(c.use[OP_FEED].footprint_bytes == 1048576 && c.use[OP_READ].amount == 0);
    c = cost_of("gather_reduce", "footprint=1m row_bytes=1024 streams=3 picks=5");
    assert_true(c.use[OP_GATHER].amount == 15 * 1024 && c.use[OP_REDUCE].amount == 15 * 2048);
    assert_true(c.bytes_min == 15 * 3072 && c.use[OP_REDUCE].footprint_bytes == 2097152);
    c = cost_of("mma_peak", "tiles=2 m=64 n=128 row_bytes=128 dtype=i8 iterations=10");
    assert_true(c.use[OP_S8].amount == 2.0 * 2 * 64 * 128 * 128 * 10);
    c = cost_of("bsa_fwd", "heads=4 kv_heads=2 seqlen=256 density=0.5 dtype=fp16 lse=off");
    assert_true(c.use[OP_FP16].amount == c.flops_valid && c.use[OP_BF16].amount == 0);
    assert_true(c.use[OP_WRITE].amount == 4 * 256 * 256);
    assert_true(c.use[OP_EXP2].amount == 4 * 256 * 128);
    c = cost_of("sage_fwd", "heads=2 seqlen=256 density=1");
    assert_true(c.use[OP_S8].amount == c.use[OP_E4M3].amount);
    assert_true(c.use[OP_S8].amount + c.use[OP_E4M3].amount == c.flops_valid);
    c = cost_of("dsa_bwd", "seqlen_q=10 seqlen_k=100 topk=8 heads=65 head_dim=512");
    assert_true(c.use[OP_GATHER].amount == 80 * 1024 * 2);
    assert_true(c.use[OP_REDUCE].amount == 80 * 2048 * 2);
    assert_true(c.use[OP_READ].amount + c.use[OP_WRITE].amount == c.bytes_min);
}

static void impossible_cases_are_refused(void **state)
{
    static const char *const rows[][3] = {
        {"read", "size=20", "no multiple of 16"},
        {"gather", "row_bytes=100", "no multiple of 16"},
        {"reduce", "footprint=1024 row_bytes=2048", "is not 1 to"},
        {"mma_peak", "row_bytes=24", "no multiple of 16"},
    };
    struct op_case c;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(rig_case(&c, rows[i][0], rows[i][1], &err), -1);
        if (!strstr(err.text, rows[i][2]))
            fail_msg("'%s' does not say '%s'", err.text, rows[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_sums),
        cmocka_unit_test(gathered_rows),
        cmocka_unit_test(reduced_rows),
        cmocka_unit_test(products),
        cmocka_unit_test(exponentials),
        cmocka_unit_test(what_is_used),
        cmocka_unit_test(impossible_cases_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
