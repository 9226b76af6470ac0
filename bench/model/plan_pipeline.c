/*
 * plan_pipeline.c - `steps = indexer_fwd/mma, dsa_fwd/wgmma`: the steps of a pipeline.
 */
#include <stdlib.h>
#include <string.h>

#include "plan_parts.h"
#include "schema.h"

static int read_step(struct plan_step *step, const char *text, struct err *err)
{
    const char *slash = strchr(text, '/');

    if (!slash || slash == text || !slash[1] || strchr(slash + 1, '/'))
        return err_set(err, ERR_CONFIG, "step '%.200s' is not OPERATOR/KERNEL", text);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): steps were allocated, or rc is not 0 */
    step->op = strndup(text, (size_t)(slash - text));
    step->kernel = strdup(slash + 1);
    if (!step->op || !step->kernel)
        return err_memory(err);
    if (op_model_find(step->op))
        return 0;
    if (!sab_op_find(step->op) && operator_nearest(step->op))
        return operator_unknown(step->op, err);
    return err_set(
        err, ERR_CONFIG,
        "step '%.200s': pipelines need operators that this build can judge, '%.200s' is none", text,
        step->op);
}

/* Whether some output of `from` may become an input of `to`. */
static bool feeds(const char *from, const char *to)
{
    const struct sab_op_spec *spec = sab_op_find(from);

    for (uint32_t i = 0; spec && i < spec->feeds_nr; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a step has an operator */
        if (!strcmp(spec->feeds[i].op, to))
            return true;
    return false;
}

static int check_steps(const struct plan_arm *arm, struct err *err)
{
    if (arm->steps_nr < 2)
        return err_set(err, ERR_CONFIG,
                       "pipeline '%.200s' has one step: two are the least, one is an arm",
                       arm->name);
    for (size_t i = 1; i < arm->steps_nr; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a pipeline has steps here */
        if (!feeds(arm->step[i - 1].op, arm->step[i].op))
            return err_set(err, ERR_CONFIG,
                           "pipeline '%.200s': no output of '%.200s' is an input of '%.200s'",
                           arm->name, arm->step[i - 1].op, arm->step[i].op);
    return 0;
}

int arm_read_steps(struct plan_arm *arm, const struct ini_entry *entry, struct err *err)
{
    struct text_list pieces = {0};
    int rc = text_split(&pieces, entry->value, ',', err);

    if (!rc && pieces.nr == 0)
        rc = err_set(err, ERR_CONFIG, "pipeline '%.200s' has no steps", arm->name);
    if (!rc) {
        arm->step = calloc(pieces.nr, sizeof(*arm->step));
        if (!arm->step)
            rc = err_memory(err);
    }
    while (!rc && arm->steps_nr < pieces.nr) {
        size_t at = arm->steps_nr++;

        rc = read_step(&arm->step[at], pieces.items[at], err);
    }
    if (!rc)
        rc = check_steps(arm, err);
    if (!rc && !(arm->kernel = strdup(pieces.items[0])))
        rc = err_memory(err);
    text_list_release(&pieces);
    return rc ? entry_prefix(err, entry) : 0;
}
