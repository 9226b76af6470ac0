/*
 * judge.c - holds outputs against reference slices.
 *
 * Slices are visited sorted by (tensor, head, tile), so that three accumulators (tile, head, whole)
 * are enough for the bars of all levels.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numfmt.h"
#include "opmodel.h"

#define LEVELS     3
#define SHORT_ROWS 16 /* rows below which the relaxed bar of a group holds */

struct sums {
    double diff1, diff2, ref1, ref2, got2, cross;
    double emulated_diff2, emulated2;
    int64_t values, rows, emulated_values;
    bool any;
};

struct judge_run {
    const struct op_problem *p;
    const struct bar *bars;
    size_t bars_nr;
    struct sums level[LEVELS];
    struct judgement *out;
    struct sums all; /* over all tensors, for the numbers of the judgement */
    double furthest; /* |got - ref| of the element that stands in `out`, until one is at fault */
};

static double relative(double diff2, double ref2)
{
    if (diff2 == 0)
        return 0;
    return ref2 > 0 ? sqrt(diff2 / ref2) : INFINITY;
}

static double cosine_of(const struct sums *s)
{
    if (s->ref2 == 0 && s->got2 == 0)
        return 1;
    return s->ref2 > 0 && s->got2 > 0 ? s->cross / (sqrt(s->ref2) * sqrt(s->got2)) : 0;
}

/* The first broken bar stays; later ones say nothing new. */
__attribute__((format(printf, 2, 3))) static void fail(struct judge_run *run, const char *format,
                                                       ...)
{
    va_list args;

    if (!run->out->pass)
        return;
    run->out->pass = false;
    va_start(args, format);
    vsnprintf(run->out->text, sizeof(run->out->text), format, args);
    va_end(args);
}

/* Remembers the element that fail() is about, or (`off` not negative) one that is off the furthest.
 */
static void point_at(struct judge_run *run, const struct op_slice *s, int64_t i, double got,
                     double off)
{
    struct judgement *out = run->out;

    if (!out->pass || (off >= 0 && !(off > run->furthest)))
        return;
    if (off >= 0)
        run->furthest = off;
    out->tensor = s->tensor;
    out->at = s->at + i;
    out->got = got;
    out->want = s->ref[i];
}

static const char *tensor_name(const struct judge_run *run, uint32_t tensor)
{
    const struct sab_op_spec *spec = run->p->spec;

    return spec && tensor < spec->tensors_nr ? spec->tensors[tensor].name : "output";
}

const char *op_place_text(const struct op_tensor *t, int64_t at, char *buf, size_t size)
{
    int64_t place[SAB_MAX_RANK] = {0};
    size_t len = 0;

    for (int32_t i = t->rank; i-- > 0;) {
        place[i] = t->shape[i] > 0 ? at % t->shape[i] : 0;
        at /= t->shape[i] > 0 ? t->shape[i] : 1;
    }
    snprintf(buf, size, "[0]");
    for (int32_t i = 0; i < t->rank && len < size; i++)
        len += (size_t)snprintf(buf + len, size - len, "%s%lld%s", i ? "," : "[",
                                (long long)place[i], i + 1 < t->rank ? "" : "]");
    return buf;
}

/* `got` has the unit in it already; a value that must have the bits of ref is held apart, since -0
 * equals +0 here. */
static void within_bar(struct judge_run *run, const struct op_slice *s, int64_t i, double got,
                       double unit, const struct bar *bar)
{
    const double ref = s->ref[i], more = s->within && s->within[i] > 0 ? s->within[i] : 0;
    const double limit = bar->a * unit + bar->b * fabs(ref) + more;
    char place[96];

    if (s->within && s->within[i] < 0
            ? got == ref && (s->within[i] == WITHIN_EQUAL || signbit(got) == signbit(ref))
            : fabs(got - ref) <= limit)
        return;
    point_at(run, s, i, got, -1);
    if (s->within && s->within[i] < 0)
        fail(run, "%s%s is %g, must be %g%s", tensor_name(run, s->tensor),
             op_place_text(&run->p->tensor[s->tensor], s->at + i, place, sizeof(place)), got, ref,
             s->within[i] == WITHIN_EQUAL ? "" : " to the bit");
    else
        fail(run, "%s%s is %.9g%s, must be %.9g within %.3g", tensor_name(run, s->tensor),
             op_place_text(&run->p->tensor[s->tensor], s->at + i, place, sizeof(place)), got,
             s->scaled ? " times its scale" : "", ref, limit);
}

