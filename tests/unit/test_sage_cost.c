/*
 * Work and traffic of sage_fwd against the published table (sage contract, 10.2), and the closed
 * forms against counting by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "opmodel.h"

static void set_axis(struct op_case *c, const char *name, double value)
{
    const int place = op_axis_find(c->op, name);

    assert_true(place >= 0);
    c->axis[place].i = (int64_t)value;
    c->axis[place].f = value;
}

static void case_make(struct op_case *c, struct op_problem *p, const char *const *axes,
                      const double *values)
{
    const struct op_model *op = op_model_find("sage_fwd");
    struct err err = ERR_INIT;

    assert_int_equal(op_case_default(op, 7, c, &err), 0);
    for (size_t i = 0; axes[i]; i++)
        set_axis(c, axes[i], values[i]);
    if (op->settle(c, &err) < 0 || op->describe(c, p, &err) < 0)
        fail_msg("%s", err.text);
}

/* Printed numbers: equal within half of the last digit shown. */
static void near(double got, double printed, double half_digit)
{
    if (!(fabs(got - printed) <= half_digit))
        fail_msg("%.6g, the table says %.6g", got, printed);
}

static const char *const gate_axes[] = {"batch",    "heads",   "kv_heads", "seqlen_q",
                                        "seqlen_k", "density", NULL};

