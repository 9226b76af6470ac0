#include "check.h"

#include <stdlib.h>
#include <string.h>

/* Two fills that no kernel writes by chance over a whole element in both runs. */
static const int fills[2] = {0xff, 0x6b};

static int launch_on_fill(struct arm_run *arm, int fill, int workspace, struct err *err)
{
    char text[512];
    if (arm_poison(arm, fill, err) || arm_workspace_fill(arm, workspace, err))
        return -1;
    int status = arm_launch_sync(arm, text, sizeof(text), err);
    if (status > 0)
        return arm_fail(arm, "wrong", err, "a repeated launch was refused: %s", text);
    return status;
}

/* Elements that hold the fill's bytes after both launches were never written. `steady`: this step
 * and those before it promise equal bits. */
static int find_unwritten(struct arm_run *arm, const struct step_run *step, bool steady,
                          char *const *first, uint32_t t, struct err *err)
{
    struct work *w = step->work;
    size_t size = sab_dtype_size(w->tensor[t].dtype), bytes = w->p.tensor[t].bytes;
    char *second = malloc(bytes + 1), name[256];
    int ret = -1;

    if (!second)
        return err_memory(err);
    step_prefix(arm, step, name, sizeof(name));
    if (device_download(w->dev, second, w->tensor[t].data, bytes, err))
        goto out;
    ret = 0;
    for (size_t at = 0; at < bytes && arm->usable; at += size) {
        bool same = true;
        for (size_t b = 0; b < size; b++)
            same &= (unsigned char)first[t][at + b] == fills[0] &&
                    (unsigned char)second[at + b] == fills[1];
        if (same)
            /* NOLINTBEGIN(clang-analyzer-core.DivideZero): a dtype that is stored has a size */
            ret = arm_fail(arm, "wrong", err, "%selement %zu of '%s' is never written", name,
                           at / size, w->p.spec->tensors[t].name);
        /* NOLINTEND(clang-analyzer-core.DivideZero) */
    }
    if (arm->usable && steady && memcmp(first[t], second, bytes))
        ret = arm_fail(arm, "wrong", err, "%s'%s' differs between two launches on the same inputs",
                       name, w->p.spec->tensors[t].name);
out:
    free(second);
    return ret;
}

/* Outputs of every step, after a launch on the first fill. */
struct snapshot {
    char *data[CHAIN_MAX_STEPS][SAB_MAX_TENSORS];
};

static int snapshot_take(struct snapshot *s, const struct arm_run *arm, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct work *w = arm->step[i].work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
            if (!w->base[t] || w->tensor[t].role == SAB_IN)
                continue;
            s->data[i][t] = malloc(w->p.tensor[t].bytes + 1);
            if (!s->data[i][t])
                return err_memory(err);
            if (device_download(w->dev, s->data[i][t], w->tensor[t].data, w->p.tensor[t].bytes,
                                err))
                return -1;
        }
    }
    return 0;
}

static void snapshot_release(struct snapshot *s)
{
    for (size_t i = 0; i < CHAIN_MAX_STEPS; i++)
        for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
            free(s->data[i][t]);
}

static int compare_snapshot(struct arm_run *arm, const struct snapshot *s, struct err *err)
{
    bool steady = true;

    for (size_t i = 0; arm->usable && i < arm->steps_nr; i++) {
        const struct step_run *step = &arm->step[i];

        steady &= (step->kernel->flags & SAB_KERNEL_DETERMINISTIC) != 0;
        for (uint32_t t = 0; arm->usable && t < step->work->p.spec->tensors_nr; t++)
            if (s->data[i][t] && find_unwritten(arm, step, steady, s->data[i], t, err))
                return -1;
    }
    return 0;
}

static int check_written(struct arm_run *arm, struct err *err)
{
    struct snapshot first = {{{NULL}}};
    int ret = -1;

    if (launch_on_fill(arm, fills[0], 0xa5, err))
        goto out;
    if (arm->usable && snapshot_take(&first, arm, err))
        goto out;
    if (arm->usable && launch_on_fill(arm, fills[1], 0x00, err))
        goto out;
    ret = compare_snapshot(arm, &first, err);
out:
    snapshot_release(&first);
    return ret;
}

static int workspace_guards_write(const struct step_run *step, struct err *err)
{
    struct device *dev = step->work->dev;
    char *end = (char *)step->workspace + WORK_GUARD_BYTES + step->workspace_bytes;

    return device_fill(dev, step->workspace, WORK_GUARD_BYTE, WORK_GUARD_BYTES, err) ||
                   device_fill(dev, end, WORK_GUARD_BYTE, WORK_GUARD_BYTES, err)
               ? -1
               : 0;
}

static int workspace_guards_check(struct arm_run *arm, const struct step_run *step, struct err *err)
{
    struct device *dev = step->work->dev;
    char *end = (char *)step->workspace + WORK_GUARD_BYTES + step->workspace_bytes, name[256];
    uint64_t count;
    int64_t first;

    if (device_count_other(dev, step->workspace, WORK_GUARD_BYTE, WORK_GUARD_BYTES, &count, &first,
                           err))
        return -1;
    if (!count &&
        device_count_other(dev, end, WORK_GUARD_BYTE, WORK_GUARD_BYTES, &count, &first, err))
        return -1;
    if (count)
        return arm_fail(arm, "wrong", err, "%s%llu bytes written outside its workspace",
                        step_prefix(arm, step, name, sizeof(name)), (unsigned long long)count);
    return 0;
}

static int check_workspace_guard(struct arm_run *arm, struct err *err)
{
    bool any = false;

    for (size_t i = 0; i < arm->steps_nr; i++) {
        if (!arm->step[i].workspace)
            continue;
        any = true;
        if (workspace_guards_write(&arm->step[i], err))
            return -1;
    }
    if (any && launch_on_fill(arm, fills[0], 0xa5, err))
        return -1;
    for (size_t i = 0; i < arm->steps_nr; i++)
        if (arm->step[i].workspace && workspace_guards_check(arm, &arm->step[i], err))
            return -1;
    return 0;
}

static int check_guards(struct arm_run *arm, struct err *err)
{
    char text[256];

    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct work *w = arm->step[i].work;

        if (work_guards_check(w, text, sizeof(text), err))
            return -1;
        if (text[0] && arm_fail(arm, "wrong", err, "%s", text))
            return -1;
        if (work_guards_write(w, err))
            return -1;
    }
    return 0;
}

int check_case(struct case_run *run, struct err *err)
{
    for (size_t i = 0; i < run->arms_nr; i++) {
        struct arm_run *arm = &run->arm[i];
        if (arm->usable && check_written(arm, err))
            return -1;
        if (arm->usable && check_workspace_guard(arm, err))
            return -1;
        if (arm->usable && check_guards(arm, err))
            return -1;
    }
    return 0;
}
