/*
 * report_parts.c - what the steps of each pipeline take, and what quantising cost in accuracy.
 */
#include "report_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_parts(const struct case_row *row)
{
    return row->arm && row->parts_span_ns && !report_is_role(row, "duplicate");
}

/* Adds "| NAME UNIT" for each part of "NAME=NS;NAME=NS", or (cells) its time. */
static void add_parts(const char *parts, bool cells, double unit_ns, double tick_ns,
                      struct strbuf *out)
{
    while (*parts) {
        const char *end = strchrnul(parts, ';');
        const char *equals = memchr(parts, '=', (size_t)(end - parts));

        strbuf_addstr(out, "| ");
        if (cells && equals)
            add_time(out, strtod(equals + 1, NULL), unit_ns, tick_ns);
        else
            strbuf_addf(out, "%.*s %s", (int)((equals ? equals : end) - parts), parts,
                        time_unit_name(unit_ns, false));
        strbuf_addch(out, ' ');
        parts = *end ? end + 1 : end;
    }
}

static void add_head(const struct case_row *row, double unit_ns, bool accuracy, struct strbuf *out)
{
    size_t steps = 1;

    strbuf_addstr(out, "| case | ");
    add_escaped(out, row->arm);
    strbuf_addf(out, " %s ", time_unit_name(unit_ns, false));
    add_parts(row->parts_span_ns, false, unit_ns, row->tick_ns, out);
    strbuf_addf(out, "%s|\n|---|--:", accuracy ? "| relative L2 | cosine " : "");
    for (const char *p = row->parts_span_ns; *p; p++)
        steps += *p == ';';
    while (steps--)
        strbuf_addstr(out, "|--:");
    strbuf_addf(out, "%s|\n", accuracy ? "|--:|--:" : "");
}

static void add_row(const struct report_view *view, size_t i, double unit_ns, bool accuracy,
                    struct strbuf *out)
{
    const struct case_row *row = &view->cases->row[i];

    strbuf_addstr(out, "| ");
    add_escaped(out, view->entry[i].label);
    strbuf_addstr(out, " | ");
    add_time(out, row->span_median_ns, unit_ns, row->tick_ns);
    strbuf_addch(out, ' ');
    add_parts(row->parts_span_ns, true, unit_ns, row->tick_ns, out);
    if (accuracy) {
        strbuf_addstr(out, "| ");
        add_scientific(out, row->accuracy_rel_l2);
        strbuf_addstr(out, " | ");
        if (!isnan(row->accuracy_cosine))
            strbuf_addf(out, "%.5f", row->accuracy_cosine);
        strbuf_addch(out, ' ');
    }
    strbuf_addstr(out, "|\n");
}

/* One table for the rows of one pipeline, from the first of them on. Returns how many did not fit.
 */
static size_t add_pipeline(const struct report_view *view, size_t first, size_t begin,
                           struct strbuf *out)
{
    const struct case_row *head = &view->cases->row[first];
    const double unit_ns = time_unit(view->cases);
    size_t left_out = 0;
    bool accuracy = false;

    for (size_t i = first; i < view->cases->nr; i++)
        if (has_parts(&view->cases->row[i]) && cell_is(view->cases->row[i].arm, head->arm))
            accuracy |= !isnan(view->cases->row[i].accuracy_rel_l2);
    strbuf_addstr(out, "Parts of pipeline ");
    add_escaped(out, head->arm);
    strbuf_addf(out, ", medians%s:\n\n",
                accuracy ? "; relative L2 and cosine of its output against the operator on "
                           "unquantised inputs"
                         : "");
    add_head(head, unit_ns, accuracy, out);
    for (size_t i = first; i < view->cases->nr; i++) {
        if (!has_parts(&view->cases->row[i]) || !cell_is(view->cases->row[i].arm, head->arm))
            continue;
        if (out->len - begin > REPORT_PARTS_CHARS)
            left_out++;
        else
            add_row(view, i, unit_ns, accuracy, out);
    }
    strbuf_addch(out, '\n');
    return left_out;
}

static bool is_first_of_arm(const struct report_view *view, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (has_parts(&view->cases->row[k]) &&
            cell_is(view->cases->row[k].arm, view->cases->row[i].arm))
            return false;
    return true;
}

void report_parts(const struct report_view *view, struct strbuf *out)
{
    size_t begin = out->len, left_out = 0;

    for (size_t i = 0; i < view->cases->nr; i++) {
        if (!has_parts(&view->cases->row[i]) || !is_first_of_arm(view, i))
            continue;
        if (out->len - begin > REPORT_PARTS_CHARS)
            left_out++;
        else
            left_out += add_pipeline(view, i, begin, out);
    }
    if (left_out)
        strbuf_addf(out, "%zu more: see parts_span_ns and accuracy_rel_l2 in cases.csv.\n\n",
                    left_out);
}
