/*
 * cmp_match.c - which row of one run goes with which of another.
 */
#include <stdlib.h>
#include <string.h>

#include "axis.h"
#include "cmp.h"
#include "opmodel.h"

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* An operator that grew an axis since the older run: its default is what that run measured. */
static bool is_default(const char *op_name, const char *axis, const char *value)
{
    const struct op_model *op = op_name ? op_model_find(op_name) : NULL;
    int place = op ? op_axis_find(op, axis) : -1;
    struct axis_value a, b;

    if (place < 0 || axis_value_read(&op->axes[place], value, &a, NULL) ||
        axis_value_read(&op->axes[place], op->axes[place].initial, &b, NULL))
        return false;
    return axis_value_equal(&op->axes[place], &a, &b);
}

static bool has_column(const struct case_table *t, const char *axis)
{
    for (size_t i = 0; i < t->axes.nr; i++)
        if (!strcmp(t->axes.items[i], axis))
            return true;
    return false;
}

/* Whether every axis of `x` has the same value in `y`. */
static bool axes_within(const struct case_table *tx, const struct case_row *x,
                        const struct case_table *ty, const struct case_row *y)
{
    for (size_t i = 0; i < tx->axes.nr; i++) {
        const char *name = tx->axes.items[i], *value = x->axis[i];

        if (!value || same_text(value, case_table_axis(ty, y, name)))
            continue;
        if (has_column(ty, name) || !is_default(x->operator, name, value))
            return false;
    }
    return true;
}

static bool same_problem(const struct case_table *tb, const struct case_row *b,
                         const struct case_table *ta, const struct case_row *a)
{
    return same_text(b->operator, a->operator) && axes_within(tb, b, ta, a) &&
           axes_within(ta, a, tb, b);
}

static bool has_role(const struct case_row *row, const char *role)
{
    return same_text(row->role, role);
}

/*
 * Two baselines whose labels differ. Arms of `bench ab` are NAME@REF, each its own baseline, so
 * there the name must be the same.
 */
static bool same_baseline(const struct case_row *b, const struct case_row *a)
{
    size_t stem;

    if (!has_role(b, "baseline") || !has_role(a, "baseline") || !b->arm || !a->arm)
        return false;
    if (!strchr(b->arm, '@') && !strchr(a->arm, '@'))
        return true;
    stem = strcspn(b->arm, "@");
    return stem == strcspn(a->arm, "@") && !strncmp(b->arm, a->arm, stem);
}

/* How well two rows go together; 0: not at all. */
enum fit { FIT_NONE = 0, FIT_ROLE, FIT_ROLE_ID, FIT_ARM, FIT_ARM_ID };

static enum fit fit_of(const struct case_table *tb, const struct case_row *b,
                       const struct case_table *ta, const struct case_row *a)
{
    bool arm = same_text(b->arm, a->arm);

    if (!arm && !same_baseline(b, a))
        return FIT_NONE;
    if (!same_problem(tb, b, ta, a))
        return FIT_NONE;
    if (same_text(b->case_id, a->case_id))
        return arm ? FIT_ARM_ID : FIT_ROLE_ID;
    return arm ? FIT_ARM : FIT_ROLE;
}

#define UNMATCHED SIZE_MAX

/* Best fits first, so that no row is taken by a partner that suits it less. */
static void match_rows(const struct case_table *tb, const struct case_table *ta, size_t *of_before,
                       size_t *of_after, bool *by_role)
{
    for (int want = FIT_ARM_ID; want > FIT_NONE; want--)
        for (size_t i = 0; i < ta->nr; i++) {
            if (of_after[i] != UNMATCHED || has_role(&ta->row[i], "duplicate"))
                continue;
            for (size_t k = 0; k < tb->nr; k++) {
                if (of_before[k] != UNMATCHED || has_role(&tb->row[k], "duplicate") ||
                    (int)fit_of(tb, &tb->row[k], ta, &ta->row[i]) != want)
                    continue;
                of_after[i] = k;
                of_before[k] = i;
                by_role[i] = want <= FIT_ROLE_ID;
                break;
            }
        }
}

static size_t leftovers(const struct case_table *t, const size_t *of, size_t *list)
{
    size_t nr = 0;

    for (size_t i = 0; i < t->nr; i++)
        if (of[i] == UNMATCHED && !has_role(&t->row[i], "duplicate"))
            list[nr++] = i;
    return nr;
}

int cmp_match_init(struct cmp_match *m, const struct case_table *before,
                   const struct case_table *after, struct err *err)
{
    size_t *of_before = malloc((before->nr + 1) * sizeof(*of_before));
    size_t *of_after = malloc((after->nr + 1) * sizeof(*of_after));
    bool *by_role = calloc(after->nr + 1, sizeof(*by_role));
    int ret = -1;

    *m = (struct cmp_match){.pair = calloc(after->nr + 1, sizeof(*m->pair)),
                            .only_before = calloc(before->nr + 1, sizeof(size_t)),
                            .only_after = calloc(after->nr + 1, sizeof(size_t))};
    if (!of_before || !of_after || !by_role || !m->pair || !m->only_before || !m->only_after) {
        err_memory(err);
        goto out;
    }
    memset(of_before, 0xff, before->nr * sizeof(*of_before));
    memset(of_after, 0xff, after->nr * sizeof(*of_after));
    match_rows(before, after, of_before, of_after, by_role);
    for (size_t i = 0; i < after->nr; i++)
        if (of_after[i] != UNMATCHED)
            m->pair[m->nr++] = (struct cmp_match_pair){of_after[i], i, by_role[i]};
    m->only_before_nr = leftovers(before, of_before, m->only_before);
    m->only_after_nr = leftovers(after, of_after, m->only_after);
    ret = 0;
out:
    free(of_before);
    free(of_after);
    free(by_role);
    if (ret)
        cmp_match_release(m);
    return ret;
}

void cmp_match_release(struct cmp_match *m)
{
    free(m->pair);
    free(m->only_before);
    free(m->only_after);
    *m = (struct cmp_match){0};
}
