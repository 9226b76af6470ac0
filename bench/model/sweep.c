#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#include "case_build.h"
#include "formula.h"

void sweep_init(struct sweep *s, const struct op_model *op, const char *name, const char *file,
                int line)
{
    *s = (struct sweep){.op = op, .name = name, .file = file, .line = line};
}

void sweep_release(struct sweep *s)
{
    for (size_t i = 0; i < s->nr; i++)
        axis_group_release(&s->group[i]);
    free(s->group);
    *s = (struct sweep){0};
}

void sweep_cases_release(struct sweep_cases *cases)
{
    for (size_t i = 0; i < cases->nr; i++)
        free(cases->item[i].id);
    free(cases->item);
    *cases = (struct sweep_cases){0};
}

/* Whether `a` speaks of an axis that leaves no room for what `b` says of axis `place`. */
static bool speaks_of(const struct op_model *op, const struct axis_group *a, size_t place)
{
    int rival = case_rival(op, place);

    return a->column_of[place] >= 0 || (rival >= 0 && a->column_of[rival] >= 0);
}

static int clash(const struct op_model *op, const struct axis_group *old,
                 const struct axis_group *fresh, size_t place, struct err *err)
{
    if (old->column_of[place] >= 0)
        return err_set(err, ERR_CONFIG,
                       "'%.200s' sets axis '%.200s', which '%.200s' in line %d sets already",
                       fresh->key, op->axes[place].name, old->key, old->line);
    return err_set(err, ERR_CONFIG,
                   "'%.200s' stands beside '%.200s' of line %d: give density or topk", fresh->key,
                   old->key, old->line);
}

/* Settles who speaks of each axis. */
static int take_over(struct sweep *s, struct axis_group *fresh, struct err *err)
{
    for (size_t g = 0; g < s->nr; g++) {
        struct axis_group *old = &s->group[g];

        for (size_t place = 0; place < s->op->axes_nr; place++) {
            if (fresh->column_of[place] >= 0 && speaks_of(s->op, old, place) &&
                old->level == fresh->level)
                return clash(s->op, old, fresh, place, err);
            if (old->level < fresh->level && speaks_of(s->op, fresh, place))
                old->column_of[place] = -1;
            else if (old->level > fresh->level && speaks_of(s->op, old, place))
                fresh->column_of[place] = -1;
        }
    }
    return 0;
}

/* A group whose every axis was taken over would only multiply the cases. */
static void drop_silent(struct sweep *s)
{
    size_t kept = 0;

    for (size_t g = 0; g < s->nr; g++) {
        bool speaks = false;

        for (size_t place = 0; place < s->op->axes_nr; place++)
            speaks |= s->group[g].column_of[place] >= 0;
        if (speaks)
            s->group[kept++] = s->group[g];
        else
            axis_group_release(&s->group[g]);
    }
    s->nr = kept;
}

static int check_exprs(const struct sweep *s, const struct axis_group *group, struct err *err)
{
    struct case_builder b;
    struct formula_env env = case_builder_env(&b);

    if (case_builder_init(&b, s->op, 0, err))
        return -1;
    for (size_t i = 0; i < group->rows_nr * group->columns_nr; i++)
        if (group->element[i].expr && formula_check(group->element[i].expr, &env, err))
            return -1;
    return 0;
}

static int grow(struct sweep *s, struct err *err)
{
    size_t alloc = s->alloc ? 2 * s->alloc : 8;
    struct axis_group *grown;

    if (s->nr < s->alloc)
        return 0;
    grown = realloc(s->group, alloc * sizeof(*grown));
    if (!grown)
        return err_memory(err);
    s->group = grown;
    s->alloc = alloc;
    return 0;
}

static int locate(struct err *err, const char *file, int line)
{
    return line ? err_prefix(err, "%s:%d", file, line) : err_prefix(err, "%s", file);
}

int sweep_add(struct sweep *s, const char *key, const char *value, const char *file, int line,
              int level, struct err *err)
{
    struct axis_group fresh = {.key = key, .file = file, .line = line, .level = level};

    if (axis_group_read(&fresh, s->op, key, value, err) || check_exprs(s, &fresh, err) ||
        take_over(s, &fresh, err) || grow(s, err)) {
        axis_group_release(&fresh);
        return locate(err, file, line);
    }
    s->group[s->nr++] = fresh;
    drop_silent(s);
    return 0;
}

int sweep_set_where(struct sweep *s, const char *text, const char *file, int line, struct err *err)
{
    struct case_builder b;
    struct formula_env env = case_builder_env(&b);

    if (case_builder_init(&b, s->op, 0, err) || formula_check(text, &env, err)) {
        err_prefix(err, "where");
        return locate(err, file, line);
    }
    s->where = text;
    s->where_file = file;
    s->where_line = line;
    return 0;
}
