/*
 * test_quant_rig.h - a problem of one of the two Sage quantisers in host memory: filled by its
 * recipes or from a golden vector, judged by its model, run by its CPU kernel. Every buffer has
 * exactly its size, so that a sanitizer sees a read or a write beyond it.
 */
#ifndef TEST_QUANT_RIG_H
#define TEST_QUANT_RIG_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "numfmt.h"
#include "opmodel.h"
#include "vectors.h"

#ifndef VECTORS_DIR
#    define VECTORS_DIR "tests/vectors"
#endif

#define RIG_POISON 0xa5

struct quant_rig {
    struct op_case c;
    struct op_problem p;
    struct op_slices s;
    void *data[SAB_MAX_TENSORS];
};

static inline bool rig_is_output(const struct quant_rig *r, uint32_t t)
{
    return r->p.spec->tensors[t].role == SAB_OUT;
}

static inline void rig_axis(struct quant_rig *r, const char *name, int64_t value)
{
    const int place = op_axis_find(r->c.op, name);

    assert_true(place >= 0);
    r->c.axis[place].i = value;
}

/* data: 0 normal, 1 outlier, 2 zero. */
static inline void rig_init(struct quant_rig *r, const char *op, int64_t batch, int64_t heads,
                            int64_t seqlen, int data)
{
    struct err err = ERR_INIT;

    memset(r, 0, sizeof(*r));
    assert_int_equal(op_case_default(op_model_find(op), 4691, &r->c, &err), 0);
    rig_axis(r, "batch", batch);
    rig_axis(r, "heads", heads);
    rig_axis(r, strcmp(op, "sage_quant_q") ? "seqlen_k" : "seqlen_q", seqlen);
    rig_axis(r, "data", data);
    if (r->c.op->describe(&r->c, &r->p, &err) < 0)
        fail_msg("%s", err.text);
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
        struct op_source src;

        assert_int_equal(posix_memalign(&r->data[t], 64, r->p.tensor[t].bytes), 0);
        memset(r->data[t], RIG_POISON, r->p.tensor[t].bytes);
        op_source_recipes(&src, &r->p);
        if (!rig_is_output(r, t))
            assert_int_equal(src.read(src.ctx, t, 0, r->p.tensor[t].elements, r->data[t]), 0);
    }
}

static inline void rig_release(struct quant_rig *r)
{
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        free(r->data[t]);
    op_slices_release(&r->s);
}

/* Inputs of a vector; its outputs too, as if a kernel had written them, where wanted. */
static inline void rig_from_vector(struct quant_rig *r, const struct vector *v, bool outputs)
{
    rig_init(r, v->op, vector_int(v, "batch", 0), vector_int(v, "heads", 0),
             vector_int(v, strcmp(v->op, "sage_quant_q") ? "seqlen_k" : "seqlen_q", 0), 0);
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
        const struct vector_tensor *from = vector_tensor_find(v, r->p.spec->tensors[t].name);

        assert_non_null(from);
        assert_int_equal(from->elements, r->p.tensor[t].elements);
        if (outputs || !rig_is_output(r, t))
            memcpy(r->data[t], from->raw, r->p.tensor[t].bytes);
    }
}

