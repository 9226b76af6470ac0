#include "malformed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct walk {
    const struct sab_op_spec *op;
    const struct sab_problem *base;
    const struct sab_buffer *workspace;
    enum sab_device device;
    malformed_fn fn;
    void *ctx;
    struct malformed m;
};

/* A fresh copy to change. */
static struct malformed *begin(struct walk *w)
{
    struct malformed *m = &w->m;

    memset(m, 0, sizeof(*m));
    m->problem = *w->base;
    memcpy(m->tensor, w->base->tensors, w->base->tensors_nr * sizeof(*m->tensor));
    memcpy(m->param, w->base->params, w->base->params_nr * sizeof(*m->param));
    m->problem.tensors = m->tensor;
    m->problem.params = m->param;
    m->workspace = *w->workspace;
    return m;
}

__attribute__((format(printf, 2, 3))) static int offer(struct walk *w, const char *format, ...)
{
    struct malformed *m = &w->m;
    struct sab_message msg = {m->rule, sizeof(m->rule)};
    va_list args;

    va_start(args, format);
    vsnprintf(m->name, sizeof(m->name), format, args);
    va_end(args);
    m->in_metadata =
        sab_validate(w->op, &m->problem, w->device, SAB_VALIDATE_METADATA, &msg) == SAB_INVALID;
    if (!m->in_metadata &&
        sab_validate(w->op, &m->problem, w->device, SAB_VALIDATE_POINTERS, &msg) != SAB_INVALID)
        return 0;
    return w->fn(w->ctx, m);
}

/* ---- one tensor ---- */

/* Changes a tensor; false where that is no change. `d` is a dimension. */
typedef bool (*bend_fn)(struct sab_tensor *t, int32_t d);

static bool bend_missing(struct sab_tensor *t, int32_t d)
{
    (void)d;
    t->dtype = SAB_NONE;
    return true;
}

static bool bend_role(struct sab_tensor *t, int32_t d)
{
    (void)d;
    t->role = t->role == SAB_IN ? SAB_OUT : SAB_IN;
    return true;
}

static bool bend_memory(struct sab_tensor *t, int32_t d)
{
    (void)d;
    t->memory = t->memory == SAB_MEMORY_HOST ? SAB_MEMORY_DEVICE : SAB_MEMORY_HOST;
    return true;
}

static bool bend_device(struct sab_tensor *t, int32_t d)
{
    (void)d;
    t->device += 1;
    return true;
}

static bool bend_alignment(struct sab_tensor *t, int32_t d)
{
    (void)d;
    t->alignment = 1;
    return true;
}

static bool bend_null(struct sab_tensor *t, int32_t d)
{
    (void)d;
    t->data = NULL;
    return true;
}

/* A step of one element, which keeps accesses of one element aligned: only the contract's base
 * alignment is broken. */
static bool bend_misaligned(struct sab_tensor *t, int32_t d)
{
    (void)d;
    t->data = (char *)t->data + sab_dtype_size(t->dtype);
    t->alignment = 0;
    return true;
}

static bool bend_rank_more(struct sab_tensor *t, int32_t d)
{
    (void)d;
    if (t->rank == SAB_MAX_RANK)
        return false;
    memmove(t->shape + 1, t->shape, (size_t)t->rank * sizeof(*t->shape));
    t->shape[0] = 1;
    t->rank++;
    sab_contiguous(t);
    return true;
}

static bool bend_rank_less(struct sab_tensor *t, int32_t d)
{
    (void)d;
    if (t->rank < 1)
        return false;
    if (t->rank > 1)
        t->shape[1] *= t->shape[0];
    memmove(t->shape, t->shape + 1, (size_t)(t->rank - 1) * sizeof(*t->shape));
    t->rank--;
    sab_contiguous(t);
    return true;
}

