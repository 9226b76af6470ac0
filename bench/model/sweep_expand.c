#include <stdlib.h>
#include <string.h>

#include "case_build.h"
#include "formula.h"
#include "sweep.h"

static int at_sweep(const struct sweep *s, struct err *err)
{
    return s->line ? err_prefix(err, "%s:%d", s->file, s->line) : err_prefix(err, "%s", s->file);
}

static int count(const struct sweep *s, size_t *total, struct err *err)
{
    double real = 1;

    for (size_t g = 0; g < s->nr; g++)
        real *= (double)s->group[g].rows_nr;
    if (real > SWEEP_MAX_CASES) {
        err_set(err, ERR_CONFIG, "sweep '%.200s' has %.0f combinations of values, the most is %d",
                s->name, real, SWEEP_MAX_CASES);
        return at_sweep(s, err);
    }
    *total = (size_t)real;
    return 0;
}

/* Sets the axes of combination number `at`; the last key runs fastest. */
static void choose(const struct sweep *s, size_t at, struct case_builder *b)
{
    for (size_t g = s->nr; g-- > 0;) {
        const struct axis_group *group = &s->group[g];
        const struct axis_element *row = &group->element[at % group->rows_nr * group->columns_nr];

        at /= group->rows_nr;
        for (size_t place = 0; place < s->op->axes_nr; place++)
            if (group->column_of[place] >= 0)
                case_builder_set(b, place, &row[group->column_of[place]], group->file, group->line);
    }
}

static int is_kept(const struct sweep *s, struct case_builder *b, bool *kept, struct err *err)
{
    struct formula_env env = case_builder_env(b);
    struct formula_value v = {.kind = FORMULA_INT};

    *kept = true;
    if (!s->where)
        return 0;
    if (formula_eval(s->where, &env, &v, err))
        goto fail;
    if (v.kind == FORMULA_WORD) {
        err_set(err, ERR_CONFIG, "'%.200s' is a word, not a condition: compare it with '=='",
                s->where);
        goto fail;
    }
    *kept = v.kind == FORMULA_INT ? v.i != 0 : v.f != 0;
    return 0;
fail:
    err_prefix(err, "where");
    return s->where_line ? err_prefix(err, "%s:%d", s->where_file, s->where_line)
                         : err_prefix(err, "%s", s->where_file);
}

static struct plan_case *cases_grow(struct sweep_cases *cases, struct err *err)
{
    if (cases->nr == cases->alloc) {
        size_t alloc = cases->alloc ? 2 * cases->alloc : 64;
        struct plan_case *grown = realloc(cases->item, alloc * sizeof(*grown));

        if (!grown) {
            err_memory(err);
            return NULL;
        }
        cases->item = grown;
        cases->alloc = alloc;
    }
    return &cases->item[cases->nr];
}

static int add_case(const struct sweep *s, struct case_builder *b, struct sweep_cases *cases,
                    struct err *err)
{
    struct plan_case *item = cases_grow(cases, err);
    struct strbuf id = STRBUF_INIT;

    if (!item)
        return -1;
    *item = (struct plan_case){.sweep = s->name,
                               .file = s->file,
                               .line = s->line,
                               .asked = b->c,
                               .given = b->given,
                               .density_asked = case_density(&b->c)};
    if (case_add_id(&id, s->name, &b->c, err)) {
        strbuf_release(&id);
        return -1;
    }
    if (case_builder_finish(b, &item->c, err)) {
        if (!b->located) {
            err_prefix(err, "case '%.200s'", id.buf);
            at_sweep(s, err);
        }
        strbuf_release(&id);
        return -1;
    }
    item->id = strbuf_detach(&id);
    if (!item->id)
        return err_memory(err);
    cases->nr++;
    return 0;
}

struct rank {
    const struct plan_case *item;
    size_t at;
    bool again; /* an earlier case is the same */
};

static int compare(const void *va, const void *vb)
{
    const struct rank *a = va, *b = vb;
    const struct op_model *op = a->item->c.op;

    for (size_t i = 0; i < op->axes_nr; i++) {
        const struct axis_value *x = &a->item->c.axis[i], *y = &b->item->c.axis[i];

        if (axis_value_equal(&op->axes[i], x, y))
            continue;
        if (op->axes[i].kind == AXIS_REAL)
            return x->f < y->f ? -1 : 1;
        return x->i < y->i ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

static int by_place(const void *va, const void *vb)
{
    const struct rank *a = va, *b = vb;

    return a->at < b->at ? -1 : a->at > b->at;
}

/* Leaves the first of each set of equal cases behind `first`, in their order. */
static int drop_alike(struct sweep_cases *cases, size_t first, size_t *dropped, struct err *err)
{
    size_t nr = cases->nr - first, kept = first;
    struct rank *rank = calloc(nr ? nr : 1, sizeof(*rank));

    if (!rank)
        return err_memory(err);
    for (size_t i = 0; i < nr; i++)
        rank[i] = (struct rank){.item = &cases->item[first + i], .at = i};
    qsort(rank, nr, sizeof(*rank), compare);
    for (size_t i = 1; i < nr; i++)
        rank[i].again = case_equal(&rank[i - 1].item->c, &rank[i].item->c);
    qsort(rank, nr, sizeof(*rank), by_place);
    for (size_t i = 0; i < nr; i++) {
        if (rank[i].again)
            free(cases->item[first + i].id);
        else
            cases->item[kept++] = cases->item[first + i];
    }
    *dropped = cases->nr - kept;
    cases->nr = kept;
    free(rank);
    return 0;
}

static int nothing_left(const struct sweep *s, size_t total, struct err *err)
{
    err_set(err, ERR_CONFIG, "where '%.200s' leaves none of the %zu combinations of sweep '%.200s'",
            s->where, total, s->name);
    return s->where_line ? err_prefix(err, "%s:%d", s->where_file, s->where_line)
                         : err_prefix(err, "%s", s->where_file);
}

int sweep_expand(const struct sweep *s, uint64_t seed, struct sweep_cases *cases,
                 struct strbuf *notes, struct err *err)
{
    struct case_builder plain;
    size_t total = 0, dropped = 0, first = cases->nr;

    if (count(s, &total, err) || case_builder_init(&plain, s->op, seed, err))
        return -1;
    for (size_t at = 0; at < total; at++) {
        struct case_builder b = plain;
        bool kept = true;

        choose(s, at, &b);
        if (case_builder_resolve(&b, err))
            return b.located ? -1 : at_sweep(s, err);
        if (is_kept(s, &b, &kept, err))
            return -1;
        if (kept && add_case(s, &b, cases, err))
            return -1;
    }
    if (cases->nr == first)
        return nothing_left(s, total, err);
    if (drop_alike(cases, first, &dropped, err))
        return -1;
    if (dropped)
        strbuf_addf(notes, "sweep '%.200s': %zu case%s left out as the same problem as another\n",
                    s->name, dropped, dropped == 1 ? " is" : "s are");
    return 0;
}
