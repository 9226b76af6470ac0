/*
 * checks_workspace.c - a workspace that others use in between, and one that is none. The scenarios
 * are those of the Sage contract, section 7.3, for any kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_rig.h"

static const int overwrites[] = {0x00, 0xff, 0xa5};

int check_zeroed(struct rig *rig, struct check_result *res, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A];
    struct arm_run other;
    int ret = rig_need(rig, RIG_A, res, err);

    if (ret)
        return ret;
    for (size_t i = 0; !ret && i < sizeof(overwrites) / sizeof(overwrites[0]); i++) {
        char when[80];

        (void)snprintf(when, sizeof(when), "after the workspace was overwritten with 0x%02x",
                       (unsigned)overwrites[i]);
        if (rig_fill_workspace(rig, a->arm, overwrites[i], err))
            return -1;
        ret = rig_again(rig, RIG_A, when, res, err);
    }
    if (ret)
        return ret;
    /* A second plan on it, as a second call: what an earlier one left there is gone. */
    other = *a->arm;
    if (rig_fill_workspace(rig, a->arm, 0, err))
        return -1;
    ret = rig_plan(rig, &other, "a second plan on the workspace", res, err);
    if (!ret)
        ret = rig_launch(rig, &other, -1, res, err);
    if (!ret)
        ret = rig_same(rig, &other, &a->kept, "a second plan on the workspace, zeroed in between",
                       res, err);
    rig_plan_free(&other);
    return ret;
}

int check_stale_valid(struct rig *rig, struct check_result *res, struct err *err)
{
    static const char when[] = "with the bytes of another problem's workspace in its own";
    struct rig_side *a = &rig->side[RIG_A], *b = &rig->side[RIG_B];
    int ret = rig_need(rig, RIG_A, res, err);

    if (!ret)
        ret = rig_need(rig, RIG_B, res, err);
    if (ret)
        return ret;
    for (size_t i = 0; i < a->arm->steps_nr; i++)
        if (a->arm->step[i].workspace &&
            device_copy(rig->dev, rig_workspace(&b->arm->step[i]), rig_workspace(&a->arm->step[i]),
                        a->arm->step[i].workspace_bytes, err))
            return -1;
    if (arm_poison(a->arm, 0x6b, err))
        return -1;
    ret = rig_again(rig, RIG_B, when, res, err);
    if (!ret)
        ret = rig_untouched(rig, a->arm, 0x6b, "while another problem was launched", res, err);
    return ret;
}

int check_recycled_view(struct rig *rig, struct check_result *res, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A];
    int ret = rig_need(rig, RIG_A, res, err);

    if (ret)
        return ret;
    rig_plan_free(a->arm);
    if (rig_fill_workspace(rig, a->arm, 0, err))
        return -1;
    ret = rig_plan(rig, a->arm, "a new plan on the old address", res, err);
    return ret ? ret
               : rig_again(rig, RIG_A, "a new plan whose workspace lies where an old one's lay",
                           res, err);
}

/* ---- a workspace that is none ---- */

struct odd_workspace {
    const char *name;
    int64_t shorter; /* bytes less; INT64_MAX: none left */
    int offset;      /* bytes off its address */
    bool foreign, absent;
    bool may_serve; /* a kernel that needs one may serve this one all the same */
};

static const struct odd_workspace empty = {.name = "an empty workspace", .shorter = INT64_MAX};
static const struct odd_workspace odd[] = {
    {.name = "a workspace one byte short", .shorter = 1},
    {.name = "a workspace one byte off its alignment", .offset = 1, .may_serve = true},
    {.name = "a workspace in memory of another kind", .foreign = true},
    {.name = "an absent workspace", .absent = true},
};

