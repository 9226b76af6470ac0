#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "axis.h"
#include "case_build.h"
#include "formula.h"
#include "test_toy_op.h"

/* The values of a key, as one text "1 8 (a+b)". */
static void values_of(const char *key, const char *value, struct strbuf *sb)
{
    struct axis_group group = {.key = key};
    struct err err = ERR_INIT;

    if (axis_group_read(&group, &toy, key, value, &err))
        fail_msg("%s = %s: %s", key, value, err.text);
    for (size_t i = 0; i < group.rows_nr * group.columns_nr; i++) {
        size_t column = i % group.columns_nr, place = 0;

        while (group.column_of[place] != (int)column)
            place++;
        strbuf_addstr(sb, i ? " " : "");
        if (group.element[i].expr)
            strbuf_addstr(sb, group.element[i].expr);
        else
            axis_value_add(sb, &toy_axes[place], &group.element[i].value);
    }
    axis_group_release(&group);
}

static void expect_values(const char *key, const char *value, const char *want)
{
    struct strbuf sb = STRBUF_INIT;

    values_of(key, value, &sb);
    assert_string_equal(sb.buf, want);
    strbuf_release(&sb);
}

static void expect_refused(const char *key, const char *value, const char *part)
{
    struct axis_group group = {.key = key};
    struct err err = ERR_INIT;

    assert_int_equal(axis_group_read(&group, &toy, key, value, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    if (!strstr(err.text, part))
        fail_msg("%s = %s: '%s' lacks '%s'", key, value, err.text, part);
    axis_group_release(&group);
}

static void test_lists_and_ranges(void **state)
{
    (void)state;
    expect_values("batch", "1, 8,32", "1 8 32");
    expect_values("seqlen_q", "4k, 4000", "4096 4000");
    expect_values("seqlen_q", "1k..64k *2", "1024 2048 4096 8192 16384 32768 65536");
    expect_values("batch", "1..10 *3", "1 3 9");
    expect_values("batch", "1..4", "1 2 3 4");
    expect_values("batch", "7..70 +63", "7 70");
    expect_values("batch", "1, 8..24 +8, 100", "1 8 16 24 100");
    expect_values("batch", "7..7 *2", "7");
    expect_values("density", "0.1..0.9 +0.2", "0.1 0.3 0.5 0.7 0.9");
    expect_values("density", "0.05..0.3 + 0.05", "0.05 0.1 0.15 0.2 0.25 0.3");
    expect_values("density", "0.125..1 *2", "0.125 0.25 0.5 1");
    expect_values("density", "1", "1");
    expect_values("pattern", "topk, contiguous", "topk contiguous");
    expect_values("batch", "(131072 / seqlen)", "(131072 / seqlen)");
    expect_values("kv_heads", "1, heads, (heads / 4)", "1 heads (heads / 4)");
    expect_values("seqlen", "1k, 2k", "1024 2048");
}

static void test_zips(void **state)
{
    struct axis_group group = {.key = "batch:seqlen"};
    struct err err = ERR_INIT;

    (void)state;
    expect_values("heads:head_dim", "64:512, 128:576", "64 512 128 576");
    expect_values("heads:head_dim:dtype", "64:512:fp16", "64 512 fp16");
    expect_values("heads:kv_heads", "8:(heads / 2), 16:heads", "8 (heads / 2) 16 heads");
    assert_int_equal(axis_group_read(&group, &toy, "batch:seqlen", "8:1k, 4:4k", &err), 0);
    assert_int_equal(group.rows_nr, 2);
    assert_int_equal(group.column_of[TOY_SEQLEN_Q], 1);
    assert_int_equal(group.column_of[TOY_SEQLEN_K], 1);
    assert_int_equal(group.column_of[TOY_HEADS], -1);
    axis_group_release(&group);

    expect_refused("heads:head_dim", "64:512, 128", "has 1 values where the zip has 2 axes");
    expect_refused("heads:head_dim", "64:512:3", "has 3 values");
    expect_refused("heads:head_dim", "1..4:512", "holds a range");
    expect_refused("heads:heads", "1:2", "twice");
    expect_refused("seqlen:seqlen_k", "1:2", "sets axis 'seqlen_k' twice");
    expect_refused("heads:haed_dim", "1:2", "did you mean 'head_dim'");
    expect_refused("heads:", "1", "empty item");
}

static void test_bad_values(void **state)
{
    (void)state;
    expect_refused("batch", "", "has no value");
    expect_refused("batch", "1,,2", "empty item");
    expect_refused("batch", "0", "'0' is no value of axis 'batch', which takes an integer from 1");
    expect_refused("batch", "eight", "'eight' is no value of axis 'batch'");
    expect_refused("batch", "1.5", "'1.5' is no value");
    expect_refused("batch", "99999999999999999999", "is no value");
    expect_refused("density", "1.5", "a real from 0 to 1");
    expect_refused("density", "nan", "'nan' is no value");
    expect_refused("density", "0.1..0.9", "lacks its step");
    expect_refused("density", "0.9..0.1 +0.2", "starts above its end");
    expect_refused("density", "0.1..0.9 +0", "does not grow");
    expect_refused("density", "0..1 *2", "does not grow");
    expect_refused("batch", "1..8 *1", "does not grow");
    expect_refused("batch", "1..8 *1.5", "'1.5' is no value");
    expect_refused("batch", "1..8 +-1", "does not grow");
    expect_refused("batch", "1..1m +1", "more than 100000 values");
    expect_refused("batch", "1..65",
                   "has 65 values: write its step, as in '1..65 *2' or '1..65 +9'");
    expect_refused("seqlen", "1k..4k", "has 3073 values: write its step");
    expect_refused("density", "0..1 +0.000001", "more than 100000 values");
    expect_refused("dtype", "bf61", "did you mean 'bf16'");
    expect_refused("dtype", "float", "which takes one of: bf16 fp16");
    expect_refused("dtype", "(1)", "which takes words");
    expect_refused("dtype", "bf16..fp16", "is no value");
    expect_refused("batch", "(1 + 2", "without its ')'");
    expect_refused("batsh", "1", "'batsh' is no axis of 'toy', did you mean 'batch'");
    expect_refused("seqlem", "1", "did you mean 'seqlen'");
    expect_refused("zzzzz", "1", "bench list --operators");
}

/* Formulas over a case with heads 64, seqlen_q 2048, seqlen_k 4096, density 0.25, fp16. */
static int eval(const char *text, struct formula_value *v, struct err *err)
{
    struct case_builder b;
    struct formula_env env = case_builder_env(&b);
    struct axis_element e = {.value = {.i = 64}};

    assert_int_equal(case_builder_init(&b, &toy, 1, err), 0);
    case_builder_set(&b, TOY_HEADS, &e, NULL, 0);
    e.value.i = 2048;
    case_builder_set(&b, TOY_SEQLEN_Q, &e, NULL, 0);
    e.value.i = 4096;
    case_builder_set(&b, TOY_SEQLEN_K, &e, NULL, 0);
    e.value = (struct axis_value){.f = 0.25};
    case_builder_set(&b, TOY_DENSITY, &e, NULL, 0);
    e.value = (struct axis_value){.i = 1};
    case_builder_set(&b, TOY_DTYPE, &e, NULL, 0);
    return formula_eval(text, &env, v, err);
}

static void expect_int(const char *text, int64_t want)
{
    struct formula_value v = {.kind = FORMULA_REAL};
    struct err err = ERR_INIT;

    if (eval(text, &v, &err))
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(v.kind, FORMULA_INT);
    assert_int_equal(v.i, want);
}

static void expect_real(const char *text, double want)
{
    struct formula_value v = {.kind = FORMULA_INT};
    struct err err = ERR_INIT;

    if (eval(text, &v, &err))
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(v.kind, FORMULA_REAL);
    assert_true(v.f == want);
}

static void expect_bad(const char *text, const char *part)
{
    struct formula_value v;
    struct err err = ERR_INIT;

    assert_int_equal(eval(text, &v, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    if (!strstr(err.text, part))
        fail_msg("%s: '%s' lacks '%s'", text, err.text, part);
}

static void test_formula_values(void **state)
{
    (void)state;
    expect_int("1 + 2 * 3", 7);
    expect_int("(1 + 2) * 3", 9);
    expect_int("7 / 2", 3);
    expect_int("-7 / 2", -3);
    expect_int("7 % 4 - -1", 4);
    expect_int("10 - 4 - 3", 3);
    expect_int("1m", 1048576);
    expect_int("131072 / seqlen_q", 64);
    expect_int("seqlen_q * heads <= 128k && seqlen_k > seqlen_q", 1);
    expect_int("heads == 64 || 1 / 0", 1);
    expect_int("heads != 64 && 1 / 0 > 1", 0);
    expect_int("!heads == 0", 1);
    expect_int("!(heads < 64)", 1);
    expect_int("kv_heads == heads", 1);
    expect_int("density < 0.3", 1);
    expect_int("density * 4 == 1", 1);
    expect_int("dtype == fp16 && pattern != topk", 1);
    expect_int("dtype != fp16", 0);
    expect_int("(1 < 2) == (3 < 4)", 1);
    expect_int("9223372036854775807 > 9223372036854775806", 1);
    expect_real("heads / 2.0", 32);
    expect_real("1e3 * density", 250);
    expect_real("-.5", -0.5);
}

static void test_formula_errors(void **state)
{
    (void)state;
    expect_bad("1 / (heads - 64)", "'1 / (heads - 64)' divides by zero");
    expect_bad("1 % 0", "divides by zero");
    expect_bad("density / 0", "divides by zero");
    expect_bad("9223372036854775807 + 1", "overflows 64 bits");
    expect_bad("-9223372036854775807 - 2", "overflows 64 bits");
    expect_bad("4g * 4g", "overflows 64 bits");
    expect_bad("1e308 * 10", "overflows");
    expect_bad("density % 2", "both sides must be integers");
    expect_bad("1 < heads < 100", "chains comparisons");
    expect_bad("1 == heads < 100", "chains comparisons");
    expect_bad("heads = 64", "a comparison is '=='");
    expect_bad("", "ends where a value should stand");
    expect_bad("1 +", "ends where a value should stand");
    expect_bad("(1", "lacks a ')'");
    expect_bad("1)", "goes on with ')'");
    expect_bad("1 2", "goes on with '2'");
    expect_bad("$", "has '$' where a value should stand");
    expect_bad("head > 1", "did you mean 'heads'");
    expect_bad("12q", "12q");
    expect_bad("dtype + 1", "computes with a word");
    expect_bad("dtype < fp16", "");
    expect_bad("dtype == int8", "none of: bf16 fp16");
    expect_bad("-dtype", "computes with a word");
    expect_bad("dtype && 1", "computes with a word");
    expect_bad("seqlen > 1", "seqlen_q 2048 and seqlen_k 4096 here");
    expect_bad("0 && hedas > 1", "did you mean 'heads'");
    expect_bad("0 && density % 2 == 1 && dtype + 1", "computes with a word");
}

static void test_formula_depth(void **state)
{
    char text[2002];

    (void)state;
    memset(text, '(', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    expect_bad(text, "nested too deeply");
    memset(text, '!', sizeof(text) - 1);
    expect_bad(text, "nested too deeply");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_and_ranges), cmocka_unit_test(test_zips),
        cmocka_unit_test(test_bad_values),       cmocka_unit_test(test_formula_values),
        cmocka_unit_test(test_formula_errors),   cmocka_unit_test(test_formula_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