static bool bend_transposed(struct sab_tensor *t, int32_t d)
{
    const int32_t last = t->rank - 1;
    int64_t swap;

    (void)d;
    if (t->rank < 2 || t->shape[last] == t->shape[last - 1])
        return false;
    swap = t->shape[last];
    t->shape[last] = t->shape[last - 1];
    t->shape[last - 1] = swap;
    swap = t->stride[last];
    t->stride[last] = t->stride[last - 1];
    t->stride[last - 1] = swap;
    return true;
}

/* The same shape read down its columns: legal sizes, illegal strides. */
static bool bend_columns(struct sab_tensor *t, int32_t d)
{
    const int32_t last = t->rank - 1;

    (void)d;
    if (t->rank < 2 || t->shape[last] < 2 || t->shape[last - 1] < 2)
        return false;
    t->stride[last - 1] = 1;
    t->stride[last] = t->shape[last - 1];
    return true;
}

static bool bend_short(struct sab_tensor *t, int32_t d)
{
    t->shape[d]--;
    sab_contiguous(t);
    return true;
}

static bool bend_long(struct sab_tensor *t, int32_t d)
{
    t->shape[d]++;
    sab_contiguous(t);
    return true;
}

static bool bend_negative(struct sab_tensor *t, int32_t d)
{
    t->shape[d] = -t->shape[d];
    return t->shape[d] < 0;
}

static bool bend_strided(struct sab_tensor *t, int32_t d)
{
    t->stride[d] *= 2;
    return t->shape[d] > 1;
}

static bool bend_backwards(struct sab_tensor *t, int32_t d)
{
    t->stride[d] = -t->stride[d];
    return t->shape[d] > 1;
}

static const struct {
    const char *name;
    bend_fn fn;
    bool each_dimension;
} bends[] = {
    {"missing", bend_missing, false},
    {"with the other role", bend_role, false},
    {"in memory of another kind", bend_memory, false},
    {"on another device", bend_device, false},
    {"said to be aligned to 1 byte", bend_alignment, false},
    {"at a null address", bend_null, false},
    {"one element off its alignment", bend_misaligned, false},
    {"with a dimension more", bend_rank_more, false},
    {"with a dimension less", bend_rank_less, false},
    {"transposed", bend_transposed, false},
    {"with its last two strides swapped", bend_columns, false},
    {"short", bend_short, true},
    {"long", bend_long, true},
    {"of negative size", bend_negative, true},
    {"strided", bend_strided, true},
    {"with a negative stride", bend_backwards, true},
};

static int bend_tensor(struct walk *w, uint32_t t)
{
    const char *name = w->op->tensors[t].name;

    for (size_t i = 0; i < sizeof(bends) / sizeof(bends[0]); i++) {
        const int32_t dims = bends[i].each_dimension ? w->base->tensors[t].rank : 1;

        for (int32_t d = 0; d < dims; d++) {
            struct malformed *m = begin(w);
            char where[32] = "";
            int ret;

            if (!bends[i].fn(&m->tensor[t], d))
                continue;
            if (bends[i].each_dimension)
                (void)snprintf(where, sizeof(where), " in dimension %d", (int)d);
            ret = offer(w, "'%s' %s%s", name, bends[i].name, where);
            if (ret)
                return ret;
        }
    }
    return 0;
}

static int bend_dtype(struct walk *w, uint32_t t)
{
    for (int32_t dtype = SAB_NONE + 1; dtype <= SAB_DTYPE_NR; dtype++) {
        struct malformed *m = begin(w);
        int ret;

        if (dtype == m->tensor[t].dtype)
            continue;
        m->tensor[t].dtype = dtype;
        ret = offer(w, "'%s' as %s", w->op->tensors[t].name, sab_dtype_name(dtype));
        if (ret)
            return ret;
    }
    return 0;
}

