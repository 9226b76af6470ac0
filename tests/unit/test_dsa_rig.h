/*
 * test_dsa_rig.h - one problem of dsa_fwd or dsa_bwd in host memory: from a case or from a golden
 * vector, with the oracle's values, the bars, and a call of the CPU kernel. Every buffer has
 * exactly its size, so that a sanitizer sees a read beyond it.
 */
#ifndef TEST_DSA_RIG_H
#define TEST_DSA_RIG_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "axis.h"
#include "numfmt.h"
#include "opmodel.h"
#include "schema.h"
#include "vectors.h"

extern const struct sab_kernel dsa_fwd_cpu_row, dsa_bwd_cpu_row;

#define FWD(name) SAB_T_dsa_fwd_##name
#define BWD(name) SAB_T_dsa_bwd_##name

struct dsa_rig {
    struct op_case c;
    struct op_problem p;
    void *data[SAB_MAX_TENSORS];
    struct op_slices s;
};

static inline bool rig_is_output(const struct dsa_rig *r, uint32_t t)
{
    return r->p.spec->tensors[t].role == SAB_OUT;
}

static inline bool rig_has(const struct dsa_rig *r, uint32_t t)
{
    return r->p.tensor[t].dtype != SAB_NONE;
}

static inline double rig_value(const struct dsa_rig *r, uint32_t t, int64_t i)
{
    const int32_t dtype = r->p.tensor[t].dtype;

    return numfmt_decode(dtype, numfmt_load(dtype, r->data[t], i));
}

static inline void rig_set(struct dsa_rig *r, uint32_t t, int64_t i, double value)
{
    const int32_t dtype = r->p.tensor[t].dtype;

    numfmt_store(dtype, r->data[t], i, numfmt_encode(dtype, value));
}

static inline void rig_allocate(struct dsa_rig *r)
{
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
        if (!rig_has(r, t))
            continue;
        assert_int_equal(posix_memalign(&r->data[t], 64, r->p.tensor[t].bytes), 0);
        if (r->p.tensor[t].bytes)
            memset(r->data[t], 0xff, r->p.tensor[t].bytes);
    }
}

static inline void rig_release(struct dsa_rig *r)
{
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        free(r->data[t]);
    op_slices_release(&r->s);
}

static inline void rig_source(struct dsa_rig *r, struct op_buffers *buffers, struct op_source *src)
{
    buffers->problem = &r->p;
    memcpy(buffers->data, r->data, sizeof(buffers->data));
    op_source_buffers(src, buffers);
}

/* The oracle's values, from the buffers, for everything. */
static inline void rig_oracle(struct dsa_rig *r, int threads)
{
    struct op_buffers buffers;
    struct op_source src;
    struct err err = ERR_INIT;

    rig_source(r, &buffers, &src);
    op_slices_release(&r->s);
    if (r->c.op->slices(&r->c, 1e18, &r->s, &err) ||
        r->c.op->oracle(&r->p, &src, NULL, 0, threads, &r->s, &err))
        fail_msg("%s", err.text);
    assert_true(r->s.complete);
}

/* The outputs as the oracle has them, rounded to their types. */
static inline void rig_answer(struct dsa_rig *r)
{
    for (size_t i = 0; i < r->s.nr; i++)
        for (int64_t k = 0; k < r->s.item[i].n; k++)
            rig_set(r, r->s.item[i].tensor, r->s.item[i].at + k, r->s.item[i].ref[k]);
}

/* Axes of a case, as "heads=2 topk=5"; the others at their defaults. */
static inline int rig_case(struct op_case *c, const char *op, const char *axes, struct err *err)
{
    char *text = strdup(axes), *save = NULL;
    int ret;

    assert_non_null(text);
    if (op_case_default(op_model_find(op), 77, c, err))
        fail_msg("%s", err->text);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        int axis;

        assert_non_null(value);
        *value++ = '\0';
        axis = op_axis_find(c->op, word);
        if (axis < 0 || axis_value_read(&c->op->axes[axis], value, &c->axis[axis], err))
            fail_msg("%s = %s: %s", word, value, err->text);
    }
    ret = c->op->settle(c, err);
    free(text);
    return ret;
}

static inline void rig_generate(struct dsa_rig *r)
{
    struct op_source src;

    op_source_recipes(&src, &r->p);
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
        if (rig_has(r, t) && !rig_is_output(r, t) && r->p.tensor[t].recipe.kind != RECIPE_NONE)
            assert_int_equal(src.read(src.ctx, t, 0, r->p.tensor[t].elements, r->data[t]), 0);
}

static inline void rig_open(struct dsa_rig *r, const struct op_case *c)
{
    struct err err = ERR_INIT;

    memset(r, 0, sizeof(*r));
    r->c = *c;
    op_slices_init(&r->s);
    if (c->op->describe(c, &r->p, &err))
        fail_msg("%s", err.text);
    rig_allocate(r);
    rig_generate(r);
}

