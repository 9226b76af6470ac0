#include "case_build.h"

#include <math.h>
#include <string.h>

/* Sets axis `i` to its default: a value where it is one, else the expression to work out. */
static int set_default(struct case_builder *b, size_t i, struct err *err)
{
    const struct axis_spec *spec = &b->op->axes[i];

    b->file[i] = NULL;
    b->expr[i] = NULL;
    b->given &= ~(UINT64_C(1) << i);
    b->state[i] = CASE_FIXED;
    b->c.axis[i] = (struct axis_value){0};
    if (axis_value_read(spec, spec->initial, &b->c.axis[i], err) == 0)
        return 0;
    if (spec->kind == AXIS_WORD)
        return err_prefix(err, "default of '%.200s'", b->op->name);
    err_clear(err);
    b->expr[i] = spec->initial;
    b->state[i] = CASE_OPEN;
    return 0;
}

int case_builder_init(struct case_builder *b, const struct op_model *op, uint64_t seed,
                      struct err *err)
{
    *b = (struct case_builder){.op = op, .c = {.op = op, .seed = seed}};
    if (op->axes_nr > OP_MAX_AXES)
        return err_set(err, ERR_BUG, "operator '%.200s' has %zu axes where %d is the most",
                       op->name, op->axes_nr, OP_MAX_AXES);
    for (size_t i = 0; i < op->axes_nr; i++)
        if (set_default(b, i, err))
            return -1;
    return 0;
}

void case_builder_set(struct case_builder *b, size_t axis, const struct axis_element *element,
                      const char *file, int line)
{
    b->c.axis[axis] = element->value;
    b->expr[axis] = element->expr;
    b->state[axis] = element->expr ? CASE_OPEN : CASE_FIXED;
    b->given |= UINT64_C(1) << axis;
    b->file[axis] = file;
    b->line[axis] = line;
}

int case_builder_unset(struct case_builder *b, size_t axis, struct err *err)
{
    return set_default(b, axis, err);
}

/* Says where the failing value stands, once. */
static int locate(struct case_builder *b, size_t i, struct err *err)
{
    if (b->file[i] && !b->located) {
        b->located = true;
        if (b->line[i])
            return err_prefix(err, "%s:%d", b->file[i], b->line[i]);
        return err_prefix(err, "%s", b->file[i]);
    }
    return -1;
}

static int to_axis(const struct axis_spec *spec, const char *text, const struct formula_value *v,
                   struct axis_value *out, struct err *err)
{
    *out = (struct axis_value){0};
    if (v->kind == FORMULA_WORD)
        return err_set(err, ERR_CONFIG, "'%.200s' is a word where axis '%.200s' takes a number",
                       text, spec->name);
    if (spec->kind == AXIS_REAL) {
        out->f = v->kind == FORMULA_INT ? (double)v->i : v->f;
        return 0;
    }
    /* 2^63 as a double is exact; everything below it converts. */
    if (v->kind == FORMULA_REAL && (v->f != floor(v->f) || fabs(v->f) >= 9223372036854775808.0))
        return err_set(err, ERR_CONFIG, "'%.200s' is %.17g where axis '%.200s' takes an integer",
                       text, v->f, spec->name);
    out->i = v->kind == FORMULA_INT ? v->i : (int64_t)v->f;
    return 0;
}

int case_builder_eval(struct case_builder *b, size_t axis, const char *expr, struct axis_value *out,
                      struct err *err)
{
    struct formula_env env = case_builder_env(b);
    struct formula_value v = {.kind = FORMULA_INT};

    if (formula_eval(expr, &env, &v, err))
        return -1;
    return to_axis(&b->op->axes[axis], expr, &v, out, err);
}

static int resolve(struct case_builder *b, size_t i, struct err *err)
{
    const struct axis_spec *spec = &b->op->axes[i];

    if (b->state[i] == CASE_FIXED)
        return 0;
    if (b->state[i] == CASE_BUSY) {
        err_set(err, ERR_CONFIG, "axis '%.200s' is derived from itself by '%.200s'", spec->name,
                b->expr[i]);
        return locate(b, i, err);
    }
    b->state[i] = CASE_BUSY;
    if (case_builder_eval(b, i, b->expr[i], &b->c.axis[i], err))
        return locate(b, i, err);
    b->state[i] = CASE_FIXED;
    return 0;
}

int case_builder_resolve(struct case_builder *b, struct err *err)
{
    for (size_t i = 0; i < b->op->axes_nr; i++)
        if (resolve(b, i, err))
            return -1;
    return 0;
}

int case_builder_finish(struct case_builder *b, struct op_case *settled, struct err *err)
{
    for (size_t i = 0; i < b->op->axes_nr; i++)
        if (axis_value_check(&b->op->axes[i], &b->c.axis[i], err))
            return locate(b, i, err);
    *settled = b->c;
    return b->op->settle ? b->op->settle(settled, err) : 0;
}

static int env_kind(void *ctx, const char *name, const char **words, struct err *err)
{
    static const enum formula_kind kinds[] = {
        [AXIS_INT] = FORMULA_INT, [AXIS_REAL] = FORMULA_REAL, [AXIS_WORD] = FORMULA_WORD};
    const struct case_builder *b = ctx;
    const struct axis_spec *spec;
    int places[2];

    if (axis_targets(b->op, name, places) == 0)
        return axis_unknown(b->op, name, err);
    spec = &b->op->axes[places[0]];
    if (spec->kind == AXIS_WORD)
        *words = spec->words;
    return (int)kinds[spec->kind];
}

static int env_value(void *ctx, const char *name, struct formula_value *out, struct err *err)
{
    struct case_builder *b = ctx;
    const struct axis_value *v;
    int places[2];
    size_t nr = axis_targets(b->op, name, places);

    for (size_t i = 0; i < nr; i++)
        if (resolve(b, (size_t)places[i], err))
            return -1;
    v = &b->c.axis[places[0]];
    if (nr == 2 && v->i != b->c.axis[places[1]].i)
        return err_set(err, ERR_CONFIG,
                       "'%.200s' is seqlen_q %lld and seqlen_k %lld here: name one of the two",
                       name, (long long)v->i, (long long)b->c.axis[places[1]].i);
    out->i = v->i;
    out->f = v->f;
    out->word = v->i;
    return 0;
}

struct formula_env case_builder_env(struct case_builder *b)
{
    return (struct formula_env){.ctx = b, .kind = env_kind, .value = env_value};
}

int case_rival(const struct op_model *op, size_t axis)
{
    if (!strcmp(op->axes[axis].name, "density"))
        return op_axis_find(op, "topk");
    if (!strcmp(op->axes[axis].name, "topk"))
        return op_axis_find(op, "density");
    return -1;
}

double case_density(const struct op_case *asked)
{
    int density = op_axis_find(asked->op, "density"), topk = op_axis_find(asked->op, "topk");

    if (density < 0 || (topk >= 0 && asked->axis[topk].i != 0))
        return NAN;
    return asked->axis[density].f;
}

bool case_equal(const struct op_case *a, const struct op_case *b)
{
    if (a->op != b->op || a->seed != b->seed || a->shape_seed != b->shape_seed)
        return false;
    for (size_t i = 0; i < a->op->axes_nr; i++)
        if (!axis_value_equal(&a->op->axes[i], &a->axis[i], &b->axis[i]))
            return false;
    return true;
}
