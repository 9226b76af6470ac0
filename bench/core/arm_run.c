/*
 * arm_run.c - what is done with one arm of a case: its steps planned, filled, launched.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "case_run.h"

int arm_fail(struct arm_run *arm, const char *status, struct err *err, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    arm->usable = false;
    if (row_set(&arm->row->status, status, err))
        return -1;
    return row_set(&arm->row->status_text, text, err);
}

const char *step_prefix(const struct arm_run *arm, const struct step_run *step, char *buf,
                        size_t size)
{
    buf[0] = '\0';
    if (arm->steps_nr > 1)
        snprintf(buf, size, "step '%s/%s': ", step->kernel->op, step->kernel->name);
    return buf;
}

int arm_workspace_fill(struct arm_run *arm, int byte, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct step_run *step = &arm->step[i];

        if (!step->workspace || step->keeps_workspace)
            continue;
        if (device_fill(step->work->dev, (char *)step->workspace + WORK_GUARD_BYTES, byte,
                        step->workspace_bytes, err))
            return -1;
    }
    return 0;
}

int arm_poison(struct arm_run *arm, int byte, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++)
        if (work_poison(arm->step[i].work, byte, err))
            return -1;
    return 0;
}

/* What happens to the workspaces of the steps that were looked at so far. */
static const char *workspace_name(const struct arm_run *arm)
{
    const char *name = "none";

    for (size_t i = 0; i < arm->steps_nr; i++) {
        if (arm->step[i].workspace_bytes && arm->step[i].keeps_workspace)
            return "kept";
        if (arm->step[i].workspace_bytes)
            name = "overwritten";
    }
    return name;
}

static int step_plan(struct arm_run *arm, struct step_run *step, struct err *err)
{
    struct work *w = step->work;
    const struct device_info *info = device_info(w->dev);
    struct sab_tensor tensors[SAB_MAX_TENSORS];
    struct sab_problem problem;
    struct sab_buffer ws = {0};
    struct err why = ERR_INIT;
    char text[512] = "", name[256];
    struct sab_message msg = {text, sizeof(text)};

    step_prefix(arm, step, name, sizeof(name));
    work_problem(w, info, step->choices, step->kernel->options_nr, tensors, &problem);
    int status = step->kernel->workspace_size(&problem, &ws.bytes, &msg);
    if (status)
        return arm_fail(arm, "skip", err, "%sits workspace size is not known: %s", name, text);
    step->workspace_bytes = ws.bytes;
    if (row_set(&arm->row->workspace, workspace_name(arm), err))
        return -1;
    ws.memory = info->kind == SAB_DEVICE_CUDA ? SAB_MEMORY_DEVICE : SAB_MEMORY_HOST;
    if (ws.bytes) {
        if (device_alloc(w->dev, ws.bytes + 2 * WORK_GUARD_BYTES, &step->workspace, &why))
            return arm_fail(arm, "oom", err, "%sworkspace of %llu bytes: %s", name,
                            (unsigned long long)ws.bytes, why.text);
        ws.data = (char *)step->workspace + WORK_GUARD_BYTES;
        if (device_fill(w->dev, ws.data, 0xa5, ws.bytes, err))
            return -1;
    }
    if (device_sync(w->dev, err))
        return -1;
    double begin = device_now_ns(w->dev);
    status = step->kernel->plan(&problem, &ws, &step->plan, &msg);
    arm->plan_ns += device_now_ns(w->dev) - begin;
    if (status == SAB_UNSUPPORTED)
        return arm_fail(arm, "skip", err, "%s%s", name, text);
    if (status)
        return arm_fail(arm, "crash", err, "%sit cannot be planned (%s): %s", name,
                        sab_status_name(status), text);
    return 0;
}

int arm_plan(struct arm_run *arm, struct err *err)
{
    arm->plan_ns = 0;
    for (size_t i = 0; i < arm->steps_nr && arm->usable; i++)
        if (step_plan(arm, &arm->step[i], err))
            return -1;
    arm->row->plan_ns = arm->plan_ns;
    return 0;
}

void arm_close(struct arm_run *arm, struct device *dev)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct step_run *step = &arm->step[i];

        if (step->plan)
            step->kernel->free(step->plan);
        if (step->workspace)
            device_free(dev, step->workspace);
    }
}

int arm_launch(struct arm_run *arm, bool parts, char *text, size_t size, struct err *err)
{
    struct device *dev = arm_last(arm)->work->dev;
    char name[256];

    text[0] = '\0';
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct step_run *step = &arm->step[i];
        size_t skip = 0;

        if (parts && arm->steps_nr > 1 && device_sample_part(dev, i, err))
            return -1;
        if (work_convert(step->work, err))
            return -1;
        struct sab_message msg = {text, size};
        int status = step->kernel->launch(step->plan, device_stream(dev), &msg);
        if (!status)
            continue;
        step_prefix(arm, step, name, sizeof(name));
        skip = strlen(name);
        if (skip + 1 < size) {
            memmove(text + skip, text, size - skip);
            memcpy(text, name, skip);
            text[size - 1] = '\0';
        }
        return status;
    }
    return 0;
}

int arm_launch_sync(struct arm_run *arm, char *text, size_t size, struct err *err)
{
    int status = arm_launch(arm, false, text, size, err);
    if (status)
        return status;
    return device_sync(arm_last(arm)->work->dev, err);
}