/* out and lse of a backward from its inputs, by the forward's oracle. */
static inline void rig_forward(struct dsa_rig *r)
{
    static const uint32_t pairs[][2] = {{BWD(q), FWD(q)},
                                        {BWD(kv), FWD(kv)},
                                        {BWD(topk_idxs), FWD(topk_idxs)},
                                        {BWD(attn_sink), FWD(attn_sink)},
                                        {BWD(topk_length), FWD(topk_length)}};
    struct op_case c;
    struct dsa_rig f;
    struct err err = ERR_INIT;

    assert_int_equal(r->c.op->producer(&r->c, 0, &c, &err), 0);
    assert_int_equal(r->c.op->producer(&r->c, 1, &c, &err), 1);
    rig_open(&f, &c);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (rig_has(&f, pairs[i][1]) && f.p.tensor[pairs[i][1]].bytes)
            memcpy(f.data[pairs[i][1]], r->data[pairs[i][0]], f.p.tensor[pairs[i][1]].bytes);
    rig_oracle(&f, 2);
    rig_answer(&f);
    if (f.p.tensor[FWD(out)].bytes) {
        memcpy(r->data[BWD(out)], f.data[FWD(out)], f.p.tensor[FWD(out)].bytes);
        memcpy(r->data[BWD(lse)], f.data[FWD(lse)], f.p.tensor[FWD(lse)].bytes);
    }
    rig_release(&f);
}

static inline void rig_init(struct dsa_rig *r, const char *op, const char *axes)
{
    struct op_case c;
    struct err err = ERR_INIT;

    if (rig_case(&c, op, axes, &err))
        fail_msg("%s", err.text);
    rig_open(r, &c);
    if (strcmp(op, "dsa_bwd") == 0)
        rig_forward(r);
}

/* A case of the vector's sizes, with the vector's contents. */
static inline void rig_from_vector(struct dsa_rig *r, const struct vector *v)
{
    struct op_buffers buffers;
    char axes[256];
    struct err err = ERR_INIT;

    snprintf(axes, sizeof(axes), "seqlen_q=%d seqlen_k=%d heads=%d head_dim=%d topk=%d dtype=%s",
             (int)vector_int(v, "seqlen_q", 0), (int)vector_int(v, "seqlen_k", 0),
             (int)vector_int(v, "heads", 0), (int)vector_int(v, "head_dim", 0),
             (int)vector_int(v, "topk", 0), vector_param_find(v, "dtype")->word);
    if (strcmp(v->op, "dsa_fwd") == 0)
        snprintf(axes + strlen(axes), sizeof(axes) - strlen(axes), " lse_prefix=%d",
                 (int)vector_int(v, "lse_prefix", 0));
    memset(r, 0, sizeof(*r));
    op_slices_init(&r->s);
    if (rig_case(&r->c, v->op, axes, &err) || vector_to_problem(v, &r->p, &buffers, &err))
        fail_msg("%s", err.text);
    rig_allocate(r);
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
        if (buffers.data[t] && r->p.tensor[t].bytes)
            memcpy(r->data[t], buffers.data[t], r->p.tensor[t].bytes);
}

static inline int rig_read(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst,
                           struct err *err)
{
    const struct dsa_rig *r = ctx;
    const size_t size = sab_dtype_size(r->p.tensor[tensor].dtype);

    (void)err;
    memcpy(dst, (const char *)r->data[tensor] + (size_t)at * size, (size_t)n * size);
    return 0;
}

static inline struct judgement rig_judge(struct dsa_rig *r)
{
    struct bar bars[OP_MAX_BARS];
    const size_t nr = r->c.op->bars(&r->c, false, bars);
    struct judgement j;
    struct err err = ERR_INIT;

    if (judge(&r->p, bars, nr, &r->s, rig_read, r, &j, &err) < 0)
        fail_msg("%s", err.text);
    return j;
}

static inline void rig_expect_pass(struct dsa_rig *r, const char *what)
{
    const struct judgement j = rig_judge(r);

    if (!j.pass)
        fail_msg("%s: %s", what, j.text);
}

/* The outputs fail, with this in the message. */
static inline void rig_expect_broken(struct dsa_rig *r, const char *what)
{
    const struct judgement j = rig_judge(r);

    assert_false(j.pass);
    if (!strstr(j.text, what))
        fail_msg("'%s' does not name '%s'", j.text, what);
}