static void element_bars(struct judge_run *run, const struct op_slice *s, int64_t i, double got,
                         double unit)
{
    const double ref = s->ref[i];
    char place[96];

    for (size_t k = 0; k < run->bars_nr; k++) {
        const struct bar *bar = &run->bars[k];

        if (bar->tensor == s->tensor && bar->kind == BAR_WITHIN)
            within_bar(run, s, i, got, unit, bar);
        if (bar->tensor != s->tensor || bar->kind != BAR_ELEMENT)
            continue;
        if (fabs(got - ref) <= bar->a + bar->b * fabs(ref))
            continue;
        point_at(run, s, i, got, -1);
        fail(run, "%s%s is %.9g, must be %.9g within %.3g + %.3g*|ref|",
             tensor_name(run, s->tensor),
             op_place_text(&run->p->tensor[s->tensor], s->at + i, place, sizeof(place)), got, ref,
             bar->a, bar->b);
    }
}

static void sums_add(struct sums *to, const struct sums *from)
{
    to->diff1 += from->diff1;
    to->diff2 += from->diff2;
    to->ref1 += from->ref1;
    to->ref2 += from->ref2;
    to->got2 += from->got2;
    to->cross += from->cross;
    to->emulated_diff2 += from->emulated_diff2;
    to->emulated2 += from->emulated2;
    to->values += from->values;
    to->rows += from->rows;
    to->emulated_values += from->emulated_values;
    to->any = to->any || from->any;
}

/* One element; infinities and NaN must stand in the same places and add to no sum. */
static void add_element(struct judge_run *run, const struct op_slice *s, int64_t i, double got,
                        double unit, struct sums *sums)
{
    const double ref = s->ref[i], diff = got - ref;
    char place[96];

    sums->values++;
    if (!isfinite(got) || !isfinite(ref)) {
        if ((isnan(got) && isnan(ref)) || got == ref)
            return;
        point_at(run, s, i, got, -1);
        fail(run, "%s%s is %.9g, must be %.9g", tensor_name(run, s->tensor),
             op_place_text(&run->p->tensor[s->tensor], s->at + i, place, sizeof(place)), got, ref);
        return;
    }
    if (!(fabs(diff) <= run->out->max_abs))
        run->out->max_abs = fabs(diff);
    point_at(run, s, i, got, fabs(diff));
    sums->diff1 += fabs(diff);
    sums->diff2 += diff * diff;
    sums->ref1 += fabs(ref);
    sums->ref2 += ref * ref;
    sums->got2 += got * got;
    sums->cross += got * ref;
    if (s->emulated && isfinite(s->emulated[i])) {
        const double off = got - s->emulated[i];

        sums->emulated_diff2 += off * off;
        sums->emulated2 += s->emulated[i] * s->emulated[i];
        sums->emulated_values++;
    }
    element_bars(run, s, i, got, unit);
}

