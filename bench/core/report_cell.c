/*
 * report_cell.c - numbers as a report prints them.
 */
#include "report_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TIME_DIGITS    5
#define TICKS_SHOWN    50 /* changes below this many ticks are given in ticks too */
#define PERCENT_DIGITS 1

void add_percent(struct strbuf *sb, double fraction)
{
    double percent = 100 * fraction;
    if (fabs(percent) < 0.05)
        percent = 0;
    strbuf_addf(sb, "%+.*f", PERCENT_DIGITS, percent);
}

static void add_interval(struct strbuf *sb, double lo, double hi)
{
    if (isnan(lo) || isnan(hi))
        return;
    strbuf_addstr(sb, " [");
    add_percent(sb, lo);
    strbuf_addstr(sb, ", ");
    add_percent(sb, hi);
    strbuf_addch(sb, ']');
}

void add_log_change(struct strbuf *sb, double theta, double lo, double hi)
{
    add_percent(sb, expm1(theta));
    strbuf_addstr(sb, " %");
    add_interval(sb, expm1(lo), expm1(hi));
}

static void add_ticks(struct strbuf *sb, const struct case_row *row, const struct case_row *base)
{
    double tick_ns = row->tick_ns;

    if (!base || !(tick_ns > 0) || isnan(base->span_median_ns))
        return;
    double ticks = fabs(row->ratio - 1) * base->span_median_ns / tick_ns;
    if (ticks < TICKS_SHOWN)
        strbuf_addf(sb, ", %.0f tick%s", ticks, lround(ticks) == 1 ? "" : "s");
}

void add_change(struct strbuf *sb, const struct case_row *row, const struct case_row *base)
{
    if (isnan(row->ratio))
        return;
    add_percent(sb, row->ratio - 1);
    strbuf_addstr(sb, " %");
    add_interval(sb, row->ratio_lo - 1, row->ratio_hi - 1);
    add_ticks(sb, row, base);
    if ((cell_is(row->verdict, "SAME") || cell_is(row->verdict, "UNSURE")) && !isnan(row->mde_pct))
        strbuf_addf(sb, ", MDE %.1f %%", row->mde_pct);
    if (row_has_reason(row, "multiple"))
        strbuf_addstr(sb, ", multiple");
}

void add_time(struct strbuf *sb, double ns, double unit_ns, double tick_ns)
{
    double value = ns / unit_ns;
    int digits = 3, whole = 1;

    if (isnan(ns))
        return;
    if (tick_ns > 0)
        digits = (int)-floor(log10(tick_ns / unit_ns) + 1e-9);
    if (value >= 1)
        whole = (int)floor(log10(value)) + 1;
    if (digits > TIME_DIGITS - whole)
        digits = TIME_DIGITS - whole;
    strbuf_addf(sb, "%.*f", digits > 0 ? digits : 0, value);
}

double time_unit(const struct case_table *cases)
{
    double least = INFINITY;

    for (size_t i = 0; i < cases->nr; i++)
        if (cases->row[i].span_median_ns < least)
            least = cases->row[i].span_median_ns;
    return least >= 1e6 && least < INFINITY ? 1e6 : 1e3;
}

const char *time_unit_name(double unit_ns, bool plain)
{
    if (unit_ns > 1e3)
        return "ms";
    return plain ? "us" : "µs";
}

void add_scientific(struct strbuf *sb, double value)
{
    char text[32];

    if (isnan(value))
        return;
    if (value == 0 || !isfinite(value)) {
        strbuf_addf(sb, "%g", value);
        return;
    }
    snprintf(text, sizeof(text), "%.1e", value);
    char *e = strchr(text, 'e');
    int exponent = 0;
    if (e && sscanf(e + 1, "%d", &exponent) == 1)
        *e = '\0';
    strbuf_addf(sb, "%se%d", text, exponent);
}

void add_rounds(struct strbuf *sb, const struct case_row *row)
{
    if (row->rounds < 0)
        return;
    if (row->processes <= 0) {
        strbuf_addf(sb, "%lld", (long long)row->rounds);
        return;
    }
    strbuf_addf(sb, "%lldx%lld", (long long)row->processes,
                (long long)(row->rounds / row->processes));
    if (row->rounds % row->processes)
        strbuf_addf(sb, " (%lld)", (long long)row->rounds);
}

void add_escaped(struct strbuf *sb, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '|')
            strbuf_addstr(sb, "\\|");
        else if (*text == '<')
            strbuf_addstr(sb, "&lt;");
        else if (*text == '\n' || *text == '\r')
            strbuf_addch(sb, ' ');
        else
            strbuf_addch(sb, *text);
    }
}
