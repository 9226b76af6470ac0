/*
 * The validation table of the dsa contract (section 4), row by row: the validator in both modes,
 * and the same answers from the CPU kernels, where supports() and plan() must agree.
 */
#include <stdlib.h>

#include "test_validate_world.h"

extern const struct sab_kernel dsa_fwd_cpu_row, dsa_bwd_cpu_row;

static const struct sab_kernel *row_of(const struct world *w)
{
    return strcmp(w->op->name, "dsa_fwd") ? &dsa_bwd_cpu_row : &dsa_fwd_cpu_row;
}

/* T 3, N 8, H 2, D 512, K 5; everything optional is there. */
static void right(struct world *w, const char *op)
{
    world_init(w, op);
    give(w, "q", SAB_BF16, "3 2 512");
    give(w, "kv", SAB_BF16, "8 512");
    give(w, "topk_idxs", SAB_I32, "3 5");
    give(w, "attn_sink", SAB_F32, "2");
    give(w, "topk_length", SAB_I32, "3");
    give(w, "out", SAB_BF16, "3 2 512");
    give(w, "lse", SAB_F32, "3 2");
    if (strcmp(op, "dsa_fwd") == 0) {
        give(w, "max_logits", SAB_F32, "3 2");
        give(w, "lse_indexer", SAB_F32, "3 2");
        param(w, "lse_prefix")->i = 5;
    } else {
        give(w, "dout", SAB_BF16, "3 2 512");
        give(w, "dq", SAB_BF16, "3 2 512");
        give(w, "dkv", SAB_BF16, "8 512");
        give(w, "d_sink", SAB_F32, "2");
    }
    defaults(w);
}

/* What supports() answers, and what plan() does, on the same problem. */
static int ask(struct world *w, int plan)
{
    static _Alignas(256) char memory[1 << 20];
    struct sab_message msg = {w->text, sizeof(w->text)};
    struct sab_buffer workspace = {.data = memory, .bytes = sizeof(memory)};
    void *made = NULL;
    int status;

    if (!plan)
        return row_of(w)->supports(&w->problem, &msg);
    status = row_of(w)->plan(&w->problem, &workspace, &made, &msg);
    assert_int_equal(made != NULL, status == SAB_OK);
    row_of(w)->free(made);
    return status;
}

static void refused(struct world *w, const char *named)
{
    char quoted[64];

    expect(w, SAB_INVALID, named);
    snprintf(quoted, sizeof(quoted), "'%s'", named);
    for (int plan = 0; plan < 2; plan++) {
        assert_int_equal(ask(w, plan), SAB_INVALID);
        assert_non_null(strstr(w->text, quoted));
    }
}

static void accepted(void **state)
{
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        right(&w, ops[i]);
        expect(&w, SAB_OK, "");
        for (int plan = 0; plan < 2; plan++)
            if (ask(&w, plan) != SAB_OK)
                fail_msg("%s", w.text);
        tensor(&w, "topk_length")->dtype = SAB_NONE;
        expect(&w, SAB_OK, "");
    }
}

