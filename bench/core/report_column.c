/*
 * report_column.c - the columns of the Markdown tables.
 */
#include "report_table.h"

#include <math.h>

static const struct case_row *row_at(const struct table *t, size_t row)
{
    return &t->view->cases->row[row];
}

static const struct case_row *base_at(const struct table *t, size_t row)
{
    return t->view->entry[row].base;
}

const char *table_base_name(const struct table *t)
{
    for (size_t i = 0; i < t->nr; i++)
        if (t->view->entry[t->order[i]].base && t->view->entry[t->order[i]].base->arm)
            return t->view->entry[t->order[i]].base->arm;
    return "baseline";
}

static void head_case(const struct table *t, struct strbuf *sb)
{
    strbuf_addstr(sb, "case");
    if (t->view->shaped)
        strbuf_addstr(sb, t->view->has_density ? " (B.H.S.D, density)" : " (B.H.S.D)");
}

static void head_time(const struct table *t, const char *arm, struct strbuf *sb)
{
    add_escaped(sb, arm);
    strbuf_addf(sb, " %s", time_unit_name(t->unit_ns, false));
}

static void head_base(const struct table *t, struct strbuf *sb)
{
    head_time(t, table_base_name(t), sb);
}

static void head_arm_time(const struct table *t, struct strbuf *sb)
{
    head_time(t, t->arm ? t->arm : "median", sb);
}

static void head_p10(const struct table *t, struct strbuf *sb)
{
    head_time(t, "p10", sb);
}

static void head_p90(const struct table *t, struct strbuf *sb)
{
    head_time(t, "p90", sb);
}

#define HEAD(name, text)                                                                           \
    static void head_##name(const struct table *t, struct strbuf *sb)                              \
    {                                                                                              \
        (void)t;                                                                                   \
        strbuf_addstr(sb, text);                                                                   \
    }
HEAD(arm, "arm")
HEAD(change, "change [95 % CI]")
HEAD(verdict, "verdict")
HEAD(status, "status")
HEAD(tflops, "TFLOP/s")
HEAD(gbps, "GB/s")
HEAD(limit, "% of limit")
HEAD(activities, "activities")
HEAD(resources, "regs / spill B")
HEAD(error, "max err")
HEAD(n, "n")

static bool always(const struct table *t)
{
    (void)t;
    return true;
}

static bool used_limit(const struct table *t)
{
    return t->limit;
}

static bool used_activities(const struct table *t)
{
    return t->activities;
}

static bool used_resources(const struct table *t)
{
    return t->resources;
}

static bool used_errors(const struct table *t)
{
    return t->errors;
}

static bool used_rates(const struct table *t)
{
    return t->rates;
}

static void cell_case(const struct table *t, size_t row, struct strbuf *sb)
{
    add_escaped(sb, t->view->entry[row].label);
}

static void cell_arm(const struct table *t, size_t row, struct strbuf *sb)
{
    add_escaped(sb, row_at(t, row)->arm);
}

static void cell_base(const struct table *t, size_t row, struct strbuf *sb)
{
    const struct case_row *base = base_at(t, row);
    if (base)
        add_time(sb, base->span_median_ns, t->unit_ns, base->tick_ns);
}

static void cell_time(const struct table *t, size_t row, struct strbuf *sb)
{
    add_time(sb, row_at(t, row)->span_median_ns, t->unit_ns, row_at(t, row)->tick_ns);
}

static void cell_p10(const struct table *t, size_t row, struct strbuf *sb)
{
    add_time(sb, row_at(t, row)->span_p10_ns, t->unit_ns, row_at(t, row)->tick_ns);
}

static void cell_p90(const struct table *t, size_t row, struct strbuf *sb)
{
    add_time(sb, row_at(t, row)->span_p90_ns, t->unit_ns, row_at(t, row)->tick_ns);
}

static void cell_change(const struct table *t, size_t row, struct strbuf *sb)
{
    add_change(sb, row_at(t, row), base_at(t, row));
}

