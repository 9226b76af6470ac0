/*
 * report_outputs.c - whether a candidate computes what its baseline computes: rows of equal bits,
 * and for the others the relative L2 between the two beside the baseline's own run-to-run jitter.
 */
#include "report_internal.h"

#include <math.h>

#define NAMED_ROWS 6 /* that differ, before "and N more" */

static bool is_of(const struct case_row *row, const char *arm)
{
    return report_is_compared(row) && cell_is(row->arm, arm);
}

static void add_number(struct strbuf *out, double value)
{
    if (isnan(value))
        strbuf_addstr(out, "not known");
    else if (value == 0)
        strbuf_addch(out, '0');
    else
        add_scientific(out, value);
}

static void add_difference(const struct case_row *row, const char *base, bool first,
                           struct strbuf *out)
{
    strbuf_addf(out, "; `%s` relative L2 ", row->case_id ? row->case_id : "?");
    add_number(out, row->rel_l2_baseline);
    if (first) {
        strbuf_addstr(out, " between them, ");
        add_escaped(out, base);
        strbuf_addstr(out, "'s own run-to-run jitter ");
    } else {
        strbuf_addstr(out, ", jitter ");
    }
    add_number(out, row->jitter_baseline);
}

static const char *base_name(const struct report_view *view, size_t row)
{
    const struct case_row *base = view->entry[row].base;

    if (base && base->arm)
        return base->arm;
    return view->cases->row[row].baseline ? view->cases->row[row].baseline : "the baseline";
}

/* Rows of the arm that know, how many of them are equal, and the baseline's name. */
struct agreement {
    size_t known, equal;
    const char *base;
};

static struct agreement agreement_of(const struct report_view *view, const char *arm)
{
    struct agreement a = {0};

    for (size_t i = 0; i < view->cases->nr; i++) {
        const struct case_row *row = &view->cases->row[i];
        bool yes = cell_is(row->bits_equal, "yes");

        if (!is_of(row, arm) || (!yes && !cell_is(row->bits_equal, "no")))
            continue;
        a.known++;
        a.equal += yes;
        if (!a.base)
            a.base = base_name(view, i);
    }
    return a;
}

static void add_arm(const struct report_view *view, const char *arm, const struct agreement *a,
                    size_t begin, struct strbuf *out)
{
    size_t named = 0, differ = a->known - a->equal;

    strbuf_addstr(out, "Outputs");
    if (view->candidates.nr > 1) {
        strbuf_addstr(out, " of ");
        add_escaped(out, arm);
    }
    strbuf_addstr(out, ": bits equal to ");
    add_escaped(out, a->base);
    strbuf_addf(out, " in %zu of %zu row%s", a->equal, a->known, a->known == 1 ? "" : "s");
    for (size_t i = 0; i < view->cases->nr && named < differ && named < NAMED_ROWS; i++) {
        const struct case_row *row = &view->cases->row[i];

        if (out->len - begin > REPORT_OUTPUTS_CHARS)
            break;
        if (!is_of(row, arm) || !cell_is(row->bits_equal, "no"))
            continue;
        add_difference(row, a->base, !named, out);
        named++;
    }
    if (differ > named)
        strbuf_addf(out, "; and %zu more", differ - named);
    strbuf_addstr(out, ".\n\n");
}

void report_outputs(const struct report_view *view, struct strbuf *out)
{
    size_t begin = out->len, left_out = 0;

    for (size_t i = 0; i < view->candidates.nr; i++) {
        struct agreement a = agreement_of(view, view->candidates.items[i]);

        if (!a.known)
            continue;
        if (out->len - begin > REPORT_OUTPUTS_CHARS)
            left_out++;
        else
            add_arm(view, view->candidates.items[i], &a, begin, out);
    }
    if (left_out)
        strbuf_addf(out, "Outputs of %zu more arm%s: see bits_equal in cases.csv.\n\n", left_out,
                    left_out == 1 ? "" : "s");
}
