/*
 * sage_fwd/cpu at the edges of its contract: one mask in all its forms (25 keys), empty rows and
 * blocks, tokens that do not exist, promises, and the table of refusals (sections 4, 5, 6, 12).
 */
#include "test_sage_case.h"

#define INDEX(c) ((int32_t *)TENSOR(c, q2k_block_index).data)
#define SIZES(c) ((int32_t *)TENSOR(c, block_sizes).data)
#define E4M3_NAN 0x7f

/* The five forms in which (N, U, C) can say that every row uses n slots. */
enum form { PER_ROW = 0, SCALAR, UNIFORM, CONTIGUOUS, OVERRIDDEN, FORM_NR };

static void take_form(struct sage_case *c, enum form form, int32_t n)
{
    if (form == PER_ROW)
        case_add_nums(c, n);
    if (form == OVERRIDDEN) /* the promise makes the counts void */
        case_add_nums(c, n > 0 ? n - 1 : 1);
    PARAM(c, block_sparse_num).i = form == PER_ROW ? 0 : n;
    PARAM(c, uniform_block_count).i = form >= UNIFORM;
    PARAM(c, contiguous_block_indices).i = form == CONTIGUOUS;
}

/* One mask, all its forms: counts by row, scalar or promise; sizes absent or 64 in three ranks. */
static void hold_forms(int64_t sk, int32_t n)
{
    struct sage_case c;
    void *bits;
    int form, mode;

    case_init(&c, 2, 2, 100, sk, 3, n, 0);
    bits = case_output(&c);
    assert_int_equal(case_is_zero(&c), n == 0);
    case_release(&c);
    for (form = 0; form < FORM_NR; form++) {
        for (mode = 0; mode <= 3; mode++) {
            case_init(&c, 2, 2, 100, sk, 3, n, mode);
            take_form(&c, (enum form)form, n);
            case_expect(&c, bits);
            case_release(&c);
        }
    }
    free(bits);
}

static void test_all_keys(void **state)
{
    int32_t n;

    (void)state;
    for (n = 0; n <= 3; n++) {
        hold_forms(320, n); /* full tiles */
        hold_forms(257, n); /* a tail of one token */
    }
}

/* Declared sizes are clipped to what exists; a negative one is 0. */
static void test_sizes_are_clipped(void **state)
{
    static const int32_t large[] = {64, 65, INT32_MAX}, empty[] = {0, -1, INT32_MIN};
    struct sage_case c;
    void *full, *none;
    int i;

    (void)state;
    case_init(&c, 1, 2, 70, 130, 3, 3, 3);
    full = case_output(&c);
    for (i = 0; i < 3; i++) {
        SIZES(&c)[0] = SIZES(&c)[5] = large[i];
        case_expect(&c, full);
    }
    SIZES(&c)[2] = 2; /* all that Sk leaves */
    case_expect(&c, full);
    SIZES(&c)[1] = 0;
    none = case_output(&c);
    assert_memory_not_equal(none, full, case_bytes(&TENSOR(&c, out)));
    for (i = 0; i < 3; i++) {
        SIZES(&c)[1] = empty[i];
        case_expect(&c, none);
    }
    free(full);
    free(none);
    case_release(&c);
}

/* Poisons K and V of every token at or beyond `valid` in each block; V is NaN where asked. */
static void poison_tokens(struct sage_case *c, int valid, uint8_t v)
{
    static const int logical[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
    int64_t heads = TENSOR(c, k_int8).shape[0] * TENSOR(c, k_int8).shape[1];
    int64_t sk = TENSOR(c, k_int8).shape[2], skp = TENSOR(c, v_fp8).shape[3], h, t, d;

    for (h = 0; h < heads; h++) {
        for (t = 0; t < sk; t++) {
            if (t % 64 >= valid)
                memset((int8_t *)TENSOR(c, k_int8).data + (h * sk + t) * 128, 127, 128);
        }
        for (d = 0; d < 128; d++) {
            for (t = 0; t < skp; t++) {
                int64_t token = t / 16 * 16 + logical[t % 16];

                if (token % 64 >= valid || token >= sk)
                    ((uint8_t *)TENSOR(c, v_fp8).data)[(h * 128 + d) * skp + t] = v;
            }
        }
    }
}

static void test_masked_tokens_change_no_bit(void **state)
{
    static const int sizes[] = {1, 2, 15, 16, 17, 31, 32, 33, 40, 47, 48, 49, 63};
    uint32_t i, choice;
    struct sage_case c;
    void *bits;

    (void)state;
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        case_init(&c, 1, 1, 65, 250, 4, 4, 1);
        SIZES(&c)[0] = SIZES(&c)[1] = SIZES(&c)[2] = SIZES(&c)[3] = sizes[i];
        c.choice = 1;
        bits = case_output(&c);
        poison_tokens(&c, sizes[i], 0x68); /* 64.0 */
        for (choice = 0; choice < sage_fwd_cpu_row.options[0].choices_nr; choice++) {
            c.choice = choice;
            if (case_supports(&c) == SAB_OK)
                case_expect(&c, bits);
        }
        poison_tokens(&c, sizes[i], E4M3_NAN);
        case_expect(&c, bits);
        free(bits);
        case_release(&c);
    }
}