/* One tensor with another type or shape, or gone (type SAB_NONE). */
static const struct {
    const char *op, *tensor;
    int32_t dtype;
    const char *shape;
    const char *named; /* NULL: the tensor itself */
} wrong[] = {
    {"dsa_fwd", "q", SAB_NONE, "", NULL},
    {"dsa_fwd", "q", SAB_BF16, "6 512", NULL},
    {"dsa_fwd", "q", SAB_BF16, "1 3 2 512", NULL},
    {"dsa_fwd", "q", SAB_F32, "3 2 512", NULL},
    {"dsa_fwd", "q", SAB_E4M3, "3 2 512", NULL},
    {"dsa_fwd", "kv", SAB_NONE, "", NULL},
    {"dsa_fwd", "kv", SAB_BF16, "8 1 512", NULL},
    {"dsa_fwd", "kv", SAB_BF16, "8 576", NULL},
    {"dsa_fwd", "kv", SAB_FP16, "8 512", NULL},
    {"dsa_fwd", "attn_sink", SAB_BF16, "2", NULL},
    {"dsa_fwd", "attn_sink", SAB_F32, "3", NULL},
    {"dsa_fwd", "attn_sink", SAB_F32, "1 2", NULL},
    {"dsa_fwd", "topk_idxs", SAB_NONE, "", NULL},
    {"dsa_fwd", "topk_idxs", SAB_F32, "3 5", NULL},
    {"dsa_fwd", "topk_idxs", SAB_I32, "15", NULL},
    {"dsa_fwd", "topk_idxs", SAB_I32, "3 1 5", NULL},
    {"dsa_fwd", "topk_idxs", SAB_I32, "5 3", NULL},
    {"dsa_fwd", "topk_length", SAB_F32, "3", NULL},
    {"dsa_fwd", "topk_length", SAB_I32, "5", NULL},
    {"dsa_fwd", "topk_length", SAB_I32, "3 1", NULL},
    {"dsa_fwd", "out", SAB_NONE, "", NULL},
    {"dsa_fwd", "out", SAB_BF16, "2 3 512", NULL},
    {"dsa_fwd", "out", SAB_FP16, "3 2 512", NULL},
    {"dsa_fwd", "max_logits", SAB_NONE, "", NULL},
    {"dsa_fwd", "max_logits", SAB_F32, "2 3", NULL},
    {"dsa_fwd", "lse", SAB_NONE, "", NULL},
    {"dsa_fwd", "lse", SAB_BF16, "3 2", NULL},
    {"dsa_fwd", "lse_indexer", SAB_NONE, "", NULL},
    {"dsa_fwd", "lse_indexer", SAB_F32, "2 3", NULL},
    {"dsa_bwd", "q", SAB_FP16, "3 2 512", "kv"},
    {"dsa_bwd", "kv", SAB_FP16, "8 512", NULL},
    {"dsa_bwd", "out", SAB_NONE, "", NULL},
    {"dsa_bwd", "out", SAB_BF16, "2 3 512", NULL},
    {"dsa_bwd", "out", SAB_FP16, "3 2 512", NULL},
    {"dsa_bwd", "dout", SAB_NONE, "", NULL},
    {"dsa_bwd", "dout", SAB_BF16, "2 3 512", NULL},
    {"dsa_bwd", "dout", SAB_BF16, "3 2 576", NULL},
    {"dsa_bwd", "dout", SAB_FP16, "3 2 512", NULL},
    {"dsa_bwd", "lse", SAB_NONE, "", NULL},
    {"dsa_bwd", "lse", SAB_F32, "2 3", NULL},
    {"dsa_bwd", "lse", SAB_BF16, "3 2", NULL},
    {"dsa_bwd", "attn_sink", SAB_NONE, "", NULL},
    {"dsa_bwd", "attn_sink", SAB_F32, "3", NULL},
    {"dsa_bwd", "topk_idxs", SAB_I32, "2 5", NULL},
    {"dsa_bwd", "topk_length", SAB_I32, "2", NULL},
    {"dsa_bwd", "dq", SAB_NONE, "", NULL},
    {"dsa_bwd", "dq", SAB_BF16, "2 3 512", NULL},
    {"dsa_bwd", "dq", SAB_F32, "3 2 512", NULL},
    {"dsa_bwd", "dkv", SAB_NONE, "", NULL},
    {"dsa_bwd", "dkv", SAB_BF16, "7 512", NULL},
    {"dsa_bwd", "dkv", SAB_F32, "8 512", NULL},
    {"dsa_bwd", "d_sink", SAB_NONE, "", NULL},
    {"dsa_bwd", "d_sink", SAB_F32, "3", NULL},
    {"dsa_bwd", "d_sink", SAB_BF16, "2", NULL},
};

static void types_and_shapes(void **state)
{
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        right(&w, wrong[i].op);
        give(&w, wrong[i].tensor, wrong[i].dtype, wrong[i].shape);
        refused(&w, wrong[i].named ? wrong[i].named : wrong[i].tensor);
    }
}

/* Every tensor of the width has it, so that nothing but the width is wrong. */
static void widths(void **state)
{
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};
    static const int widths_of[] = {128, 511, 513, 575, 640};
    struct world w;
    char shape[32];

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(widths_of) / sizeof(widths_of[0]); i++) {
        right(&w, ops[i % 2]);
        snprintf(shape, sizeof(shape), "3 2 %d", widths_of[i / 2]);
        give(&w, "q", SAB_BF16, shape);
        if (i % 2)
            give(&w, "dq", SAB_BF16, shape);
        snprintf(shape, sizeof(shape), "8 %d", widths_of[i / 2]);
        give(&w, "kv", SAB_BF16, shape);
        if (i % 2)
            give(&w, "dkv", SAB_BF16, shape);
        refused(&w, "q");
    }
}