/* Calls `hold` for every vector of an operator, of which there are `nr`. */
static inline void rig_each_vector(const char *op, size_t nr, void (*hold)(const struct vector *v))
{
    struct vector_paths paths;
    struct err err = ERR_INIT;
    char dir[512];

    snprintf(dir, sizeof(dir), "%s/%s", VECTORS_DIR, op);
    if (vector_paths_read(&paths, dir, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(paths.nr, nr);
    for (size_t i = 0; i < paths.nr; i++) {
        struct vector v;

        vector_init(&v);
        if (vector_read_file(&v, paths.item[i], &err) < 0)
            fail_msg("%s", err.text);
        hold(&v);
        vector_release(&v);
    }
    vector_paths_release(&paths);
}

/* The outputs against the vector's lines. */
static inline void rig_hold_vector(struct dsa_rig *r, const struct vector *v)
{
    struct vector_verdict verdict;
    struct err err = ERR_INIT;

    if (vector_judge(v, (const void *const *)r->data, NULL, 0, &verdict, &err) < 0)
        fail_msg("%s", err.text);
    if (!verdict.pass)
        fail_msg("%s: %s", v->title, verdict.text);
    assert_true(verdict.held >= 3);
}

/* ---- the CPU kernels ---- */

#define RIG_GUARD 64

struct rig_call {
    uint32_t choice;
    int threads;
    int fill;           /* byte in outputs and workspace before the launch */
    int64_t less_bytes; /* of workspace than it asks for */
};

static inline const struct sab_kernel *rig_row(const struct dsa_rig *r)
{
    return strcmp(r->p.spec->name, "dsa_fwd") ? &dsa_bwd_cpu_row : &dsa_fwd_cpu_row;
}

static inline void rig_tensors(const struct dsa_rig *r, struct sab_tensor *tensor)
{
    memset(tensor, 0, SAB_MAX_TENSORS * sizeof(*tensor));
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
        const struct op_tensor *o = &r->p.tensor[t];

        tensor[t].data = r->data[t];
        tensor[t].rank = o->rank;
        tensor[t].dtype = o->dtype;
        tensor[t].role = r->p.spec->tensors[t].role;
        tensor[t].alignment = 64;
        memcpy(tensor[t].shape, o->shape, sizeof(tensor[t].shape));
        sab_contiguous(&tensor[t]);
    }
}

/* Plans and launches twice over filled outputs, the workspace between guards; the status, and the
 * message in `text`. */
static inline int rig_cpu(struct dsa_rig *r, const struct rig_call *call, char *text, size_t size)
{
    const struct sab_kernel *row = rig_row(r);
    struct sab_message msg = {text, size};
    struct sab_tensor tensor[SAB_MAX_TENSORS];
    struct sab_problem problem = {.struct_size = sizeof(problem),
                                  .tensors_nr = r->p.spec->tensors_nr,
                                  .params_nr = r->p.spec->params_nr,
                                  .choices_nr = 1,
                                  .tensors = tensor,
                                  .params = r->p.param,
                                  .choices = &call->choice,
                                  .threads = call->threads};
    struct sab_buffer workspace = {0};
    void *plan = NULL, *memory = NULL;
    size_t bytes = 0;
    int status;

    rig_tensors(r, tensor);
    status = row->supports(&problem, &msg);
    if (status == SAB_OK)
        status = row->workspace_size(&problem, &workspace.bytes, &msg);
    if (status == SAB_OK && workspace.bytes) {
        bytes = workspace.bytes;
        assert_int_equal(posix_memalign(&memory, 256, bytes + RIG_GUARD), 0);
        memset(memory, 0x5c, bytes + RIG_GUARD);
        workspace.data = memory;
        workspace.bytes -= (uint64_t)call->less_bytes;
    }
    if (status == SAB_OK)
        status = row->plan(&problem, &workspace, &plan, &msg);
    for (int launch = 0; status == SAB_OK && launch < 2; launch++) {
        for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
            if (rig_has(r, t) && rig_is_output(r, t) && r->p.tensor[t].bytes)
                memset(r->data[t], call->fill ? call->fill : 0xff, r->p.tensor[t].bytes);
        if (memory)
            memset(memory, call->fill ? call->fill : 0xa5, bytes);
        status = row->launch(plan, NULL, &msg);
    }
    if (plan)
        row->free(plan);
    for (size_t i = bytes; memory && i < bytes + RIG_GUARD; i++)
        assert_int_equal(((unsigned char *)memory)[i], 0x5c);
    free(memory);
    return status;
}

static inline void rig_run(struct dsa_rig *r, uint32_t choice, int threads)
{
    const struct rig_call call = {.choice = choice, .threads = threads};
    char text[512] = "";

    if (rig_cpu(r, &call, text, sizeof(text)) != SAB_OK)
        fail_msg("%s", text);
}

static inline bool rig_serves(struct dsa_rig *r, uint32_t choice)
{
    const struct rig_call call = {.choice = choice, .threads = 1};
    char text[512] = "";

    return rig_cpu(r, &call, text, sizeof(text)) != SAB_UNSUPPORTED;
}

/* A copy of an output, to be freed. */
static inline void *rig_copy(const struct dsa_rig *r, uint32_t t)
{
    void *copy = malloc(r->p.tensor[t].bytes + 1);

    assert_non_null(copy);
    memcpy(copy, r->data[t], r->p.tensor[t].bytes);
    return copy;
}

#endif