/* The oracle's values, from the buffers. */
static inline void rig_oracle(struct quant_rig *r)
{
    struct op_buffers buffers = {.problem = &r->p};
    struct op_source src;
    struct err err = ERR_INIT;

    memcpy(buffers.data, r->data, sizeof(buffers.data));
    op_source_buffers(&src, &buffers);
    op_slices_release(&r->s);
    if (r->c.op->slices(&r->c, 1e18, &r->s, &err) < 0 ||
        r->c.op->oracle(&r->p, &src, NULL, 0, 2, &r->s, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(r->s.complete);
}

static inline int rig_read(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst,
                           struct err *err)
{
    const struct quant_rig *r = ctx;
    const size_t size = sab_dtype_size(r->p.tensor[tensor].dtype);

    (void)err;
    memcpy(dst, (const char *)r->data[tensor] + (size_t)at * size, (size_t)n * size);
    return 0;
}

static inline struct judgement rig_judge(struct quant_rig *r)
{
    struct bar bars[OP_MAX_BARS];
    const size_t nr = r->c.op->bars(&r->c, false, bars);
    struct judgement j;
    struct err err = ERR_INIT;

    if (judge(&r->p, bars, nr, &r->s, rig_read, r, &j, &err) < 0)
        fail_msg("%s", err.text);
    return j;
}

/* The outputs fail, with this in the message. */
static inline void rig_expect_broken(struct quant_rig *r, const char *what)
{
    const struct judgement j = rig_judge(r);

    assert_false(j.pass);
    if (!strstr(j.text, what))
        fail_msg("'%s' does not name '%s'", j.text, what);
}

static inline void rig_vector(struct vector *v, const char *path)
{
    struct err err = ERR_INIT;

    vector_init(v);
    if (vector_read_file(v, path, &err) < 0)
        fail_msg("%s", err.text);
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

        rig_vector(&v, paths.item[i]);
        hold(&v);
        vector_release(&v);
    }
    vector_paths_release(&paths);
}

/* ---- the CPU kernels ---- */

extern const struct sab_kernel sage_quant_q_cpu_row;
extern const struct sab_kernel sage_quant_kv_cpu_row;

struct rig_call {
    uint32_t choice;
    int threads;
    int64_t pad;        /* elements between the rows of an input; twice that between heads */
    int64_t less_bytes; /* of workspace than it asks for */
};

static inline const struct sab_kernel *rig_row(const struct quant_rig *r)
{
    return strcmp(r->p.spec->name, "sage_quant_q") ? &sage_quant_kv_cpu_row : &sage_quant_q_cpu_row;
}

/* An input with gaps that hold NaN: [B,H,S,128]. */
static inline void *rig_spread(const struct op_tensor *o, const void *from, int64_t pad,
                               struct sab_tensor *t)
{
    const int64_t heads = o->shape[0] * o->shape[1], rows = o->shape[2];
    uint16_t *to;

    t->stride[2] = 128 + pad;
    t->stride[1] = rows * t->stride[2] + 2 * pad;
    t->stride[0] = o->shape[1] * t->stride[1];
    to = malloc((size_t)(heads * t->stride[1]) * sizeof(*to));
    assert_non_null(to);
    memset(to, 0xff, (size_t)(heads * t->stride[1]) * sizeof(*to));
    for (int64_t i = 0; i < heads * rows; i++)
        memcpy(to + i / rows * t->stride[1] + i % rows * t->stride[2],
               (const uint16_t *)from + i * 128, 128 * sizeof(*to));
    t->data = to;
    t->alignment = 16;
    return to;
}

/* Plans and launches over poisoned outputs; the status, and the message in `text`. */
static inline int rig_cpu(struct quant_rig *r, const struct rig_call *call, char *text, size_t size)
{
    const struct sab_kernel *row = rig_row(r);
    struct sab_message msg = {text, size};
    struct sab_tensor tensor[SAB_MAX_TENSORS] = {0};
    void *spread[SAB_MAX_TENSORS] = {0}, *plan = NULL;
    struct sab_problem problem = {.struct_size = sizeof(problem),
                                  .tensors_nr = r->p.spec->tensors_nr,
                                  .choices_nr = 1,
                                  .tensors = tensor,
                                  .params = r->p.param,
                                  .choices = &call->choice,
                                  .threads = call->threads};
    struct sab_buffer workspace = {0};
    int status;

    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
        const struct op_tensor *o = &r->p.tensor[t];

        tensor[t] = (struct sab_tensor){.data = r->data[t],
                                        .rank = o->rank,
                                        .dtype = o->dtype,
                                        .role = r->p.spec->tensors[t].role,
                                        .alignment = 64};
        memcpy(tensor[t].shape, o->shape, sizeof(tensor[t].shape));
        sab_contiguous(&tensor[t]);
        if (rig_is_output(r, t))
            memset(r->data[t], RIG_POISON, o->bytes);
        else if (call->pad)
            spread[t] = rig_spread(o, r->data[t], call->pad, &tensor[t]);
    }
    status = row->supports(&problem, &msg);
    if (status == SAB_OK)
        status = row->workspace_size(&problem, &workspace.bytes, &msg);
    if (status == SAB_OK && workspace.bytes) {
        workspace.data = malloc(workspace.bytes);
        assert_non_null(workspace.data);
        memset(workspace.data, RIG_POISON, workspace.bytes);
        workspace.bytes -= (uint64_t)call->less_bytes;
    }
    if (status == SAB_OK)
        status = row->plan(&problem, &workspace, &plan, &msg);
    if (status == SAB_OK)
        status = row->launch(plan, NULL, &msg);
    row->free(plan);
    free(workspace.data);
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        free(spread[t]);
    return status;
}

static inline void rig_run(struct quant_rig *r, uint32_t choice, int threads, int64_t pad)
{
    const struct rig_call call = {.choice = choice, .threads = threads, .pad = pad};
    char text[512] = "";

    if (rig_cpu(r, &call, text, sizeof(text)) != SAB_OK)
        fail_msg("%s", text);
}

#endif