/* A block without valid tokens is skipped wherever it stands, and nothing of it is read. */
static void test_empty_blocks(void **state)
{
    struct sage_case c;
    void *bits;
    int row;

    (void)state;
    case_init(&c, 1, 1, 10, 256, 4, 2, 1);
    memset(TENSOR(&c, v_fp8).data, 0x30, case_bytes(&TENSOR(&c, v_fp8)));
    memcpy(INDEX(&c), (int32_t[]){1, 2, -1, -1}, 4 * sizeof(int32_t));
    bits = case_output(&c);
    SIZES(&c)[0] = SIZES(&c)[3] = 0;
    memcpy(INDEX(&c), (int32_t[]){0, 1, 2, 3}, 4 * sizeof(int32_t)); /* first and last folded */
    PARAM(&c, block_sparse_num).i = 4;
    for (row = 0; row < 128; row++) {
        memset((uint8_t *)TENSOR(&c, v_fp8).data + row * 256, E4M3_NAN, 64);
        memset((uint8_t *)TENSOR(&c, v_fp8).data + row * 256 + 192, E4M3_NAN, 64);
    }
    case_expect(&c, bits);
    SIZES(&c)[1] = SIZES(&c)[2] = -7;
    memset(TENSOR(&c, v_fp8).data, E4M3_NAN, case_bytes(&TENSOR(&c, v_fp8)));
    assert_int_equal(case_run(&c, 1), SAB_OK);
    assert_true(case_is_zero(&c));
    free(bits);
    case_release(&c);
}

static void test_contiguous_reads_one_slot(void **state)
{
    struct sage_case c;
    void *bits;
    int i;

    (void)state;
    case_init(&c, 1, 1, 64, 200, 9, 9, 0); /* Kb = 4, capacity above it, more than two turns */
    PARAM(&c, uniform_block_count).i = 1;
    bits = case_output(&c);
    for (i = 0; i < 8; i++)
        INDEX(&c)[i] = INT32_MIN;
    PARAM(&c, contiguous_block_indices).i = 1;
    case_expect(&c, bits);
    PARAM(&c, block_sparse_num).i = 0;
    INDEX(&c)[8] = INT32_MIN;
    assert_int_equal(case_run(&c, 1), SAB_OK);
    assert_true(case_is_zero(&c));
    free(bits);
    case_release(&c);
}

static void test_small_shapes(void **state)
{
    static const int64_t shapes[][2] = {{1, 1}, {1, 65}, {65, 1}, {33, 64}, {64, 63}, {129, 191}};
    struct sage_case c;
    uint32_t i, k;

    (void)state;
    for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        case_init(&c, 1, 2, shapes[i][0], shapes[i][1], 1, 1, 0);
        assert_int_equal(case_run(&c, 1), SAB_OK);
        for (k = 0; k < case_elements(&TENSOR(&c, out)); k++)
            assert_true((((uint16_t *)TENSOR(&c, out).data)[k] & 0x7f80) != 0x7f80);
        case_release(&c);
    }
}

/* Equal weights make out = c * v_scale exactly, for any number of tokens and any fold. */
static void test_zero_scores_are_exact(void **state)
{
    struct sage_case c;
    int64_t sk, k;
    float *scale;

    (void)state;
    for (sk = 1; sk <= 200; sk += 7) {
        case_init(&c, 1, 1, 3, sk, (sk + 63) / 64, (sk + 63) / 64, 0);
        memset(TENSOR(&c, q_int8).data, 0, case_bytes(&TENSOR(&c, q_int8)));
        memset(TENSOR(&c, v_fp8).data, 0x3c, case_bytes(&TENSOR(&c, v_fp8))); /* 1.5 */
        scale = TENSOR(&c, v_scale).data;
        for (k = 0; k < 128; k++)
            scale[k] = 0.5f;
        assert_int_equal(case_run(&c, 1), SAB_OK);
        for (k = 0; k < 3 * 128; k++)
            assert_int_equal(((uint16_t *)TENSOR(&c, out).data)[k], 0x3f40); /* 0.75 */
        case_release(&c);
    }
}

