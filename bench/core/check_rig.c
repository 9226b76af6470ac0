#include "check_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "verify_internal.h"

/* Mixed into the seed of the second set of contents. */
#define SIDE_B_SEED 0xb51de

/* Launches beyond the first that measure the jitter of a kernel that promises no equal bits. */
#define JITTER_LAUNCHES 2

void rig_init(struct rig *rig, struct worker *wk, const struct job_case *jc,
              const struct plan_case *item)
{
    memset(rig, 0, sizeof(*rig));
    rig->wk = wk;
    rig->jc = jc;
    rig->item = item;
    rig->dev = wk->dev;
    rig->jitter = NAN;
    rig->print_fd = -1;
}

static void side_close(struct rig *rig, struct rig_side *side)
{
    if (!side->run)
        return;
    rig_outputs_drop(rig, &side->kept);
    case_run_close(side->run);
    free(side->run);
    side->run = NULL;
    side->arm = NULL;
    side->launched = false;
}

void rig_close(struct rig *rig)
{
    for (int i = RIG_SIDES; i-- > 0;)
        side_close(rig, &rig->side[i]);
    rig->spoilt = false;
}

/* A kernel that has a legal problem for an illegal one; a skip is one that it does not serve. */
static int judge_refusal(struct rig *rig, struct arm_run *arm, struct check_result *res)
{
    struct chain *chain = malloc(sizeof(*chain));
    bool across, wrong = false;
    char text[512] = "";

    if (chain && !plan_arm_chain(rig->wk->plan, arm->plan_arm, rig->item, chain, &across, NULL))
        for (size_t i = 0; i < chain->nr && i < arm->steps_nr && !wrong; i++) {
            const struct sab_kernel *k = arm->step[i].kernel;
            struct sab_tensor tensors[SAB_MAX_TENSORS];
            struct sab_message msg = {text, sizeof(text)};
            struct sab_problem problem;

            work_metadata(&chain->step[i].p, device_info(rig->dev), arm->step[i].choices,
                          k->options_nr, tensors, &problem);
            wrong = k->supports(&problem, &msg) == SAB_INVALID &&
                    sab_validate(chain->step[i].p.spec, &problem, (enum sab_device)k->device,
                                 SAB_VALIDATE_METADATA, NULL) == SAB_OK;
        }
    free(chain);
    res->end = CHECK_UNUSABLE;
    if (wrong)
        return check_fail(res, "a legal problem is answered invalid: %s", text);
    return check_na(res, "%s: %s", arm->row->status, arm->row->status_text);
}

/* What case_run_open() found that keeps the arm from being launched. */
static int judge_open(struct rig *rig, struct rig_side *side, struct check_result *res)
{
    struct case_row *row;

    if (!side->run->arms_nr)
        return check_na(res, "the arm does not run in this case");
    side->arm = &side->run->arm[0];
    row = side->arm->row;
    if (side->arm->usable)
        return 0;
    if (!strcmp(row->status, "skip"))
        return judge_refusal(rig, side->arm, res);
    if (!strcmp(row->status, "oom"))
        return check_na(res, "oom: %s", row->status_text);
    res->end = CHECK_UNUSABLE;
    return check_fail(res, "%s", row->status_text);
}

/* Takes the digests of the inputs; with `name`, holds them against those that are there. */
static int inputs_digest(const struct arm_run *arm,
                         uint64_t digest[CHAIN_MAX_STEPS][SAB_MAX_TENSORS], const char **name,
                         struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        const struct work *w = arm->step[i].work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
            uint64_t one;

            if (!w->base[t] || w->tensor[t].role != SAB_IN)
                continue;
            if (device_digest(w->dev, w->tensor[t].data, w->p.tensor[t].bytes, &one, err))
                return -1;
            if (name && !*name && one != digest[i][t])
                *name = w->p.spec->tensors[t].name;
            if (!name)
                digest[i][t] = one;
        }
    }
    return 0;
}

int check_inputs(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);
    const char *name = NULL;

    if (ret)
        return ret;
    if (inputs_digest(rig->side[RIG_A].arm, rig->side[RIG_A].inputs, &name, err))
        return -1;
    return name ? check_fail(res, "the input '%s' was written", name) : 0;
}

static int workspace_guards_write(struct rig *rig, const struct arm_run *arm, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        const struct step_run *step = &arm->step[i];

        if (!step->workspace)
            continue;
        if (device_fill(rig->dev, step->workspace, WORK_GUARD_BYTE, WORK_GUARD_BYTES, err) ||
            device_fill(rig->dev, rig_workspace(step) + step->workspace_bytes, WORK_GUARD_BYTE,
                        WORK_GUARD_BYTES, err))
            return -1;
    }
    return 0;
}

static int measure_jitter(struct rig *rig, struct rig_side *side, struct check_result *res,
                          struct err *err)
{
    double most = 0;

    if (!isnan(rig->jitter) || rig_promises_bits(side->arm, side->arm->steps_nr - 1))
        return 0;
    for (int i = 0; i < JITTER_LAUNCHES; i++) {
        double one;
        int ret = rig_launch(rig, side->arm, -1, res, err);

        if (ret)
            return ret;
        if (rig_distance(side->arm, &side->kept, &one, err))
            return -1;
        /* NaN in other places is for the checks to find, no jitter. */
        if (isfinite(one))
            most = fmax(most, one);
    }
    rig->jitter = most;
    return rig_outputs_restore(side->arm, &side->kept, err);
}