/* Rows that are wholly 0 in the reference, or slices of a row where they are shorter. */
static void zero_bars(struct judge_run *run, const struct op_slice *s, const void *raw)
{
    const struct op_tensor *t = &run->p->tensor[s->tensor];
    const int64_t whole = t->rank > 0 ? t->shape[t->rank - 1] : 1;
    const int64_t width = s->n < whole ? s->n : whole;
    char place[96];

    for (size_t k = 0; k < run->bars_nr; k++) {
        const struct bar *bar = &run->bars[k];

        if (bar->tensor != s->tensor || bar->kind != BAR_ZERO)
            continue;
        for (int64_t first = 0; width > 0 && first + width <= s->n; first += width) {
            int64_t zeros = 0;

            while (zeros < width && s->ref[first + zeros] == 0)
                zeros++;
            for (int64_t i = 0; zeros == width && i < width; i++) {
                const uint32_t bits = numfmt_load(t->dtype, raw, first + i);

                if (bar->b > 0 ? bits == 0 : numfmt_decode(t->dtype, bits) == 0)
                    continue;
                point_at(run, s, first + i, numfmt_decode(t->dtype, bits), -1);
                fail(run, "%s%s of an empty row is %.9g (bits %x), must be 0",
                     tensor_name(run, s->tensor),
                     op_place_text(t, s->at + first + i, place, sizeof(place)),
                     numfmt_decode(t->dtype, bits), (unsigned)bits);
            }
        }
    }
}

static void group_bar(struct judge_run *run, const struct bar *bar, const struct sums *s,
                      const char *where)
{
    const char *name = tensor_name(run, bar->tensor);
    const double limit = bar->b > 0 && s->rows < SHORT_ROWS ? bar->b : bar->a;
    double value;

    switch (bar->kind) {
    case BAR_REL_L2:
        value = relative(s->diff2, s->ref2);
        if (!(value <= limit))
            fail(run, "relative L2 of %s%s is %.4g, must be at most %.4g", name, where, value,
                 limit);
        break;
    case BAR_REL_L1:
        value = s->diff1 == 0 ? 0 : s->ref1 > 0 ? s->diff1 / s->ref1 : INFINITY;
        if (!(value <= limit))
            fail(run, "relative L1 of %s%s is %.4g, must be at most %.4g", name, where, value,
                 limit);
        break;
    case BAR_COSINE:
        value = cosine_of(s);
        if (!(value >= limit))
            fail(run, "cosine of %s%s is %.7g, must be at least %.7g", name, where, value, limit);
        break;
    case BAR_DIFF:
        value = s->ref2 + s->got2 > 0 ? 1 - 2 * s->cross / (s->ref2 + s->got2) : 0;
        if (!(value <= limit))
            fail(run, "difference of %s%s is %.4g, must be at most %.4g", name, where, value,
                 limit);
        break;
    case BAR_EMULATED:
        value = relative(s->emulated_diff2, s->emulated2);
        if (s->emulated_values > 0 && !(value <= limit))
            fail(run,
                 "relative L2 of %s%s against its declared arithmetic is %.4g, must be at "
                 "most %.4g",
                 name, where, value, limit);
        break;
    case BAR_ELEMENT:
    case BAR_ZERO:
    case BAR_WITHIN:
        break;
    }
}

/* Ends the group of `level`: judges it, adds it to the one above, and empties it. */
static void close_level(struct judge_run *run, enum bar_level level, const struct op_slice *of)
{
    struct sums *s = &run->level[level];
    char where[96] = "";

    if (!s->any)
        return;
    if (level == BAR_HEAD)
        snprintf(where, sizeof(where), " in head %lld", (long long)of->head);
    else if (level == BAR_TILE)
        snprintf(where, sizeof(where), " in head %lld, tile %lld", (long long)of->head,
                 (long long)of->tile);
    for (size_t i = 0; i < run->bars_nr; i++)
        if (run->bars[i].tensor == of->tensor && run->bars[i].level == level)
            group_bar(run, &run->bars[i], s, where);
    sums_add(level == BAR_WHOLE ? &run->all : &run->level[level - 1], s);
    memset(s, 0, sizeof(*s));
}

