/*
 * checks_output.c - what plain launches leave in the outputs, and around them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_rig.h"
#include "promises.h"
#include "verify_internal.h"

/* A fill that no kernel writes by chance over a whole element that also kept its first poison. */
#define SECOND_FILL 0x6b

/* ---- oracle ---- */

static int judge_failed(const struct arm_run *arm, const struct step_run *step,
                        const struct judgement *j, struct check_result *res)
{
    char name[256];

    if (j->at >= 0)
        rig_point(arm, step, j->tensor, j->at, j->got, j->want, res);
    return check_fail(res, "%s%s", step_prefix(arm, step, name, sizeof(name)), j->text);
}

/* Names the element at which a comparison in full is off the furthest. */
static int reference_failed(const struct arm_run *arm, const struct step_run *step,
                            const struct judgement *j, struct check_result *res, struct err *err)
{
    struct work *w = step->work;

    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        const size_t size = sab_dtype_size(w->tensor[t].dtype);
        struct device_difference d;
        char got[8], want[8];
        int64_t at;

        if (!w->reference[t])
            continue;
        if (device_compare(w->dev, w->tensor[t].dtype, w->tensor[t].data, w->reference[t],
                           w->p.tensor[t].elements, &d, err))
            return -1;
        at = d.pattern ? d.pattern_first : d.max_at;
        if (at < 0 || !strstr(j->text, w->p.spec->tensors[t].name))
            continue;
        if (device_download(w->dev, got, (char *)w->tensor[t].data + (size_t)at * size, size,
                            err) ||
            device_download(w->dev, want, (char *)w->reference[t] + (size_t)at * size, size, err))
            return -1;
        rig_point(arm, step, t, at, rig_value(w->tensor[t].dtype, got),
                  rig_value(w->tensor[t].dtype, want), res);
        break;
    }
    return check_fail(res, "%s", j->text);
}

/* bench's own reference kernel writes the outputs: those of the arm are put back behind it. */
static int fill_reference(struct rig *rig, size_t i, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A];
    struct work *w = a->arm->step[i].work;

    if (verify_reference_fill(a->run, w, err))
        return -1;
    return rig_outputs_restore(a->arm, &a->kept, err);
}

static int judge_step(struct rig *rig, size_t i, struct check_result *res, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A];
    const struct step_run *step = &a->arm->step[i];
    struct judgement j, full = {.pass = true};
    bool complete;

    if (verify_judge(a->run, step->work, step->kernel, &j, &complete, err))
        return -1;
    res->max_abs = j.max_abs;
    res->rel_l2 = j.rel_l2;
    res->cosine = j.cosine;
    if (!j.pass)
        return judge_failed(a->arm, step, &j, res);
    if (!complete && fill_reference(rig, i, err))
        return -1;
    if (step->work->reference_ready &&
        verify_against_reference(step->work, step->kernel, &full, err))
        return -1;
    if (!full.pass)
        return reference_failed(a->arm, step, &full, res, err);
    (void)snprintf(res->text, sizeof(res->text), "%s",
                   complete                      ? "full"
                   : step->work->reference_ready ? "sampled+reference"
                                                 : "sampled");
    return 0;
}

int check_oracle(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);

    if (ret)
        return ret;
    if (!verify_has_outputs(arm_last(rig->side[RIG_A].arm)->work))
        return check_na(res, "the operator has no outputs");
    for (size_t i = 0; i < rig->side[RIG_A].arm->steps_nr && !ret; i++)
        ret = judge_step(rig, i, res, err);
    return ret;
}

/* ---- guards ---- */

static int workspace_guards(struct rig *rig, const struct arm_run *arm, struct check_result *res,
                            struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        const struct step_run *step = &arm->step[i];
        const char *zone[2] = {step->workspace, NULL};
        char name[256];

        if (!step->workspace)
            continue;
        zone[1] = rig_workspace(step) + step->workspace_bytes;
        for (int z = 0; z < 2; z++) {
            uint64_t count;
            int64_t first;

            if (device_count_other(rig->dev, zone[z], WORK_GUARD_BYTE, WORK_GUARD_BYTES, &count,
                                   &first, err))
                return -1;
            if (count)
                return check_fail(
                    res, "%s%llu bytes written %s its workspace of %llu bytes, %lld bytes from it",
                    step_prefix(arm, step, name, sizeof(name)), (unsigned long long)count,
                    z ? "behind" : "before", (unsigned long long)step->workspace_bytes,
                    (long long)(z ? first : WORK_GUARD_BYTES - first));
        }
    }
    return 0;
}

