/*
 * check_compare.c - outputs kept, compared, and pointed into.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_rig.h"
#include "numfmt.h"

/* What a kernel that promises no equal bits may be off where it shows no jitter of its own, and how
 * much more than its jitter a launch may be off. */
#define NEAR_REL_L2   2e-3
#define JITTER_FACTOR 4.0
#define COMPARE_PIECE ((uint64_t)1 << 20)

static bool is_output(const struct work *w, uint32_t t)
{
    return w->base[t] && w->tensor[t].role != SAB_IN;
}

int rig_outputs_keep(struct arm_run *arm, struct rig_outputs *kept, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct work *w = arm->step[i].work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
            if (!is_output(w, t))
                continue;
            if (!kept->data[i][t] &&
                device_alloc(w->dev, w->p.tensor[t].bytes + 1, &kept->data[i][t], err))
                return -1;
            if (device_copy(w->dev, kept->data[i][t], w->tensor[t].data, w->p.tensor[t].bytes, err))
                return -1;
        }
    }
    return device_sync(arm_last(arm)->work->dev, err);
}

int rig_outputs_restore(struct arm_run *arm, const struct rig_outputs *kept, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct work *w = arm->step[i].work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++)
            if (kept->data[i][t] &&
                device_copy(w->dev, w->tensor[t].data, kept->data[i][t], w->p.tensor[t].bytes, err))
                return -1;
    }
    return device_sync(arm_last(arm)->work->dev, err);
}

void rig_outputs_drop(struct rig *rig, struct rig_outputs *kept)
{
    for (size_t i = 0; i < CHAIN_MAX_STEPS; i++)
        for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
            device_free(rig->dev, kept->data[i][t]);
    memset(kept, 0, sizeof(*kept));
}

/* Where the contract has the caller ask for equal bits, the kernel has promised them by not
 * answering unsupported. */
static bool step_promises(const struct step_run *step)
{
    const struct op_problem *p = &step->work->p;
    const int32_t asked = sab_param_find(p->spec, "deterministic");

    return (step->kernel->flags & SAB_KERNEL_DETERMINISTIC) || (asked >= 0 && p->param[asked].i);
}

bool rig_promises_bits(const struct arm_run *arm, size_t step)
{
    bool all = true;

    for (size_t i = 0; i <= step; i++)
        all &= step_promises(&arm->step[i]);
    return all;
}

static double relative(const struct device_difference *d)
{
    if (d->pattern)
        return INFINITY;
    if (d->sum_err2 == 0)
        return 0;
    return d->sum_ref2 > 0 ? sqrt(d->sum_err2 / d->sum_ref2) : INFINITY;
}

int rig_distance(struct arm_run *arm, const struct rig_outputs *kept, double *rel_l2,
                 struct err *err)
{
    struct device_difference d;

    *rel_l2 = 0;
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct work *w = arm->step[i].work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
            if (!kept->data[i][t])
                continue;
            if (device_compare(w->dev, w->tensor[t].dtype, w->tensor[t].data, kept->data[i][t],
                               w->p.tensor[t].elements, &d, err))
                return -1;
            *rel_l2 = fmax(*rel_l2, relative(&d));
        }
    }
    return 0;
}

void rig_point(const struct arm_run *arm, const struct step_run *step, uint32_t tensor, int64_t at,
               double got, double want, struct check_result *res)
{
    const struct op_problem *p = &step->work->p;
    const bool many = arm->steps_nr > 1;

    (void)snprintf(res->tensor, sizeof(res->tensor), "%.30s%s%.30s", many ? step->kernel->op : "",
                   many ? "." : "", p->spec->tensors[tensor].name);
    op_place_text(&p->tensor[tensor], at, res->index, sizeof(res->index));
    res->at = at;
    res->got = got;
    res->want = want;
}

double rig_value(int32_t dtype, const void *raw)
{
    const double value = numfmt_decode(dtype, numfmt_load(dtype, raw, 0));

    return isnan(value) ? NAN : value; /* no "-nan" in a message */
}

/* The first element whose bits differ (by its numbers where only those can: -0 and 0 count), with
 * both values; -1 in *at where there is none. */