static int first_launch(struct rig *rig, struct rig_side *side, struct check_result *res,
                        struct err *err)
{
    double begin;
    int ret;

    if (workspace_guards_write(rig, side->arm, err) ||
        inputs_digest(side->arm, side->inputs, NULL, err) || device_sync(rig->dev, err))
        return -1;
    begin = verify_now_s();
    ret = rig_launch(rig, side->arm, -1, res, err);
    if (ret > 0)
        res->end = CHECK_UNUSABLE;
    if (ret)
        return ret;
    if (side == &rig->side[RIG_A])
        rig->launch_s = verify_now_s() - begin;
    if (rig_outputs_keep(side->arm, &side->kept, err))
        return -1;
    return measure_jitter(rig, side, res, err);
}

int rig_open(struct rig *rig, int which, struct check_result *res, struct err *err)
{
    struct rig_side *side = &rig->side[which];
    int ret;

    if (rig->spoilt)
        rig_close(rig);
    if (side->run)
        return 0;
    memset(side, 0, sizeof(*side));
    side->run = calloc(1, sizeof(*side->run));
    if (!side->run)
        return err_memory(err);
    side->item = *rig->item;
    if (which == RIG_B) {
        side->item.c.shape_seed = side->item.c.seed;
        side->item.c.seed = rng_hash(side->item.c.seed, SIDE_B_SEED, 0);
        side->item.asked.seed = side->item.c.seed;
        side->item.asked.shape_seed = side->item.c.shape_seed;
    }
    ret = case_run_open(side->run, rig->wk, &side->item, rig->jc, err);
    if (!ret)
        ret = judge_open(rig, side, res);
    if (ret)
        side_close(rig, side);
    return ret;
}

int rig_need(struct rig *rig, int which, struct check_result *res, struct err *err)
{
    struct rig_side *side = &rig->side[which];
    int ret = rig_open(rig, which, res, err);

    if (ret || side->launched)
        return ret;
    ret = first_launch(rig, side, res, err);
    if (ret)
        side_close(rig, side);
    else
        side->launched = true;
    return ret;
}

int rig_enqueue(struct rig *rig, struct arm_run *arm, struct check_result *res, struct err *err)
{
    char text[512];
    int status = arm_launch(arm, false, text, sizeof(text), err);

    (void)rig;
    if (status > 0)
        return check_fail(res, "the launch was refused after a plan was made: %s", text);
    return status;
}

int rig_launch(struct rig *rig, struct arm_run *arm, int poison, struct check_result *res,
               struct err *err)
{
    int ret;

    if (arm_poison(arm, poison, err))
        return -1;
    ret = rig_enqueue(rig, arm, res, err);
    if (ret)
        return ret;
    return device_sync(rig->dev, err);
}

int rig_again(struct rig *rig, int which, const char *when, struct check_result *res,
              struct err *err)
{
    struct rig_side *side = &rig->side[which];
    int ret = rig_launch(rig, side->arm, -1, res, err);

    return ret ? ret : rig_same(rig, side->arm, &side->kept, when, res, err);
}

int rig_take_inputs(struct rig *rig, const struct rig_side *from, struct rig_side *to,
                    struct err *err)
{
    rig->spoilt = true;
    for (size_t i = 0; i < to->arm->steps_nr; i++) {
        const struct work *w = to->arm->step[i].work, *other = from->arm->step[i].work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++)
            if (w->base[t] && w->tensor[t].role == SAB_IN &&
                device_copy(w->dev, w->tensor[t].data, other->tensor[t].data, w->p.tensor[t].bytes,
                            err))
                return -1;
    }
    return 0;
}

/* ---- plans of one's own ---- */

bool rig_has_workspace(const struct arm_run *arm)
{
    for (size_t i = 0; i < arm->steps_nr; i++)
        if (arm->step[i].workspace_bytes)
            return true;
    return false;
}

int rig_fill_workspace(struct rig *rig, const struct arm_run *arm, int byte, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++)
        if (arm->step[i].workspace && device_fill(rig->dev, rig_workspace(&arm->step[i]), byte,
                                                  arm->step[i].workspace_bytes, err))
            return -1;
    return 0;
}

void rig_plan_free(struct arm_run *arm)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        if (arm->step[i].plan)
            arm->step[i].kernel->free(arm->step[i].plan);
        arm->step[i].plan = NULL;
    }
}

int rig_plan(struct rig *rig, struct arm_run *arm, const char *when, struct check_result *res,
             struct err *err)
{
    const struct device_info *info = device_info(rig->dev);

    if (device_sync(rig->dev, err))
        return -1;
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct step_run *step = &arm->step[i];
        struct sab_tensor tensors[SAB_MAX_TENSORS];
        struct sab_problem problem;
        struct sab_buffer ws = {step->workspace ? rig_workspace(step) : NULL, step->workspace_bytes,
                                info->kind == SAB_DEVICE_CUDA ? SAB_MEMORY_DEVICE : SAB_MEMORY_HOST,
                                0};
        char text[512] = "", name[256];
        struct sab_message msg = {text, sizeof(text)};
        int status;

        work_problem(step->work, info, step->choices, step->kernel->options_nr, tensors, &problem);
        status = step->kernel->plan(&problem, &ws, &step->plan, &msg);
        if (status) {
            step->plan = NULL;
            return check_fail(res, "%s: %sit cannot be planned (%s): %s", when,
                              step_prefix(arm, step, name, sizeof(name)), sab_status_name(status),
                              text);
        }
    }
    return 0;
}
