/*
 * plan_check.c - which arm runs what for which case.
 */
#include <string.h>

#include "case_build.h"
#include "plan_parts.h"

/* The operator in "OPERATOR/KERNEL" is `op`, or is left out. */
static bool kernel_fits(const char *kernel, const char *op)
{
    const char *slash = strchr(kernel, '/');

    return !slash || ((size_t)(slash - kernel) == strlen(op) &&
                      !memcmp(kernel, op, (size_t)(slash - kernel)));
}

bool plan_arm_serves(const struct plan_arm *arm, const struct plan_case *item)
{
    return arm->op || kernel_fits(arm->kernel, item->c.op->name);
}

bool axis_translate(const struct axis_spec *from, const struct axis_value *value,
                    const struct axis_spec *to, struct axis_value *out)
{
    struct strbuf text = STRBUF_INIT;
    bool fine;

    axis_value_add(&text, from, value);
    fine = axis_value_read(to, text.buf, out, NULL) == 0;
    strbuf_release(&text);
    return fine;
}

/* Whether the default of an axis is a value of its own, not that of another axis. */
static bool default_stands(const struct axis_spec *spec)
{
    struct axis_value v;

    return axis_value_read(spec, spec->initial, &v, NULL) == 0;
}

/*
 * Starts the arm's problem from the case: what the sweep set, and, under another operator, also
 * what that operator would take from a default of its own, so that the two problems stay alike.
 */
static int start(struct case_builder *b, const struct op_model *op, const struct plan_case *item,
                 struct err *err)
{
    const struct op_model *from = item->c.op;

    if (case_builder_init(b, op, item->c.seed, err))
        return -1;
    b->c.shape_seed = item->c.shape_seed;
    for (size_t i = 0; i < from->axes_nr; i++) {
        bool given = item->given >> i & 1;
        int place = op_axis_find(op, from->axes[i].name);
        struct axis_element e = {.expr = NULL};

        if (place < 0 || (!given && (op == from || !default_stands(&op->axes[place]) ||
                                     !default_stands(&from->axes[i]))))
            continue;
        if (axis_translate(&from->axes[i], &item->asked.axis[i], &op->axes[place], &e.value))
            case_builder_set(b, (size_t)place, &e, NULL, 0);
    }
    return 0;
}

int at_line(const char *file, int line, struct err *err)
{
    return line ? err_prefix(err, "%s:%d", file, line) : err_prefix(err, "%s", file);
}

static int read_override(struct axis_group *group, const struct op_model *op,
                         const struct plan_pair *pair, struct err *err)
{
    *group = (struct axis_group){.key = pair->key, .file = pair->file, .line = pair->line};
    if (axis_group_read(group, op, pair->key, pair->value, err) == 0) {
        if (group->rows_nr == 1)
            return 0;
        err_set(err, ERR_CONFIG, "'%s = %s' gives %zu values: an arm takes one", pair->key,
                pair->value, group->rows_nr);
    }
    return at_line(pair->file, pair->line, err);
}

/* Sets what one key of the arm says. Its expressions speak of the case as the sweep asked for it
 * (`plain`): `heads = (heads / 2)` is half of the case's heads. */
static int override(struct case_builder *b, struct case_builder *plain,
                    const struct axis_group *group, uint64_t *taken, struct err *err)
{
    for (size_t place = 0; place < b->op->axes_nr; place++) {
        int c = group->column_of[place], rival = case_rival(b->op, place);
        struct axis_element e = {.expr = NULL};

        if (c < 0)
            continue;
        if ((*taken >> place & 1) || (rival >= 0 && (*taken >> rival & 1))) {
            err_set(err, ERR_CONFIG, "'%s' sets what another key of the arm sets already",
                    group->key);
            return at_line(group->file, group->line, err);
        }
        *taken |= UINT64_C(1) << place;
        if (rival >= 0 && case_builder_unset(b, (size_t)rival, err))
            return -1;
        e.value = group->element[c].value;
        if (group->element[c].expr &&
            case_builder_eval(plain, place, group->element[c].expr, &e.value, err))
            return at_line(group->file, group->line, err);
        case_builder_set(b, place, &e, group->file, group->line);
    }
    return 0;
}

