/*
 * The oracle of sage_fwd against the golden vectors, which come from the contract alone; then the
 * bars against right and deliberately wrong results.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "numfmt.h"
#include "opmodel.h"
#include "vectors.h"

#ifndef VECTORS_DIR
#    define VECTORS_DIR "tests/vectors"
#endif

static const struct sab_attribute lazy256[] = {
    {"fold", "last_to_first"}, {"p_scale", "256"}, {"rescale", "lazy"}};
#define LAZY256 lazy256, 3

static void slices_of_problem(const struct op_problem *p, struct op_slices *s)
{
    const struct op_tensor *out = &p->tensor[SAB_T_sage_fwd_out];
    const int64_t heads = out->shape[0] * out->shape[1], rows = out->shape[2];
    const int64_t tiles = (rows + 63) / 64;

    op_slices_init(s);
    s->item = calloc((size_t)(heads * tiles), sizeof(*s->item));
    assert_non_null(s->item);
    for (int64_t head = 0; head < heads; head++)
        for (int64_t tile = 0; tile < tiles; tile++) {
            const int64_t left = rows - 64 * tile;

            s->item[s->nr++] = (struct op_slice){.tensor = SAB_T_sage_fwd_out,
                                                 .at = (head * rows + 64 * tile) * 128,
                                                 .n = (left < 64 ? left : 64) * 128,
                                                 .head = head,
                                                 .tile = tile};
        }
    s->alloc = s->nr;
}

static double distance(const struct op_slices *s, bool emulated, const double *want)
{
    double diff2 = 0, want2 = 0;

    for (size_t i = 0; i < s->nr; i++)
        for (int64_t k = 0; k < s->item[i].n; k++) {
            const double w = want[s->item[i].at + k];
            const double g = emulated ? s->item[i].emulated[k] : s->item[i].ref[k];

            diff2 += (g - w) * (g - w);
            want2 += w * w;
        }
    return diff2 == 0 ? 0 : sqrt(diff2 / want2);
}

static void hold_vector(const char *path)
{
    const struct vector_tensor *out, *emulated;
    struct op_buffers buffers;
    struct op_problem p;
    struct op_slices s;
    struct op_source src;
    struct vector v;
    struct err err = ERR_INIT;

    vector_init(&v);
    if (vector_read_file(&v, path, &err) < 0 || vector_to_problem(&v, &p, &buffers, &err) < 0)
        fail_msg("%s", err.text);
    op_source_buffers(&src, &buffers);
    slices_of_problem(&p, &s);
    if (op_model_find("sage_fwd")->oracle(&p, &src, LAZY256, 2, &s, &err) < 0)
        fail_msg("%s: %s", path, err.text);
    out = vector_tensor_find(&v, "out");
    emulated = vector_tensor_find(&v, "out_emulated");
    assert_non_null(out);
    /* The file holds 24 bits of each number. */
    if (!(distance(&s, false, out->value) <= 1e-7))
        fail_msg("%s: exact is off by %g", path, distance(&s, false, out->value));
    if (emulated && !(distance(&s, true, emulated->value) <= 1e-7))
        fail_msg("%s: emulated is off by %g", path, distance(&s, true, emulated->value));
    op_slices_release(&s);
    vector_release(&v);
}

