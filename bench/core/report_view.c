/*
 * report_view.c - rows of a report: which are compared with which, and what a case is called.
 */
#include "report_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Axes that the short label shows, and those that say nothing beside them. */
static const char *const shape_axes[] = {"batch", "heads", "seqlen_q", "seqlen_k", "head_dim"};
static const char *const implied_axes[] = {"density", "topk", "kv_heads"};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

bool cell_is(const char *member, const char *word)
{
    return member && !strcmp(member, word);
}

bool report_is_role(const struct case_row *row, const char *role)
{
    return cell_is(row->role, role);
}

bool report_is_ok(const struct case_row *row)
{
    return cell_is(row->status, "ok");
}

bool report_is_failed(const struct case_row *row)
{
    return cell_is(row->status, "wrong") || cell_is(row->status, "crash") ||
           cell_is(row->status, "timeout") || cell_is(row->status, "env");
}

bool report_is_compared(const struct case_row *row)
{
    return report_is_role(row, "candidate") && !cell_is(row->problem, "across");
}

const json_t *run_at(const json_t *run, const char *group, const char *name)
{
    const json_t *at = group ? json_object_get(run, group) : run;
    return json_object_get(at, name);
}

double run_real(const json_t *run, const char *group, const char *name)
{
    const json_t *v = run_at(run, group, name);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

const char *run_text(const json_t *run, const char *group, const char *name)
{
    const char *text = json_string_value(run_at(run, group, name));
    return text ? text : "";
}

static bool is_one_of(const char *name, const char *const *list, size_t nr)
{
    for (size_t i = 0; i < nr; i++)
        if (!strcmp(name, list[i]))
            return true;
    return false;
}

static bool has_axis(const struct case_table *t, const char *name)
{
    return is_one_of(name, (const char *const *)t->axes.items, t->axes.nr);
}

static void add_shape(const struct report_view *view, const struct case_row *row, struct strbuf *sb)
{
    const char *v[NR(shape_axes)];

    for (size_t i = 0; i < NR(shape_axes); i++) {
        v[i] = case_table_axis(view->cases, row, shape_axes[i]);
        v[i] = v[i] ? v[i] : "-";
    }
    strbuf_addf(sb, "%s.%s.%s", v[0], v[1], v[2]);
    if (strcmp(v[2], v[3]))
        strbuf_addf(sb, "x%s", v[3]);
    strbuf_addf(sb, ".%s", v[4]);
    double density = isnan(row->density_asked) ? row->density_realised : row->density_asked;
    if (view->has_density && !isnan(density))
        strbuf_addf(sb, fabs(density * 100 - round(density * 100)) < 1e-6 ? ", %.2f" : ", %.4g",
                    density);
}

/* Axes that differ between rows and that the short label leaves out. */
static void add_other_axes(const struct report_view *view, const struct case_row *row,
                           struct strbuf *sb)
{
    const struct case_table *t = view->cases;

    for (size_t i = 0; i < t->axes.nr; i++) {
        const char *name = t->axes.items[i], *value = row->axis[i];
        bool varies = false;

        if (!value || is_one_of(name, shape_axes, NR(shape_axes)) ||
            is_one_of(name, implied_axes, NR(implied_axes)))
            continue;
        for (size_t r = 0; r < t->nr && !varies; r++)
            varies = t->row[r].axis[i] && strcmp(t->row[r].axis[i], value) != 0;
        if (varies)
            strbuf_addf(sb, ", %s %s", name, value);
    }
}

struct named_case {
    const char *label, *id;
};

static int compare_named(const void *a, const void *b)
{
    const struct named_case *x = a, *y = b;
    int order = strcmp(x->label, y->label);
    return order ? order : strcmp(x->id, y->id);
}

static const char *id_of(const struct case_row *row)
{
    return row->case_id ? row->case_id : "";
}

/* Whether one label stands for two cases. An arm with its own problem counts as its case. */
static int labels_clash(const struct report_view *view, bool *clash, struct err *err)
{
    const struct case_table *t = view->cases;
    struct named_case *list = calloc(t->nr + 1, sizeof(*list));
    size_t nr = 0;

    *clash = false;
    if (!list)
        return err_memory(err);
    for (size_t i = 0; i < t->nr; i++)
        if (!cell_is(t->row[i].problem, "across"))
            list[nr++] = (struct named_case){view->entry[i].label, id_of(&t->row[i])};
    qsort(list, nr, sizeof(*list), compare_named);
    for (size_t i = 1; i < nr; i++)
        if (!strcmp(list[i].label, list[i - 1].label) && strcmp(list[i].id, list[i - 1].id) != 0)
            *clash = true;
    free(list);
    return 0;
}

enum label_form { LABEL_SHAPE, LABEL_AXES, LABEL_ID };

static int labels_make(struct report_view *view, enum label_form form, struct err *err)
{
    for (size_t i = 0; i < view->cases->nr; i++) {
        const struct case_row *row = &view->cases->row[i];
        struct strbuf sb = STRBUF_INIT;

        if (form == LABEL_ID)
            strbuf_addstr(&sb, id_of(row));
        else
            add_shape(view, row, &sb);
        if (form == LABEL_AXES)
            add_other_axes(view, row, &sb);
        free(view->entry[i].label);
        view->entry[i].label = strbuf_detach(&sb);
        if (!view->entry[i].label)
            return err_memory(err);
    }
    return 0;
}

static int labels_choose(struct report_view *view, struct err *err)
{
    bool clash = true;

    view->shaped = view->cases->nr > 0;
    for (size_t i = 0; i < NR(shape_axes); i++)
        view->shaped = view->shaped && has_axis(view->cases, shape_axes[i]);
    for (size_t i = 0; i < view->cases->nr; i++)
        if (!isnan(view->cases->row[i].density_asked) ||
            !isnan(view->cases->row[i].density_realised))
            view->has_density = true;
    for (int form = LABEL_SHAPE; view->shaped && clash && form < LABEL_ID; form++)
        if (labels_make(view, (enum label_form)form, err) || labels_clash(view, &clash, err))
            return -1;
    if (!clash)
        return 0;
    view->shaped = false;
    return labels_make(view, LABEL_ID, err);
}

/* A case may have several baselines, as in `ab` of several arms: the row's own word goes first. */
static bool is_base_of(const struct case_row *base, const struct case_row *row)
{
    if (strcmp(id_of(base), id_of(row)) != 0)
        return false;
    return row->baseline ? cell_is(base->arm, row->baseline) : report_is_role(base, "baseline");
}

static int bases_find(struct report_view *view, struct err *err)
{
    const struct case_table *t = view->cases;
    size_t last = 0; /* rows of a case mostly stand together */

    for (size_t i = 0; i < t->nr; i++) {
        const struct case_row *row = &t->row[i];

        for (size_t k = 0; k < t->nr; k++) {
            size_t at = (last + k) % t->nr;
            if (is_base_of(&t->row[at], row)) {
                view->entry[i].base = &t->row[at];
                last = at;
                break;
            }
        }
        if (report_is_compared(row) && row->arm &&
            !is_one_of(row->arm, (const char *const *)view->candidates.items,
                       view->candidates.nr) &&
            text_list_add(&view->candidates, row->arm, err))
            return -1;
    }
    return 0;
}

int report_view_init(struct report_view *view, const struct case_table *cases, const json_t *run,
                     struct err *err)
{
    memset(view, 0, sizeof(*view));
    view->cases = cases;
    view->run = run;
    view->entry = calloc(cases->nr + 1, sizeof(*view->entry));
    if (!view->entry)
        return err_memory(err);
    if (labels_choose(view, err) || bases_find(view, err)) {
        report_view_release(view);
        return -1;
    }
    return 0;
}

void report_view_release(struct report_view *view)
{
    for (size_t i = 0; view->entry && i < view->cases->nr; i++)
        free(view->entry[i].label);
    free(view->entry);
    text_list_release(&view->candidates);
    memset(view, 0, sizeof(*view));
}

/* As summary_run.c counts: a failed row has no verdict, one that is never to be judged neither. */
static bool is_counted(const struct case_row *row)
{
    return report_is_role(row, "candidate") && (!report_is_ok(row) || row->verdict);
}

void report_count(const struct report_view *view, struct report_counts *out)
{
    *out = (struct report_counts){.worst = NAN};
    for (size_t i = 0; i < view->cases->nr; i++) {
        const struct case_row *row = &view->cases->row[i];

        if (!is_counted(row))
            continue;
        out->rows++;
        if (report_is_failed(row))
            out->failed++;
        else if (!report_is_ok(row))
            out->skipped++;
        else if (cell_is(row->verdict, "FASTER"))
            out->faster++;
        else if (cell_is(row->verdict, "SLOWER"))
            out->slower++;
        else if (cell_is(row->verdict, "SAME"))
            out->same++;
        else
            out->unsure++;
        if (report_is_ok(row) && !isnan(row->ratio) && !(log(row->ratio) <= out->worst))
            out->worst = log(row->ratio);
    }
}
