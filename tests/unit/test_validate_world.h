/*
 * test_validate_world.h - builds one problem of one operator, and asks the validator about it.
 */
#ifndef TEST_VALIDATE_WORLD_H
#define TEST_VALIDATE_WORLD_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schema.h"

struct world {
    const struct sab_op_spec *op;
    struct sab_tensor t[SAB_MAX_TENSORS];
    union sab_value p[SAB_MAX_PARAMS];
    struct sab_problem problem;
    char text[512];
};

static inline void world_init(struct world *w, const char *op)
{
    memset(w, 0, sizeof(*w));
    w->op = sab_op_find(op);
    assert_non_null(w->op);
    w->problem.struct_size = sizeof(w->problem);
    w->problem.tensors = w->t;
    w->problem.tensors_nr = w->op->tensors_nr;
    w->problem.params = w->p;
    w->problem.params_nr = w->op->params_nr;
    w->problem.threads = 1;
}

/* Gives tensor `name` a dtype and the sizes in `shape`, "1 2 64 128". Addresses are spread far
 * apart and are never followed. */
static inline struct sab_tensor *give(struct world *w, const char *name, int32_t dtype,
                                      const char *shape)
{
    int32_t i = sab_tensor_find(w->op, name);
    struct sab_tensor *t;
    int used;

    assert_true(i >= 0);
    t = &w->t[i];
    memset(t, 0, sizeof(*t));
    t->dtype = dtype;
    t->role = w->op->tensors[i].role;
    while (sscanf(shape, "%ld%n", &t->shape[t->rank], &used) == 1) {
        t->rank++;
        shape += used;
    }
    sab_contiguous(t);
    t->data = (void *)(uintptr_t)((uint64_t)(i + 1) << 40);
    return t;
}

static inline struct sab_tensor *tensor(struct world *w, const char *name)
{
    return &w->t[sab_tensor_find(w->op, name)];
}

static inline union sab_value *param(struct world *w, const char *name)
{
    int32_t i = sab_param_find(w->op, name);

    assert_true(i >= 0);
    return &w->p[i];
}

/* What the case has set already stays. */
static inline void defaults(struct world *w)
{
    for (uint32_t i = 0; i < w->op->params_nr; i++)
        if (w->op->params[i].initial[0] != '\0' && w->p[i].i == 0)
            assert_int_equal(sab_default(w->op, &w->problem, i, &w->p[i], NULL), SAB_OK);
}

static inline int judge(struct world *w, unsigned flags)
{
    struct sab_message msg = {w->text, sizeof(w->text)};

    return sab_validate(w->op, &w->problem, SAB_DEVICE_CPU, flags, &msg);
}

/* The status, in both modes, and the argument that the message names. */
static inline void expect(struct world *w, int status, const char *named)
{
    char quoted[64];
    int got = judge(w, SAB_VALIDATE_METADATA);

    if (got != status)
        print_error("%s: got %s '%s'\n", named, sab_status_name(got), w->text);
    assert_int_equal(got, status);
    if (status == SAB_OK) {
        assert_string_equal(w->text, "");
    } else {
        snprintf(quoted, sizeof(quoted), "'%s'", named);
        if (!strstr(w->text, quoted))
            print_error("expected %s in: %s\n", quoted, w->text);
        assert_non_null(strstr(w->text, quoted));
    }
    assert_int_equal(judge(w, SAB_VALIDATE_POINTERS), status);
}

#endif
