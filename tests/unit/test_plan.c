#include <math.h>
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

#define ARM   "[arm base]\nkernel = cpu\n"
#define SWEEP "[sweep s]\noperator = sage_fwd\n"

static int build(struct ini *ini, struct plan *p, const char *text, struct err *err)
{
    ini_init(ini);
    plan_init(p);
    if (ini_read_text(ini, "t.ini", text, strlen(text), err))
        return -1;
    return plan_read(p, ini, err);
}

static void build_fine(struct ini *ini, struct plan *p, const char *text)
{
    struct err err = ERR_INIT;

    if (build(ini, p, text, &err))
        fail_msg("%s\n%s", text, err.text);
}

static void drop(struct ini *ini, struct plan *p)
{
    plan_release(p);
    ini_release(ini);
}

/* The text must be refused with exactly `start` at the beginning of the message. */
static void expect_error(const char *text, const char *start)
{
    struct ini ini;
    struct plan p;
    struct err err = ERR_INIT;

    assert_int_equal(build(&ini, &p, text, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    if (strncmp(err.text, start, strlen(start)))
        fail_msg("'%s' does not start with '%s'", err.text, start);
    drop(&ini, &p);
}

static void test_defaults(void **state)
{
    struct ini ini;
    struct plan p;

    (void)state;
    build_fine(&ini, &p, ARM "[sweep sage_fwd]\n");
    assert_int_equal(p.set.processes, 5);
    assert_int_equal(p.set.rounds, 24);
    assert_false(p.set.rounds_named);
    assert_false(p.set.max_rounds_named);
    assert_int_equal(p.set.max_rounds, 240);
    assert_true(p.set.max_time_s == 60 && p.set.timeout_s == 0 && p.set.check_time_s == 20);
    assert_int_equal(p.set.cache, CACHE_COLD);
    assert_int_equal(p.set.pace, PACE_BURST);
    assert_int_equal(p.set.timer, TIMER_AUTO);
    assert_int_equal(p.set.seed, 1);
    assert_string_equal(p.set.device, "auto");
    assert_int_equal(p.set.threads, 0);
    assert_true(p.set.delta == 0.005);
    assert_true(p.set.noise_floor < 0 && p.set.gate_slower < 0);
    assert_true(p.set.duplicate && p.set.gate_failed_fails && !p.set.gate_unsure_fails);
    assert_null(p.set.out);
    assert_string_equal(p.config_name, "t");
    assert_int_equal(p.nr, 1);
    assert_int_equal(p.arms_nr, 1);
    assert_int_equal(p.arm[0].role, ROLE_BASELINE);
    assert_null(p.arm[0].library);
    drop(&ini, &p);
}

static void test_settings(void **state)
{
    struct ini ini;
    struct plan p;

    (void)state;
    build_fine(&ini, &p,
               "[global]\nrounds = 2x40\nmax_rounds = 400\nmax_time = 2min\ntimeout = 90s\n"
               "check_time = 500ms\ncache = dirty\npace = sustained\ntimer = monotonic\n"
               "seed = 42\ndevice = cuda:0,1\nthreads = 3\ndelta = 1%\nnoise_floor = 0.03\n"
               "duplicate = no\nout = results/x\n"
               "[gate]\nslower = 2%\nunsure = fail\nfailed = pass\n" ARM SWEEP);
    assert_int_equal(p.set.processes, 2);
    assert_int_equal(p.set.rounds, 40);
    assert_true(p.set.rounds_named && p.set.max_rounds_named);
    assert_int_equal(p.set.max_rounds, 400);
    assert_true(p.set.max_time_s == 120 && p.set.timeout_s == 90 && p.set.check_time_s == 0.5);
    assert_int_equal(p.set.cache, CACHE_DIRTY);
    assert_int_equal(p.set.pace, PACE_SUSTAINED);
    assert_int_equal(p.set.timer, TIMER_MONOTONIC);
    assert_int_equal(p.set.seed, 42);
    assert_string_equal(p.set.device, "cuda:0,1");
    assert_int_equal(p.set.threads, 3);
    assert_true(p.set.delta == 0.01 && p.set.noise_floor == 0.03 && p.set.gate_slower == 0.02);
    assert_true(!p.set.duplicate && p.set.gate_unsure_fails && !p.set.gate_failed_fails);
    assert_string_equal(p.set.out, "results/x");
    drop(&ini, &p);

    /* more rounds than the usual most are their own most */
    build_fine(&ini, &p, "[global]\nrounds = 10x100\n[gate]\nslower = 0.02\n" ARM SWEEP);
    assert_int_equal(p.set.max_rounds, 1000);
    assert_true(p.set.gate_slower == 0.02);
    drop(&ini, &p);
}

static void test_bad_settings(void **state)
{
    static const char *const bad[][2] = {
        {"rounds = 24", "t.ini:2: '24' is no value of 'rounds', which takes processes x rounds"},
        {"rounds = 0x24", "t.ini:2: '0x24' is no value of 'rounds'"},
        {"rounds = 5x", "t.ini:2: '5x' is no value of 'rounds'"},
        {"rounds = 5x24x2", "t.ini:2: '5x24x2' is no value of 'rounds'"},
        {"max_rounds = 10", "t.ini:2: max_rounds 10 is below the 120 of rounds 5x24"},
        {"max_rounds = -1", "t.ini:2: '-1' is no value of 'max_rounds'"},
        {"max_time = fast", "t.ini:2: 'fast' is no value of 'max_time', which takes a duration"},
        {"max_time = 0s", "t.ini:2: '0s' is no value of 'max_time'"},
        {"timeout = -3s", "t.ini:2: '-3s' is no value of 'timeout'"},
        {"cache = clod", "t.ini:2: 'clod' is no value of 'cache', did you mean 'cold'"},
        {"cache = 3", "t.ini:2: '3' is no value of 'cache', which takes one of: cold dirty warm"},
        {"pace = burts", "t.ini:2: 'burts' is no value of 'pace', did you mean 'burst'"},
        {"timer = cuptii", "t.ini:2: 'cuptii' is no value of 'timer', did you mean 'cupti'"},
        {"seed = -1", "t.ini:2: '-1' is no value of 'seed'"},
        {"device = gpu", "t.ini:2: 'gpu' is no value of 'device', which takes auto, cpu, cuda"},
        {"device = cuda:", "t.ini:2: 'cuda:' is no value of 'device'"},
        {"device = cuda:0,", "t.ini:2: 'cuda:0,' is no value of 'device'"},
        {"device = cuda:0x", "t.ini:2: 'cuda:0x' is no value of 'device'"},
        {"threads = 1.5", "t.ini:2: '1.5' is no value of 'threads'"},
        {"delta = 5", "t.ini:2: '5' is no value of 'delta', which takes a share below 1"},
        {"delta = %", "t.ini:2: '%' is no value of 'delta'"},
        {"delta = nan", "t.ini:2: 'nan' is no value of 'delta'"},
        {"duplicate = maybe", "t.ini:2: 'maybe' is no value of 'duplicate', which takes yes or no"},
        {"ruonds = 5x24", "t.ini:2: 'ruonds' is no key of [global], did you mean 'rounds'"},
        {"batsh = 4", "t.ini:2: 'batsh' is no key of [global], did you mean 'batch'"},
        {"slower = 2%", "t.ini:2: 'slower' is no key of [global]: it belongs in [gate]"},
        {"qqqqqqq = 1", "t.ini:2: 'qqqqqqq' is no key of [global] and no axis of an operator"},
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(text, sizeof(text), "[global]\n%s\n" ARM SWEEP, bad[i][0]);
        expect_error(text, bad[i][1]);
    }
    expect_error("[gate]\nslowr = 1\n" ARM SWEEP,
                 "t.ini:2: 'slowr' is no key of [gate], did you mean 'slower'");
    expect_error("[gate]\nrounds = 1x1\n" ARM SWEEP,
                 "t.ini:2: 'rounds' is no key of [gate]: it belongs in [global]");
    expect_error("[gate]\nunsure = maybe\n" ARM SWEEP,
                 "t.ini:2: 'maybe' is no value of 'unsure', which takes one of: pass fail");
    expect_error("[gate]\nslower = fast\n" ARM SWEEP, "t.ini:2: 'fast' is no value of 'slower'");
}

static void test_arms(void **state)
{
    struct ini ini;
    struct plan p;

    (void)state;
    build_fine(&ini, &p,
               "[global]\nlibrary = ./a.so\n"
               "[arm head]\nkernel = sage_fwd/mma\ndescriptor = by_value\n"
               "[arm base]\nlibrary = ./b.so\nkernel = mma\nrole = baseline\n"
               "[arm dense]\nkernel = mma\nrole = context\ndensity = 1\n" SWEEP);
    assert_int_equal(p.arms_nr, 3);
    assert_string_equal(p.arm[0].library, "./a.so");
    assert_string_equal(p.arm[0].kernel, "sage_fwd/mma");
    assert_int_equal(p.arm[0].role, ROLE_CANDIDATE);
    assert_int_equal(p.arm[0].options_nr, 1);
    assert_string_equal(p.arm[0].option[0].key, "descriptor");
    assert_string_equal(p.arm[0].option[0].value, "by_value");
    assert_int_equal(p.arm[0].option[0].line, 5);
    assert_string_equal(p.arm[1].library, "./b.so");
    assert_int_equal(p.arm[1].role, ROLE_BASELINE);
    assert_int_equal(p.arm[2].role, ROLE_CONTEXT);
    assert_int_equal(p.arm[2].axes_nr, 1);
    assert_int_equal(p.arm[2].options_nr, 0);
    drop(&ini, &p);

    build_fine(&ini, &p,
               "[arm c]\nkernel = mma\nrole = context\n[arm a]\nkernel = mma\n"
               "[arm b]\nkernel = mma\n" SWEEP);
    assert_int_equal(p.arm[0].role, ROLE_CONTEXT);
    assert_int_equal(p.arm[1].role, ROLE_BASELINE);
    assert_int_equal(p.arm[2].role, ROLE_CANDIDATE);
    drop(&ini, &p);
}

static void test_bad_arms(void **state)
{
    (void)state;
    expect_error(SWEEP, "'t' has no arm: write '[arm NAME]'");
    expect_error(ARM, "'t' has no sweep: write '[sweep NAME]'");
    expect_error("[arm a]\nlibrary = x.so\n" SWEEP, "t.ini:1: arm 'a' names no kernel");
    expect_error("[arm a]\nkernal = mma\n" SWEEP,
                 "t.ini:2: 'kernal' is no key of [arm], did you mean 'kernel'");
    expect_error("[arm a]\nkernel = sage_fdw/mma\n" SWEEP,
                 "t.ini:2: 'sage_fdw' is no operator, did you mean 'sage_fwd'");
    expect_error("[arm a]\nkernel = sage_fwd/\n" SWEEP, "t.ini:2: 'sage_fwd/' is no kernel");
    expect_error("[arm a]\nkernel = mma\nrole = basline\n" SWEEP,
                 "t.ini:3: 'basline' is no role, did you mean 'baseline'");
    expect_error("[arm a]\nkernel = mma\nrole = x\n" SWEEP, "t.ini:3: 'x' is no role, an arm is");
    expect_error(
        "[arm a]\nkernel = m\nrole = baseline\n[arm b]\nkernel = m\nrole = baseline\n" SWEEP,
        "t.ini:4: arm 'b' is a second baseline beside 'a'");
    expect_error("[arm a]\nkernel = m\nrole = context\n" SWEEP, "t.ini:1: every arm is context");
    expect_error("[arm a]\nkernel = m\nrounds = 1x2\n" SWEEP,
                 "t.ini:3: 'rounds' is no key of [arm]: it belongs in [global]");
    expect_error("[arm a]\nkernel = m\nop = nul\n" SWEEP,
                 "t.ini:3: 'nul' is no operator, did you mean 'null'");
    expect_error("[arm a]\nkernel = copy/m\nop = null\n" SWEEP,
                 "t.ini:1: arm 'a' runs operator 'null' with kernel 'copy/m' of another");
    expect_error("[arm a]\nkernel = copy/m\n" SWEEP, "t.ini:1: arm 'a' serves no sweep");
    expect_error("[arm a'b]\nkernel = m\n" SWEEP, "t.ini:1: 'a'b' is no name for [arm]");
    expect_error("[arm a]\nkernel = m\n[pipeline a]\nsteps = x/y\n" SWEEP,
                 "t.ini:3: 'a' is the name of the arm in line 1 already");
    expect_error("[arm a]\nkernel = m\ndensity = 0.1, 0.2\n" SWEEP,
                 "t.ini:3: 'density = 0.1, 0.2' gives 2 values: an arm takes one");
    expect_error("[arm a]\nkernel = m\ndensity = 1\ntopk = 3\n" SWEEP,
                 "t.ini:4: 'topk' sets what another key of the arm sets already");
    expect_error("[arm a]\nkernel = m\ndensity = 2\n" SWEEP, "t.ini:3: '2' is no value of axis");
    expect_error("[arm a]\nkernel = m\nkv_heads = 3\n[sweep s]\nop = sage_fwd\nheads = 8\n",
                 "t.ini:1: arm 'a' in case 's.B1.H8.S512.d0.5': kv_heads = 3");
    expect_error("[arm a]\nkernel = m\nsize = 4k\n" SWEEP,
                 "t.ini:3: 'size' is no axis of 'sage_fwd'");
}

static void test_bad_sweeps(void **state)
{
    (void)state;
    expect_error(ARM "[sweep s]\nbatch = 1\n", "t.ini:3: sweep 's' names no operator");
    expect_error(ARM "[sweep s]\noperator = sage_fdw\n",
                 "t.ini:4: 'sage_fdw' is no operator, did you mean 'sage_fwd'");
    expect_error(ARM "[sweep s]\noperator = attention\n",
                 "t.ini:4: 'attention' is no operator of this build, which knows sage_fwd");
    expect_error(ARM SWEEP "op = sage_fwd\n", "t.ini:5: 'op' stands beside 'operator'");
    expect_error(ARM SWEEP "seqlem = 1k\n",
                 "t.ini:5: 'seqlem' is no axis of 'sage_fwd', did you mean 'seqlen'");
    expect_error(ARM SWEEP "rounds = 1x2\n",
                 "t.ini:5: 'rounds' is no key of [sweep]: it belongs in [global]");
    expect_error(ARM SWEEP "batch = 1,,2\n", "t.ini:5: '1,,2' has an empty item");
    expect_error(ARM SWEEP "dtype = int8\n", "t.ini:5: 'int8' is no value of axis 'dtype'");
    expect_error(ARM SWEEP "batch = 1\nwhere = batch > 1\n",
                 "t.ini:6: where 'batch > 1' leaves none of the 1 combinations of sweep 's'");
    expect_error("[global]\ndtype = fp61\n" ARM SWEEP, "t.ini:2: 'fp61' is no value of axis");
    expect_error(ARM "[sweep a.b]\nop = null\n", "t.ini:3: 'a.b' is no name for [sweep]");
    expect_error(ARM "[sweep a/b]\nop = null\n", "t.ini:3: 'a/b' is no name for [sweep]");
}

static void test_global_axes(void **state)
{
    struct ini ini;
    struct plan p;

    (void)state;
    /* below it only, not for operators without the axis, and a sweep's own word counts more */
    build_fine(&ini, &p,
               ARM "[sweep above]\nop = sage_fwd\n"
                   "[global]\nheads = 4, 8\nseqlen = 1k\nop = null\n"
                   "[sweep below]\nop = sage_fwd\nseqlen_q = 64\n"
                   "[sweep none]\nbatch = 3\n");
    assert_int_equal(p.nr, 4);
    assert_string_equal(p.item[0].id, "above.B1.H2.S512.d0.5");
    assert_string_equal(p.item[1].id, "below.B1.H4.Sq64.Sk1024.d0.5");
    assert_string_equal(p.item[2].id, "below.B1.H8.Sq64.Sk1024.d0.5");
    assert_string_equal(p.item[3].id, "none.B3");
    assert_string_equal(p.item[3].sweep, "none");
    assert_int_equal(p.item[3].line, 12);
    drop(&ini, &p);
}

static void test_arm_case(void **state)
{
    struct ini ini;
    struct plan p;
    struct err err = ERR_INIT;
    struct op_case c;
    bool across;

    (void)state;
    build_fine(&ini, &p,
               ARM "[arm dense]\nkernel = cpu\ndensity = 1\n"
                   "[arm half]\nkernel = cpu\nheads = (heads / 2)\n"
                   "[arm null]\nkernel = null/nothing\nop = null\n"
                   "[arm copy]\nkernel = copy/cpu\n" SWEEP "topk = 4\nheads = 8\nbatch = 3\n"
                   "[sweep c]\nop = copy\n[sweep d]\nop = sage_fwd\ndensity = 1\n");
    assert_int_equal(plan_arm_case(&p, &p.arm[0], &p.item[0], &c, &across, &err), 0);
    assert_false(across);
    assert_int_equal(op_case_int(&c, "topk"), 4);

    /* density takes topk back, though the case asked for it */
    assert_int_equal(plan_arm_case(&p, &p.arm[1], &p.item[0], &c, &across, &err), 0);
    assert_true(across);
    assert_int_equal(op_case_int(&c, "topk"), 0);
    assert_true(op_case_real(&c, "density") == 1);
    assert_int_equal(op_case_int(&c, "batch"), 3);
    assert_int_equal(c.seed, p.item[0].c.seed);
    /* the same problem is none of its own; an operator without the axis is left alone */
    assert_int_equal(plan_arm_case(&p, &p.arm[1], &p.item[2], &c, &across, &err), 0);
    assert_false(across);
    assert_int_equal(plan_arm_case(&p, &p.arm[1], &p.item[1], &c, &across, &err), 0);
    assert_false(across);

    assert_int_equal(plan_arm_case(&p, &p.arm[2], &p.item[0], &c, &across, &err), 0);
    assert_true(across);
    assert_int_equal(op_case_int(&c, "heads"), 4);
    assert_int_equal(op_case_int(&c, "kv_heads"), 4);

    assert_int_equal(plan_arm_case(&p, &p.arm[3], &p.item[0], &c, &across, &err), 0);
    assert_true(across);
    assert_string_equal(c.op->name, "null");
    assert_int_equal(op_case_int(&c, "batch"), 3);

    assert_true(plan_arm_serves(&p.arm[0], &p.item[0]) && plan_arm_serves(&p.arm[0], &p.item[1]));
    assert_true(plan_arm_serves(&p.arm[3], &p.item[0]));
    assert_false(plan_arm_serves(&p.arm[4], &p.item[0]));
    assert_true(plan_arm_serves(&p.arm[4], &p.item[1]));
    drop(&ini, &p);
}

static void test_pipelines(void **state)
{
    (void)state;
    expect_error("[pipeline p]\nsteps = frobnicate/mma, sage_fwd/mma\n" SWEEP,
                 "t.ini:2: step 'frobnicate/mma': pipelines need operators that this build can "
                 "judge, 'frobnicate' is none");
    expect_error("[pipeline p]\nsteps = sage_fdw/mma, sage_fwd/mma\n" SWEEP,
                 "t.ini:2: 'sage_fdw' is no operator, did you mean 'sage_fwd'");
    expect_error("[pipeline p]\nsteps = sage_fwd\n" SWEEP, "t.ini:2: step 'sage_fwd' is not OPER");
    expect_error("[pipeline p]\nsteps = sage_fwd/mma\n" SWEEP,
                 "t.ini:2: pipeline 'p' has one step");
    expect_error("[pipeline p]\nsteps = sage_fwd/mma, copy/mma\n" SWEEP,
                 "t.ini:2: pipeline 'p': no output of 'sage_fwd' is an input of a step behind it");
    expect_error("[pipeline p]\nrole = context\n" SWEEP, "t.ini:1: pipeline 'p' has no steps");
    expect_error("[pipeline p]\nstep = a/b\n" SWEEP,
                 "t.ini:2: 'step' is no key of [pipeline], did you mean 'steps'");
}

static void hash_of(const char *text, char hex[65])
{
    struct ini ini;
    struct plan p;
    struct err err = ERR_INIT;

    build_fine(&ini, &p, text);
    assert_int_equal(plan_hash(&p, hex, &err), 0);
    drop(&ini, &p);
}

static void test_hash(void **state)
{
    static const char *const same[] = {
        "[global]\nout = x\ndevice = cpu\ntimeout = 1s\ndelta = 2%\n" ARM SWEEP "batch = 1,2\n",
        ARM "; a comment\n" SWEEP "batch = 1..2\n[gate]\nslower = 1%\n",
    };
    static const char *const other[] = {
        ARM SWEEP "batch = 2,1\n",
        ARM SWEEP "batch = 1,2,3\n",
        ARM SWEEP "batch = 1,2\npattern = topk\n",
        "[global]\nseed = 2\n" ARM SWEEP "batch = 1,2\n",
        "[global]\nrounds = 5x24\n" ARM SWEEP "batch = 1,2\n",
        ARM "library = a.so\n" SWEEP "batch = 1,2\n",
        ARM "fold = x\n" SWEEP "batch = 1,2\n",
        ARM "[arm b]\nkernel = cpu\n" SWEEP "batch = 1,2\n",
    };
    char first[65], hex[65];

    (void)state;
    hash_of(ARM SWEEP "batch = 1,2\n", first);
    assert_int_equal(strlen(first), 64);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        hash_of(same[i], hex);
        assert_string_equal(hex, first);
    }
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        hash_of(other[i], hex);
        assert_string_not_equal(hex, first);
    }
}

