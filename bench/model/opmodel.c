/*
 * opmodel.c - what every operator's model shares: axes by name, sources, slices.
 */
#include "opmodel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numfmt.h"

void op_slices_init(struct op_slices *s)
{
    memset(s, 0, sizeof(*s));
}

void op_slices_release(struct op_slices *s)
{
    for (size_t i = 0; i < s->nr; i++) {
        free(s->item[i].ref);
        free(s->item[i].emulated);
        free(s->item[i].within);
    }
    free(s->item);
    op_slices_init(s);
}

struct op_slice *op_slices_add(struct op_slices *s, uint32_t tensor, int64_t at, int64_t n,
                               struct err *err)
{
    struct op_slice *item;

    if (s->nr == s->alloc) {
        const size_t alloc = s->alloc ? 2 * s->alloc : 64;
        struct op_slice *more = realloc(s->item, alloc * sizeof(*more));

        if (!more) {
            err_memory(err);
            return NULL;
        }
        s->item = more;
        s->alloc = alloc;
    }
    item = &s->item[s->nr++];
    memset(item, 0, sizeof(*item));
    item->tensor = tensor;
    item->at = at;
    item->n = n;
    return item;
}

int op_axis_find(const struct op_model *op, const char *name)
{
    for (size_t i = 0; i < op->axes_nr; i++)
        if (!strcmp(op->axes[i].name, name))
            return (int)i;
    return -1;
}

/* Place of a word in a list separated by spaces, or -1. */
static int64_t word_place(const char *words, const char *word)
{
    const size_t len = strlen(word);
    int64_t place = 0;

    for (const char *at = words; *at; place++) {
        const size_t span = strcspn(at, " ");

        if (span == len && !memcmp(at, word, len))
            return place;
        at += span;
        at += strspn(at, " ");
    }
    return -1;
}

/* A default as it stands in the table; false where it names another axis instead. */
static bool initial_value(const struct axis_spec *axis, struct axis_value *value)
{
    char *end;

    switch (axis->kind) {
    case AXIS_INT:
        value->i = strtoll(axis->initial, &end, 10);
        value->f = (double)value->i;
        return end != axis->initial && !*end;
    case AXIS_REAL:
        value->f = strtod(axis->initial, &end);
        return end != axis->initial && !*end;
    case AXIS_WORD:
        value->i = word_place(axis->words, axis->initial);
        return value->i >= 0;
    }
    return false;
}

int op_case_default(const struct op_model *op, uint64_t seed, struct op_case *c, struct err *err)
{
    memset(c, 0, sizeof(*c));
    c->op = op;
    c->seed = seed;
    for (size_t i = 0; i < op->axes_nr; i++) {
        /* An axis that follows another one may follow one that itself follows: at most a few. */
        size_t from = i;

        for (size_t hops = 0; !initial_value(&op->axes[from], &c->axis[i]); hops++) {
            const int next = op_axis_find(op, op->axes[from].initial);

            if (next < 0 || hops > op->axes_nr)
                return err_set(err, ERR_BUG, "axis '%s' of '%s' has no usable default '%s'",
                               op->axes[i].name, op->name, op->axes[i].initial);
            from = (size_t)next;
        }
    }
    return op->settle ? op->settle(c, err) : 0;
}

static size_t axis_place(const struct op_case *c, const char *axis)
{
    const int place = op_axis_find(c->op, axis);

    assert(place >= 0);
    return place < 0 ? 0 : (size_t)place;
}

int64_t op_case_int(const struct op_case *c, const char *axis)
{
    return c->axis[axis_place(c, axis)].i;
}

double op_case_real(const struct op_case *c, const char *axis)
{
    return c->axis[axis_place(c, axis)].f;
}

bool op_case_is(const struct op_case *c, const char *axis, const char *word)
{
    const size_t place = axis_place(c, axis);

    return word_place(c->op->axes[place].words, word) == c->axis[place].i;
}

const char *op_case_text(const struct op_case *c, size_t axis, char *buf, size_t size)
{
    const struct axis_spec *spec = &c->op->axes[axis];
    const struct axis_value *value = &c->axis[axis];
    const char *word = spec->words ? spec->words : "";

    switch (spec->kind) {
    case AXIS_INT:
        snprintf(buf, size, "%lld", (long long)value->i);
        break;
    case AXIS_REAL:
        /* The shortest of the usual lengths that reads back as the same number. */
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(buf, size, "%.*g", digits, value->f);
            if (strtod(buf, NULL) == value->f)
                break;
        }
        break;
    case AXIS_WORD:
        for (int64_t i = 0; i < value->i && *word; i++) {
            word += strcspn(word, " ");
            word += strspn(word, " ");
        }
        snprintf(buf, size, "%.*s", (int)strcspn(word, " "), word);
        break;
    }
    return buf;
}

static int read_rows(const struct recipe *r, int64_t at, int64_t n, int32_t *dst)
{
    const int64_t slots = r->shape[r->rank - 1];
    int32_t *row = NULL;

    while (n > 0) {
        const int64_t skip = at % slots;
        const int64_t part = n < slots - skip ? n : slots - skip;

        if (part == slots) {
            recipe_row(r, at / slots, dst);
        } else {
            if (!row)
                row = malloc((size_t)slots * sizeof(*row));
            if (!row)
                return -1;
            recipe_row(r, at / slots, row);
            memcpy(dst, row + skip, (size_t)part * sizeof(*row));
        }
        at += part;
        dst += part;
        n -= part;
    }
    free(row);
    return 0;
}

static bool inside(const struct op_problem *p, uint32_t tensor, int64_t at, int64_t n)
{
    return tensor < SAB_MAX_TENSORS && at >= 0 && n >= 0 && n <= p->tensor[tensor].elements &&
           at <= p->tensor[tensor].elements - n;
}

static int read_recipes(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    const struct op_problem *p = ctx;
    const struct recipe *r;

    if (!inside(p, tensor, at, n))
        return -1;
    r = &p->tensor[tensor].recipe;
    if (r->kind == RECIPE_NONE)
        return -1;
    if (recipe_by_row(r))
        return read_rows(r, at, n, dst);
    for (int64_t i = 0; i < n; i++)
        numfmt_store(r->dtype, dst, i, recipe_element(r, at + i));
    return 0;
}

void op_source_recipes(struct op_source *src, const struct op_problem *p)
{
    src->ctx = (void *)(uintptr_t)p;
    src->read = read_recipes;
}

static int read_buffers(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    const struct op_buffers *b = ctx;
    size_t size;

    if (!inside(b->problem, tensor, at, n))
        return -1;
    if (!b->data[tensor])
        return read_recipes((void *)(uintptr_t)b->problem, tensor, at, n, dst);
    size = numfmt_size(b->problem->tensor[tensor].dtype);
    memcpy(dst, (const char *)b->data[tensor] + (size_t)at * size, (size_t)n * size);
    return 0;
}

void op_source_buffers(struct op_source *src, struct op_buffers *buffers)
{
    src->ctx = buffers;
    src->read = read_buffers;
}
