/*
 * indexer_topk_examine.c - the comparison of the indexer contract, 3.3: sets by id, values by their
 * bits and as sorted values, never values alone.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "indexer_topk_model.h"
#include "numfmt.h"

struct look {
    const struct op_problem *p;
    const struct op_source *src;
    struct judgement *out;
    int64_t row, length, n, slots, columns; /* n: slots that hold a selected id */
    int32_t dtype;
    int32_t *got, *want, *sorted;     /* [K] */
    uint32_t *got_order, *want_order; /* [K] */
    uint32_t *got_bits, *values;      /* [K]: of the inputs at got; values: the output */
};

__attribute__((format(printf, 2, 3))) static void fault(struct look *l, const char *format, ...)
{
    const int at =
        snprintf(l->out->text, sizeof(l->out->text), "row %lld of indices: ", (long long)l->row);
    va_list args;

    l->out->pass = false;
    va_start(args, format);
    vsnprintf(l->out->text + at, sizeof(l->out->text) - (size_t)at, format, args);
    va_end(args);
}

static int by_id(const void *a, const void *b)
{
    const int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;

    return (left > right) - (left < right);
}

static int by_order(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

static bool has_id(const struct look *l, int32_t id)
{
    return bsearch(&id, l->sorted, (size_t)l->n, sizeof(id), by_id) != NULL;
}

/* 3.3 rule 1, and 3.2 where everything is selected: in order. */
static bool ids_are_legal(struct look *l)
{
    for (int64_t j = l->n; j < l->slots; j++)
        if (l->got[j] != -1) {
            fault(l, "slot %lld holds %d, must hold -1 behind %lld selected", (long long)j,
                  l->got[j], (long long)l->n);
            return false;
        }
    memcpy(l->sorted, l->got, (size_t)l->n * sizeof(*l->sorted));
    if (l->n > 1)
        qsort(l->sorted, (size_t)l->n, sizeof(*l->sorted), by_id);
    for (int64_t j = 0; j < l->n; j++) {
        if (l->sorted[j] < 0 || l->sorted[j] >= l->length) {
            fault(l, "holds id %d, must be in [0,%lld)", l->sorted[j], (long long)l->length);
            return false;
        }
        if (j > 0 && l->sorted[j] == l->sorted[j - 1]) {
            fault(l, "holds id %d twice", l->sorted[j]);
            return false;
        }
    }
    for (int64_t j = 0; l->length <= l->slots && j < l->n; j++)
        if (l->got[j] != j) {
            fault(l, "slot %lld holds id %d, must hold %lld: all columns are selected, in order",
                  (long long)j, l->got[j], (long long)j);
            return false;
        }
    return true;
}

/* The inputs at these ids. */
static int fetch(struct look *l, const int32_t *ids, uint32_t *bits, uint32_t *order)
{
    for (int64_t j = 0; j < l->n; j++) {
        uint32_t raw = 0;

        if (l->src->read(l->src->ctx, SAB_T_indexer_topk_values_in, l->row * l->columns + ids[j], 1,
                         &raw) < 0)
            return -1;
        raw = numfmt_load(l->dtype, &raw, 0);
        if (bits)
            bits[j] = raw;
        order[j] = indexer_topk_order(l->dtype, raw);
    }
    return 0;
}

/* Rules 3 to 5. The sets are compared before values are sorted. */
static void selection(struct look *l, bool fixed)
{
    uint32_t nth = UINT32_MAX;

    for (int64_t j = 0; j < l->n; j++)
        if (l->want_order[j] < nth)
            nth = l->want_order[j];
    for (int64_t j = 0; j < l->n; j++) {
        if ((fixed || l->want_order[j] > nth) && !has_id(l, l->want[j])) {
            fault(l, "misses id %d, whose value is %s", l->want[j],
                  l->want_order[j] > nth ? "above the last selected one"
                                         : "the last selected one's and wins the tie");
            return;
        }
    }
    if (l->n > 1) {
        qsort(l->got_order, (size_t)l->n, sizeof(*l->got_order), by_order);
        qsort(l->want_order, (size_t)l->n, sizeof(*l->want_order), by_order);
    }
    if (l->n > 0 && memcmp(l->got_order, l->want_order, (size_t)l->n * sizeof(*l->got_order)) != 0)
        fault(l, "the selected values are not the %lld largest", (long long)l->n);
}

/* Rule 2. */
static void returned_values(struct look *l)
{
    const uint32_t minus_inf = numfmt_encode(l->dtype, -(double)numfmt_f32_of_bits(0x7f800000u));

    for (int64_t j = 0; j < l->slots; j++) {
        const uint32_t have = numfmt_load(l->dtype, l->values, j);
        const uint32_t must = j < l->n ? l->got_bits[j] : minus_inf;

        if (have != must) {
            fault(l, "values[%lld] has bits %x, must have %x, %s", (long long)j, (unsigned)have,
                  (unsigned)must, j < l->n ? "those at its id" : "-inf");
            return;
        }
    }
}

static int look_at(struct look *l, const struct op_slice *s, judge_read_fn read, void *ctx,
                   struct err *err)
{
    const bool with_values = l->p->tensor[SAB_T_indexer_topk_values].dtype != SAB_NONE;

    l->row = s->tile;
    l->length = indexer_topk_row_limit(l->p, l->src, l->row);
    l->n = l->length < l->slots ? l->length : l->slots;
    for (int64_t j = 0; j < l->slots; j++)
        l->want[j] = (int32_t)s->ref[j];
    if (read(ctx, SAB_T_indexer_topk_indices, s->at, l->slots, l->got, err) < 0 ||
        (with_values && read(ctx, SAB_T_indexer_topk_values, s->at, l->slots, l->values, err) < 0))
        return -1;
    l->out->compared += l->slots;
    if (!ids_are_legal(l))
        return 0;
    if (l->length < 0 || fetch(l, l->got, l->got_bits, l->got_order) ||
        fetch(l, l->want, NULL, l->want_order))
        return err_set(err, ERR_BUG, "an input of indexer_topk cannot be read by its judge");
    if (with_values)
        returned_values(l);
    if (l->out->pass)
        selection(l, l->p->param[SAB_P_indexer_topk_tie_break].i != 0);
    return 0;
}

int indexer_topk_examine(const struct op_problem *p, const struct op_source *src,
                         const struct op_slices *slices, judge_read_fn read, void *ctx,
                         struct judgement *out, struct err *err)
{
    const int64_t slots = p->tensor[SAB_T_indexer_topk_indices].shape[1];
    struct look l = {.p = p, .src = src, .out = out, .slots = slots};
    uint32_t *room = calloc((size_t)slots * 7, sizeof(*room));
    int ret = 0;

    if (!room)
        return err_memory(err);
    l.columns = p->tensor[SAB_T_indexer_topk_values_in].shape[1];
    l.dtype = p->tensor[SAB_T_indexer_topk_values_in].dtype;
    l.got_order = room;
    l.want_order = room + slots;
    l.got_bits = room + 2 * slots;
    l.values = room + 3 * slots;
    l.got = (int32_t *)room + 4 * slots;
    l.want = (int32_t *)room + 5 * slots;
    l.sorted = (int32_t *)room + 6 * slots;
    for (size_t i = 0; i < slices->nr && !ret && out->pass; i++)
        if (slices->item[i].tensor == SAB_T_indexer_topk_indices)
            ret = look_at(&l, &slices->item[i], read, ctx, err);
    if (!ret && out->pass)
        out->max_abs = out->rel_l2 = 0;
    free(room);
    return ret;
}
