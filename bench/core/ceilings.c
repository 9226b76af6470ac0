/*
 * ceilings.c - see ceilings.h.
 */
#include "ceilings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Below it a case may be bound by latency or served by a cache, and its bytes prove nothing. */
#define MEMORY_PROOF_BYTES 33554432.0

static const char *const names[CEILING_KINDS] = {
    [OP_READ] = "memory read",
    [OP_WRITE] = "memory copy",
    [OP_BF16] = "tensor bf16",
    [OP_FP16] = "tensor fp16",
    [OP_E4M3] = "tensor e4m3",
    [OP_S8] = "tensor int8",
    [OP_EXP2] = "exp2",
    [OP_FEED] = "tile feed",
    [OP_GATHER] = "gather",
    [OP_REDUCE] = "reduction",
    [CEILING_BOTH] = "gather and reduction",
};

void ceilings_init(struct ceilings *c)
{
    memset(c, 0, sizeof(*c));
}

void ceilings_release(struct ceilings *c)
{
    free(c->item);
    ceilings_init(c);
}

const char *ceiling_name(int kind)
{
    return kind >= 0 && kind < CEILING_KINDS ? names[kind] : "?";
}

static struct ceiling *find(const struct ceilings *c, int kind, double size)
{
    for (size_t i = 0; i < c->nr; i++)
        if (c->item[i].kind == kind && c->item[i].size == size)
            return &c->item[i];
    return NULL;
}

/* Sorted by kind, then size. */
static int add(struct ceilings *c, const struct ceiling *one, struct err *err)
{
    struct ceiling *old = find(c, one->kind, one->size);
    size_t at = c->nr;

    if (old) {
        if (one->per_ns > old->per_ns)
            *old = *one;
        return 0;
    }
    if (c->nr == c->alloc) {
        size_t alloc = 2 * c->alloc + 16;
        struct ceiling *item = realloc(c->item, alloc * sizeof(*item));
        if (!item)
            return err_memory(err);
        c->item = item;
        c->alloc = alloc;
    }
    while (at > 0 && (c->item[at - 1].kind > one->kind ||
                      (c->item[at - 1].kind == one->kind && c->item[at - 1].size > one->size)))
        at--;
    memmove(c->item + at + 1, c->item + at, (c->nr - at) * sizeof(*c->item));
    c->item[at] = *one;
    c->nr++;
    return 0;
}

/* ---- from the rows of a run ---- */

static double axis_of(const struct case_table *cases, const struct case_row *row, const char *axis)
{
    const char *text = case_table_axis(cases, row, axis);
    int64_t value = 0;

    return text && text_int(text, &value, NULL) == 0 ? (double)value : NAN;
}

static int tensor_kind(const char *dtype)
{
    static const struct {
        const char *dtype;
        int kind;
    } kinds[] = {{"bf16", OP_BF16}, {"fp16", OP_FP16}, {"e4m3", OP_E4M3}, {"i8", OP_S8}};

    for (size_t i = 0; dtype && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strcmp(kinds[i].dtype, dtype))
            return kinds[i].kind;
    return -1;
}

/* The kind of an operator's rows, and by which size its rate goes; -1: none. */
static int kind_of(const struct case_table *cases, const struct case_row *row, double *size)
{
    const char *op = row->operator;
    const double footprint = axis_of(cases, row, "footprint");

    *size = 0;
    if (!strcmp(op, "read") || !strcmp(op, "copy")) {
        *size = axis_of(cases, row, "size");
        return *op == 'r' ? OP_READ : OP_WRITE;
    }
    if (!strcmp(op, "mma_peak"))
        return tensor_kind(case_table_axis(cases, row, "dtype"));
    if (!strcmp(op, "exp2"))
        return OP_EXP2;
    *size = footprint;
    if (!strcmp(op, "gather"))
        return axis_of(cases, row, "row_bytes") >= 8192 ? OP_FEED : OP_GATHER;
    if (!strcmp(op, "reduce"))
        return OP_REDUCE;
    return strcmp(op, "gather_reduce") ? -1 : CEILING_BOTH;
}

/* The median; of a CPU's samples the least, since other load makes its median say little. */
static double span_of(const struct case_row *row)
{
    const bool cpu = row->timer_used && !strcmp(row->timer_used, "monotonic");

    return cpu ? row->span_min_ns : row->span_median_ns;
}

int ceilings_take(struct ceilings *c, const struct case_table *cases, struct err *err)
{
    for (size_t i = 0; i < cases->nr; i++) {
        const struct case_row *row = &cases->row[i];
        struct ceiling one = {.run_mhz = row->run_mhz};

        if (!row->status || strcmp(row->status, "ok") || !(span_of(row) > 0))
            continue;
        one.kind = kind_of(cases, row, &one.size);
        if (one.kind < 0 || isnan(one.size))
            continue;
        one.per_ns = (row->flops > 0 ? row->flops : row->bytes) / span_of(row);
        if (one.kind == OP_WRITE)
            one.per_ns /= 2;
        snprintf(one.arm, sizeof(one.arm), "%s", row->arm);
        if (add(c, &one, err))
            return -1;
    }
    return 0;
}

