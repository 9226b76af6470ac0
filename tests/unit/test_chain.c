/*
 * test_chain.c - the problems of a pipeline's steps: whose case follows from which, which tensor is
 * an earlier step's, and what the accuracy of quantised attention is held against.
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

#include "chain.h"
#include "ini.h"
#include "numfmt.h"
#include "plan.h"

#define STEPS "sage_quant_q/cpu, sage_quant_kv/cpu, sage_fwd/cpu"
#define PIPE  "[pipeline p]\nsteps = " STEPS "\n"
#define SWEEP                                                                                      \
    "[sweep s]\noperator = sage_fwd\nbatch = 2\nheads = 3\nseqlen_q = 100\nseqlen_k = 200\n"

enum { QUANT_Q = 0, QUANT_KV, FWD };

static int build(struct ini *ini, struct plan *p, const char *text, struct err *err)
{
    ini_init(ini);
    plan_init(p);
    if (ini_read_text(ini, "t.ini", text, strlen(text), err))
        return -1;
    return plan_read(p, ini, err);
}

static void drop(struct ini *ini, struct plan *p)
{
    plan_release(p);
    ini_release(ini);
}

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

/* The chain of the first arm of `text` for its first case; `chain` is the caller's to free. */
static struct chain *chain_of(const char *text)
{
    struct chain *chain = malloc(sizeof(*chain));
    struct ini ini;
    struct plan p;
    struct err err = ERR_INIT;
    bool across;

    assert_non_null(chain);
    if (build(&ini, &p, text, &err) ||
        plan_arm_chain(&p, &p.arm[0], &p.item[0], chain, &across, &err))
        fail_msg("%s", err.text);
    assert_false(across);
    drop(&ini, &p);
    return chain;
}

static int32_t place(const struct chain *chain, size_t step, const char *tensor)
{
    const int32_t t = sab_tensor_find(chain->step[step].p.spec, tensor);

    assert_true(t >= 0);
    return t;
}

static void expect_link(const struct chain *chain, const char *input, int step, const char *output)
{
    const struct chain_link from = chain->step[FWD].from[place(chain, FWD, input)];

    assert_int_equal(from.step, step);
    if (step >= 0) {
        assert_int_equal(from.tensor, place(chain, (size_t)step, output));
        assert_true(chain_is_fed(chain, FWD, (uint32_t)place(chain, FWD, input)));
    }
}

static void cases_follow_from_the_last_step(void **state)
{
    struct chain *chain = chain_of(PIPE SWEEP);

    (void)state;
    assert_int_equal(chain->nr, 3);
    assert_string_equal(chain->step[QUANT_Q].c.op->name, "sage_quant_q");
    assert_int_equal(op_case_int(&chain->step[QUANT_Q].c, "batch"), 2);
    assert_int_equal(op_case_int(&chain->step[QUANT_Q].c, "heads"), 3);
    assert_int_equal(op_case_int(&chain->step[QUANT_Q].c, "seqlen_q"), 100);
    assert_true(op_case_is(&chain->step[QUANT_Q].c, "dtype", "bf16"));
    assert_true(op_case_is(&chain->step[QUANT_Q].c, "data", "normal"));
    assert_int_equal(op_case_int(&chain->step[QUANT_KV].c, "heads"), 3);
    assert_int_equal(op_case_int(&chain->step[QUANT_KV].c, "seqlen_k"), 200);
    free(chain);

    /* Keys have the heads that attention takes its keys from. */
    chain = chain_of(PIPE "[sweep s]\nop = sage_fwd\nheads = 4\nkv_heads = 2\n");
    assert_int_equal(op_case_int(&chain->step[QUANT_Q].c, "heads"), 4);
    assert_int_equal(op_case_int(&chain->step[QUANT_KV].c, "heads"), 2);
    free(chain);
}

static void inputs_are_outputs_of_any_earlier_step(void **state)
{
    struct chain *chain = chain_of(PIPE SWEEP);

    (void)state;
    expect_link(chain, "q_int8", QUANT_Q, "q_int8");
    expect_link(chain, "q_scale", QUANT_Q, "q_scale");
    expect_link(chain, "k_int8", QUANT_KV, "k_int8");
    expect_link(chain, "k_scale", QUANT_KV, "k_scale");
    expect_link(chain, "v_fp8", QUANT_KV, "v_fp8");
    expect_link(chain, "v_scale", QUANT_KV, "v_scale");
    expect_link(chain, "q2k_block_index", -1, NULL);
    expect_link(chain, "out", -1, NULL);
    for (uint32_t t = 0; t < chain->step[QUANT_KV].p.spec->tensors_nr; t++)
        assert_int_equal(chain->step[QUANT_KV].from[t].step, -1);
    free(chain);

    assert_true(chain_feeds("sage_quant_q", "sage_fwd"));
    assert_false(chain_feeds("sage_quant_q", "sage_quant_kv"));
    assert_false(chain_feeds("sage_fwd", "sage_quant_q"));
    assert_false(chain_feeds("no_such", "sage_fwd"));

    /* Of two steps that would feed an input the later one does; the other then feeds nothing. */
    expect_error("[pipeline p]\nsteps = sage_quant_q/a, sage_quant_q/b, sage_fwd/a\n" SWEEP,
                 "t.ini:1: arm 'p' in case 's.B2.H3.Sq100.Sk200.d0.5': no output of step "
                 "'sage_quant_q' is an input of a step behind it");
}