int check_guards(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);
    struct arm_run *arm = rig->side[RIG_A].arm;
    char text[256];

    if (ret)
        return ret;
    for (size_t i = 0; i < arm->steps_nr; i++) {
        if (work_guards_check(arm->step[i].work, text, sizeof(text), err))
            return -1;
        if (text[0])
            return check_fail(res, "%s", text);
    }
    return workspace_guards(rig, arm, res, err);
}

/* ---- every byte written ---- */

/* Elements of one output that still hold both launches' poison. */
static int find_unwritten(const struct arm_run *arm, const struct step_run *step, uint32_t t,
                          const void *first, struct check_result *res, struct err *err)
{
    struct work *w = step->work;
    const size_t size = sab_dtype_size(w->tensor[t].dtype), bytes = w->p.tensor[t].bytes;
    const int poison = work_poison_byte(w->tensor[t].dtype);
    unsigned char *a = malloc(2 * bytes + 1), *b;
    char name[256];
    int ret = 0;

    if (!a)
        return err_memory(err);
    b = a + bytes;
    if (device_download(w->dev, a, first, bytes, err) ||
        device_download(w->dev, b, w->tensor[t].data, bytes, err))
        ret = -1;
    for (size_t at = 0; !ret && size && at + size <= bytes; at += size) {
        bool both = true;

        for (size_t k = at; k < at + size && both; k++)
            both = a[k] == (unsigned char)poison && b[k] == SECOND_FILL;
        if (!both)
            continue;
        const int64_t element = (int64_t)(at / size);

        rig_point(arm, step, t, element, NAN, NAN, res);
        ret = check_fail(res, "%selement %lld of '%s', %s, is never written",
                         step_prefix(arm, step, name, sizeof(name)), (long long)element,
                         w->p.spec->tensors[t].name, res->index);
    }
    free(a);
    return ret;
}

int check_written(struct rig *rig, struct check_result *res, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A];
    int ret = rig_need(rig, RIG_A, res, err);

    if (!ret)
        ret = rig_launch(rig, a->arm, SECOND_FILL, res, err);
    for (size_t i = 0; !ret && i < a->arm->steps_nr; i++)
        for (uint32_t t = 0; !ret && t < a->arm->step[i].work->p.spec->tensors_nr; t++)
            if (a->kept.data[i][t])
                ret = find_unwritten(a->arm, &a->arm->step[i], t, a->kept.data[i][t], res, err);
    return ret;
}

/* ---- promises in the data ---- */

struct reader {
    struct work *w;
    struct err *err;
};

static int read_tensor(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    struct reader *r = ctx;
    const size_t size = sab_dtype_size(r->w->tensor[tensor].dtype);

    return device_download(r->w->dev, dst, (char *)r->w->tensor[tensor].data + (size_t)at * size,
                           (size_t)n * size, r->err);
}

/* Inputs that earlier steps of a pipeline wrote are looked at as they wrote them. */
int check_promises(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);
    struct arm_run *arm = rig->side[RIG_A].arm;
    bool any = false;

    if (ret)
        return ret;
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct reader reader = {arm->step[i].work, err};
        struct op_source src = {&reader, read_tensor};
        struct promise_break broken;
        char name[256];

        if (promises_check(&arm->step[i].work->p, &src, &broken, err))
            return -1;
        any |= broken.looked_at;
        if (!broken.text[0])
            continue;
        rig_point(arm, &arm->step[i], broken.tensor, broken.at, broken.value, NAN, res);
        return check_fail(res, "%s%s", step_prefix(arm, &arm->step[i], name, sizeof(name)),
                          broken.text);
    }
    return any ? 0 : check_na(res, "the operator's inputs promise nothing");
}
