/*
 * vectors_judge.c - holds outputs against the tolerance lines of a golden vector. What every key
 * means stands in tests/vectors/README.md.
 */
#include "vectors_judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numfmt.h"

struct vector_sums {
    double diff2, ref2, got2, cross, max_abs;
};

void vector_broken(struct vector_verdict *verdict, const char *format, ...)
{
    va_list args;

    if (!verdict->pass)
        return;
    verdict->pass = false;
    va_start(args, format);
    vsnprintf(verdict->text, sizeof(verdict->text), format, args);
    va_end(args);
}

static double got_value(const struct vector_tensor *ref, const void *got, int64_t i)
{
    return numfmt_decode(ref->dtype, numfmt_load(ref->dtype, got, i));
}

static void judge_element(const struct vector_tensor *ref, const struct vector_tolerance *t,
                          const void *got, int64_t i, struct vector_sums *sums,
                          struct vector_verdict *verdict)
{
    const double want = ref->value[i], have = got_value(ref, got, i);
    const double diff = fabs(have - want);

    if (!isfinite(want) || !isfinite(have)) {
        if (!(isnan(want) && isnan(have)) && !(want == have))
            vector_broken(verdict, "%s[%lld] is %.9g, must be %.9g", ref->name, (long long)i, have,
                          want);
        return;
    }
    if (diff > sums->max_abs)
        sums->max_abs = diff;
    sums->diff2 += diff * diff;
    sums->ref2 += want * want;
    sums->got2 += have * have;
    sums->cross += want * have;
    if (!isnan(t->atol) || !isnan(t->rtol)) {
        const double atol = isnan(t->atol) ? 0 : t->atol, rtol = isnan(t->rtol) ? 0 : t->rtol;

        if (!(diff <= atol + rtol * fabs(want)))
            vector_broken(verdict, "%s[%lld] is %.9g, must be %.9g within %.3g + %.3g*|ref|",
                          ref->name, (long long)i, have, want, atol, rtol);
    }
    if (t->zero && want == 0 && have != 0)
        vector_broken(verdict, "%s[%lld] is %.9g, must be 0", ref->name, (long long)i, have);
}

static void judge_bits(const struct vector_tensor *ref, const void *got,
                       struct vector_verdict *verdict)
{
    for (int64_t i = 0; i < ref->elements; i++) {
        const uint32_t want = numfmt_load(ref->dtype, ref->raw, i);
        const uint32_t have = numfmt_load(ref->dtype, got, i);

        if (want != have)
            vector_broken(verdict, "%s[%lld] has bits %x, must have %x", ref->name, (long long)i,
                          (unsigned)have, (unsigned)want);
    }
}

static void judge_sums(const struct vector_tensor *ref, const struct vector_tolerance *t,
                       const struct vector_sums *s, struct vector_verdict *verdict)
{
    const double rel_l2 = s->diff2 == 0 ? 0 : s->ref2 > 0 ? sqrt(s->diff2 / s->ref2) : INFINITY;
    const bool zeros = s->ref2 == 0 && s->got2 == 0;
    const double cosine = zeros                          ? 1
                          : s->ref2 == 0 || s->got2 == 0 ? 0
                                                         : s->cross / sqrt(s->ref2) / sqrt(s->got2);
    const double differ = zeros ? 0 : 1 - 2 * s->cross / (s->ref2 + s->got2);

    if (!isnan(t->rel_l2) && !(rel_l2 <= t->rel_l2))
        vector_broken(verdict, "relative L2 of %s is %.4g, must be at most %.4g", ref->name, rel_l2,
                      t->rel_l2);
    if (!isnan(t->cosine) && !(cosine >= t->cosine))
        vector_broken(verdict, "cosine of %s is %.7g, must be at least %.7g", ref->name, cosine,
                      t->cosine);
    if (!isnan(t->diff) && !(differ <= t->diff))
        vector_broken(verdict, "difference of %s is %.4g, must be at most %.4g", ref->name, differ,
                      t->diff);
    if (rel_l2 > verdict->rel_l2)
        verdict->rel_l2 = rel_l2;
    if (s->max_abs > verdict->max_abs)
        verdict->max_abs = s->max_abs;
}