/* Raw bits of one element of an input, from its recipe. */
static uint32_t element(const struct op_problem *p, const char *tensor, int64_t at)
{
    struct op_source src;
    uint32_t bits = 0;

    op_source_recipes(&src, p);
    assert_int_equal(src.read(src.ctx, (uint32_t)sab_tensor_find(p->spec, tensor), at, 1, &bits),
                     0);
    return bits;
}

/* q and k are first in the lists of their operators: with one seed they would be the same numbers,
 * and every query would attend to itself alone. */
static void streams_of_steps_differ(void **state)
{
    struct chain *chain = chain_of(PIPE "[sweep s]\nop = sage_fwd\nseqlen = 64\n");
    int same = 0;

    (void)state;
    for (int64_t i = 0; i < 1000; i++)
        same +=
            element(&chain->step[QUANT_Q].p, "q", i) == element(&chain->step[QUANT_KV].p, "k", i);
    assert_true(same < 50);
    free(chain);
}

static void shared_inputs_have_one_recipe(void **state)
{
    struct chain *chain = malloc(sizeof(*chain));
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(chain);
    chain->nr = 2;
    /* Two quantisers of the same queries: q is one tensor; that neither feeds the other is an
     * error. */
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            op_case_default(op_model_find("sage_quant_q"), 7 + i, &chain->step[i].c, &err), 0);
    assert_int_equal(chain_link(chain, &err), -1);
    assert_string_equal(err.text,
                        "no output of step 'sage_quant_q' is an input of a step behind it");
    assert_int_equal(chain->step[1].from[0].step, 0);
    assert_int_equal(chain->step[1].from[0].tensor, 0);
    assert_false(chain_is_fed(chain, 1, 0));
    assert_int_equal(element(&chain->step[0].p, "q", 5), element(&chain->step[1].p, "q", 5));
    /* Another shape is another tensor. */
    err_clear(&err);
    chain->step[1].c.axis[op_axis_find(chain->step[1].c.op, "heads")].i = 5;
    assert_int_equal(chain_link(chain, &err), -1);
    assert_int_equal(chain->step[1].from[0].step, -1);
    free(chain);
}

/* Of two steps that would feed an input the later one does. */
static void the_latest_step_feeds(void **state)
{
    struct chain *from = chain_of(PIPE "[sweep s]\nop = sage_fwd\n"), *chain;
    struct err err = ERR_INIT;

    (void)state;
    chain = malloc(sizeof(*chain));
    assert_non_null(chain);
    chain->nr = 3;
    chain->step[0].c = chain->step[1].c = from->step[QUANT_Q].c;
    chain->step[2].c = from->step[FWD].c;
    assert_int_equal(chain_link(chain, &err), -1);
    assert_int_equal(chain->step[2].from[SAB_T_sage_fwd_q_int8].step, 1);
    assert_int_equal(chain->step[2].from[SAB_T_sage_fwd_q_scale].step, 1);
    free(chain);
    free(from);
}