/* The problem of one step planned on an odd workspace; `storage` has room for it. */
static int plan_odd(struct rig *rig, struct step_run *step, const struct odd_workspace *o,
                    char *storage, char *text, size_t size)
{
    const struct device_info *info = device_info(rig->dev);
    struct sab_tensor tensors[SAB_MAX_TENSORS];
    struct sab_message msg = {text, size};
    struct sab_problem problem;
    struct sab_buffer ws = {storage + o->offset, step->workspace_bytes, 0, 0};
    const bool on_device = info->kind == SAB_DEVICE_CUDA;

    text[0] = '\0';
    if (o->shorter == INT64_MAX)
        ws.bytes = 0;
    else if (ws.bytes)
        ws.bytes -= (uint64_t)o->shorter;
    ws.memory = on_device != o->foreign ? SAB_MEMORY_DEVICE : SAB_MEMORY_HOST;
    work_problem(step->work, info, step->choices, step->kernel->options_nr, tensors, &problem);
    return step->kernel->plan(&problem, o->absent ? NULL : &ws, &step->plan, &msg);
}

/* One odd workspace given to one step. *planned: it was taken, and the arm can be launched. */
static int try_odd(struct rig *rig, struct arm_run *arm, struct step_run *step,
                   const struct odd_workspace *o, char *storage, struct check_result *res)
{
    char text[512], name[256];
    int status = plan_odd(rig, step, o, storage, text, sizeof(text));

    step_prefix(arm, step, name, sizeof(name));
    if (status != SAB_OK)
        step->plan = NULL;
    if (status == SAB_INVALID && step->workspace_bytes)
        return text[0] ? 0 : check_fail(res, "%s%s is refused without a reason", name, o->name);
    if (status != SAB_OK)
        return check_fail(res, "%s%s is answered %s%s%s, must be %s", name, o->name,
                          sab_status_name(status), text[0] ? ": " : "", text,
                          step->workspace_bytes ? "invalid" : "served: none is needed");
    if (step->workspace_bytes && !o->may_serve)
        return check_fail(res, "%s%s is accepted, must be refused: %llu bytes are needed", name,
                          o->name, (unsigned long long)step->workspace_bytes);
    return 0;
}

static int launch_odd(struct rig *rig, struct arm_run *arm, const struct odd_workspace *o,
                      struct check_result *res, struct err *err)
{
    int ret;

    for (size_t i = 0; i < arm->steps_nr; i++)
        if (!arm->step[i].plan)
            return 0; /* refused, as is due; or a kernel whose plan is nothing */
    ret = rig_launch(rig, arm, -1, res, err);
    return ret ? ret : rig_same(rig, arm, &rig->side[RIG_A].kept, o->name, res, err);
}

/* Each step of a pipeline by itself, the others on the plans that they have. */
static int play_odd(struct rig *rig, const struct odd_workspace *o, bool launch,
                    struct check_result *res, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A];
    int ret = 0;

    for (size_t i = 0; !ret && i < a->arm->steps_nr; i++) {
        struct arm_run arm = *a->arm;
        struct step_run *step = &arm.step[i];
        void *storage;

        if (device_alloc(rig->dev, step->workspace_bytes + 512, &storage, err))
            return -1;
        step->plan = NULL;
        ret = try_odd(rig, &arm, step, o, storage, res);
        if (!ret && launch)
            ret = launch_odd(rig, &arm, o, res, err);
        if (step->plan)
            step->kernel->free(step->plan);
        device_free(rig->dev, storage);
    }
    return ret;
}

int check_empty(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);

    return ret ? ret : play_odd(rig, &empty, true, res, err);
}

int check_degenerate(struct rig *rig, struct check_result *res, struct err *err)
{
    const size_t nr = sizeof(odd) / sizeof(odd[0]);
    int ret = rig_need(rig, RIG_A, res, err);

    for (size_t i = 0; !ret && i < nr; i++) {
        const bool needed = rig_has_workspace(rig->side[RIG_A].arm);

        /* Nothing can be short of nothing; and one launch shows that none is needed. */
        if (needed || !odd[i].shorter)
            ret = play_odd(rig, &odd[i], needed || i + 1 == nr, res, err);
    }
    return ret;
}