static void published_table(void **state)
{
    static const struct {
        double seqlen, density;
        double selected, realised, tflop, tflop_half, mib, index, index_half, tiles, tiles_half;
    } rows[] = {
        {1024, 0.9, 15, 0.9375, 0.129, 5e-4, 160, 0.23, 5e-3, 0.94, 5e-3},
        {2048, 0.5, 16, 0.5, 0.275, 5e-4, 320, 0.50, 5e-3, 2.0, 5e-2},
        {4096, 0.1, 7, 0.1094, 0.241, 5e-4, 640, 0.44, 5e-3, 1.75, 5e-3},
        {8192, 0.9, 116, 0.9062, 7.97, 5e-3, 1280, 14.5, 5e-2, 58, 0.5},
        {16384, 0.5, 128, 0.5, 17.6, 5e-2, 2560, 32, 0.5, 128, 0.5},
        {32768, 0.1, 52, 0.1016, 14.3, 5e-2, 5120, 26, 0.5, 104, 0.5},
        {65536, 0.5, 512, 0.5, 281, 0.5, 10240, 512, 0.5, 2048, 0.5},
        {65536, 0.1, 103, 0.1006, 56.6, 5e-2, 10240, 103, 0.5, 412, 0.5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const double values[] = {8, 32, 32, rows[i].seqlen, rows[i].seqlen, rows[i].density};
        struct op_case c;
        struct op_problem p;
        struct op_cost cost;
        double qkvo = 0;
        struct err err = ERR_INIT;

        case_make(&c, &p, gate_axes, values);
        assert_int_equal(c.op->cost(&c, &cost, &err), 0);
        near((double)p.param[SAB_P_sage_fwd_block_sparse_num].i, rows[i].selected, 0);
        near(cost.density, rows[i].realised, 5.1e-5);
        near(cost.flops_nominal / 1e12, rows[i].tflop, rows[i].tflop_half);
        assert_true(cost.flops_valid == cost.flops_nominal);
        qkvo += (double)p.tensor[SAB_T_sage_fwd_q_int8].bytes;
        qkvo += (double)p.tensor[SAB_T_sage_fwd_k_int8].bytes;
        qkvo += (double)p.tensor[SAB_T_sage_fwd_v_fp8].bytes;
        qkvo += (double)p.tensor[SAB_T_sage_fwd_out].bytes;
        near(qkvo / 1048576, rows[i].mib, 0);
        near((double)p.tensor[SAB_T_sage_fwd_q2k_block_index].bytes / 1048576, rows[i].index,
             rows[i].index_half);
        near(cost.bytes_tiles / 1073741824, rows[i].tiles, rows[i].tiles_half);
    }
}

/* Everything counted token by token from the tensors themselves. */
static void count_by_hand(const struct op_case *c, const struct op_problem *p, struct op_cost *cost)
{
    const struct op_tensor *index = &p->tensor[SAB_T_sage_fwd_q2k_block_index];
    const struct op_tensor *sizes = &p->tensor[SAB_T_sage_fwd_block_sizes];
    const int64_t heads = index->shape[1], blocks = index->shape[2], cap = index->shape[3];
    const int64_t sq = op_case_int(c, "seqlen_q"), sk = op_case_int(c, "seqlen_k");
    const int64_t kb = p->tensor[SAB_T_sage_fwd_k_scale].shape[2];
    int32_t *row = malloc((size_t)cap * sizeof(*row));
    double slots = 0;

    memset(cost, 0, sizeof(*cost));
    for (int64_t r = 0; r < index->elements / cap; r++) {
        const int64_t qb = r % blocks, lead = r / blocks;
        const int64_t rows = sq - 64 * qb < 64 ? sq - 64 * qb : 64;

        recipe_row(&index->recipe, r, row);
        for (int64_t s = 0; s < cap && row[s] >= 0; s++) {
            int64_t valid = sk - 64 * row[s] < 64 ? sk - 64 * row[s] : 64;

            if (sizes->dtype != SAB_NONE) {
                const int64_t first = sizes->rank == 3 ? lead : sizes->rank == 2 ? lead / heads : 0;
                const int32_t declared =
                    (int32_t)recipe_element(&sizes->recipe, first * kb + row[s]);

                valid = declared < valid ? declared : valid;
            }
            cost->flops_nominal += 4.0 * 128 * 64 * (double)rows;
            cost->flops_valid += 4.0 * 128 * (double)(rows * valid);
            slots++;
        }
    }
    cost->density = slots / (double)(index->elements / cap * kb);
    free(row);
}

static void closed_forms_equal_counting(void **state)
{
    static const char *const axes[] = {"batch",   "heads",   "kv_heads", "seqlen_q",   "seqlen_k",
                                       "density", "pattern", "counts",   "sizes_mode", NULL};
    static const double lengths[][2] = {{100, 320}, {200, 257}, {64, 65},
                                        {130, 64},  {1, 1},     {300, 1990}};

    (void)state;
    for (int i = 0; i < 6 * 2 * 3 * 4 * 3; i++) {
        const double *len = lengths[i % 6];
        const double density[] = {0.3, 0.8, 1};
        const double values[] = {2,         3,          3,         len[0], len[1], density[i / 144],
                                 i / 6 % 2, i / 12 % 3, i / 36 % 4};
        struct op_cost got, want;
        struct op_problem p;
        struct op_case c;

        case_make(&c, &p, axes, values);
        assert_int_equal(c.op->cost(&c, &got, NULL), 0);
        count_by_hand(&c, &p, &want);
        assert_true(got.flops_nominal == want.flops_nominal);
        assert_true(got.flops_valid == want.flops_valid);
        assert_true(fabs(got.density - want.density) < 1e-12);
    }
}

static void bytes_by_the_formula(void **state)
{
    static const char *const axes[] = {"batch", "heads",      "kv_heads", "seqlen_q", "seqlen_k",
                                       "topk",  "sizes_mode", "promise",  NULL};
    static const double values[] = {2, 3, 3, 130, 257, 2, 2, 3};
    const double heads = 6;
    struct op_case c;
    struct op_problem p;
    struct op_cost cost;

    (void)state;
    case_make(&c, &p, axes, values);
    assert_int_equal(c.op->cost(&c, &cost, NULL), 0);
    /* Qb 3, Kb 5, Skp 320, 8 q scales, 2 slots in each of 18 rows, counts read, sizes [2,5]. */
    assert_true(cost.bytes_min == heads * (130 * 128 + 257 * 128 + 128 * 320 + 130 * 256) +
                                      4 * heads * (8 + 5 + 128) + 4 * 36 + 4 * 18 + 4 * 10);
    assert_true(cost.flops_dense == 4.0 * 6 * 130 * 257 * 128);
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The largest published case: 26 GiB of tensors are described, counted and sampled without them. */
static void largest_case_needs_no_memory(void **state)
{
    static const double values[] = {8, 32, 32, 65536, 65536, 0.5};
    const double begin = seconds();
    struct op_slices s;
    struct op_source src;
    struct op_problem p;
    struct op_cost cost;
    struct op_case c;
    struct err err = ERR_INIT;

    (void)state;
    case_make(&c, &p, gate_axes, values);
    assert_int_equal(c.op->cost(&c, &cost, &err), 0);
    op_slices_init(&s);
    assert_int_equal(c.op->slices(&c, 3.3e9, &s, &err), 0);
    assert_false(s.complete);
    assert_int_equal(s.nr, 3);
    assert_int_equal(s.item[0].at, 0);
    assert_int_equal(s.item[1].at + s.item[1].n, p.tensor[SAB_T_sage_fwd_out].elements);
    op_source_recipes(&src, &p);
    assert_int_equal(c.op->oracle(&p, &src, NULL, 0, 2, &s, &err), 0);
    assert_true(s.item[2].ref[5] != 0);
    op_slices_release(&s);
    /* Generous: instrumented builds on a busy machine. */
    assert_true(seconds() - begin < 60);
}

static void slices_follow_the_budget(void **state)
{
    static const char *const axes[] = {"heads", "kv_heads", "seqlen_q", NULL};
    static const double values[] = {16, 16, 1000};
    struct op_slices all, some;
    struct op_problem p;
    struct op_case c;
    double work = 0;
    struct err err = ERR_INIT;

    (void)state;
    case_make(&c, &p, axes, values);
    op_slices_init(&all);
    op_slices_init(&some);
    assert_int_equal(c.op->slices(&c, 1e15, &all, &err), 0);
    assert_true(all.complete);
    assert_int_equal(all.nr, 16 * 16);
    for (size_t i = 0; i < all.nr; i++)
        work += (double)all.item[i].n;
    assert_true(work == (double)p.tensor[SAB_T_sage_fwd_out].elements);
    assert_int_equal(c.op->slices(&c, c.op->oracle_flops(&c) / 4, &some, &err), 0);
    assert_false(some.complete);
    assert_in_range(some.nr, 48, 72);
    for (size_t i = 0; i < some.nr; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(some.item[i].at != some.item[k].at);
    op_slices_release(&all);
    op_slices_release(&some);
}

static void impossible_cases_are_refused(void **state)
{
    static const struct {
        const char *axes[4];
        double values[3];
        const char *text;
    } rows[] = {
        {{"heads", "kv_heads", NULL}, {6, 4}, "kv_heads = 4 does not divide heads = 6"},
        {{"topk", "cap", NULL}, {4, 3}, "cap = 3 is below the 4 blocks selected"},
        {{"pattern", "promise", NULL}, {1, 1}, "would be broken by pattern = topk"},
        {{"counts", "promise", NULL},
         {1, 2},
         "promise = uniform would be broken by counts = per_row"},
        {{"counts", "promise", NULL},
         {2, 4},
         "promise = scalar would be broken by counts = varying"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct op_model *op = op_model_find("sage_fwd");
        struct err err = ERR_INIT;
        struct op_case c;

        assert_int_equal(op_case_default(op, 7, &c, &err), 0);
        for (size_t k = 0; rows[i].axes[k]; k++)
            set_axis(&c, rows[i].axes[k], rows[i].values[k]);
        assert_int_equal(op->settle(&c, &err), -1);
        assert_int_equal(err.kind, ERR_CONFIG);
        if (!strstr(err.text, rows[i].text))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_table),          cmocka_unit_test(closed_forms_equal_counting),
        cmocka_unit_test(bytes_by_the_formula),     cmocka_unit_test(largest_case_needs_no_memory),
        cmocka_unit_test(slices_follow_the_budget), cmocka_unit_test(impossible_cases_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
