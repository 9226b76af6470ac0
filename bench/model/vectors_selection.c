/*
 * vectors_selection.c - rows that name a choice: sets, ties, and values that follow the ids.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numfmt.h"
#include "vectors_judge.h"

static int64_t width_of(const struct vector_tensor *t)
{
    return t->rank > 0 ? t->shape[t->rank - 1] : 1;
}

static int by_id(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return x < y ? -1 : x > y;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The rule that holds for a row: its own line goes before the general one. */
static const struct vector_accept *row_rule(const struct vector *v, const char *tensor, int64_t row)
{
    const struct vector_accept *general = NULL;

    for (size_t i = 0; i < v->accepts_nr; i++) {
        if (strcmp(v->accept[i].tensor, tensor))
            continue;
        if (v->accept[i].row == row)
            return &v->accept[i];
        if (v->accept[i].row < 0)
            general = &v->accept[i];
    }
    return general;
}

/* One row's ids in the file and as they came back. */
struct chosen {
    int64_t row, width, used; /* used: slots that hold an id in the file */
    int32_t *want, *have;     /* [width] */
    double *want_value, *have_value;
};

/* Padding (-1) behind the ids in both. Sorted where their order is free. */
static void take_row(const struct vector_tensor *ref, const void *got, bool ordered,
                     struct chosen *c)
{
    c->used = 0;
    for (int64_t i = 0; i < c->width; i++) {
        c->want[i] = (int32_t)numfmt_load(ref->dtype, ref->raw, c->row * c->width + i);
        c->have[i] = (int32_t)numfmt_load(ref->dtype, got, c->row * c->width + i);
        if (c->want[i] >= 0)
            c->used = i + 1;
    }
    if (ordered)
        return;
    qsort(c->want, (size_t)c->used, sizeof(*c->want), by_id);
    qsort(c->have, (size_t)c->used, sizeof(*c->have), by_id);
}

static void judge_set(const struct vector_tensor *ref, const struct chosen *c, bool ordered,
                      struct vector_verdict *verdict)
{
    for (int64_t i = 0; i < c->width; i++)
        if (c->want[i] != c->have[i])
            vector_broken(verdict, "row %lld of %s holds id %d, must hold %d%s", (long long)c->row,
                          ref->name, c->have[i], c->want[i], ordered ? " in that slot" : "");
}

/* Columns of a row that may be selected: all, or by the file's lengths. */
static int64_t row_length(const struct vector *v, const struct vector_tensor *in, int64_t row)
{
    const struct vector_tensor *lengths = vector_tensor_find(v, "seq_lens");
    const int64_t next_n = vector_int(v, "next_n", 1);
    int64_t length = width_of(in);

    if (lengths && next_n >= 1 && row / next_n < lengths->elements)
        length = (int64_t)lengths->value[row / next_n] - next_n + row % next_n + 1;
    return length < 0 ? 0 : length < width_of(in) ? length : width_of(in);
}

static bool holds(const struct chosen *c, int32_t id)
{
    return bsearch(&id, c->have, (size_t)c->used, sizeof(id), by_id) != NULL;
}

/* Distinct ids in range, everything above the last selected value among them, the same values. */
static void judge_ties(const struct vector_tensor *ref, const struct vector_tensor *in,
                       int64_t length, const struct chosen *c, struct vector_verdict *verdict)
{
    const double *values = in->value + c->row * width_of(in);
    double last = INFINITY;

    for (int64_t i = 0; i < c->width; i++)
        if (i < c->used
                ? c->have[i] < 0 || c->have[i] >= length || (i > 0 && c->have[i] == c->have[i - 1])
                : c->have[i] != -1) {
            vector_broken(verdict, "row %lld of %s holds id %d, which is %s", (long long)c->row,
                          ref->name, c->have[i],
                          i >= c->used                             ? "no padding"
                          : c->have[i] < 0 || c->have[i] >= length ? "out of range"
                                                                   : "there twice");
            return;
        }
    for (int64_t i = 0; i < c->used; i++) {
        c->want_value[i] = values[c->want[i]];
        c->have_value[i] = values[c->have[i]];
        last = fmin(last, c->want_value[i]);
    }
    for (int64_t i = 0; i < c->used; i++)
        if (c->want_value[i] > last && !holds(c, c->want[i]))
            vector_broken(verdict, "row %lld of %s misses id %d, which is above the last selected",
                          (long long)c->row, ref->name, c->want[i]);
    qsort(c->want_value, (size_t)c->used, sizeof(double), by_value);
    qsort(c->have_value, (size_t)c->used, sizeof(double), by_value);
    for (int64_t i = 0; i < c->used; i++)
        if (!(c->want_value[i] == c->have_value[i]))
            vector_broken(verdict, "row %lld of %s selects %.9g where %.9g is larger",
                          (long long)c->row, ref->name, c->have_value[i], c->want_value[i]);
}

