/*
 * plan_chain.c - the cases of a pipeline's steps, from that of the last one backwards.
 */
#include "axis.h"
#include "case_build.h"
#include "plan_parts.h"
#include "rng.h"

#include <string.h>

/* What the step's parentheses say of an axis, or NULL. */
static const struct plan_pair *axis_of_step(const struct plan_step *step, const char *axis)
{
    for (size_t i = 0; i < step->axes_nr; i++)
        if (!strcmp(step->axis[i].key, axis))
            return &step->axis[i];
    return NULL;
}

/* Returns 1 where something sets the axis, 0 for its default. */
static int follow_axis(const struct op_model *op, size_t axis, const struct plan_step *step,
                       const struct op_case *fed, struct axis_value *value, struct err *err)
{
    const struct axis_spec *spec = &op->axes[axis];
    const struct plan_pair *pair = axis_of_step(step, spec->name);
    int place;

    if (pair)
        return axis_value_read(spec, pair->value, value, err) ? -1 : 1;
    if (op->follow && op->follow(fed, axis, value))
        return 1;
    place = op_axis_find(fed->op, spec->name);
    if (place < 0)
        return 0;
    if (axis_translate(&fed->op->axes[place], &fed->axis[place], spec, value))
        return 1;
    /* Words mean what their operator makes of them; a number that does not fit is another shape. */
    return spec->kind == AXIS_WORD ? 0 : axis_value_check(spec, &fed->axis[place], err);
}

static int follow(const struct plan_step *step, const struct op_case *fed, uint64_t seed,
                  uint64_t shape_seed, struct op_case *out, struct err *err)
{
    const struct op_model *op = op_model_find(step->op);
    struct case_builder b;

    if (case_builder_init(&b, op, seed, err))
        return -1;
    b.c.shape_seed = shape_seed;
    for (size_t i = 0; i < op->axes_nr; i++) {
        struct axis_element e = {.expr = NULL};
        int set = follow_axis(op, i, step, fed, &e.value, err);

        if (set < 0)
            return -1;
        if (set)
            case_builder_set(&b, i, &e, NULL, 0);
    }
    return case_builder_resolve(&b, err) || case_builder_finish(&b, out, err) ? -1 : 0;
}

/* The nearest step behind i that it feeds; arm_read_steps() has seen that there is one. */
static size_t fed_by(const struct plan_arm *arm, size_t i)
{
    size_t j = i + 1;

    while (j + 1 < arm->steps_nr && !chain_feeds(arm->step[i].op, arm->step[j].op))
        j++;
    return j;
}

int plan_arm_chain(const struct plan *p, const struct plan_arm *arm, const struct plan_case *item,
                   struct chain *out, bool *across, struct err *err)
{
    out->nr = arm->steps_nr ? arm->steps_nr : 1;
    if (plan_arm_case(p, arm, item, &out->step[out->nr - 1].c, across, err))
        return -1;
    for (size_t i = out->nr - 1; i-- > 0;)
        /* A tensor's stream is its seed and its place: without the operator's name q of one step
         * would be k of another. */
        if (follow(&arm->step[i], &out->step[fed_by(arm, i)].c,
                   rng_seed_of(item->c.seed, arm->step[i].op),
                   item->c.shape_seed ? rng_seed_of(item->c.shape_seed, arm->step[i].op) : 0,
                   &out->step[i].c, err)) {
            err_prefix(err, "step '%.200s/%.200s'", arm->step[i].op, arm->step[i].kernel);
            goto located;
        }
    if (chain_link(out, err) == 0)
        return 0;
located:
    err_prefix(err, "arm '%.200s' in case '%.200s'", arm->name, item->id);
    return at_line(arm->file, arm->line, err);
}