static void golden_vectors(void **state)
{
    struct vector_paths paths;
    struct err err = ERR_INIT;

    (void)state;
    if (vector_paths_read(&paths, VECTORS_DIR "/sage_fwd", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(paths.nr, 15);
    for (size_t i = 0; i < paths.nr; i++)
        hold_vector(paths.item[i]);
    vector_paths_release(&paths);
}

/* A case with its right answers, and outputs made wrong in one way. */
struct bench_case {
    struct op_case c;
    struct op_problem p;
    struct op_source right;
    struct op_slices s;
};

static void set_axis(struct op_case *c, const char *name, int64_t value)
{
    const int place = op_axis_find(c->op, name);

    assert_true(place >= 0);
    c->axis[place].i = value;
}

static void case_make(struct bench_case *b, const char *const *axes, const int64_t *values)
{
    const struct op_model *op = op_model_find("sage_fwd");
    struct err err = ERR_INIT;

    assert_int_equal(op_case_default(op, 4691, &b->c, &err), 0);
    for (size_t i = 0; axes[i]; i++)
        set_axis(&b->c, axes[i], values[i]);
    if (op->settle(&b->c, &err) < 0 || op->describe(&b->c, &b->p, &err) < 0)
        fail_msg("%s", err.text);
    op_source_recipes(&b->right, &b->p);
    op_slices_init(&b->s);
    assert_int_equal(op->slices(&b->c, 1e18, &b->s, &err), 0);
    assert_true(b->s.complete);
    if (op->oracle(&b->p, &b->right, LAZY256, 2, &b->s, &err) < 0)
        fail_msg("%s", err.text);
}

static int read_bf16(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst, struct err *err)
{
    (void)tensor;
    (void)err;
    memcpy(dst, (uint16_t *)ctx + at, (size_t)n * 2);
    return 0;
}

/* What a kernel would write that saw `src` instead of the true inputs. */
static uint16_t *outputs_of(const struct bench_case *b, const struct op_problem *p,
                            const struct op_source *src, const struct sab_attribute *attributes)
{
    uint16_t *got = malloc(b->p.tensor[SAB_T_sage_fwd_out].bytes);
    struct op_slices s;
    struct err err = ERR_INIT;

    assert_non_null(got);
    slices_of_problem(&b->p, &s);
    if (op_model_find("sage_fwd")->oracle(p, src, attributes, 3, 2, &s, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < s.nr; i++)
        for (int64_t k = 0; k < s.item[i].n; k++)
            got[s.item[i].at + k] = (uint16_t)numfmt_encode_bf16(s.item[i].emulated[k]);
    op_slices_release(&s);
    return got;
}

static struct judgement judged(const struct bench_case *b, uint16_t *got)
{
    struct bar bars[OP_MAX_BARS];
    const size_t nr = b->c.op->bars(&b->c, false, bars);
    struct judgement j;
    struct err err = ERR_INIT;

    assert_int_equal(judge(&b->p, bars, nr, &b->s, read_bf16, got, &j, &err), 0);
    free(got);
    return j;
}

/* The source with V's permutation undone in the wrong direction. */
static int read_other_way(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    const struct op_source *right = ctx;
    uint8_t *codes = dst, group[16];

    if (right->read(right->ctx, tensor, at, n, dst) < 0)
        return -1;
    for (int64_t i = 0; tensor == SAB_T_sage_fwd_v_fp8 && i < n; i += 16) {
        memcpy(group, codes + i, 16);
        for (int place = 0; place < 16; place++) /* one more turn of a permutation of order 3 */
            codes[i + place] = group[2 * (place / 8) + 4 * (place / 2 % 4) + place % 2];
    }
    return 0;
}

/* The source with rows of Q moved by one. */
static int read_moved_rows(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    const struct op_source *right = ctx;

    return right->read(right->ctx, tensor,
                       tensor == SAB_T_sage_fwd_q_int8 && at >= 128 ? at - 128 : at, n, dst);
}

static const char *const plain_axes[] = {"seqlen_q", "seqlen_k", "topk", "pattern", NULL};
static const int64_t plain_values[] = {200, 500, 4, 1};

static void right_results_pass(void **state)
{
    static const int64_t sizes[][2] = {{1, 1}, {1, 600}, {3, 65}, {64, 64}, {100, 320}, {320, 320}};
    static const char *const axes[] = {"seqlen_q", "seqlen_k", "sizes_mode",
                                       "pattern",  "counts",   NULL};
    static const struct sab_attribute eager448[] = {
        {"fold", "first_to_last"}, {"p_scale", "448"}, {"rescale", "always"}};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int64_t mode = 0; mode < 4; mode++) {
            const int64_t values[] = {sizes[i][0], sizes[i][1], mode, (int64_t)i % 2, mode % 3};
            struct bench_case b;
            struct judgement j;

            case_make(&b, axes, values);
            j = judged(&b, outputs_of(&b, &b.p, &b.right, lazy256));
            if (!j.pass)
                fail_msg("Sq %ld Sk %ld mode %ld: %s", (long)sizes[i][0], (long)sizes[i][1],
                         (long)mode, j.text);
            assert_int_equal(j.compared, b.p.tensor[SAB_T_sage_fwd_out].elements);
            /* Another arithmetic is as right, but it is not the declared one. */
            j = judged(&b, outputs_of(&b, &b.p, &b.right, eager448));
            if (i == 5)
                assert_non_null(strstr(j.text, "declared arithmetic"));
            op_slices_release(&b.s);
        }
}

static void wrong_permutation_fails(void **state)
{
    struct bench_case b;
    struct op_source wrong;

    (void)state;
    case_make(&b, plain_axes, plain_values);
    wrong = (struct op_source){&b.right, read_other_way};
    assert_false(judged(&b, outputs_of(&b, &b.p, &wrong, lazy256)).pass);
    op_slices_release(&b.s);
}

static void moved_rows_fail(void **state)
{
    struct bench_case b;
    struct op_source wrong;

    (void)state;
    case_make(&b, plain_axes, plain_values);
    wrong = (struct op_source){&b.right, read_moved_rows};
    assert_false(judged(&b, outputs_of(&b, &b.p, &wrong, lazy256)).pass);
    op_slices_release(&b.s);
}

static void dropped_block_fails(void **state)
{
    struct bench_case b;
    struct op_problem fewer;
    struct op_source src;

    (void)state;
    case_make(&b, plain_axes, plain_values);
    fewer = b.p;
    assert_int_equal(fewer.param[SAB_P_sage_fwd_uniform_block_count].i, 1);
    fewer.param[SAB_P_sage_fwd_block_sparse_num].i--;
    op_source_recipes(&src, &fewer);
    assert_false(judged(&b, outputs_of(&b, &fewer, &src, lazy256)).pass);
    op_slices_release(&b.s);
}

static void ignored_sizes_fail(void **state)
{
    static const char *const axes[] = {"seqlen_q", "seqlen_k", "topk", "sizes_mode", NULL};

    (void)state;
    for (int64_t mode = 1; mode <= 3; mode++) {
        const int64_t values[] = {100, 320, 4, mode};
        struct bench_case b;
        struct op_problem without;
        struct op_source src;

        case_make(&b, axes, values);
        without = b.p;
        without.tensor[SAB_T_sage_fwd_block_sizes].dtype = SAB_NONE;
        op_source_recipes(&src, &without);
        assert_false(judged(&b, outputs_of(&b, &without, &src, lazy256)).pass);
        op_slices_release(&b.s);
    }
}

static void empty_rows_must_be_plus_zero(void **state)
{
    static const char *const axes[] = {"seqlen_q", "counts", NULL};
    static const int64_t values[] = {1024, 2};
    struct bench_case b;
    uint16_t *got;
    int64_t at = -1;

    (void)state;
    case_make(&b, axes, values);
    got = outputs_of(&b, &b.p, &b.right, lazy256);
    for (size_t i = 0; i < b.s.nr && at < 0; i++) {
        int64_t k = 0;

        while (k < b.s.item[i].n && b.s.item[i].ref[k] == 0)
            k++;
        if (k == b.s.item[i].n)
            at = b.s.item[i].at;
    }
    assert_true(at >= 0);
    assert_int_equal(got[at], 0);
    got[at] = 0x8000;
    assert_non_null(strstr(judged(&b, got).text, "of an empty row"));
    op_slices_release(&b.s);
}

static void unknown_attributes_leave_emulated_out(void **state)
{
    static const struct sab_attribute odd[] = {
        {"fold", "middle_out"}, {"p_scale", "256"}, {"rescale", "lazy"}};
    struct op_slices s;
    struct bench_case b;
    struct err err = ERR_INIT;

    (void)state;
    case_make(&b, plain_axes, plain_values);
    slices_of_problem(&b.p, &s);
    assert_int_equal(b.c.op->oracle(&b.p, &b.right, odd, 3, 1, &s, &err), 0);
    assert_non_null(s.item[0].ref);
    assert_null(s.item[0].emulated);
    op_slices_release(&s);
    slices_of_problem(&b.p, &s);
    assert_int_equal(b.c.op->oracle(&b.p, &b.right, NULL, 0, 1, &s, &err), 0);
    assert_null(s.item[0].emulated);
    op_slices_release(&s);
    op_slices_release(&b.s);
}

static int read_bad_index(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    const struct op_source *right = ctx;

    if (right->read(right->ctx, tensor, at, n, dst) < 0)
        return -1;
    if (tensor == SAB_T_sage_fwd_q2k_block_index && at == 4)
        ((int32_t *)dst)[2] = 8;
    return 0;
}

static void bad_index_is_named(void **state)
{
    struct bench_case b;
    struct op_source wrong;
    struct op_slices s;
    struct err err = ERR_INIT;

    (void)state;
    case_make(&b, plain_axes, plain_values);
    wrong = (struct op_source){&b.right, read_bad_index};
    slices_of_problem(&b.p, &s);
    assert_int_equal(b.c.op->oracle(&b.p, &wrong, NULL, 0, 2, &s, &err), -1);
    assert_string_equal(err.text, "q2k_block_index of batch 0, head 0, row 1, slot 2 is 8, must be "
                                  "0 to 7");
    op_slices_release(&s);
    op_slices_release(&b.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vectors),
        cmocka_unit_test(right_results_pass),
        cmocka_unit_test(wrong_permutation_fails),
        cmocka_unit_test(moved_rows_fail),
        cmocka_unit_test(dropped_block_fails),
        cmocka_unit_test(ignored_sizes_fail),
        cmocka_unit_test(empty_rows_must_be_plus_zero),
        cmocka_unit_test(unknown_attributes_leave_emulated_out),
        cmocka_unit_test(bad_index_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
