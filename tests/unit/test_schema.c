/*
 * test_schema.c - the catalogue as data: expressions, hash, defaults, and that every row of ops.h
 * is well formed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bind.h"
#include "expr.h"
#include "schema.h"

static int no_symbol(void *context, const char *name, size_t len, struct sab_expr_value *value)
{
    (void)context;
    if (len != 1 || *name != 'x')
        return SAB_EXPR_UNBOUND;
    *value = (struct sab_expr_value){SAB_EXPR_INT, 130, 1, 0.0};
    return SAB_EXPR_OK;
}

static int no_tensor(void *context, const char *function, size_t function_len, const char *name,
                     size_t len, const char *dtype, size_t dtype_len, struct sab_expr_value *value)
{
    (void)context, (void)function, (void)function_len, (void)name, (void)len, (void)dtype;
    (void)dtype_len, (void)value;
    return SAB_EXPR_UNBOUND;
}

static int eval(const char *text, struct sab_expr_value *value)
{
    struct sab_expr_env env = {NULL, no_symbol, no_tensor};

    return sab_expr_eval(text, strlen(text), &env, value);
}

static void test_integers(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"4*ceil(x/128)", 8},
        {"ceil(128/128)", 1},
        {"ceil(-3/2)", -1},
        {"floor(-3/2)", -2},
        {"floor(7/2)", 3},
        {"mod(7, 3) == 1", 1},
        {"min(3, max(1, 2))", 2},
        {"1 <= 1 && 2 > 1", 1},
        {"!(1 == 2)", 1},
        {"1 != 1 || 0", 0},
        {"0 && y", 0},
        {"1 || y && z", 1},
        {"0 && mod(1, 0) || 3 == 3", 1},
        {"-x + 131", 1},
        {"9223372036854775807", INT64_MAX},
        {"10 - 3 - 2", 5},
    };
    struct sab_expr_value value;
    int64_t n;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(eval(cases[i].text, &value), SAB_EXPR_OK);
        assert_int_equal(sab_expr_integer(&value, &n), SAB_EXPR_OK);
        assert_int_equal(n, cases[i].want);
    }
    assert_int_equal(eval("1/sqrt(4) == 0.5", &value), SAB_EXPR_OK);
    assert_true(sab_expr_true(&value));
    assert_int_equal(eval("7/2", &value), SAB_EXPR_OK);
    assert_int_equal(sab_expr_integer(&value, &n), SAB_EXPR_DOMAIN);
}

static void test_bad_expressions(void **state)
{
    static const struct {
        const char *text;
        int want;
    } cases[] = {
        {"", SAB_EXPR_SYNTAX},
        {"1 +", SAB_EXPR_SYNTAX},
        {"(1", SAB_EXPR_SYNTAX},
        {"1 2", SAB_EXPR_SYNTAX},
        {"nosuch(1)", SAB_EXPR_SYNTAX},
        {"min(1)", SAB_EXPR_SYNTAX},
        {"y", SAB_EXPR_UNBOUND},
        {"present(t)", SAB_EXPR_UNBOUND},
        {"1/0", SAB_EXPR_DOMAIN},
        {"mod(1, 0)", SAB_EXPR_DOMAIN},
        {"sqrt(0-1)", SAB_EXPR_DOMAIN},
        {"9223372036854775807 + 1", SAB_EXPR_OVERFLOW},
        {"9223372036854775808", SAB_EXPR_OVERFLOW},
        {"3037000500 * 3037000500", SAB_EXPR_OVERFLOW},
    };
    char deep[400];
    struct sab_expr_value value;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(eval(cases[i].text, &value), cases[i].want);
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(eval(deep, &value), SAB_EXPR_SYNTAX);
}

static void test_hash(void **state)
{
    const struct sab_op_spec *sage = sab_op_find("sage_fwd"), *op;

    (void)state;
    for (uint32_t i = 0; (op = sab_op_at(i)) != NULL; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_true(
                sab_schema_hash(op, op->tensors_nr, op->params_nr) !=
                sab_schema_hash(sab_op_at(j), sab_op_at(j)->tensors_nr, sab_op_at(j)->params_nr));
    assert_true(sab_schema_hash(sage, 9, 4) != sab_schema_hash(sage, 10, 4));
    assert_true(sab_schema_hash(sage, 10, 3) != sab_schema_hash(sage, 10, 4));
    assert_int_equal(sab_schema_hash(sage, 11, 4), 0);
    assert_int_equal(sab_schema_hash(sage, 10, 5), 0);
    assert_null(sab_op_find("sage"));
}

/* The contracts' lists, by number, so that a row lost in ops.h is noticed. */
static void test_catalogue(void **state)
{
    static const struct {
        const char *op;
        uint32_t tensors, params;
    } want[] = {
        {"sage_fwd", 10, 4},
        {"sage_quant_q", 3, 0},
        {"sage_quant_kv", 6, 0},
        {"bsa_fwd", 8, 4},
        {"dsa_fwd", 9, 2},
        {"dsa_bwd", 11, 2},
        {"indexer_fwd", 10, 7},
        {"indexer_topk", 4, 2},
        {"score_sparse_indexer", 6, 2},
        {"score_sparse_attention", 6, 2},
        {"score_dense_indexer", 10, 6},
        {"score_dense_attention", 10, 6},
        {"indexer_bwd_sparse", 13, 7},
        {"indexer_bwd_dense", 14, 7},
        {"copy", 2, 0},
        {"mma_peak", 3, 1},
        {"read", 2, 0},
        {"gather", 3, 0},
        {"reduce", 2, 0},
        {"gather_reduce", 4, 0},
        {"exp2", 2, 1},
        {"null", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        const struct sab_op_spec *op = sab_op_at((uint32_t)i);

        assert_non_null(op);
        assert_string_equal(op->name, want[i].op);
        assert_int_equal(op->tensors_nr, want[i].tensors);
        assert_int_equal(op->params_nr, want[i].params);
    }
    assert_null(sab_op_at(sizeof(want) / sizeof(want[0])));
    assert_int_equal(SAB_T_sage_fwd_out, 9);
    assert_int_equal(SAB_P_sage_fwd_contiguous_block_indices, 3);
    assert_int_equal(SAB_TENSORS_NR_dsa_bwd, 11);
}

/* Rules, guards and shapes of every operator parse: with nothing bound they may lack a value, never
 * be malformed. */
static void test_rows_parse(void **state)
{
    const struct sab_op_spec *op;

    (void)state;
    for (uint32_t i = 0; (op = sab_op_at(i)) != NULL; i++) {
        struct sab_tensor tensors[SAB_MAX_TENSORS] = {{0}};
        struct sab_problem problem = {.tensors = tensors, .tensors_nr = op->tensors_nr};
        struct sab_expr_value value;
        struct sab_binding b;

        sab_bind_init(&b, op, &problem, 0);
        for (uint32_t r = 0; r < op->rules_nr; r++) {
            const char *text = op->rules[r].condition;
            int status = sab_bind_eval(&b, text, strlen(text), &value);

            assert_true(status == SAB_EXPR_OK || status == SAB_EXPR_UNBOUND);
            assert_true(sab_tensor_find(op, op->rules[r].subject) >= 0 ||
                        sab_param_find(op, op->rules[r].subject) >= 0);
        }
        for (uint32_t t = 0; t < op->tensors_nr; t++) {
            const char *cursor = op->tensors[t].shape, *token;
            struct sab_alternative shape;

            while (sab_next_alternative(&cursor, &shape)) {
                size_t at = 0, len;

                while ((len = sab_next_token(shape.text, shape.len, &at, &token)) > 0) {
                    int status = sab_bind_eval(&b, token, len, &value);

                    assert_true(status == SAB_EXPR_OK || status == SAB_EXPR_UNBOUND);
                }
            }
        }
    }
}

static void test_feeds(void **state)
{
    const struct sab_op_spec *op;

    (void)state;
    for (uint32_t i = 0; (op = sab_op_at(i)) != NULL; i++)
        for (uint32_t f = 0; f < op->feeds_nr; f++) {
            const struct sab_feed_spec *feed = &op->feeds[f];
            const struct sab_op_spec *consumer = sab_op_find(feed->op);
            int32_t output = sab_tensor_find(op, feed->output);

            assert_true(output >= 0 && op->tensors[output].role == SAB_OUT);
            assert_non_null(consumer);
            assert_true(sab_tensor_find(consumer, feed->input) >= 0);
            assert_true(feed->conversion[0] == '\0' ||
                        strcmp(feed->conversion, "local_to_global") == 0);
        }
}

static void test_names(void **state)
{
    char text[16];
    struct sab_message msg = {text, sizeof(text)};

    (void)state;
    assert_int_equal(sab_dtype_size(SAB_BF16), 2);
    assert_int_equal(sab_dtype_size(SAB_NONE), 0);
    assert_int_equal(sab_dtype_size(99), 0);
    assert_string_equal(sab_dtype_name(SAB_E4M3), "e4m3");
    assert_string_equal(sab_dtype_name(-1), "?");
    assert_int_equal(sab_dtype_find("e8m0"), SAB_E8M0);
    assert_int_equal(sab_dtype_find("double"), -1);
    assert_string_equal(sab_status_name(SAB_UNSUPPORTED), "unsupported");
    assert_int_equal(sab_say(&msg, SAB_FAILED, "%s", "longer than the sixteen bytes"), SAB_FAILED);
    assert_string_equal(text, "longer than the");
    assert_int_equal(sab_say(NULL, SAB_INVALID, "unheard"), SAB_INVALID);
    assert_true(sab_target_served("90a;100a;120a", 100));
    assert_false(sab_target_served("90a;100a;120a", 103));
    assert_false(sab_target_served("", 0));
    assert_int_equal(sab_word_find(&sab_op_find("indexer_fwd")->params[0], "mxfp8"), 2);
    assert_int_equal(sab_word_find(&sab_op_find("indexer_fwd")->params[0], "mx"), -1);
}

static void test_defaults(void **state)
{
    const struct sab_op_spec *op = sab_op_find("dsa_fwd");
    struct sab_tensor tensors[SAB_TENSORS_NR_dsa_fwd] = {
        [SAB_T_dsa_fwd_q] = {.dtype = SAB_BF16, .rank = 3, .shape = {3, 2, 576}}};
    struct sab_problem problem = {.tensors = tensors, .tensors_nr = SAB_TENSORS_NR_dsa_fwd};
    union sab_value value;

    (void)state;
    assert_int_equal(sab_default(op, &problem, 0, &value, NULL), SAB_OK);
    assert_float_equal(value.f, 1.0 / 24.0, 1e-15);
    assert_int_equal(sab_default(op, &problem, 1, &value, NULL), SAB_OK);
    assert_int_equal(value.i, 0);
    assert_int_equal(sab_default(op, &problem, 2, &value, NULL), SAB_INVALID);
    op = sab_op_find("score_sparse_indexer");
    assert_int_equal(sab_default(op, &problem, 0, &value, NULL), SAB_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),   cmocka_unit_test(test_bad_expressions),
        cmocka_unit_test(test_hash),       cmocka_unit_test(test_catalogue),
        cmocka_unit_test(test_rows_parse), cmocka_unit_test(test_feeds),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