static void test_select(void **state)
{
    const char *only[] = {"s.B2.*", "*B4*"}, *none[] = {"*B9*"};
    const char *arms[] = {"b"}, *typo[] = {"bsae"}, *far[] = {"zzz"};
    char before[65], after[65];
    struct ini ini;
    struct plan p;
    struct err err = ERR_INIT;

    (void)state;
    build_fine(&ini, &p,
               ARM "[arm b]\nkernel = cpu\n[arm c]\nkernel = cpu\n" SWEEP "batch = 1, 2, 4\n");
    assert_int_equal(plan_hash(&p, before, &err), 0);
    assert_int_equal(plan_select(&p, none, 1, NULL, 0, &err), -1);
    assert_string_equal(err.text, "'*B9*' matches none of the 3 cases, the first of which is "
                                  "'s.B1.H2.S512.d0.5'");
    assert_int_equal(plan_select(&p, NULL, 0, typo, 1, &err), -1);
    assert_string_equal(err.text, "'bsae' is no arm, did you mean 'base'");
    assert_int_equal(plan_select(&p, NULL, 0, far, 1, &err), -1);
    assert_string_equal(err.text, "'zzz' is no arm, the arms are base, b, c");
    assert_int_equal(plan_select(&p, only, 2, arms, 1, &err), 0);
    assert_int_equal(p.nr, 2);
    assert_string_equal(p.item[0].id, "s.B2.H2.S512.d0.5");
    assert_string_equal(p.item[1].id, "s.B4.H2.S512.d0.5");
    assert_int_equal(p.arms_nr, 1);
    assert_string_equal(p.arm[0].name, "b");
    assert_int_equal(p.arm[0].role, ROLE_BASELINE);
    assert_int_equal(plan_hash(&p, after, &err), 0);
    assert_string_equal(before, after);
    drop(&ini, &p);
}

static void test_keys(void **state)
{
    (void)state;
    for (size_t i = 0; plan_key_at(i); i++) {
        const struct plan_key *key = plan_key_at(i);

        assert_true(key->section && key->name && key->kind && key->initial && key->help);
        assert_true(*key->help);
        assert_ptr_equal(plan_key_find(key->section, key->name), key);
        assert_true(plan_is_key(key->name));
    }
    assert_true(plan_is_key("batch") && plan_is_key("seqlen") && plan_is_key("heads:head_dim"));
    assert_true(plan_is_key("sweep.sage.batch") && plan_is_key("gate.slower"));
    assert_false(plan_is_key("verbose") || plan_is_key("sweeps.x") || plan_is_key("heads:verbose"));
    assert_false(plan_is_key(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),     cmocka_unit_test(test_settings),
        cmocka_unit_test(test_bad_settings), cmocka_unit_test(test_arms),
        cmocka_unit_test(test_bad_arms),     cmocka_unit_test(test_bad_sweeps),
        cmocka_unit_test(test_global_axes),  cmocka_unit_test(test_arm_case),
        cmocka_unit_test(test_pipelines),    cmocka_unit_test(test_hash),
        cmocka_unit_test(test_select),       cmocka_unit_test(test_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
