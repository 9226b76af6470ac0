#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ini.h"
#include "plan.h"

#define BASE                                                                                       \
    "[arm base]\nkernel = cpu\n"                                                                   \
    "[sweep s]\nop = sage_fwd\nbatch = 1, 2\ntopk = 4\nseqlen = 1k, 2k\n"                          \
    "[sweep c]\nop = copy\n"

static void read_base(struct ini *ini, const char *text)
{
    struct err err = ERR_INIT;

    ini_init(ini);
    if (ini_read_text(ini, "t.ini", text, strlen(text), &err))
        fail_msg("%s", err.text);
}

/* The ids of the plan, one a line; the resolved text must give the same plan. */
static void ids_of(const struct ini *ini, struct strbuf *ids)
{
    struct strbuf text = STRBUF_INIT;
    struct plan p, again;
    struct ini copy;
    struct err err = ERR_INIT;

    plan_init(&p);
    if (plan_read(&p, ini, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < p.nr; i++)
        strbuf_addf(ids, "%s\n", p.item[i].id);

    ini_write(ini, &text);
    read_base(&copy, text.buf);
    plan_init(&again);
    if (plan_read(&again, &copy, &err))
        fail_msg("%s\n%s", text.buf, err.text);
    assert_string_equal(p.hash, again.hash);
    assert_int_equal(p.nr, again.nr);
    plan_release(&again);
    plan_release(&p);
    ini_release(&copy);
    strbuf_release(&text);
}

static void expect_ids(const char *text, const char *flag, const char *value, const char *want)
{
    struct strbuf ids = STRBUF_INIT;
    struct ini ini;
    struct err err = ERR_INIT;

    read_base(&ini, text);
    if (plan_override(&ini, flag, value, &err))
        fail_msg("--%s: %s", flag, err.text);
    ids_of(&ini, &ids);
    assert_string_equal(ids.buf, want);
    strbuf_release(&ids);
    ini_release(&ini);
}

static void expect_error(const char *text, const char *flag, const char *value, const char *start)
{
    struct ini ini;
    struct err err = ERR_INIT;

    read_base(&ini, text);
    assert_int_equal(plan_override(&ini, flag, value, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    if (strncmp(err.text, start, strlen(start)))
        fail_msg("'%s' does not start with '%s'", err.text, start);
    ini_release(&ini);
}

static void test_axes(void **state)
{
    (void)state;
    expect_ids(BASE, "batch", "8", "s.B8.H2.S1024.k4\ns.B8.H2.S2048.k4\nc\n");
    expect_ids(BASE, "sweep.s.batch", "8", "s.B8.H2.S1024.k4\ns.B8.H2.S2048.k4\nc\n");
    expect_ids(BASE, "size", "4k",
               "s.B1.H2.S1024.k4\ns.B1.H2.S2048.k4\ns.B2.H2.S1024.k4\n"
               "s.B2.H2.S2048.k4\nc.size-4096\n");
    /* what is replaced goes: topk for density, half of seqlen for seqlen_q, both for seqlen */
    expect_ids(BASE "[sweep d]\nop = sage_fwd\nseqlen_q = 64\nseqlen_k = 128\n", "seqlen", "512",
               "s.B1.H2.S512.k4\ns.B2.H2.S512.k4\nc\nd.B1.H2.S512.d0.5\n");
    expect_ids("[arm a]\nkernel = cpu\n[sweep s]\nop = sage_fwd\ntopk = 4\n", "density", "0.25",
               "s.B1.H2.S512.d0.25\n");
    expect_ids("[arm a]\nkernel = cpu\n[sweep s]\nop = sage_fwd\nseqlen = 1k, 2k\n", "seqlen_q",
               "64", "s.B1.H2.Sq64.Sk1024.d0.5\ns.B1.H2.Sq64.Sk2048.d0.5\n");
    expect_ids("[global]\nheads:head_dim = 4:64, 8:128\n[arm a]\nkernel = cpu\n"
               "[sweep s]\nop = sage_fwd\n",
               "heads", "16", "s.B1.H16.S512.d0.5.D64\ns.B1.H16.S512.d0.5\n");
    expect_ids(BASE, "where", "1",
               "s.B1.H2.S1024.k4\ns.B1.H2.S2048.k4\ns.B2.H2.S1024.k4\n"
               "s.B2.H2.S2048.k4\nc\n");
}

static void test_settings(void **state)
{
    struct ini ini;
    struct plan p;
    struct err err = ERR_INIT;

    (void)state;
    read_base(&ini, "[global]\nrounds = 5x24\n" BASE);
    assert_int_equal(plan_override(&ini, "rounds", "2x40", &err), 0);
    assert_int_equal(plan_override(&ini, "slower", "3%", &err), 0);
    assert_int_equal(plan_override(&ini, "global.seed", "9", &err), 0);
    assert_int_equal(plan_override(&ini, "gate.unsure", "fail", &err), 0);
    assert_int_equal(plan_override(&ini, "library", "x.so", &err), 0);
    assert_int_equal(plan_override(&ini, "arm.base.kernel", "mma", &err), 0);
    plan_init(&p);
    assert_int_equal(plan_read(&p, &ini, &err), 0);
    assert_int_equal(p.set.processes, 2);
    assert_int_equal(p.set.rounds, 40);
    assert_true(p.set.rounds_named && p.set.gate_unsure_fails);
    assert_true(p.set.gate_slower == 0.03);
    assert_int_equal(p.set.seed, 9);
    assert_string_equal(p.arm[0].library, "x.so");
    assert_string_equal(p.arm[0].kernel, "mma");
    plan_release(&p);

    assert_int_equal(plan_override(&ini, "rounds", "2by40", &err), 0);
    plan_init(&p);
    assert_int_equal(plan_read(&p, &ini, &err), -1);
    assert_string_equal(err.text, "command line: '2by40' is no value of 'rounds', which takes "
                                  "processes x rounds such as 5x24");
    plan_release(&p);
    ini_release(&ini);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_error(BASE, "ruonds", "1x1", "'--ruonds' is no flag, key or axis, did you mean '--rou");
    expect_error(BASE, "qqqqqq", "1", "'--qqqqqq' is no flag, key or axis");
    expect_error(BASE, "sweep.z.batch", "1", "'--sweep.z.batch': no section [sweep z]");
    expect_error(BASE, "role", "context", "'--role' says not which section: write '--arm.NAME.ro");
    expect_error(BASE, "kernel", "mma", "'--kernel' would change nothing: write '--arm.base.kern");
    expect_error(BASE, "global.batch", "1", "'--global.batch' is only a default: write '--batch'");
    expect_error("[sweep s]\nop = copy\n", "batch", "1", "'batch' is no axis of 'copy'");
    expect_error("[arm a]\nkernel = m\n", "batch", "1", "'--batch' sets an axis and there is no");
    expect_error("[sweep s]\nop = sage_fwd\nheads:head_dim = 4:64\n", "heads", "8",
                 "'--heads' would tear the zip 'heads:head_dim' of [sweep s] apart");
    expect_error("[sweep s]\nop = sage_fdw\n", "heads", "8", "t.ini:2: 'sage_fdw' is no operator");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
