/*
 * test_indexer_rig.h - one problem of an operator of the indexer's family in host memory: from a
 * case or a golden vector, with the oracle's values. Every buffer has exactly its size, so that a
 * sanitizer sees a read beyond it.
 */
#ifndef TEST_INDEXER_RIG_H
#define TEST_INDEXER_RIG_H

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

struct ix_rig {
    struct op_case c; /* c.op is NULL for a golden vector */
    struct op_problem p;
    void *data[SAB_MAX_TENSORS];
    struct op_slices s;
};

static inline uint32_t rig_place(const struct ix_rig *r, const char *name)
{
    const int32_t place = sab_tensor_find(r->p.spec, name);

    assert_true(place >= 0);
    return (uint32_t)place;
}

static inline void *rig_data(const struct ix_rig *r, const char *name)
{
    return r->data[rig_place(r, name)];
}

static inline bool rig_has(const struct ix_rig *r, uint32_t t)
{
    return r->p.tensor[t].dtype != SAB_NONE;
}

static inline bool rig_is_output(const struct ix_rig *r, uint32_t t)
{
    return rig_has(r, t) && r->p.spec->tensors[t].role == SAB_OUT;
}

static inline double rig_value(const struct ix_rig *r, const char *name, int64_t i)
{
    const uint32_t t = rig_place(r, name);

    return numfmt_decode(r->p.tensor[t].dtype, numfmt_load(r->p.tensor[t].dtype, r->data[t], i));
}

static inline void rig_set(struct ix_rig *r, const char *name, int64_t i, double value)
{
    const uint32_t t = rig_place(r, name);
    const int32_t dtype = r->p.tensor[t].dtype;

    if (dtype == SAB_I32)
        ((int32_t *)r->data[t])[i] = (int32_t)value;
    else
        numfmt_store(dtype, r->data[t], i, numfmt_encode(dtype, value));
}

static inline void rig_allocate(struct ix_rig *r)
{
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
        if (!rig_has(r, t))
            continue;
        assert_int_equal(posix_memalign(&r->data[t], 64, r->p.tensor[t].bytes), 0);
        memset(r->data[t], 0xff, r->p.tensor[t].bytes);
    }
}