static int by_group(const void *left, const void *right)
{
    const struct op_slice *a = *(const struct op_slice *const *)left;
    const struct op_slice *b = *(const struct op_slice *const *)right;

    if (a->tensor != b->tensor)
        return a->tensor < b->tensor ? -1 : 1;
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    if (a->tile != b->tile)
        return a->tile < b->tile ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Before a slice: ends every group that it does not belong to. */
static void close_before(struct judge_run *run, const struct op_slice *last,
                         const struct op_slice *next)
{
    const bool tensor = !next || next->tensor != last->tensor;
    const bool head = tensor || next->head != last->head;

    if (head || next->tile != last->tile)
        close_level(run, BAR_TILE, last);
    if (head)
        close_level(run, BAR_HEAD, last);
    if (tensor)
        close_level(run, BAR_WHOLE, last);
}

/* The unit that a slice's values are counted in, as the kernel wrote it; 1 where there is none. */
static int read_unit(const struct judge_run *run, const struct op_slice *s, judge_read_fn read,
                     void *ctx, double *unit, struct err *err)
{
    const int32_t dtype = run->p->tensor[s->scaled ? s->unit : s->tensor].dtype;
    uint32_t raw[2] = {0};

    *unit = 1;
    if (!s->scaled)
        return 0;
    if (read(ctx, s->unit, s->unit_at, 1, raw, err) < 0)
        return -1;
    *unit = numfmt_decode(dtype, numfmt_load(dtype, raw, 0));
    return 0;
}

static int add_slice(struct judge_run *run, const struct op_slice *s, judge_read_fn read, void *ctx,
                     struct err *err)
{
    const struct op_tensor *t = &run->p->tensor[s->tensor];
    const int64_t width = t->rank > 0 && t->shape[t->rank - 1] > 0 ? t->shape[t->rank - 1] : 1;
    struct sums *sums = &run->level[BAR_TILE];
    double unit;
    void *raw;

    if (!s->ref)
        return err_set(err, ERR_BUG, "a slice of '%s' has no reference",
                       tensor_name(run, s->tensor));
    raw = malloc((size_t)s->n * numfmt_size(t->dtype) + 1);
    if (!raw)
        return err_memory(err);
    if (read_unit(run, s, read, ctx, &unit, err) < 0 ||
        read(ctx, s->tensor, s->at, s->n, raw, err) < 0) {
        free(raw);
        return -1;
    }
    zero_bars(run, s, raw);
    for (int64_t i = 0; i < s->n; i++) {
        const double got = unit * numfmt_decode(t->dtype, numfmt_load(t->dtype, raw, i));

        /* The sign of a NaN is no part of a message. */
        add_element(run, s, i, isnan(got) ? NAN : got, unit, sums);
    }
    sums->rows += (s->n + width - 1) / width;
    sums->any = true;
    free(raw);
    return 0;
}

static void judgement_finish(struct judge_run *run)
{
    const struct sums *s = &run->all;

    run->out->compared = s->values;
    if (s->values == 0)
        return;
    run->out->rel_l2 = relative(s->diff2, s->ref2);
    run->out->cosine = cosine_of(s);
    if (s->emulated_values > 0)
        run->out->emulated_rel_l2 = relative(s->emulated_diff2, s->emulated2);
}

int judge(const struct op_problem *p, const struct bar *bars, size_t bars_nr,
          const struct op_slices *slices, judge_read_fn read, void *ctx, struct judgement *out,
          struct err *err)
{
    struct judge_run run = {.p = p, .bars = bars, .bars_nr = bars_nr, .out = out, .furthest = -1};
    const struct op_slice **order = malloc((slices->nr + 1) * sizeof(*order));
    size_t nr = 0;
    int ret = 0;

    *out = (struct judgement){.pass = true,
                              .max_abs = NAN,
                              .rel_l2 = NAN,
                              .cosine = NAN,
                              .emulated_rel_l2 = NAN,
                              .at = -1};
    if (!order)
        return err_memory(err);
    for (size_t i = 0; i < slices->nr; i++)
        if (!slices->item[i].several)
            order[nr++] = &slices->item[i];
    qsort(order, nr, sizeof(*order), by_group);
    for (size_t i = 0; i < nr && !ret; i++) {
        ret = add_slice(&run, order[i], read, ctx, err);
        close_before(&run, order[i], i + 1 < nr ? order[i + 1] : NULL);
    }
    free(order);
    judgement_finish(&run);
    if (out->pass)
        out->at = -1;
    return ret;
}