/* An output over the first bytes of another tensor. */
static int bend_overlap(struct walk *w, uint32_t t)
{
    for (uint32_t other = 0; other < w->op->tensors_nr; other++) {
        struct malformed *m = begin(w);
        int ret;

        if (other == t || m->tensor[t].role == SAB_IN || m->tensor[other].dtype == SAB_NONE)
            continue;
        m->tensor[t].data = m->tensor[other].data;
        ret = offer(w, "'%s' over '%s'", w->op->tensors[t].name, w->op->tensors[other].name);
        if (ret)
            return ret;
    }
    return 0;
}

static int bend_tensors(struct walk *w)
{
    int ret = 0;

    for (uint32_t t = 0; !ret && t < w->op->tensors_nr && t < w->base->tensors_nr; t++) {
        if (w->base->tensors[t].dtype == SAB_NONE)
            continue;
        ret = bend_tensor(w, t);
        if (!ret)
            ret = bend_dtype(w, t);
        if (!ret)
            ret = bend_overlap(w, t);
    }
    return ret;
}

/* ---- parameters, and the problem itself ---- */

static int bend_params(struct walk *w)
{
    static const int64_t integers[] = {-1, 0, 2, 1000, INT64_C(1) << 40};
    static const double numbers[] = {NAN, INFINITY, -INFINITY, -1, 0, 1e300};

    for (uint32_t p = 0; p < w->op->params_nr && p < w->base->params_nr; p++) {
        const bool real = w->op->params[p].kind == SAB_REAL;
        const size_t nr =
            real ? sizeof(numbers) / sizeof(numbers[0]) : sizeof(integers) / sizeof(integers[0]);

        for (size_t i = 0; i < nr; i++) {
            struct malformed *m = begin(w);
            int ret;

            if (real)
                m->param[p].f = numbers[i];
            else
                m->param[p].i = integers[i];
            ret = real ? offer(w, "'%s' = %g", w->op->params[p].name, numbers[i])
                       : offer(w, "'%s' = %lld", w->op->params[p].name, (long long)integers[i]);
            if (ret)
                return ret;
        }
    }
    return 0;
}

static int bend_problem(struct walk *w)
{
    int ret = 0;

    begin(w)->problem.struct_size--;
    ret = offer(w, "a problem struct of fewer bytes");
    if (!ret && w->base->tensors_nr) {
        begin(w)->problem.tensors_nr--;
        ret = offer(w, "a problem with a tensor less");
    }
    if (!ret && w->base->tensors_nr) {
        begin(w)->problem.tensors = NULL;
        ret = offer(w, "a problem without its list of tensors");
    }
    if (!ret && w->base->params_nr) {
        begin(w)->problem.params_nr--;
        ret = offer(w, "a problem with a parameter less");
    }
    return ret;
}

/* A workspace over a tensor; what is shorter or elsewhere is of the checks `empty`, `degenerate`.
 */
static int bend_workspace(struct walk *w)
{
    for (uint32_t t = 0; w->workspace->bytes && t < w->op->tensors_nr; t++) {
        struct malformed *m = begin(w);
        struct sab_message msg = {m->rule, sizeof(m->rule)};
        int ret;

        m->workspace.data = m->tensor[t].data;
        if (m->tensor[t].dtype == SAB_NONE ||
            sab_validate_workspace(w->op, &m->problem, &m->workspace, m->workspace.bytes, 0,
                                   w->device, &msg) != SAB_INVALID)
            continue;
        (void)snprintf(m->name, sizeof(m->name), "a workspace over '%s'", w->op->tensors[t].name);
        ret = w->fn(w->ctx, m);
        if (ret)
            return ret;
    }
    return 0;
}

int malformed_each(const struct sab_op_spec *op, const struct sab_problem *base,
                   const struct sab_buffer *workspace, enum sab_device device, malformed_fn fn,
                   void *ctx)
{
    struct walk w = {op, base, workspace, device, fn, ctx, {.name = ""}};
    int ret = bend_problem(&w);

    if (!ret)
        ret = bend_tensors(&w);
    if (!ret)
        ret = bend_params(&w);
    return ret ? ret : bend_workspace(&w);
}