/* Broken preconditions never read outside: an index is named, a count is held to the capacity. */
static void test_broken_preconditions(void **state)
{
    struct sage_case c;

    (void)state;
    case_init(&c, 1, 2, 130, 128, 2, 2, 0);
    INDEX(&c)[9] = 2; /* [0, 1, 1, 1] of [1, 2, 3, 2] */
    assert_int_equal(case_run(&c, 1), SAB_INVALID);
    assert_non_null(strstr(c.text, "q2k_block_index[0, 1, 1, 1] is 2"));
    INDEX(&c)[9] = -1;
    assert_int_equal(case_run(&c, 1), SAB_INVALID);
    INDEX(&c)[9] = 0;
    case_add_nums(&c, INT32_MAX);
    assert_int_equal(case_run(&c, 1), SAB_OK);
    case_release(&c);
}

struct refusal {
    const char *argument;
    int status;
    void (*spoil)(struct sage_case *c);
};

#define SPOIL(function, statement)                                                                 \
    static void function(struct sage_case *c)                                                      \
    {                                                                                              \
        statement;                                                                                 \
    }
SPOIL(q_rank, TENSOR(c, q_int8).rank = 3)
SPOIL(q_dtype, TENSOR(c, q_int8).dtype = SAB_U8)
SPOIL(q_stride, TENSOR(c, q_int8).stride[2] = 256)
SPOIL(q_rows, TENSOR(c, q_int8).shape[2] = 0)
SPOIL(k_batch, TENSOR(c, k_int8).shape[0] = 3)
SPOIL(k_dtype, TENSOR(c, k_int8).dtype = SAB_BF16)
SPOIL(k_depth, TENSOR(c, k_int8).shape[3] = 64)
SPOIL(v_dtype, TENSOR(c, v_fp8).dtype = SAB_U8)
SPOIL(v_padding, TENSOR(c, v_fp8).shape[3] = 150)
SPOIL(q_scale_size, TENSOR(c, q_scale).shape[2] = 2)
SPOIL(k_scale_dtype, TENSOR(c, k_scale).dtype = SAB_BF16)
SPOIL(v_scale_size, TENSOR(c, v_scale).shape[2] = 1)
SPOIL(index_dtype, TENSOR(c, q2k_block_index).dtype = SAB_F32)
SPOIL(index_rows, TENSOR(c, q2k_block_index).shape[2] = 1)
SPOIL(index_missing, TENSOR(c, q2k_block_index).dtype = SAB_NONE)
SPOIL(nums_size, case_add_nums(c, 1); TENSOR(c, q2k_block_nums).shape[2] = 3)
SPOIL(nums_unused, nums_size(c); PARAM(c, uniform_block_count).i = 1)
SPOIL(num_negative, PARAM(c, block_sparse_num).i = -1)
SPOIL(num_large, PARAM(c, block_sparse_num).i = 4)
SPOIL(num_with_nums, case_add_nums(c, 1); PARAM(c, block_sparse_num).i = 4)
SPOIL(sizes_rank, TENSOR(c, block_sizes).rank = 2)
SPOIL(sizes_size, TENSOR(c, block_sizes).shape[0] = 2)
SPOIL(scale_zero, PARAM(c, softmax_scale).f = 0)
SPOIL(scale_negative, PARAM(c, softmax_scale).f = -1)
SPOIL(scale_nan, PARAM(c, softmax_scale).f = NAN)
SPOIL(scale_inf, PARAM(c, softmax_scale).f = INFINITY)
SPOIL(flag_two, PARAM(c, uniform_block_count).i = 2)
SPOIL(contiguous_alone, PARAM(c, contiguous_block_indices).i = 1)
SPOIL(out_dtype, TENSOR(c, out).dtype = SAB_FP16)
SPOIL(out_rows, TENSOR(c, out).shape[2] = 99)
SPOIL(threads_none, c->threads = 0)
SPOIL(choice_unknown, c->choice = 99)