static int first_difference(const struct work *w, uint32_t t, const void *kept, int64_t *at,
                            double *got, double *want, struct err *err)
{
    const int32_t dtype = w->tensor[t].dtype;
    const uint64_t size = sab_dtype_size(dtype), bytes = w->p.tensor[t].bytes;
    char *piece = malloc(2 * COMPARE_PIECE);
    int ret = piece ? 0 : err_memory(err);

    *at = -1;
    for (uint64_t from = 0; !ret && *at < 0 && from < bytes; from += COMPARE_PIECE) {
        const uint64_t n = bytes - from < COMPARE_PIECE ? bytes - from : COMPARE_PIECE;
        char *other = piece + COMPARE_PIECE;

        if (device_download(w->dev, piece, (const char *)w->tensor[t].data + from, n, err) ||
            device_download(w->dev, other, (const char *)kept + from, n, err)) {
            ret = -1;
            break;
        }
        for (uint64_t b = 0; b + size <= n && *at < 0; b += size) {
            if (!memcmp(piece + b, other + b, size))
                continue;
            *at = (int64_t)((from + b) / size);
            *got = rig_value(dtype, piece + b);
            *want = rig_value(dtype, other + b);
        }
    }
    free(piece);
    return ret;
}

static int say_difference(const struct arm_run *arm, const struct step_run *step, uint32_t t,
                          const void *kept, const char *when, const char *why,
                          struct check_result *res, struct err *err)
{
    char name[256];
    int64_t at;
    double got = NAN, want = NAN;

    if (first_difference(step->work, t, kept, &at, &got, &want, err))
        return -1;
    rig_point(arm, step, t, at < 0 ? 0 : at, got, want, res);
    return check_fail(res, "%s: %s'%s'%s is %.9g, must be %.9g%s", when,
                      step_prefix(arm, step, name, sizeof(name)),
                      step->work->p.spec->tensors[t].name, res->index, got, want, why);
}

static int same_tensor(struct rig *rig, struct arm_run *arm, size_t i, uint32_t t, const void *kept,
                       const char *when, struct check_result *res, struct err *err)
{
    const struct step_run *step = &arm->step[i];
    const double limit = fmax(NEAR_REL_L2, JITTER_FACTOR * rig->jitter);
    struct work *w = step->work;
    struct device_difference d;
    char why[96];

    if (device_compare(w->dev, w->tensor[t].dtype, w->tensor[t].data, kept, w->p.tensor[t].elements,
                       &d, err))
        return -1;
    if (!d.bits)
        return 0;
    if (rig_promises_bits(arm, i))
        return say_difference(arm, step, t, kept, when, " to the bit", res, err);
    if (relative(&d) <= limit)
        return 0;
    (void)snprintf(why, sizeof(why), "; relative L2 is %.3g, its own jitter allows %.3g",
                   relative(&d), limit);
    return say_difference(arm, step, t, kept, when, why, res, err);
}

int rig_same(struct rig *rig, struct arm_run *arm, const struct rig_outputs *kept, const char *when,
             struct check_result *res, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++)
        for (uint32_t t = 0; t < arm->step[i].work->p.spec->tensors_nr; t++) {
            int ret;

            if (!kept->data[i][t])
                continue;
            ret = same_tensor(rig, arm, i, t, kept->data[i][t], when, res, err);
            if (ret)
                return ret;
        }
    return 0;
}

int rig_untouched(struct rig *rig, struct arm_run *arm, int byte, const char *when,
                  struct check_result *res, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct work *w = arm->step[i].work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
            uint64_t count;
            int64_t first;

            if (!is_output(w, t))
                continue;
            if (device_count_other(w->dev, w->tensor[t].data, byte, w->p.tensor[t].bytes, &count,
                                   &first, err))
                return -1;
            if (count)
                return check_fail(
                    res, "%s: %llu bytes of '%s' were written, the first at byte %lld", when,
                    (unsigned long long)count, w->p.spec->tensors[t].name, (long long)first);
        }
    }
    (void)rig;
    return 0;
}

/* Equal outputs of different inputs: what one launch read cannot be told from what another did. */
int rig_sides_differ(struct rig *rig, struct check_result *res, struct err *err)
{
    const struct rig_outputs *b = &rig->side[RIG_B].kept;
    struct arm_run *arm = rig->side[RIG_A].arm;

    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct work *w = arm->step[i].work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
            struct device_difference d;

            if (!b->data[i][t])
                continue;
            if (device_compare(w->dev, w->tensor[t].dtype, rig->side[RIG_A].kept.data[i][t],
                               b->data[i][t], w->p.tensor[t].elements, &d, err))
                return -1;
            if (d.bits)
                return 0;
        }
    }
    return check_na(res, "the outputs of this case do not depend on its inputs");
}