int ceilings_add_missing(struct ceilings *c, const struct ceilings *from, struct err *err)
{
    for (size_t i = 0; i < from->nr; i++)
        if (!find(c, from->item[i].kind, from->item[i].size) && add(c, &from->item[i], err))
            return -1;
    return 0;
}

/* ---- JSON ---- */

json_t *ceilings_json(const struct ceilings *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->nr; i++) {
        json_t *o = json_object();

        json_object_set_new(o, "kind", json_string(ceiling_name(c->item[i].kind)));
        json_object_set_new(o, "size_bytes", json_real(c->item[i].size));
        json_object_set_new(o, "per_ns", json_real(c->item[i].per_ns));
        if (isfinite(c->item[i].run_mhz))
            json_object_set_new(o, "run_mhz", json_real(c->item[i].run_mhz));
        json_object_set_new(o, "arm", json_string(c->item[i].arm));
        json_array_append_new(list, o);
    }
    return list;
}

int ceilings_from_json(struct ceilings *c, const json_t *list, struct err *err)
{
    const json_t *o;
    size_t i;

    json_array_foreach(list, i, o)
    {
        const char *kind = json_string_value(json_object_get(o, "kind"));
        const char *arm = json_string_value(json_object_get(o, "arm"));
        const json_t *mhz = json_object_get(o, "run_mhz");
        struct ceiling one = {.size = json_number_value(json_object_get(o, "size_bytes")),
                              .per_ns = json_number_value(json_object_get(o, "per_ns")),
                              .run_mhz = mhz ? json_number_value(mhz) : NAN};

        while (one.kind < CEILING_KINDS && kind && strcmp(names[one.kind], kind))
            one.kind++;
        if (!kind || one.kind == CEILING_KINDS)
            continue; /* of a later version */
        if (!(one.per_ns > 0) || !(one.size >= 0))
            return err_set(err, ERR_CONFIG,
                           "the ceiling '%s' is %g a ns at %g bytes, must be above 0", kind,
                           one.per_ns, one.size);
        snprintf(one.arm, sizeof(one.arm), "%s", arm ? arm : "");
        if (add(c, &one, err))
            return -1;
    }
    return 0;
}

/* ---- bounds ---- */

double ceilings_rate(const struct ceilings *c, int kind, double size)
{
    const struct ceiling *below = NULL, *above = NULL;

    for (size_t i = 0; i < c->nr; i++) {
        const struct ceiling *one = &c->item[i];

        if (one->kind == kind && one->size <= size)
            below = one;
        if (one->kind == kind && one->size > size && !above)
            above = one;
    }
    if (!below || !above)
        return below ? below->per_ns : above ? above->per_ns : NAN;
    if (below->size <= 0)
        return below->per_ns;
    const double part = log(size / below->size) / log(above->size / below->size);
    return below->per_ns + part * (above->per_ns - below->per_ns);
}

/* The largest rate at any size. */
static double best_rate(const struct ceilings *c, int kind)
{
    double best = NAN;

    for (size_t i = 0; i < c->nr; i++)
        if (c->item[i].kind == kind && !(c->item[i].per_ns <= best))
            best = c->item[i].per_ns;
    return best;
}

/* A byte that is written goes with one that is read, at the rate of a copy; what is left of either
 * goes at that of reading, or of the copy again. */
static double memory_ns(double read, double written, double read_rate, double copy_rate)
{
    const double both = fmin(read, written);

    if (isnan(copy_rate))
        copy_rate = read_rate / 2;
    return both / copy_rate +
           (read > written ? (read - both) / read_rate : (written - both) / (2 * copy_rate));
}

static void raise(struct ceiling_bound *out, double ns, const char *name)
{
    if (!(ns > 0) || ns <= out->limit_ns)
        return;
    out->limit_ns = ns;
    out->name = name;
}

void ceilings_bound(const struct ceilings *c, const struct op_cost *cost, bool cold,
                    struct ceiling_bound *out)
{
    static const int on_chip[] = {OP_EXP2, OP_FEED, OP_GATHER, OP_REDUCE};
    const double read = cold ? cost->use[OP_READ].amount : 0;
    const double written = cold ? cost->use[OP_WRITE].amount : 0, moved = read + written;
    double tensor_ns = 0;

    *out = (struct ceiling_bound){NAN, NAN, NULL};
    for (int kind = OP_BF16; kind <= OP_S8; kind++)
        if (cost->use[kind].amount > 0)
            tensor_ns += cost->use[kind].amount / best_rate(c, kind);
    raise(out, tensor_ns, "tensor");
    if (moved > 0)
        raise(out,
              memory_ns(read, written, ceilings_rate(c, OP_READ, fmax(read, written)),
                        ceilings_rate(c, OP_WRITE, fmin(read, written))),
              "memory");
    for (size_t i = 0; i < sizeof(on_chip) / sizeof(on_chip[0]); i++) {
        const struct op_use *use = &cost->use[on_chip[i]];

        if (use->amount > 0)
            raise(out, use->amount / ceilings_rate(c, on_chip[i], use->footprint_bytes),
                  ceiling_name(on_chip[i]));
    }
    if (tensor_ns > 0)
        out->bound_ns = tensor_ns;
    if (moved >= MEMORY_PROOF_BYTES)
        out->bound_ns = fmax(
            out->bound_ns, memory_ns(read, written, best_rate(c, OP_READ), best_rate(c, OP_WRITE)));
}