static void costs_add_up(void **state)
{
    struct chain *chain = chain_of(PIPE SWEEP);
    struct op_cost all, one;
    double bytes = 0;

    (void)state;
    assert_int_equal(chain_cost(chain, &all, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(chain->step[i].c.op->cost(&chain->step[i].c, &one, NULL), 0);
        bytes += one.bytes_min;
    }
    assert_true(all.bytes_min == bytes && all.flops_nominal == one.flops_nominal);
    assert_true(all.density == one.density);
    free(chain);
}

static void parentheses_hold_options_and_axes(void **state)
{
    struct ini ini;
    struct plan p;
    struct err err = ERR_INIT;
    struct chain *chain = malloc(sizeof(*chain));
    bool across;

    (void)state;
    assert_non_null(chain);
    if (build(&ini, &p,
              "[pipeline p]\nlibrary = x.so\nrole = context\n"
              "steps = sage_quant_q/cpu(data=outlier simd=off), sage_quant_kv/cpu ( simd=auto ), "
              "sage_fwd/mma(descriptor=upload, density=1)\n[arm a]\nkernel = cpu\n" SWEEP,
              &err))
        fail_msg("%s", err.text);
    assert_string_equal(p.arm[0].kernel, "sage_fwd/mma");
    assert_string_equal(p.arm[0].library, "x.so");
    assert_int_equal(p.arm[0].role, ROLE_CONTEXT);
    assert_int_equal(p.arm[0].steps_nr, 3);
    assert_string_equal(p.arm[0].step[0].option[0].key, "simd");
    assert_string_equal(p.arm[0].step[0].option[0].value, "off");
    assert_string_equal(p.arm[0].step[1].kernel, "cpu");
    assert_string_equal(p.arm[0].step[1].option[0].value, "auto");
    assert_string_equal(p.arm[0].step[2].option[0].key, "descriptor");
    assert_int_equal(p.arm[0].step[2].option[0].line, 4);
    assert_int_equal(plan_arm_chain(&p, &p.arm[0], &p.item[0], chain, &across, &err), 0);
    assert_true(across);
    assert_true(op_case_is(&chain->step[QUANT_Q].c, "data", "outlier"));
    assert_true(op_case_is(&chain->step[QUANT_KV].c, "data", "normal"));
    assert_true(op_case_real(&chain->step[FWD].c, "density") == 1);
    drop(&ini, &p);
    free(chain);
}

static void hash_of(const char *text, char hex[65])
{
    struct ini ini;
    struct plan p;
    struct err err = ERR_INIT;

    if (build(&ini, &p, text, &err) || plan_hash(&p, hex, &err))
        fail_msg("%s", err.text);
    drop(&ini, &p);
}

static void options_of_steps_are_hashed(void **state)
{
    static const char *const texts[] = {
        "[pipeline p]\nsteps = sage_quant_q/cpu, sage_fwd/cpu\n" SWEEP,
        "[pipeline p]\nsteps = sage_quant_q/cpu(simd=off), sage_fwd/cpu\n" SWEEP,
        "[pipeline p]\nsteps = sage_quant_q/cpu, sage_fwd/cpu(simd=off)\n" SWEEP,
        "[pipeline p]\nsteps = sage_quant_q/cpu(data=zero), sage_fwd/cpu\n" SWEEP,
        "[pipeline p]\nsteps = sage_quant_q/vector, sage_fwd/cpu\n" SWEEP,
    };
    char hex[5][65];

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        hash_of(texts[i], hex[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(hex[i], hex[k]);
    }
}

static void bad_pipelines(void **state)
{
    (void)state;
    expect_error("[pipeline p]\nsteps = sage_quant_q/a, sage_quant_kv/a\n" SWEEP,
                 "t.ini:2: pipeline 'p': no output of 'sage_quant_q' is an input of a step behind");
    expect_error("[pipeline p]\nsteps = sage_fwd/a, sage_quant_q/a\n" SWEEP,
                 "t.ini:2: pipeline 'p': no output of 'sage_fwd' is an input of a step behind it");
    expect_error("[pipeline p]\nsteps = sage_quant_q/a(x), sage_fwd/a\n" SWEEP,
                 "t.ini:2: 'x' in the parentheses of step 'sage_quant_q/a' is not KEY=VALUE");
    expect_error("[pipeline p]\nsteps = sage_quant_q/a(x=), sage_fwd/a\n" SWEEP,
                 "t.ini:2: 'x=' in the parentheses of step 'sage_quant_q/a' is not KEY=VALUE");
    expect_error("[pipeline p]\nsteps = sage_quant_q/a(x=1)b, sage_fwd/a\n" SWEEP,
                 "t.ini:2: step 'sage_quant_q/a' is not OPERATOR/KERNEL(KEY=VALUE");
    expect_error("[pipeline p]\nsteps = sage_quant_q/(x=1), sage_fwd/a\n" SWEEP,
                 "t.ini:2: step 'sage_quant_q/(x=1)' is not OPERATOR/KERNEL");
    expect_error("[pipeline p]\nsteps = sage_quant_q/a(data=loud), sage_fwd/a\n" SWEEP,
                 "t.ini:1: arm 'p' in case 's.B2.H3.Sq100.Sk200.d0.5': step 'sage_quant_q/a': "
                 "'loud' is no value of axis 'data'");
    expect_error("[pipeline p]\nsteps = sage_quant_q/a(seqlen_q=64), sage_fwd/a\n" SWEEP,
                 "t.ini:1: arm 'p' in case 's.B2.H3.Sq100.Sk200.d0.5': step 'sage_quant_q' gives "
                 "'q_int8' with 49152 elements where 'q_int8' of step 'sage_fwd' has 76800");
    expect_error("[pipeline p]\nsteps = sage_quant_q/a, sage_fwd/a\n" SWEEP "head_dim = 64\n",
                 "t.ini:1: arm 'p' in case 's.B2.H3.Sq100.Sk200.d0.5.D64': step 'sage_quant_q/a': "
                 "'64' ");
    expect_error(PIPE "[sweep s]\noperator = sage_quant_q\n",
                 "t.ini:1: arm 'p' serves no sweep: its kernel 'sage_fwd/cpu' is for another");
    expect_error("[global]\nkernel = cpu\n[pipeline p]\nrole = baseline\n" SWEEP,
                 "t.ini:3: pipeline 'p' has no steps");
    expect_error("[pipeline p]\nsteps = sage_quant_q/a, sage_quant_q/a, sage_quant_q/a, "
                 "sage_quant_q/a, sage_quant_q/a, sage_quant_q/a, sage_quant_q/a, sage_quant_q/a, "
                 "sage_fwd/a\n" SWEEP,
                 "t.ini:2: pipeline 'p' has 9 steps: 8 are the most");
}

/* ---- accuracy ---- */

#define TOKENS 130
#define DIM    128

static double raw_at(const struct op_problem *p, const char *tensor, int64_t token, int d)
{
    return (double)numfmt_decode_bf16((uint16_t)element(p, tensor, token * DIM + d));
}

/* Plain softmax attention of one query over all keys. */
static void attend(const struct chain *chain, int64_t query, double out[DIM])
{
    const struct op_problem *q = &chain->step[QUANT_Q].p, *kv = &chain->step[QUANT_KV].p;
    double weight[TOKENS], sum = 0;

    for (int64_t k = 0; k < TOKENS; k++) {
        double dot = 0;

        for (int d = 0; d < DIM; d++)
            dot += raw_at(q, "q", query, d) * raw_at(kv, "k", k, d);
        weight[k] = exp(dot * (double)(float)(1 / sqrt(128.0)));
        sum += weight[k];
    }
    for (int d = 0; d < DIM; d++) {
        out[d] = 0;
        for (int64_t k = 0; k < TOKENS; k++)
            out[d] += weight[k] / sum * raw_at(kv, "v", k, d);
    }
}

struct raw_ctx {
    const struct chain *chain;
};

static int read_raw(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    const struct raw_ctx *raw = ctx;
    const struct op_model *op = raw->chain->step[FWD].c.op;
    const char *name = raw->chain->step[FWD].p.spec->tensors[tensor].name;

    for (size_t i = 0; i < op->quantised_nr; i++) {
        const struct op_problem *p = &raw->chain->step[raw->chain->step[FWD].from[tensor].step].p;
        struct op_source src;

        if (strcmp(op->quantised[i].input, name))
            continue;
        op_source_recipes(&src, p);
        return src.read(src.ctx, (uint32_t)sab_tensor_find(p->spec, op->quantised[i].raw), at, n,
                        dst);
    }
    return -1;
}

static void accuracy_is_plain_attention_of_the_raw_inputs(void **state)
{
    struct chain *chain = chain_of(PIPE "[sweep s]\nop = sage_fwd\nheads = 1\nseqlen = 130\n"
                                        "density = 1\n");
    struct raw_ctx ctx = {chain};
    struct op_source src, raw = {&ctx, read_raw};
    struct op_slices s;
    struct err err = ERR_INIT;
    double want[DIM];

    (void)state;
    op_slices_init(&s);
    op_source_recipes(&src, &chain->step[FWD].p);
    if (chain->step[FWD].c.op->slices(&chain->step[FWD].c, 1e18, &s, &err) ||
        chain->step[FWD].c.op->accuracy(&chain->step[FWD].p, &src, &raw, 1, &s, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < s.nr; i++) {
        const struct op_slice *at = &s.item[i];
        const int64_t row = at->n / DIM - 1;

        attend(chain, at->at / DIM + row, want);
        for (int d = 0; d < DIM; d++)
            if (!(fabs(at->ref[row * DIM + d] - want[d]) < 1e-12))
                fail_msg("query %lld, channel %d: %.17g, must be %.17g",
                         (long long)(at->at / DIM + row), d, at->ref[row * DIM + d], want[d]);
    }
    assert_int_equal(s.nr, 3);
    op_slices_release(&s);
    free(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_follow_from_the_last_step),
        cmocka_unit_test(inputs_are_outputs_of_any_earlier_step),
        cmocka_unit_test(streams_of_steps_differ),
        cmocka_unit_test(shared_inputs_have_one_recipe),
        cmocka_unit_test(the_latest_step_feeds),
        cmocka_unit_test(costs_add_up),
        cmocka_unit_test(parentheses_hold_options_and_axes),
        cmocka_unit_test(options_of_steps_are_hashed),
        cmocka_unit_test(bad_pipelines),
        cmocka_unit_test(accuracy_is_plain_attention_of_the_raw_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