static void cell_verdict(const struct table *t, size_t row, struct strbuf *sb)
{
    const struct case_row *r = row_at(t, row);

    if (!report_is_ok(r))
        add_escaped(sb, r->status);
    else
        strbuf_addstr(sb, r->verdict ? r->verdict : "UNSURE");
}

static void cell_status(const struct table *t, size_t row, struct strbuf *sb)
{
    add_escaped(sb, row_at(t, row)->status);
}

static void cell_tflops(const struct table *t, size_t row, struct strbuf *sb)
{
    if (!isnan(row_at(t, row)->tflops))
        strbuf_addf(sb, "%.3g", row_at(t, row)->tflops);
}

static void cell_gbps(const struct table *t, size_t row, struct strbuf *sb)
{
    if (!isnan(row_at(t, row)->gbps))
        strbuf_addf(sb, "%.3g", row_at(t, row)->gbps);
}

static void cell_limit(const struct table *t, size_t row, struct strbuf *sb)
{
    const struct case_row *r = row_at(t, row);
    if (isnan(r->limit_pct))
        return;
    strbuf_addf(sb, "%.0f ", r->limit_pct);
    add_escaped(sb, r->limit);
}

static void cell_activities(const struct table *t, size_t row, struct strbuf *sb)
{
    const struct case_row *r = row_at(t, row), *base = base_at(t, row);

    if (t->arm && base && base->activities >= 0 && r->activities >= 0)
        strbuf_addf(sb, "%lld -> ", (long long)base->activities);
    if (r->activities >= 0)
        strbuf_addf(sb, "%lld", (long long)r->activities);
}

static void add_resources(struct strbuf *sb, const struct case_row *r)
{
    strbuf_addf(sb, "%lld/", (long long)r->registers);
    if (r->spill_bytes >= 0)
        strbuf_addf(sb, "%lld", (long long)r->spill_bytes);
    else
        strbuf_addch(sb, '?');
}

static void cell_resources(const struct table *t, size_t row, struct strbuf *sb)
{
    const struct case_row *r = row_at(t, row), *base = base_at(t, row);

    if (r->registers < 0)
        return;
    if (t->arm && base && base->registers >= 0 &&
        (base->registers != r->registers || base->spill_bytes != r->spill_bytes)) {
        add_resources(sb, base);
        strbuf_addstr(sb, " -> ");
    }
    add_resources(sb, r);
}

static void cell_error(const struct table *t, size_t row, struct strbuf *sb)
{
    add_scientific(sb, row_at(t, row)->max_abs_err);
}

static void cell_n(const struct table *t, size_t row, struct strbuf *sb)
{
    add_rounds(sb, row_at(t, row));
}

static const struct column change_columns[] = {
    {head_case, "---", always, cell_case},
    {head_base, "--:", always, cell_base},
    {head_arm_time, "--:", always, cell_time},
    {head_change, "--:", always, cell_change},
    {head_verdict, ":--", always, cell_verdict},
    {head_limit, "--:", used_limit, cell_limit},
    {head_activities, ":--:", used_activities, cell_activities},
    {head_resources, "--:", used_resources, cell_resources},
    {head_error, "--:", used_errors, cell_error},
    {head_n, "--:", always, cell_n},
};

static const struct column time_columns[] = {
    {head_case, "---", always, cell_case},
    {head_arm, ":--", always, cell_arm},
    {head_arm_time, "--:", always, cell_time},
    {head_p10, "--:", always, cell_p10},
    {head_p90, "--:", always, cell_p90},
    {head_tflops, "--:", used_rates, cell_tflops},
    {head_gbps, "--:", used_rates, cell_gbps},
    {head_limit, "--:", used_limit, cell_limit},
    {head_activities, ":--:", used_activities, cell_activities},
    {head_resources, "--:", used_resources, cell_resources},
    {head_error, "--:", used_errors, cell_error},
    {head_status, ":--", always, cell_status},
    {head_n, "--:", always, cell_n},
};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

const struct column *table_columns(const struct table *t, size_t *nr)
{
    *nr = t->arm ? NR(change_columns) : NR(time_columns);
    return t->arm ? change_columns : time_columns;
}