static void scalars(void **state)
{
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};
    const double scales[] = {0, -1, INFINITY, -INFINITY, NAN};
    struct world w;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(scales) / sizeof(scales[0]); i++) {
        right(&w, ops[i % 2]);
        param(&w, "softmax_scale")->f = scales[i / 2];
        refused(&w, "softmax_scale");
    }
    right(&w, "dsa_fwd");
    param(&w, "lse_prefix")->i = -1;
    refused(&w, "lse_prefix");
    param(&w, "lse_prefix")->i = 6;
    refused(&w, "lse_prefix");
    param(&w, "lse_prefix")->i = 0; /* the tensor is still there */
    refused(&w, "lse_indexer");
}

/* Rows apart, columns apart, transposed: refused for every tensor of both operators. */
static void strides(void **state)
{
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct sab_op_spec *op = sab_op_find(ops[i]);

        for (uint32_t t = 0; t < op->tensors_nr; t++)
            for (int32_t d = 0; d < 3; d++) {
                right(&w, ops[i]);
                if (d >= w.t[t].rank)
                    continue;
                w.t[t].stride[d] *= 2;
                refused(&w, op->tensors[t].name);
            }
    }
}

static void memory_and_device(void **state)
{
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct sab_op_spec *op = sab_op_find(ops[i]);

        for (uint32_t t = 0; t < op->tensors_nr; t++) {
            right(&w, ops[i]);
            w.t[t].memory = SAB_MEMORY_DEVICE;
            refused(&w, op->tensors[t].name);
        }
    }
}

/* What only addresses can tell: supports() does not see them, plan() does. */
static void refused_by_plan(struct world *w, const char *named)
{
    char quoted[64];

    assert_int_equal(judge(w, SAB_VALIDATE_METADATA), SAB_OK);
    assert_int_equal(ask(w, 0), SAB_OK);
    assert_int_equal(ask(w, 1), SAB_INVALID);
    snprintf(quoted, sizeof(quoted), "'%s'", named);
    if (!strstr(w->text, quoted))
        fail_msg("'%s' does not name %s", w->text, quoted);
}

static void addresses(void **state)
{
    static const char *const ops[] = {"dsa_fwd", "dsa_bwd"};
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct sab_op_spec *op = sab_op_find(ops[i]);

        for (uint32_t t = 0; t < op->tensors_nr; t++) {
            const char *name = op->tensors[t].name;

            right(&w, ops[i]);
            w.t[t].data = NULL;
            refused_by_plan(&w, name);
            right(&w, ops[i]);
            w.t[t].data = (char *)w.t[t].data + 4;
            refused_by_plan(&w, name);
            right(&w, ops[i]);
            w.t[t].data = (char *)w.t[t].data + 8;
            if (i == 1 && strcmp(name, "lse") == 0)
                assert_int_equal(ask(&w, 1), SAB_OK); /* an 8-byte base is enough */
            else
                refused_by_plan(&w, name);
            /* An output on an input or on another output. */
            if (op->tensors[t].role != SAB_OUT)
                continue;
            right(&w, ops[i]);
            w.t[t].data = tensor(&w, "q")->data;
            refused_by_plan(&w, name);
        }
    }
    right(&w, "dsa_bwd");
    tensor(&w, "dkv")->data = tensor(&w, "dq")->data;
    assert_int_equal(ask(&w, 1), SAB_INVALID);
}

/* A workspace that is missing, too small, misaligned, or shared with a tensor. */
static void workspaces(void **state)
{
    static _Alignas(256) char memory[1 << 20];
    struct sab_buffer workspace;
    struct world w;
    struct sab_message msg = {w.text, sizeof(w.text)};
    uint64_t bytes = 0;
    void *plan = NULL;

    (void)state;
    right(&w, "dsa_bwd");
    assert_int_equal(dsa_bwd_cpu_row.workspace_size(&w.problem, &bytes, &msg), SAB_OK);
    assert_true(bytes > 0 && bytes < sizeof(memory) - 256);
    for (int i = 0; i < 5; i++) {
        workspace = (struct sab_buffer){.data = memory, .bytes = bytes};
        if (i == 0)
            workspace.data = NULL;
        else if (i == 1)
            workspace.bytes--;
        else if (i == 2)
            workspace.data = memory + 16;
        else if (i == 3)
            workspace.memory = SAB_MEMORY_DEVICE;
        else
            tensor(&w, "lse")->data = memory + 64;
        assert_int_equal(dsa_bwd_cpu_row.plan(&w.problem, &workspace, &plan, &msg), SAB_INVALID);
        assert_null(plan);
        assert_non_null(strstr(w.text, "workspace"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted),  cmocka_unit_test(types_and_shapes),
        cmocka_unit_test(widths),    cmocka_unit_test(scalars),
        cmocka_unit_test(strides),   cmocka_unit_test(memory_and_device),
        cmocka_unit_test(addresses), cmocka_unit_test(workspaces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