static int build(struct case_builder *b, const struct plan_arm *arm, const struct plan_case *item,
                 struct op_case *out, struct err *err)
{
    if (case_builder_resolve(b, err) || case_builder_finish(b, out, err)) {
        if (b->located)
            return -1;
        err_prefix(err, "arm '%.200s' in case '%.200s'", arm->name, item->id);
        return at_line(arm->file, arm->line, err);
    }
    return 0;
}

static int override_all(struct case_builder *b, const struct plan_arm *arm, struct err *err)
{
    struct case_builder plain = *b;
    uint64_t taken = 0;

    if (case_builder_resolve(&plain, err))
        return -1;
    for (size_t i = 0; i < arm->axes_nr; i++) {
        struct axis_group group = {.key = arm->axis[i].key};
        int rc;

        if (!key_is_axis(b->op, arm->axis[i].key))
            continue;
        rc = read_override(&group, b->op, &arm->axis[i], err);
        if (!rc)
            rc = override(b, &plain, &group, &taken, err);
        axis_group_release(&group);
        if (rc)
            return -1;
    }
    return 0;
}

int plan_arm_case(const struct plan *p, const struct plan_arm *arm, const struct plan_case *item,
                  struct op_case *out, bool *across, struct err *err)
{
    const struct op_model *op = arm->op ? op_model_find(arm->op) : item->c.op;
    struct case_builder b;

    (void)p;
    *out = item->c;
    *across = false;
    if (op == item->c.op && arm->axes_nr == 0)
        return 0;
    if (start(&b, op, item, err) || override_all(&b, arm, err) || build(&b, arm, item, out, err))
        return -1;
    *across = !case_equal(out, &item->c);
    return 0;
}

/* Each axis that an arm sets must be one of an operator that it runs. */
static int check_axes(const struct plan *p, const struct plan_arm *arm, struct err *err)
{
    for (size_t a = 0; a < arm->axes_nr; a++) {
        const struct op_model *op = NULL;
        bool known = false;

        for (size_t i = 0; !known && i < p->nr; i++) {
            if (!plan_arm_serves(arm, &p->item[i]))
                continue;
            op = arm->op ? op_model_find(arm->op) : p->item[i].c.op;
            known = key_is_axis(op, arm->axis[a].key);
        }
        if (known || !op)
            continue;
        axis_unknown(op, arm->axis[a].key, err);
        return at_line(arm->axis[a].file, arm->axis[a].line, err);
    }
    return 0;
}

/* A problem as a whole is looked at only where steps must fit: kernels refuse the others. */
static int check_case(const struct plan *p, const struct plan_arm *arm,
                      const struct plan_case *item, struct err *err)
{
    struct chain chain;
    bool across;

    if (arm->steps_nr)
        return plan_arm_chain(p, arm, item, &chain, &across, err);
    return plan_arm_case(p, arm, item, &chain.step[0].c, &across, err);
}

int plan_check_arms(const struct plan *p, struct err *err)
{
    for (size_t a = 0; a < p->arms_nr; a++) {
        const struct plan_arm *arm = &p->arm[a];
        size_t served = 0;

        for (size_t i = 0; i < p->nr; i++) {
            if (!plan_arm_serves(arm, &p->item[i]))
                continue;
            served++;
            if (check_case(p, arm, &p->item[i], err))
                return -1;
        }
        if (!served)
            return err_set(
                err, ERR_CONFIG,
                "%s:%d: arm '%.200s' serves no sweep: its kernel '%.200s' is for another "
                "operator than theirs",
                arm->file, arm->line, arm->name, arm->kernel);
        if (check_axes(p, arm, err))
            return -1;
    }
    return 0;
}