static int judge_ids(const struct vector *v, const struct vector_tensor *ref, const void *got,
                     struct chosen *c, struct vector_verdict *verdict, struct err *err)
{
    const struct vector_accept *rule = row_rule(v, ref->name, c->row);
    const struct vector_tensor *in = vector_tensor_find(v, VECTOR_SCORES);

    if (!rule)
        return err_set(err, ERR_CONFIG, "%s: row %lld of '%s' has no rule set, ties or order",
                       v->path, (long long)c->row, ref->name);
    if (rule->rule == VECTOR_TIES && (!in || in->real))
        return err_set(err, ERR_CONFIG, "%s: ties of '%s' need an input '%s'", v->path, ref->name,
                       VECTOR_SCORES);
    take_row(ref, got, rule->rule == VECTOR_ORDER, c);
    if (rule->rule == VECTOR_TIES)
        judge_ties(ref, in, row_length(v, in, c->row), c, verdict);
    else
        judge_set(ref, c, rule->rule == VECTOR_ORDER, verdict);
    return 0;
}

/* Slot by slot the bits of the input at the id that came back, -inf behind them. */
static void judge_values(const struct vector_tensor *ref, const struct vector_tensor *in,
                         const void *got, const int32_t *ids, struct vector_verdict *verdict)
{
    const int64_t width = width_of(ref), columns = width_of(in);
    const uint32_t minus_inf = numfmt_encode(ref->dtype, -INFINITY);

    for (int64_t i = 0; i < ref->elements; i++) {
        const int64_t row = i / width;
        const bool there = ids[i] >= 0 && ids[i] < columns;
        const uint32_t want =
            there ? numfmt_load(in->dtype, in->raw, row * columns + ids[i]) : minus_inf;
        const uint32_t have = numfmt_load(ref->dtype, got, i);

        if (want != have)
            vector_broken(verdict, "%s[%lld] has bits %x, must have %x", ref->name, (long long)i,
                          (unsigned)have, (unsigned)want);
    }
}

int vector_judge_selection(const struct vector *v, const struct vector_tensor *ref, const void *got,
                           const void *ids, struct vector_verdict *verdict, struct err *err)
{
    const struct vector_tensor *in = vector_tensor_find(v, VECTOR_SCORES);
    struct chosen c = {.width = width_of(ref)};
    const size_t width = c.width > 0 ? (size_t)c.width : 1;
    int ret = 0;

    if (strcmp(ref->name, VECTOR_IDS) && in && in->dtype == ref->dtype) {
        if (ids)
            judge_values(ref, in, got, ids, verdict);
        return 0;
    }
    if (ref->dtype != SAB_I32 || ref->real)
        return err_set(err, ERR_CONFIG, "%s: selection of '%s' can be judged for i32 ids only",
                       v->path, ref->name);
    c.want = malloc(2 * width * sizeof(*c.want));
    c.want_value = malloc(2 * width * sizeof(*c.want_value));
    if (!c.want || !c.want_value) {
        ret = err_memory(err);
    } else {
        c.have = c.want + width;
        c.have_value = c.want_value + width;
        for (; c.width > 0 && c.row < ref->elements / c.width && !ret; c.row++)
            ret = judge_ids(v, ref, got, &c, verdict, err);
    }
    free(c.want);
    free(c.want_value);
    return ret;
}
