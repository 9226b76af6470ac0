#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sweep.h"
#include "test_toy_op.h"

struct line {
    const char *key, *value;
    int level;
};

/* Builds a sweep from lines; those of level 0 are defaults. Returns what failed first. */
static int expand(const struct line *lines, size_t nr, const char *where, struct sweep_cases *cases,
                  struct strbuf *notes, struct err *err)
{
    struct sweep s;
    int rc = 0;

    sweep_init(&s, &toy, "toy", "t.ini", 3);
    for (size_t i = 0; !rc && i < nr; i++)
        rc = sweep_add(&s, lines[i].key, lines[i].value, "t.ini", 10 + (int)i, lines[i].level, err);
    if (!rc && where)
        rc = sweep_set_where(&s, where, "t.ini", 99, err);
    if (!rc)
        rc = sweep_expand(&s, 7, cases, notes, err);
    sweep_release(&s);
    return rc;
}

/* The ids, one a line. */
static void expect_ids(const struct line *lines, size_t nr, const char *where, const char *want)
{
    struct sweep_cases cases = {0};
    struct strbuf notes = STRBUF_INIT, ids = STRBUF_INIT;
    struct err err = ERR_INIT;

    if (expand(lines, nr, where, &cases, &notes, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < cases.nr; i++)
        strbuf_addf(&ids, "%s\n", cases.item[i].id);
    assert_string_equal(ids.buf, want);
    assert_string_equal(notes.buf, "");
    strbuf_release(&ids);
    strbuf_release(&notes);
    sweep_cases_release(&cases);
}

static void expect_error(const struct line *lines, size_t nr, const char *where, const char *want)
{
    struct sweep_cases cases = {0};
    struct strbuf notes = STRBUF_INIT;
    struct err err = ERR_INIT;

    assert_int_equal(expand(lines, nr, where, &cases, &notes, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    if (!strstr(err.text, want))
        fail_msg("'%s' lacks '%s'", err.text, want);
    strbuf_release(&notes);
    sweep_cases_release(&cases);
}

#define NR(lines) (sizeof(lines) / sizeof((lines)[0]))

static void test_product(void **state)
{
    const struct line lines[] = {{"batch", "1, 8", 1}, {"seqlen", "1k..2k *2", 1}};

    (void)state;
    expect_ids(NULL, 0, NULL, "toy.B1.H8.S1024.d0.5\n");
    expect_ids(lines, 2, NULL,
               "toy.B1.H8.S1024.d0.5\ntoy.B1.H8.S2048.d0.5\n"
               "toy.B8.H8.S1024.d0.5\ntoy.B8.H8.S2048.d0.5\n");
}

static void test_ids(void **state)
{
    const struct line lines[] = {
        {"seqlen_q", "1k", 1},  {"seqlen_k", "4k", 1}, {"density", "0.9375", 1},
        {"kv_heads", "2", 1},   {"head_dim", "64", 1}, {"dtype", "fp16", 1},
        {"pattern", "topk", 1},
    };
    const struct line topk[] = {{"topk", "4", 1}, {"heads", "16", 1}, {"kv_heads", "16", 1}};

    (void)state;
    expect_ids(lines, NR(lines), NULL,
               "toy.B1.H8.Sq1024.Sk4096.d0.9375.Hk2.D64.fp16.pattern-topk\n");
    expect_ids(topk, NR(topk), NULL, "toy.B1.H16.S1024.k4\n");
}

static void test_derived(void **state)
{
    const struct line lines[] = {{"batch", "(8k / seqlen)", 1}, {"seqlen", "1k, 4k", 1}};
    const struct line chain[] = {
        {"heads", "(head_dim / 8)", 1}, {"head_dim", "(batch * 64)", 1}, {"batch", "1, 2", 1}};
    const struct line real[] = {{"density", "(1.0 / heads)", 1}, {"heads", "4, 8", 1}};
    const struct line circle[] = {{"heads", "(head_dim)", 1}, {"head_dim", "(heads)", 1}};
    const struct line small[] = {{"batch", "(8k / seqlen)", 1}, {"seqlen", "16k", 1}};
    const struct line part[] = {{"heads", "(1.5 * 3)", 1}};
    const struct line zero[] = {{"heads", "(8 / (batch - 1))", 1}};
    const struct line name[] = {{"heads", "(hedas)", 1}};

    (void)state;
    expect_ids(lines, 2, NULL, "toy.B8.H8.S1024.d0.5\ntoy.B2.H8.S4096.d0.5\n");
    expect_ids(chain, 3, NULL, "toy.B1.H8.S1024.d0.5.D64\ntoy.B2.H16.S1024.d0.5\n");
    expect_ids(real, 2, NULL, "toy.B1.H4.S1024.d0.25\ntoy.B1.H8.S1024.d0.125\n");
    expect_error(circle, 2, NULL, "t.ini:10: axis 'heads' is derived from itself");
    expect_error(small, 2, NULL, "t.ini:10: '0' is no value of axis 'batch'");
    expect_error(part, 1, NULL, "t.ini:10: '(1.5 * 3)' is 4.5 where axis 'heads' takes an integer");
    expect_error(zero, 1, NULL, "t.ini:10: '(8 / (batch - 1))' divides by zero");
    expect_error(name, 1, NULL, "t.ini:10: 'hedas' is no axis of 'toy', did you mean 'heads'");
}

static void test_where(void **state)
{
    const struct line lines[] = {{"batch", "1, 8, 32", 1}, {"seqlen", "16k..64k *2", 1}};
    const struct line derived[] = {{"batch", "(8k / seqlen)", 1}, {"seqlen", "8k, 16k", 1}};

    (void)state;
    expect_ids(lines, 2, "seqlen * batch <= 128k && batch > 1", "toy.B8.H8.S16384.d0.5\n");
    /* where looks before the range does: batch 0 is left out, not refused */
    expect_ids(derived, 2, "batch > 0", "toy.B1.H8.S8192.d0.5\n");
    expect_error(lines, 2, "batch > 100", "t.ini:99: where 'batch > 100' leaves none of the 9");
    expect_error(lines, 2, "bacth > 1", "t.ini:99: where: 'bacth' is no axis of 'toy', did you");
    expect_error(lines, 2, "seqlen / (batch - 8)", "t.ini:99: where: 'seqlen / (batch - 8)' div");
    expect_error(lines, 2, "dtype", "'dtype' is a word, not a condition");
    expect_error(lines, 2, "batch >", "ends where a value should stand");
}

static void test_levels(void **state)
{
    const struct line own[] = {{"batch", "1, 8", 0}, {"dtype", "fp16", 0}, {"batch", "4", 1}};
    const struct line zip[] = {{"heads:head_dim", "4:64, 16:128", 0}, {"heads", "2", 1}};
    const struct line half[] = {{"seqlen", "1k, 2k", 0}, {"seqlen_q", "4k", 1}};
    const struct line rival[] = {{"density", "0.1, 0.2", 0}, {"topk", "4", 1}};
    const struct line late[] = {{"topk", "4", 1}, {"density", "0.1, 0.2", 0}};

    (void)state;
    expect_ids(own, 3, NULL, "toy.B4.H8.S1024.d0.5.fp16\n");
    expect_ids(zip, 2, NULL, "toy.B1.H2.S1024.d0.5.D64\ntoy.B1.H2.S1024.d0.5\n");
    expect_ids(half, 2, NULL, "toy.B1.H8.Sq4096.Sk1024.d0.5\ntoy.B1.H8.Sq4096.Sk2048.d0.5\n");
    expect_ids(rival, 2, NULL, "toy.B1.H8.S1024.k4\n");
    expect_ids(late, 2, NULL, "toy.B1.H8.S1024.k4\n");
}

static void test_clashes(void **state)
{
    const struct line lengths[] = {{"seqlen", "1k", 1}, {"seqlen_k", "2k", 1}};
    const struct line zip[] = {{"heads:head_dim", "4:64", 1}, {"heads", "2", 1}};
    const struct line rival[] = {{"density", "0.1", 1}, {"topk", "4", 1}};
    const struct line settle[] = {{"heads", "8", 1}, {"kv_heads", "1, 3", 1}};
    const struct line typo[] = {{"batch", "1", 1}, {"densty", "1", 1}};

    (void)state;
    expect_error(lengths, 2, NULL,
                 "t.ini:11: 'seqlen_k' sets axis 'seqlen_k', which 'seqlen' in line 10");
    expect_error(zip, 2, NULL, "t.ini:11: 'heads' sets axis 'heads', which 'heads:head_dim'");
    expect_error(rival, 2, NULL, "t.ini:11: 'topk' stands beside 'density' of line 10: give");
    expect_error(settle, 2, NULL,
                 "t.ini:3: case 'toy.B1.H8.S1024.d0.5.Hk3': kv_heads = 3 does not divide heads");
    expect_error(typo, 2, NULL, "t.ini:11: 'densty' is no axis of 'toy', did you mean 'density'");
}

static void test_alike(void **state)
{
    const struct line twice[] = {{"batch", "1, 2, 1", 1}, {"heads", "8, 8", 1}};
    struct sweep_cases cases = {0};
    struct strbuf notes = STRBUF_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(expand(twice, 2, NULL, &cases, &notes, &err), 0);
    assert_int_equal(cases.nr, 2);
    assert_string_equal(cases.item[0].id, "toy.B1.H8.S1024.d0.5");
    assert_string_equal(cases.item[1].id, "toy.B2.H8.S1024.d0.5");
    assert_string_equal(notes.buf,
                        "sweep 'toy': 4 cases are left out as the same problem as another\n");
    strbuf_release(&notes);
    sweep_cases_release(&cases);
}

static void test_explosion(void **state)
{
    const struct line lines[] = {
        {"batch", "1..1000 +1", 1}, {"heads", "1..1000 +1", 1}, {"seqlen", "1..1000 +1", 1}};
    const struct line most[] = {{"batch", "1..50", 1}, {"seqlen", "1..100 +1", 1}};
    struct sweep_cases cases = {0};
    struct strbuf notes = STRBUF_INIT;
    struct err err = ERR_INIT;

    (void)state;
    expect_error(lines, 3, NULL,
                 "t.ini:3: sweep 'toy' has 1000000000 combinations of values, the most is 100000");
    assert_int_equal(expand(most, 2, NULL, &cases, &notes, &err), 0);
    assert_int_equal(cases.nr, 5000);
    sweep_cases_release(&cases);
    strbuf_release(&notes);
}

static void test_density_asked(void **state)
{
    const struct line topk[] = {{"topk", "4", 1}};
    const struct line density[] = {{"density", "0.3", 1}};
    struct sweep_cases cases = {0};
    struct strbuf notes = STRBUF_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(expand(topk, 1, NULL, &cases, &notes, &err), 0);
    assert_int_equal(expand(density, 1, NULL, &cases, &notes, &err), 0);
    assert_true(isnan(cases.item[0].density_asked));
    assert_true(cases.item[0].c.axis[TOY_DENSITY].f == 0.25);
    assert_true(cases.item[0].asked.axis[TOY_DENSITY].f == 0.5);
    assert_true(cases.item[1].density_asked == 0.3);
    assert_int_equal(cases.item[0].given, 1u << TOY_TOPK);
    assert_int_equal(cases.item[0].c.seed, 7);
    sweep_cases_release(&cases);
    strbuf_release(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product),       cmocka_unit_test(test_ids),
        cmocka_unit_test(test_derived),       cmocka_unit_test(test_where),
        cmocka_unit_test(test_levels),        cmocka_unit_test(test_clashes),
        cmocka_unit_test(test_alike),         cmocka_unit_test(test_explosion),
        cmocka_unit_test(test_density_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
