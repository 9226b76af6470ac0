/*
 * checks_refusal.c - malformed problems, none of which may come as far as a launch.
 */
#include <stdio.h>
#include <string.h>

#include "check_rig.h"
#include "malformed.h"

struct refusal {
    struct rig *rig;
    const struct arm_run *arm;
    const struct step_run *step;
    struct check_result *res;
    struct err *err;
    size_t nr;
};

/* A hook's answer to a malformed problem. */
static int judge_answer(struct refusal *r, const struct malformed *m, const char *hook, int status,
                        const char *text)
{
    char name[256];

    step_prefix(r->arm, r->step, name, sizeof(name));
    if (status == SAB_OK)
        return check_fail(r->res, "%s%s is accepted by %s(), must be refused: %s", name, m->name,
                          hook, m->rule);
    if (status != SAB_INVALID)
        return check_fail(r->res, "%s%s is answered %s by %s() (%s), must be invalid: %s", name,
                          m->name, sab_status_name(status), hook, text, m->rule);
    if (!text[0])
        return check_fail(r->res, "%s%s is refused by %s() without a reason", name, m->name, hook);
    return 0;
}

/* Metadata alone: no pointer says anything in supports(). */
static int ask_supports(struct refusal *r, const struct malformed *m)
{
    struct sab_tensor tensor[SAB_MAX_TENSORS];
    struct sab_problem problem = m->problem;
    char text[512] = "";
    struct sab_message msg = {text, sizeof(text)};

    memcpy(tensor, m->tensor, sizeof(tensor));
    for (size_t i = 0; i < SAB_MAX_TENSORS; i++)
        tensor[i].data = NULL;
    if (problem.tensors)
        problem.tensors = tensor;
    return judge_answer(r, m, "supports", r->step->kernel->supports(&problem, &msg), text);
}

static int ask_plan(struct refusal *r, const struct malformed *m)
{
    char text[512] = "";
    struct sab_message msg = {text, sizeof(text)};
    void *plan = NULL;
    const int status = r->step->kernel->plan(&m->problem, &m->workspace, &plan, &msg);

    if (status == SAB_OK && plan)
        r->step->kernel->free(plan);
    return judge_answer(r, m, "plan", status, text);
}

/* Told before it is asked: a kernel that faults on a problem is remembered by that problem. */
static int ask(void *ctx, const struct malformed *m)
{
    struct refusal *r = ctx;
    char what[256];
    int ret = 0;

    r->nr++;
    (void)snprintf(what, sizeof(what), "check refusals: %s;", m->name);
    if (worker_phase(r->rig->side[RIG_A].run, what, NULL, r->err))
        return -1;
    if (m->in_metadata)
        ret = ask_supports(r, m);
    return ret ? ret : ask_plan(r, m);
}

int check_refusals(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_open(rig, RIG_A, res, err);
    struct arm_run *arm = rig->side[RIG_A].arm;
    struct refusal r = {.rig = rig, .arm = arm, .res = res, .err = err};
    const struct device_info *info = device_info(rig->dev);

    for (size_t i = 0; !ret && i < arm->steps_nr; i++) {
        const struct step_run *step = &arm->step[i];
        struct sab_tensor tensors[SAB_MAX_TENSORS];
        struct sab_problem problem;
        struct sab_buffer ws = {step->workspace ? rig_workspace(step) : NULL, step->workspace_bytes,
                                0, 0};

        work_problem(step->work, info, step->choices, step->kernel->options_nr, tensors, &problem);
        ws.memory = info->kind == SAB_DEVICE_CUDA ? SAB_MEMORY_DEVICE : SAB_MEMORY_HOST;
        r.step = step;
        ret = malformed_each(step->work->p.spec, &problem, &ws, info->kind, ask, &r);
    }
    if (ret)
        return ret;
    (void)snprintf(res->text, sizeof(res->text), "%zu malformed problems", r.nr);
    return 0;
}
