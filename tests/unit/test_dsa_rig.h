/*
 * test_dsa_rig.h - one problem of dsa_fwd or dsa_bwd in host memory: from a case or from a golden
 * vector, with the oracle's values and the bars. Every buffer has
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
#include "case_build.h"
#include "numfmt.h"
#include "opmodel.h"
#include "schema.h"
#include "vectors.h"

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
    return r->p.spec->tensors[t].role != SAB_IN;
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

/* Sets one axis, or the two that `seqlen` stands for. */
static inline void rig_set_axis(struct case_builder *b, const char *name, const char *value)
{
    struct axis_element element = {.expr = NULL};
    struct err err = ERR_INIT;
    int place[2];
    const size_t nr = axis_targets(b->op, name, place);

    assert_true(nr > 0);
    for (size_t i = 0; i < nr; i++) {
        if (axis_value_read(&b->op->axes[place[i]], value, &element.value, &err))
            fail_msg("%s = %s: %s", name, value, err.text);
        case_builder_set(b, (size_t)place[i], &element, NULL, 0);
    }
}

/* Axes of a case, as "heads=2 topk=5"; the others at their defaults. */
static inline int rig_case(struct op_case *c, const char *op, const char *axes, struct err *err)
{
    char text[512], *save = NULL;
    struct case_builder b;

    snprintf(text, sizeof(text), "%s", axes);
    if (case_builder_init(&b, op_model_find(op), 77, err))
        fail_msg("%s", err->text);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');

        assert_non_null(value);
        *value++ = '\0';
        rig_set_axis(&b, word, value);
    }
    return case_builder_resolve(&b, err) || case_builder_finish(&b, c, err) ? -1 : 0;
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

static inline void rig_by_oracle(struct dsa_rig *r)
{
    rig_oracle(r, 2);
    rig_answer(r);
}

/* out and lse of a backward from its inputs. */
static inline void rig_forward(struct dsa_rig *r, void (*run)(struct dsa_rig *f))
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
    run(&f);
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
        rig_forward(r, rig_by_oracle);
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

/* A case with the answers of its oracle. */
static inline void rig_right(struct dsa_rig *r, const char *op, const char *axes)
{
    rig_init(r, op, axes);
    rig_oracle(r, 2);
    rig_answer(r);
    rig_expect_pass(r, axes);
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

#endif
