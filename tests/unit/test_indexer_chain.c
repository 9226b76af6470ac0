/*
 * The indexer's operators as steps: whose case follows from which, and ids of batches that become
 * ids of all keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chain.h"
#include "device.h"
#include "ini.h"
#include "plan.h"

#define SWEEP                                                                                      \
    "[sweep s]\noperator = dsa_fwd\nheads = 8\nseqlen = 64\ntopk = 12\nlengths = ragged\n"         \
    "data = unit\n"

/* The chain of the first arm of `text` for its first case, or why there is none. */
static int chain_of(const char *text, struct chain *chain, struct err *err)
{
    struct ini ini;
    struct plan p;
    bool across;
    int ret;

    ini_init(&ini);
    plan_init(&p);
    ret = ini_read_text(&ini, "t.ini", text, strlen(text), err) || plan_read(&p, &ini, err) ||
                  plan_arm_chain(&p, &p.arm[0], &p.item[0], chain, &across, err)
              ? -1
              : 0;
    plan_release(&p);
    ini_release(&ini);
    return ret;
}

static struct chain *chain_new(const char *text)
{
    struct chain *chain = malloc(sizeof(*chain));
    struct err err = ERR_INIT;

    assert_non_null(chain);
    if (chain_of(text, chain, &err))
        fail_msg("%s", err.text);
    return chain;
}

static struct chain_link link_of(const struct chain *chain, size_t step, const char *tensor)
{
    return chain->step[step].from[sab_tensor_find(chain->step[step].p.spec, tensor)];
}

/* Selection is of f32 scores of what each row sees, whatever attention has of these names. */
static void layer(void **state)
{
    struct chain *chain = chain_new("[pipeline p]\nsteps = indexer_fwd/cpu(precision=fp8), "
                                    "indexer_topk/cpu, dsa_fwd/cpu\n" SWEEP);
    const struct op_case *scores = &chain->step[0].c, *topk = &chain->step[1].c;

    (void)state;
    assert_int_equal(op_case_int(scores, "heads"), 64);
    assert_int_equal(op_case_int(scores, "seqlen_q"), 64);
    assert_int_equal(op_case_int(scores, "lse"), 0);
    assert_true(op_case_is(scores, "precision", "fp8"));
    assert_true(op_case_is(topk, "lengths", "causal"));
    assert_true(op_case_is(topk, "dtype", "f32"));
    assert_int_equal(op_case_int(topk, "topk"), 12);
    assert_int_equal(link_of(chain, 1, "values_in").step, 0);
    assert_int_equal(link_of(chain, 2, "topk_idxs").step, 1);
    assert_int_equal(link_of(chain, 2, "topk_idxs").shift.ids, 0);
    assert_int_equal(link_of(chain, 1, "seq_lens").step, -1);
    free(chain);
}

static void batches(void **state)
{
    struct chain *chain =
        chain_new("[pipeline p]\nsteps = indexer_fwd/cpu, indexer_topk/cpu(batch=4, seqlen_q=16, "
                  "seqlen_k=16), dsa_fwd/cpu\n" SWEEP);
    const struct chain_link ids = link_of(chain, 2, "topk_idxs");

    (void)state;
    assert_int_equal(op_case_int(&chain->step[0].c, "batch"), 4);
    assert_int_equal(op_case_int(&chain->step[0].c, "seqlen_k"), 16);
    assert_int_equal(ids.step, 1);
    assert_int_equal(ids.shift.ids, 16 * 12);
    assert_int_equal(ids.shift.keys, 16);
    assert_true(chain_is_fed(chain, 2, SAB_T_dsa_fwd_topk_idxs));
    free(chain);
}

static void wrong_sizes(void **state)
{
    struct chain chain;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(
        chain_of(
            "[pipeline p]\nsteps = indexer_fwd/cpu, indexer_topk/cpu(batch=4), dsa_fwd/cpu\n" SWEEP,
            &chain, &err),
        -1);
    if (!strstr(err.text, "'indices' with 3072 elements"))
        fail_msg("%s", err.text);
}

/* A training step: all scores on the ids that were selected, then the backward. */
static void training(void **state)
{
    struct chain *chain = chain_new(
        "[pipeline p]\nsteps = indexer_fwd/cpu, indexer_topk/cpu, score_sparse_indexer/cpu, "
        "score_sparse_attention/cpu, indexer_bwd_sparse/cpu\n"
        "[sweep s]\noperator = indexer_bwd_sparse\nbatch = 2\nheads = 16\nseqlen = 32\ntopk = 8\n");

    (void)state;
    assert_int_equal(op_case_int(&chain->step[0].c, "heads"), 64);
    assert_int_equal(op_case_int(&chain->step[0].c, "batch"), 2);
    assert_int_equal(link_of(chain, 4, "target").step, 3);
    assert_int_equal(link_of(chain, 4, "predict").step, 2);
    assert_int_equal(link_of(chain, 4, "ids").step, 1);
    assert_int_equal(link_of(chain, 2, "ids").step, 1);
    assert_int_equal(link_of(chain, 4, "ids").shift.ids, 0);
    free(chain);
}

static void shift(void **state)
{
    const int32_t ids[6] = {0, 6, -1, 3, -2147483647 - 1, 0};
    const int32_t want[6] = {0, 6, -1, 10, -2147483647 - 1, 7};
    const struct device_request request = {.kind = SAB_DEVICE_CPU, .threads = 2};
    struct device *dev;
    struct err err = ERR_INIT;
    int32_t out[7] = {0, 0, 0, 0, 0, 0, 99};

    (void)state;
    assert_int_equal(device_open(&dev, &request, &err), 0);
    assert_int_equal(device_shift_ids(dev, out, ids, 6, 3, 7, &err), 0);
    assert_memory_equal(out, want, sizeof(want));
    assert_int_equal(out[6], 99);
    device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer),    cmocka_unit_test(batches), cmocka_unit_test(wrong_sizes),
        cmocka_unit_test(training), cmocka_unit_test(shift),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