static const struct refusal refusals[] = {
    {"q_int8", SAB_INVALID, q_rank},
    {"q_int8", SAB_INVALID, q_dtype},
    {"q_int8", SAB_INVALID, q_stride},
    {"", SAB_INVALID, q_rows},
    {"k_int8", SAB_INVALID, k_batch},
    {"k_int8", SAB_INVALID, k_dtype},
    {"k_int8", SAB_INVALID, k_depth},
    {"v_fp8", SAB_INVALID, v_dtype},
    {"v_fp8", SAB_INVALID, v_padding},
    {"q_scale", SAB_INVALID, q_scale_size},
    {"k_scale", SAB_INVALID, k_scale_dtype},
    {"v_scale", SAB_INVALID, v_scale_size},
    {"q2k_block_index", SAB_INVALID, index_dtype},
    {"q2k_block_index", SAB_INVALID, index_rows},
    {"q2k_block_index", SAB_INVALID, index_missing},
    {"q2k_block_nums", SAB_INVALID, nums_size},
    {"q2k_block_nums", SAB_INVALID, nums_unused},
    {"block_sparse_num", SAB_INVALID, num_negative},
    {"block_sparse_num", SAB_INVALID, num_large},
    {"block_sparse_num", SAB_INVALID, num_with_nums},
    {"block_sizes", SAB_INVALID, sizes_rank},
    {"block_sizes", SAB_INVALID, sizes_size},
    {"softmax_scale", SAB_INVALID, scale_zero},
    {"softmax_scale", SAB_INVALID, scale_negative},
    {"softmax_scale", SAB_INVALID, scale_nan},
    {"softmax_scale", SAB_INVALID, scale_inf},
    {"uniform_block_count", SAB_INVALID, flag_two},
    {"contiguous_block_indices", SAB_INVALID, contiguous_alone},
    {"out", SAB_INVALID, out_dtype},
    {"out", SAB_INVALID, out_rows},
    {"threads", SAB_INVALID, threads_none},
    {"simd", SAB_INVALID, choice_unknown},
};

static void test_refusals(void **state)
{
    struct sage_case c;
    uint32_t i;

    (void)state;
    for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        case_init(&c, 2, 2, 100, 150, 3, 2, 1);
        assert_int_equal(case_supports(&c), SAB_OK);
        refusals[i].spoil(&c);
        if (case_supports(&c) != refusals[i].status || !strstr(c.text, refusals[i].argument))
            fail_msg("refusal %u of '%s' says: %s", i, refusals[i].argument, c.text);
        case_release(&c);
    }
}

static void resize(struct sab_tensor *t, int dimension, int64_t size)
{
    int64_t stride = 1;
    int32_t d;

    t->shape[dimension] = size;
    for (d = t->rank - 1; d >= 0; d--) {
        t->stride[d] = stride;
        stride *= t->shape[d];
    }
}

static void test_unsupported(void **state)
{
    struct sage_case c;

    (void)state;
    case_init(&c, 1, 2, 64, 64, 1, 1, 0);
    resize(&TENSOR(&c, k_int8), 1, 1);
    resize(&TENSOR(&c, v_fp8), 1, 1);
    resize(&TENSOR(&c, k_scale), 1, 1);
    resize(&TENSOR(&c, v_scale), 1, 1);
    assert_int_equal(case_supports(&c), SAB_UNSUPPORTED);
    assert_non_null(strstr(c.text, "heads"));
    case_release(&c);

    case_init(&c, 1, 1, 64, 64, 1, 1, 0);
    resize(&TENSOR(&c, q_int8), 3, 64);
    resize(&TENSOR(&c, k_int8), 3, 64);
    resize(&TENSOR(&c, v_fp8), 2, 64);
    resize(&TENSOR(&c, v_scale), 2, 64);
    resize(&TENSOR(&c, out), 3, 64);
    assert_int_equal(case_supports(&c), SAB_UNSUPPORTED);
    assert_non_null(strstr(c.text, "head dimension"));
    case_release(&c);
}

/* What only addresses show is refused by plan(), before a byte is written. */
static void test_plan_refuses_pointers(void **state)
{
    struct sage_case c;
    void *data;

    (void)state;
    case_init(&c, 1, 1, 64, 64, 1, 1, 0);
    data = TENSOR(&c, out).data;
    TENSOR(&c, out).data = TENSOR(&c, q_int8).data;
    assert_int_equal(case_run(&c, 0), SAB_INVALID);
    TENSOR(&c, out).data = (char *)data + 8;
    assert_int_equal(case_run(&c, 0), SAB_INVALID);
    TENSOR(&c, out).data = NULL;
    assert_int_equal(case_run(&c, 0), SAB_INVALID);
    TENSOR(&c, out).data = data;
    assert_int_equal(case_run(&c, 0), SAB_OK);
    case_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_keys),
        cmocka_unit_test(test_sizes_are_clipped),
        cmocka_unit_test(test_masked_tokens_change_no_bit),
        cmocka_unit_test(test_empty_blocks),
        cmocka_unit_test(test_contiguous_reads_one_slot),
        cmocka_unit_test(test_small_shapes),
        cmocka_unit_test(test_zero_scores_are_exact),
        cmocka_unit_test(test_broken_preconditions),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_plan_refuses_pointers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
