/*
 * gpu_case.h - a case from a line of axes, its inputs on the host, and its outputs before the
 * oracle.
 */
#ifndef TESTS_GPU_GPU_CASE_H
#define TESTS_GPU_GPU_CASE_H

#include "axis.h"
#include "case_build.h"
#include "gpu_rig.h"

#define CASE_SEED      4951
#define CASE_BIG_BYTES (64ull << 20) /* above it inputs are not brought home */

/* "seqlen=128 topk=2" into a builder. */
static inline int case_set_axes(struct case_builder *b, const char *axes, struct err *err)
{
    char text[256], *rest = text;

    snprintf(text, sizeof(text), "%s", axes);
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        char *value = strchr(word, '=');
        struct axis_element element = {.expr = NULL};
        int place[2];
        size_t nr;

        if (!value)
            return err_set(err, ERR_BUG, "'%s' is no AXIS=VALUE", word);
        *value++ = '\0';
        nr = axis_targets(b->op, word, place);
        if (nr == 0)
            return axis_unknown(b->op, word, err);
        for (size_t i = 0; i < nr; i++) {
            if (axis_value_read(&b->op->axes[place[i]], value, &element.value, err) < 0)
                return -1;
            case_builder_set(b, (size_t)place[i], &element, NULL, 0);
        }
    }
    return 0;
}

/* The other axes at their defaults. */
static inline int case_make(const struct op_model *op, const char *axes, struct op_case *c,
                            struct err *err)
{
    struct case_builder b;

    return case_builder_init(&b, op, CASE_SEED, err) < 0 || case_set_axes(&b, axes, err) < 0 ||
                   case_builder_resolve(&b, err) < 0
               ? -1
               : case_builder_finish(&b, c, err);
}

static inline bool case_is_big(const struct op_problem *p)
{
    uint64_t bytes = 0;

    for (uint32_t t = 0; t < p->spec->tensors_nr; t++)
        bytes += p->tensor[t].bytes;
    return bytes > CASE_BIG_BYTES;
}

/* Brings an input that a recipe made home; the host's recipe must give the same bytes. */
static inline int case_bring_home(struct rig *rig, const struct rig_problem *rp, uint32_t t,
                                  void **host, struct err *err)
{
    const struct op_tensor *o = &rp->p.tensor[t];
    void *own = malloc(o->bytes + 1);
    struct op_source src;
    int rc = -1;

    *host = malloc(o->bytes + 1);
    op_source_recipes(&src, &rp->p);
    if (!own || !*host)
        err_memory(err);
    else if (src.read(src.ctx, t, 0, o->elements, own) < 0)
        err_set(err, ERR_BUG, "the recipe of '%s' cannot be read", rp->p.spec->tensors[t].name);
    else
        rc = device_download(rig->dev, *host, rp->tensor[t].data, o->bytes, err);
    if (rc == 0 && memcmp(own, *host, o->bytes) != 0)
        rc = err_set(err, ERR_WRONG, "'%s' differs between the host's recipe and the device's",
                     rp->p.spec->tensors[t].name);
    free(own);
    return rc;
}

static inline int case_read_output(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst,
                                   struct err *err)
{
    const struct rig_problem *rp = ctx;
    const size_t size = sab_dtype_size(rp->p.tensor[tensor].dtype);

    (void)err;
    memcpy(dst, (const char *)rp->out[tensor] + (size_t)at * size, (size_t)n * size);
    return 0;
}

/* Holds rp->out against the oracle on these inputs; one without bytes here is that of its recipe.
 */
static inline int case_judge(const struct op_case *c, struct rig_problem *rp,
                             void *const host[SAB_MAX_TENSORS], const struct sab_kernel *row,
                             struct judgement *j, struct err *err)
{
    struct op_buffers buffers = {.problem = &rp->p};
    struct bar bars[OP_MAX_BARS];
    struct op_slices slices;
    struct op_source src;
    size_t nr, kept = 0;
    int rc;

    memcpy(buffers.data, host, sizeof(buffers.data));
    op_source_buffers(&src, &buffers);
    op_slices_init(&slices);
    rc = c->op->slices(c, RIG_ORACLE_FLOPS, &slices, err);
    if (rc == 0)
        rc = c->op->oracle(&rp->p, &src, row->attributes, row->attributes_nr,
                           (int)sysconf(_SC_NPROCESSORS_ONLN), &slices, err);
    if (rc == 0) {
        nr = c->op->bars(c, !slices.complete, bars);
        for (size_t i = 0; i < nr; i++)
            if (row->attributes_nr || bars[i].kind != BAR_EMULATED)
                bars[kept++] = bars[i];
        rc = judge(&rp->p, bars, kept, &slices, case_read_output, rp, j, err);
    }
    op_slices_release(&slices);
    return rc;
}

#endif