static int64_t width_of(const struct vector_tensor *t)
{
    return t->rank > 0 ? t->shape[t->rank - 1] : 1;
}

static void judge_row_sums(const struct vector_tensor *ref, double within, const void *got,
                           struct vector_verdict *verdict)
{
    const int64_t width = width_of(ref);

    for (int64_t first = 0; width > 0 && first < ref->elements; first += width) {
        double sum = 0;
        bool any = false;

        for (int64_t i = first; i < first + width; i++) {
            sum += got_value(ref, got, i);
            any = any || ref->value[i] != 0;
        }
        if (any && !(fabs(sum - 1) <= within))
            vector_broken(verdict, "row %lld of %s sums to %.9g, must be 1 within %.3g",
                          (long long)(first / width), ref->name, sum, within);
    }
}

int vector_judge_tensor(const struct vector *v, const struct vector_tensor *ref,
                        const struct vector_tolerance *tolerance, const void *got,
                        struct vector_verdict *verdict, struct err *err)
{
    struct vector_sums sums = {0};

    verdict->held++;
    if (tolerance->selection)
        return vector_judge_selection(v, ref, got, NULL, verdict, err);
    for (int64_t i = 0; i < ref->elements; i++)
        judge_element(ref, tolerance, got, i, &sums, verdict);
    if (tolerance->bits && !ref->real)
        judge_bits(ref, got, verdict);
    judge_sums(ref, tolerance, &sums, verdict);
    if (!isnan(tolerance->row_sum))
        judge_row_sums(ref, tolerance->row_sum, got, verdict);
    return 0;
}

static bool declares(const struct sab_attribute *list, uint32_t nr, const char *name,
                     const char *value)
{
    for (uint32_t i = 0; list && i < nr; i++)
        if (!strcmp(list[i].name, name))
            return !strcmp(list[i].value, value);
    return false;
}

/* The output of ops.h that a tolerance speaks of, or -1; *emulated says that it is judged by its
 * declared arithmetic. */
static int output_of(const struct sab_op_spec *spec, const char *name, bool *emulated)
{
    const size_t suffix = strlen("_emulated"), len = strlen(name);
    size_t base = len;

    *emulated = len > suffix && !strcmp(name + len - suffix, "_emulated");
    if (*emulated)
        base -= suffix;
    for (uint32_t i = 0; i < spec->tensors_nr; i++)
        if (strlen(spec->tensors[i].name) == base && !memcmp(spec->tensors[i].name, name, base) &&
            spec->tensors[i].role != SAB_IN)
            return (int)i;
    return -1;
}

int vector_judge(const struct vector *v, const void *const out[SAB_MAX_TENSORS],
                 const struct sab_attribute *attributes, uint32_t attributes_nr,
                 struct vector_verdict *verdict, struct err *err)
{
    const struct sab_op_spec *spec = sab_op_find(v->op);
    const bool same_arithmetic = declares(attributes, attributes_nr, "fold", "last_to_first") &&
                                 declares(attributes, attributes_nr, "p_scale", "256") &&
                                 declares(attributes, attributes_nr, "rescale", "lazy");

    *verdict = (struct vector_verdict){.pass = true};
    if (!spec)
        return err_set(err, ERR_CONFIG, "%s: there is no operator '%s'", v->path, v->op);
    for (size_t i = 0; i < v->tolerances_nr; i++) {
        const struct vector_tensor *ref = vector_tensor_find(v, v->tolerance[i].tensor);
        bool emulated;
        const int place = output_of(spec, v->tolerance[i].tensor, &emulated);

        if (!ref || place < 0 || !out[place] || (emulated && !same_arithmetic))
            continue;
        if (v->tolerance[i].selection) {
            const int32_t ids = sab_tensor_find(spec, VECTOR_IDS);

            verdict->held++;
            if (vector_judge_selection(v, ref, out[place], ids < 0 ? NULL : out[ids], verdict, err))
                return -1;
        } else if (vector_judge_tensor(v, ref, &v->tolerance[i], out[place], verdict, err) < 0) {
            return -1;
        }
    }
    return 0;
}
