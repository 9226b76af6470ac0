/*
 * test_repro.c - every case of awkward sweeps, as a configuration of its own; and the command.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "case_build.h"
#include "file.h"
#include "repro.h"

static int enter_folder(void **state)
{
    char *dir = strdup("/tmp/sab-test-repro-XXXXXX");

    *state = dir;
    return dir && mkdtemp(dir) && !chdir(dir) && !mkdir("run", 0755) ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[100];

    snprintf(command, sizeof(command), "rm -r '%s'", (char *)*state);
    free(*state);
    return chdir("/") || system(command);
}

static void write_run(const char *config, json_t *command)
{
    json_t *run = json_pack("{s:s, s:s, s:s, s:o}", "run_id", "r1", "config_name", "sweep",
                            "config_text", config, "command", command);

    assert_non_null(run);
    assert_int_equal(json_dump_file(run, "run/run.json", 0), 0);
    json_decref(run);
}

static void read_plan(const char *text, struct ini *ini, struct plan *plan)
{
    struct err err = ERR_INIT;

    ini_init(ini);
    plan_init(plan);
    if (ini_read_text(ini, "test", text, strlen(text), &err) || plan_read(plan, ini, &err))
        fail_msg("%s in:\n%s", err.text, text);
}

static void expect_same(const struct plan *whole, const struct plan_case *item)
{
    struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct repro r;
    struct ini ini;
    struct plan one;

    repro_init(&r);
    if (repro_open(&r, "run", item->id, &err) || repro_ini(&r, &text, &err))
        fail_msg("%s: %s", item->id, err.text);
    read_plan(text.buf, &ini, &one);
    assert_int_equal(one.nr, 1);
    assert_string_equal(one.item[0].id, item->id);
    assert_true(case_equal(&one.item[0].c, &item->c));
    assert_int_equal(one.set.seed, whole->set.seed);
    assert_int_equal(one.set.processes, whole->set.processes);
    assert_int_equal(one.set.rounds, whole->set.rounds);
    assert_int_equal(one.set.cache, whole->set.cache);
    assert_int_equal(one.arms_nr, whole->arms_nr);
    for (size_t i = 0; i < one.arms_nr; i++) {
        assert_string_equal(one.arm[i].name, whole->arm[i].name);
        assert_string_equal(one.arm[i].kernel, whole->arm[i].kernel);
        assert_int_equal(one.arm[i].role, whole->arm[i].role);
        assert_int_equal(one.arm[i].axes_nr, whole->arm[i].axes_nr);
    }
    assert_null(one.set.out);
    plan_release(&one);
    ini_release(&ini);
    repro_release(&r);
    strbuf_release(&text);
}

#define ARMS                                                                                       \
    "[arm base]\nkernel = sage_fwd/cpu\nrole = baseline\n[arm head]\nkernel = cpu\n"               \
    "[arm dense]\nkernel = cpu\ndensity = 1\nrole = context\n"

static const char *const configs[] = {
    "[global]\nseed = 77\nrounds = 3x6\nout = somewhere\n" ARMS
    "[sweep s]\noperator = sage_fwd\nseqlen = 128, 192\nheads = 1, 2\n",
    /* zips, ranges, derived values, a predicate, axes of [global], and another sweep */
    "[global]\nrounds = 2x6\ncache = warm\nbatch = 2\n" ARMS
    "[sweep a]\noperator = sage_fwd\nheads:kv_heads = 2:1, 4:2\nseqlen_q = 128..512 *2\n"
    "seqlen_k = (seqlen_q * 2)\nwhere = seqlen_k < 1k\n"
    "[sweep b]\noperator = sage_fwd\nheads = 1\ndensity = 0.25, 0.5\n",
    "[global]\nrounds = 2x6\nheads = 2\ndensity = 0.5\n" ARMS
    "[sweep k]\noperator = sage_fwd\ntopk = 1, 2\nseqlen = 256\n[sweep plain]\noperator = "
    "sage_fwd\n",
};

static void every_case_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        struct ini ini;
        struct plan plan;

        write_run(configs[i], json_array());
        read_plan(configs[i], &ini, &plan);
        assert_true(plan.nr > 1);
        for (size_t c = 0; c < plan.nr; c++)
            expect_same(&plan, &plan.item[c]);
        plan_release(&plan);
        ini_release(&ini);
    }
}

static void expect_command(json_t *words, const char *want)
{
    struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct repro r;

    write_run(configs[0], words);
    repro_init(&r);
    if (repro_open(&r, "run", "s.B1.H2.S128.d0.5", &err) ||
        repro_command(r.run, r.item->id, &text, &err))
        fail_msg("%s", err.text);
    assert_string_equal(text.buf, want);
    repro_release(&r);
    strbuf_release(&text);
}

static void the_command_is_narrowed(void **state)
{
    const char *id = "s.B1.H2.S128.d0.5";
    struct ini ini;
    struct plan plan;

    (void)state;
    read_plan(configs[0], &ini, &plan);
    assert_string_equal(plan.item[1].id, id);
    plan_release(&plan);
    ini_release(&ini);
    expect_command(json_pack("[s,s,s,s,s,s,s]", "--config", "my sweep.ini", "--only", "s.*",
                             "--out=x", "--rounds", "2x8"),
                   "bench --config 'my sweep.ini' --rounds 2x8 --only s.B1.H2.S128.d0.5\n");
    expect_command(json_pack("[s,s,s,s]", "it's.ini", "-q", "-o", "dir"),
                   "bench run 'it'\\''s.ini' --only s.B1.H2.S128.d0.5\n");
    expect_command(json_array(), "bench --config sweep.ini --only s.B1.H2.S128.d0.5\n");
}

/* The words of `bench ab` begin with refs; run.json of such a run says which branches raced. */
static void a_run_of_branches(void **state)
{
    struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct repro r;

    (void)state;
    write_run(configs[0], json_pack("[s,s,s,s]", "main", "WORKTREE", "--config", "s.ini"));
    repro_init(&r);
    if (repro_open(&r, "run", "s.B1.H2.S128.d0.5", &err))
        fail_msg("%s", err.text);
    json_object_set_new(r.run, "branches", json_array());
    assert_int_equal(repro_command(r.run, r.item->id, &text, NULL), 0);
    assert_string_equal(text.buf,
                        "bench ab main WORKTREE --config s.ini --only s.B1.H2.S128.d0.5\n");
    strbuf_reset(&text);
    assert_int_equal(repro_ini(&r, &text, NULL), 0);
    assert_non_null(strstr(text.buf, "; for `bench ab BASE HEAD --config FILE`"));
    repro_release(&r);
    strbuf_release(&text);
}

static void unknown_cases_and_folders(void **state)
{
    struct err err = ERR_INIT;
    struct repro r;

    (void)state;
    write_run(configs[0], json_array());
    repro_init(&r);
    assert_int_equal(repro_open(&r, "run", "s.B1.H2.S129.d0.5", &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "did you mean 's.B1.H2.S128.d0.5'"));
    repro_release(&r);
    repro_init(&r);
    assert_int_equal(repro_open(&r, "nowhere", "s", &err), -1);
    assert_non_null(strstr(err.text, "no results folder"));
    repro_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_comes_back),
        cmocka_unit_test(the_command_is_narrowed),
        cmocka_unit_test(a_run_of_branches),
        cmocka_unit_test(unknown_cases_and_folders),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
