#include "check.h"

#include <stdlib.h>
#include <string.h>

/* Two fills that no kernel writes by chance over a whole element in both runs. */
static const int fills[2] = {0xff, 0x6b};

static int launch_on_fill(struct arm_run *arm, int fill, int workspace, struct err *err)
{
    char text[512];
    if (work_poison(arm->work, fill, err) || arm_workspace_fill(arm, workspace, err))
        return -1;
    int status = arm_launch_sync(arm, text, sizeof(text), err);
    if (status > 0)
        return arm_fail(arm, "wrong", err, "a repeated launch was refused: %s", text);
    return status;
}

/* Elements that hold the fill's bytes after both launches were never written. */
static int find_unwritten(struct arm_run *arm, char *const *first, uint32_t t, struct err *err)
{
    struct work *w = arm->work;
    size_t size = sab_dtype_size(w->tensor[t].dtype), bytes = w->p.tensor[t].bytes;
    char *second = malloc(bytes + 1);
    int ret = -1;

    if (!second)
        return err_memory(err);
    if (device_download(w->dev, second, w->tensor[t].data, bytes, err))
        goto out;
    ret = 0;
    for (size_t at = 0; at < bytes && arm->usable; at += size) {
        bool same = true;
        for (size_t b = 0; b < size; b++)
            same &= (unsigned char)first[t][at + b] == fills[0] &&
                    (unsigned char)second[at + b] == fills[1];
        if (same)
            /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a dtype that is stored has a size */
            ret = arm_fail(arm, "wrong", err, "element %zu of '%s' is never written", at / size,
                           w->p.spec->tensors[t].name);
    }
    if (arm->usable && (arm->kernel->flags & SAB_KERNEL_DETERMINISTIC) &&
        memcmp(first[t], second, bytes))
        ret = arm_fail(arm, "wrong", err, "'%s' differs between two launches on the same inputs",
                       w->p.spec->tensors[t].name);
out:
    free(second);
    return ret;
}

static int check_written(struct arm_run *arm, struct err *err)
{
    struct work *w = arm->work;
    char *first[SAB_MAX_TENSORS] = {NULL};
    int ret = -1;

    if (launch_on_fill(arm, fills[0], 0xa5, err))
        goto out;
    for (uint32_t t = 0; arm->usable && t < w->p.spec->tensors_nr; t++) {
        if (!w->base[t] || w->tensor[t].role == SAB_IN)
            continue;
        first[t] = malloc(w->p.tensor[t].bytes + 1);
        if (!first[t]) {
            err_memory(err);
            goto out;
        }
        if (device_download(w->dev, first[t], w->tensor[t].data, w->p.tensor[t].bytes, err))
            goto out;
    }
    if (arm->usable && launch_on_fill(arm, fills[1], 0x00, err))
        goto out;
    for (uint32_t t = 0; arm->usable && t < w->p.spec->tensors_nr; t++)
        if (first[t] && find_unwritten(arm, first, t, err))
            goto out;
    ret = 0;
out:
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        free(first[t]);
    return ret;
}

static int check_workspace_guard(struct arm_run *arm, struct err *err)
{
    struct work *w = arm->work;
    uint64_t count;
    int64_t first;

    if (!arm->workspace)
        return 0;
    char *end = (char *)arm->workspace + WORK_GUARD_BYTES + arm->workspace_bytes;
    if (device_fill(w->dev, arm->workspace, WORK_GUARD_BYTE, WORK_GUARD_BYTES, err) ||
        device_fill(w->dev, end, WORK_GUARD_BYTE, WORK_GUARD_BYTES, err) ||
        launch_on_fill(arm, fills[0], 0xa5, err))
        return -1;
    if (device_count_other(w->dev, arm->workspace, WORK_GUARD_BYTE, WORK_GUARD_BYTES, &count,
                           &first, err))
        return -1;
    if (!count &&
        device_count_other(w->dev, end, WORK_GUARD_BYTE, WORK_GUARD_BYTES, &count, &first, err))
        return -1;
    if (count)
        return arm_fail(arm, "wrong", err, "%llu bytes written outside its workspace",
                        (unsigned long long)count);
    return 0;
}

int check_case(struct case_run *run, struct err *err)
{
    char text[256];

    for (size_t i = 0; i < run->arms_nr; i++) {
        struct arm_run *arm = &run->arm[i];
        if (arm->usable && check_written(arm, err))
            return -1;
        if (arm->usable && check_workspace_guard(arm, err))
            return -1;
        if (!arm->usable)
            continue;
        if (work_guards_check(arm->work, text, sizeof(text), err))
            return -1;
        if (text[0] && arm_fail(arm, "wrong", err, "%s", text))
            return -1;
        if (work_guards_write(arm->work, err))
            return -1;
    }
    return 0;
}
