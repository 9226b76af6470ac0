/*
 * What a kernel must refuse: the rows of the Sage contract's table of refusals (section 12) are all
 * among the malformed problems, each is one, and the problem itself is left alone.
 */
#include <stdlib.h>

#include "test_validate_world.h"

#include "malformed.h"

struct seen {
    char name[1024][160];
    bool in_metadata[1024];
    size_t nr;
    const struct world *w;
    struct sab_tensor before[SAB_MAX_TENSORS];
};

static int remember(void *ctx, const struct malformed *m)
{
    struct seen *s = ctx;
    const bool workspace = strstr(m->name, "workspace") != NULL;

    assert_true(s->nr < 1024);
    /* The validator's own word for it, by the mode that it says. */
    if (!workspace)
        assert_int_equal(
            sab_validate(s->w->op, &m->problem, SAB_DEVICE_CPU,
                         m->in_metadata ? SAB_VALIDATE_METADATA : SAB_VALIDATE_POINTERS, NULL),
            SAB_INVALID);
    assert_true(m->rule[0] != '\0');
    snprintf(s->name[s->nr], sizeof(s->name[0]), "%s", m->name);
    s->in_metadata[s->nr++] = m->in_metadata;
    return 0;
}

static void sage_world(struct world *w)
{
    world_init(w, "sage_fwd");
    give(w, "q_int8", SAB_I8, "1 2 64 128");
    give(w, "k_int8", SAB_I8, "1 2 128 128");
    give(w, "v_fp8", SAB_E4M3, "1 2 128 128");
    give(w, "q_scale", SAB_F32, "1 2 4");
    give(w, "k_scale", SAB_F32, "1 2 2");
    give(w, "v_scale", SAB_F32, "1 2 128");
    give(w, "q2k_block_index", SAB_I32, "1 2 1 2");
    give(w, "block_sizes", SAB_I32, "2");
    give(w, "out", SAB_BF16, "1 2 64 128");
    defaults(w);
}

static struct seen *walk(struct world *w, uint64_t workspace_bytes)
{
    struct seen *s = calloc(1, sizeof(*s));
    const struct sab_buffer workspace = {(void *)(uintptr_t)((uint64_t)99 << 40), workspace_bytes,
                                         SAB_MEMORY_HOST, 0};

    assert_non_null(s);
    s->w = w;
    memcpy(s->before, w->t, sizeof(s->before));
    assert_int_equal(sab_validate(w->op, &w->problem, SAB_DEVICE_CPU, SAB_VALIDATE_POINTERS, NULL),
                     SAB_OK);
    assert_int_equal(malformed_each(w->op, &w->problem, &workspace, SAB_DEVICE_CPU, remember, s),
                     0);
    assert_memory_equal(s->before, w->t, sizeof(s->before));
    return s;
}

static int find(const struct seen *s, const char *name)
{
    for (size_t i = 0; i < s->nr; i++)
        if (!strcmp(s->name[i], name))
            return (int)i;
    return -1;
}

/* Section 12, row by row. */
static const struct {
    const char *name;
    bool in_metadata;
} due[] = {
    {"'q_int8' at a null address", false},
    {"'k_scale' on another device", true},
    {"'v_fp8' in memory of another kind", true},
    {"'v_fp8' strided in dimension 2", true},
    {"'q_int8' transposed", true},
    {"'v_fp8' with its last two strides swapped", true},
    {"'k_int8' with a negative stride in dimension 1", true},
    {"'q_scale' one element off its alignment", false},
    {"'q_scale' said to be aligned to 1 byte", true},
    {"'out' over 'q_int8'", false},
    {"'out' over 'block_sizes'", false},
    {"'q_int8' with a dimension less", true},
    {"'q_int8' with a dimension more", true},
    {"'q_int8' as bf16", true},
    {"'k_int8' short in dimension 1", true},
    {"'k_int8' missing", true},
    {"'v_fp8' as i8", true},
    {"'v_fp8' short in dimension 3", true},
    {"'q_scale' long in dimension 2", true},
    {"'v_scale' as bf16", true},
    {"'q2k_block_index' as u8", true},
    {"'q2k_block_index' short in dimension 2", true},
    {"'block_sizes' long in dimension 0", true},
    {"'block_sparse_num' = -1", true},
    {"'block_sparse_num' = 1000", true},
    {"'softmax_scale' = nan", true},
    {"'softmax_scale' = inf", true},
    {"'softmax_scale' = 0", true},
    {"'softmax_scale' = -1", true},
    {"'uniform_block_count' = 2", true},
    {"'out' as f32", true},
    {"'out' short in dimension 2", true},
    {"'out' with the other role", true},
    {"a problem with a tensor less", true},
    {"a problem struct of fewer bytes", true},
    {"a workspace over 'out'", false},
};

static void test_the_contracts_table(void **state)
{
    struct world w;
    struct seen *s;

    (void)state;
    sage_world(&w);
    s = walk(&w, 512);
    for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
        const int at = find(s, due[i].name);

        if (at < 0)
            fail_msg("nothing malformed is called: %s", due[i].name);
        assert_int_equal(s->in_metadata[at], due[i].in_metadata);
    }
    for (size_t i = 0; i < s->nr; i++)
        assert_int_equal(find(s, s->name[i]), (int)i);
    free(s);
}

/* What is legal is not asked of a kernel: an optional tensor left out, a view where views may be.
 */
static void test_legal_changes_are_left_out(void **state)
{
    struct world w;
    struct seen *s;

    (void)state;
    sage_world(&w);
    s = walk(&w, 0);
    assert_int_equal(find(s, "'block_sizes' missing"), -1);
    assert_int_equal(find(s, "'q2k_block_index' long in dimension 3"), -1); /* more capacity */
    assert_int_equal(find(s, "'block_sparse_num' = 2"), -1);
    assert_int_equal(find(s, "a workspace over 'out'"), -1); /* none is needed */
    free(s);
    world_init(&w, "sage_quant_q");
    give(&w, "q", SAB_BF16, "1 2 64 128");
    give(&w, "q_int8", SAB_I8, "1 2 64 128");
    give(&w, "q_scale", SAB_F32, "1 2 4");
    defaults(&w);
    s = walk(&w, 0);
    assert_int_equal(find(s, "'q' strided in dimension 1"), -1); /* "free" */
    assert_true(find(s, "'q' strided in dimension 3") >= 0);
    assert_true(find(s, "'q_int8' strided in dimension 1") >= 0);
    free(s);
}

static int stop(void *ctx, const struct malformed *m)
{
    (void)m;
    return ++*(int *)ctx == 5 ? 17 : 0;
}

static void test_a_walk_ends_when_told(void **state)
{
    const struct sab_buffer none = {NULL, 0, SAB_MEMORY_HOST, 0};
    struct world w;
    int calls = 0;

    (void)state;
    sage_world(&w);
    assert_int_equal(malformed_each(w.op, &w.problem, &none, SAB_DEVICE_CPU, stop, &calls), 17);
    assert_int_equal(calls, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_contracts_table),
        cmocka_unit_test(test_legal_changes_are_left_out),
        cmocka_unit_test(test_a_walk_ends_when_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