static inline void rig_release(struct ix_rig *r)
{
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        free(r->data[t]);
    op_slices_release(&r->s);
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

static inline void rig_source(struct ix_rig *r, struct op_buffers *buffers, struct op_source *src)
{
    buffers->problem = &r->p;
    memcpy(buffers->data, r->data, sizeof(buffers->data));
    op_source_buffers(src, buffers);
}

/* Inputs by their recipes, and by the oracles of the operators that make the others. */
static inline void rig_init(struct ix_rig *r, const char *op, const char *axes);

static inline void rig_oracle(struct ix_rig *r, int threads)
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
static inline void rig_answer(struct ix_rig *r)
{
    for (size_t i = 0; i < r->s.nr; i++)
        for (int64_t k = 0; k < r->s.item[i].n; k++)
            rig_set(r, r->p.spec->tensors[r->s.item[i].tensor].name, r->s.item[i].at + k,
                    r->s.item[i].ref[k]);
}

static inline void rig_open(struct ix_rig *r, const struct op_case *c)
{
    struct op_source src;
    struct err err = ERR_INIT;

    memset(r, 0, sizeof(*r));
    r->c = *c;
    op_slices_init(&r->s);
    if (c->op->describe(c, &r->p, &err))
        fail_msg("%s", err.text);
    rig_allocate(r);
    op_source_recipes(&src, &r->p);
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
        if (rig_has(r, t) && !rig_is_output(r, t) && r->p.tensor[t].recipe.kind != RECIPE_NONE)
            assert_int_equal(src.read(src.ctx, t, 0, r->p.tensor[t].elements, r->data[t]), 0);
}

/* Outputs of a producer's oracle to the inputs that they feed. */
static inline void rig_feed(struct ix_rig *r, const struct op_case *from)
{
    struct ix_rig f;

    rig_open(&f, from);
    rig_oracle(&f, 2);
    rig_answer(&f);
    for (uint32_t i = 0; i < f.p.spec->feeds_nr; i++) {
        const struct sab_feed_spec *feed = &f.p.spec->feeds[i];
        const int32_t in = sab_tensor_find(r->p.spec, feed->input);
        const uint32_t out = rig_place(&f, feed->output);

        if (strcmp(feed->op, r->p.spec->name) || in < 0 || !rig_has(r, (uint32_t)in) ||
            r->p.tensor[in].recipe.kind != RECIPE_NONE)
            continue;
        assert_int_equal(f.p.tensor[out].bytes, r->p.tensor[in].bytes);
        memcpy(r->data[in], f.data[out], f.p.tensor[out].bytes);
    }
    rig_release(&f);
}

static inline void rig_init(struct ix_rig *r, const char *op, const char *axes)
{
    struct op_case c, from;
    struct err err = ERR_INIT;

    if (rig_case(&c, op, axes, &err))
        fail_msg("%s: %s", axes, err.text);
    rig_open(r, &c);
    for (size_t i = 0; c.op->producer && c.op->producer(&c, i, &from, &err) == 0; i++)
        rig_feed(r, &from);
    if (err.kind != ERR_NONE)
        fail_msg("%s: %s", axes, err.text);
}

static inline int rig_read(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst,
                           struct err *err)
{
    const struct ix_rig *r = ctx;
    const size_t size = sab_dtype_size(r->p.tensor[tensor].dtype);

    (void)err;
    memcpy(dst, (const char *)r->data[tensor] + (size_t)at * size, (size_t)n * size);
    return 0;
}

/* By the bars, then by what the model's examine says. */
static inline struct judgement rig_judge(struct ix_rig *r)
{
    struct bar bars[OP_MAX_BARS];
    const size_t nr = r->c.op->bars(&r->c, false, bars);
    struct op_buffers buffers;
    struct op_source src;
    struct judgement j;
    struct err err = ERR_INIT;

    rig_source(r, &buffers, &src);
    if (judge(&r->p, bars, nr, &r->s, rig_read, r, &j, &err) < 0 ||
        (j.pass && r->c.op->examine &&
         r->c.op->examine(&r->p, &src, &r->s, rig_read, r, &j, &err) < 0))
        fail_msg("%s", err.text);
    return j;
}

static inline void rig_expect_pass(struct ix_rig *r, const char *what)
{
    const struct judgement j = rig_judge(r);

    if (!j.pass)
        fail_msg("%s: %s", what, j.text);
    assert_true(j.compared > 0);
}

/* The outputs fail, with this in the message. */
static inline void rig_expect_broken(struct ix_rig *r, const char *what)
{
    const struct judgement j = rig_judge(r);

    assert_false(j.pass);
    if (!strstr(j.text, what))
        fail_msg("'%s' does not name '%s'", j.text, what);
}

/* A case with the answers of its oracle. */
static inline void rig_right(struct ix_rig *r, const char *op, const char *axes)
{
    rig_init(r, op, axes);
    rig_oracle(r, 2);
    rig_answer(r);
    rig_expect_pass(r, axes);
}

/* ---- golden vectors ---- */

static inline void rig_from_vector(struct ix_rig *r, const struct vector *v)
{
    struct op_buffers buffers;
    struct err err = ERR_INIT;

    memset(r, 0, sizeof(*r));
    op_slices_init(&r->s);
    if (vector_to_problem(v, &r->p, &buffers, &err))
        fail_msg("%s", err.text);
    rig_allocate(r);
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
        if (buffers.data[t])
            memcpy(r->data[t], buffers.data[t], r->p.tensor[t].bytes);
}

/* One slice for each row: `rows` of the outputs that have a row for each query, `keys` of the
 * others (d_index_k). */
static inline void rig_slice_rows(struct ix_rig *r, int64_t rows, int64_t keys)
{
    struct err err = ERR_INIT;

    for (int of_keys = 0; of_keys < 2; of_keys++)
        for (int64_t i = 0; i < (of_keys ? keys : rows); i++)
            for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
                const bool is_keys = strcmp(r->p.spec->tensors[t].name, "d_index_k") == 0;
                struct op_slice *s;

                if (!rig_is_output(r, t) || is_keys != (of_keys != 0))
                    continue;
                const int64_t n = r->p.tensor[t].elements / (of_keys ? keys : rows);
                s = op_slices_add(&r->s, t, i * n, n, &err);
                assert_non_null(s);
                s->tile = i;
            }
}

static inline void rig_vector_oracle(struct ix_rig *r, const char *op, int threads)
{
    struct op_buffers buffers;
    struct op_source src;
    struct err err = ERR_INIT;

    rig_source(r, &buffers, &src);
    if (op_model_find(op)->oracle(&r->p, &src, NULL, 0, threads, &r->s, &err))
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

        vector_init(&v);
        if (vector_read_file(&v, paths.item[i], &err) < 0)
            fail_msg("%s", err.text);
        hold(&v);
        vector_release(&v);
    }
    vector_paths_release(&paths);
}

/* The outputs against the vector's lines. */
static inline bool rig_judge_vector(struct ix_rig *r, const struct vector *v, char *text,
                                    size_t size)
{
    struct vector_verdict verdict;
    struct err err = ERR_INIT;

    if (vector_judge(v, (const void *const *)r->data, NULL, 0, &verdict, &err) < 0)
        fail_msg("%s", err.text);
    snprintf(text, size, "%s: %s", v->title, verdict.text);
    assert_true(verdict.held >= 1);
    return verdict.pass;
}

static inline void rig_hold_vector(struct ix_rig *r, const struct vector *v)
{
    char text[600];

    if (!rig_judge_vector(r, v, text, sizeof(text)))
        fail_msg("%s", text);
}

#endif
