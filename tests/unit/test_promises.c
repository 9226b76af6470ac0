/*
 * Promises in the data: kept by every recipe, and each broken one found at its place. Sage
 * contract, section 4 and preconditions P1, P2, P3 and P5.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "op_models.h"
#include "promises.h"

struct call {
    struct op_case c;
    struct op_problem p;
    struct op_buffers buffers;
    struct op_source src;
    void *own[SAB_MAX_TENSORS];
};

static void set_axis(struct op_case *c, const char *axis, int64_t value)
{
    const int at = op_axis_find(c->op, axis);

    assert_true(at >= 0);
    c->axis[at].i = value;
    c->axis[at].f = (double)value;
}

/* B 2, H 2, 3 query tiles, 5 key blocks, 3 slots: what an odd place is made of. */
static void call_init(struct call *call, int64_t pattern, int64_t counts)
{
    struct err err = ERR_INIT;

    memset(call, 0, sizeof(*call));
    assert_int_equal(op_case_default(&op_model_sage_fwd, 1, &call->c, &err), 0);
    set_axis(&call->c, "batch", 2);
    set_axis(&call->c, "heads", 2);
    set_axis(&call->c, "kv_heads", 2);
    set_axis(&call->c, "seqlen_q", 150);
    set_axis(&call->c, "seqlen_k", 300);
    set_axis(&call->c, "topk", 3);
    set_axis(&call->c, "cap", 4);
    set_axis(&call->c, "pattern", pattern);
    set_axis(&call->c, "counts", counts);
    assert_int_equal(call->c.op->settle(&call->c, &err), 0);
    assert_int_equal(call->c.op->describe(&call->c, &call->p, &err), 0);
    call->buffers.problem = &call->p;
    op_source_buffers(&call->src, &call->buffers);
}

static void call_release(struct call *call)
{
    for (size_t t = 0; t < SAB_MAX_TENSORS; t++)
        free(call->own[t]);
}

/* The tensor as its recipe makes it, to be spoilt. */
static void *own(struct call *call, const char *name)
{
    const uint32_t t = (uint32_t)sab_tensor_find(call->p.spec, name);
    struct op_source recipes;

    call->own[t] = malloc(call->p.tensor[t].bytes);
    op_source_recipes(&recipes, &call->p);
    assert_int_equal(recipes.read(recipes.ctx, t, 0, call->p.tensor[t].elements, call->own[t]), 0);
    call->buffers.data[t] = call->own[t];
    return call->own[t];
}

static struct promise_break check(struct call *call)
{
    struct promise_break b;

    assert_int_equal(promises_check(&call->p, &call->src, &b, NULL), 0);
    assert_true(b.looked_at);
    return b;
}

static void test_recipes_keep_them(void **state)
{
    (void)state;
    for (int64_t pattern = 0; pattern < 2; pattern++)
        for (int64_t counts = 0; counts < 3; counts++) {
            struct call call;

            call_init(&call, pattern, counts);
            assert_string_equal(check(&call).text, "");
            call_release(&call);
        }
}

static void test_an_index_out_of_range(void **state)
{
    struct promise_break b;
    struct call call;
    int32_t *index;

    (void)state;
    call_init(&call, 1, 0);
    index = own(&call, "q2k_block_index");
    /* batch 1, head 0, row 2, slot 1 of [2,2,3,4] */
    index[((1 * 2 + 0) * 3 + 2) * 4 + 1] = 5;
    b = check(&call);
    assert_string_equal(b.text, "batch 1, head 0, row 2, slot 1 of 'q2k_block_index' is 5, must be "
                                "0 to 4");
    assert_int_equal(b.at, 33);
    assert_true(b.value == 5);
    index[33] = -1;
    assert_non_null(strstr(check(&call).text, "is -1, must be 0 to 4"));
    /* Slots behind the count are never read. */
    index[33] = 4;
    index[35] = 77;
    assert_string_equal(check(&call).text, "");
    call_release(&call);
}

static void test_contiguous_rows(void **state)
{
    struct call call;
    int32_t *index;

    (void)state;
    call_init(&call, 0, 0);
    index = own(&call, "q2k_block_index");
    index[0] = 3;
    index[1] = 4;
    index[2] = 0; /* modulo Kb */
    assert_string_equal(check(&call).text, "");
    index[2] = 1; /* a gap: legal without the promise */
    assert_non_null(strstr(check(&call).text, "batch 0, head 0, row 0, slot 2 of 'q2k_block_index' "
                                              "is 1, must be 0 as contiguous_block_indices"));
    call.p.param[SAB_P_sage_fwd_contiguous_block_indices].i = 0;
    assert_string_equal(check(&call).text, "");
    call_release(&call);
}

static void test_counts(void **state)
{
    struct call call;
    int32_t *nums;

    (void)state;
    call_init(&call, 1, 1);
    nums = own(&call, "q2k_block_nums");
    nums[4] = 5; /* batch 0, head 1, row 1 */
    assert_string_equal(check(&call).text, "batch 0, head 1, row 1 of 'q2k_block_nums' is 5, must "
                                           "be 0 to the 4 slots of a row");
    nums[4] = -1;
    assert_non_null(strstr(check(&call).text, "is -1, must be"));
    nums[4] = 0;
    assert_string_equal(check(&call).text, "");
    /* Under the uniform promise they are not looked at. */
    nums[4] = 99;
    call.p.param[SAB_P_sage_fwd_uniform_block_count].i = 1;
    call.p.param[SAB_P_sage_fwd_block_sparse_num].i = 0;
    assert_string_equal(check(&call).text, "");
    call_release(&call);
}

static void test_scales(void **state)
{
    static const float bad[] = {0, -1, NAN, INFINITY};
    struct call call;
    float *scale;

    (void)state;
    call_init(&call, 0, 0);
    scale = own(&call, "q_scale"); /* [2,2,8], of which 5 cover rows below 150 */
    for (int i = 0; i < 4; i++) {
        struct promise_break b;

        scale[(1 * 2 + 1) * 8 + 4] = bad[i];
        b = check(&call);
        assert_non_null(strstr(b.text, "batch 1, head 1, scale 4 of 'q_scale' is "));
        assert_int_equal(b.at, 28);
    }
    scale[28] = 1;
    scale[29] = 0; /* rows that are not there */
    assert_string_equal(check(&call).text, "");
    scale = own(&call, "v_scale");
    scale[5] = 0;
    assert_non_null(strstr(check(&call).text, "batch 0, head 0, scale 5 of 'v_scale' is 0"));
    call_release(&call);
}

static void test_nothing_promised(void **state)
{
    struct promise_break b;
    struct op_problem p;
    struct op_source src;
    struct op_case c;

    (void)state;
    assert_int_equal(op_case_default(op_model_find("copy"), 1, &c, NULL), 0);
    assert_int_equal(c.op->describe(&c, &p, NULL), 0);
    op_source_recipes(&src, &p);
    assert_int_equal(promises_check(&p, &src, &b, NULL), 0);
    assert_false(b.looked_at);
    assert_string_equal(b.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recipes_keep_them),
        cmocka_unit_test(test_an_index_out_of_range),
        cmocka_unit_test(test_contiguous_rows),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_nothing_promised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
