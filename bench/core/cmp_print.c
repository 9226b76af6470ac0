/*
 * cmp_print.c - the comparison in words: plain table or Markdown.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmp.h"
#include "report_internal.h"

enum { COL_CASE, COL_ARM, COL_OLD, COL_NEW, COL_CHANGE, COL_VERDICT, COL_N, COL_NOTES, COLS_NR };

#define GAP        2
#define LIST_SHOWN 20 /* rows of one side only; the rest is counted */

static const struct {
    const char *head;
    bool right;
} cols[COLS_NR] = {
    [COL_CASE] = {"case", false},
    [COL_ARM] = {"arm", false},
    [COL_OLD] = {"old", true},
    [COL_NEW] = {"new", true},
    [COL_CHANGE] = {"change [95 % CI], unpaired", true},
    [COL_VERDICT] = {"verdict", false},
    [COL_N] = {"processes", false},
    [COL_NOTES] = {"notes", false},
};

struct grid {
    struct strbuf *cell; /* lines_nr x COLS_NR; line 0 is the heading */
    size_t lines_nr;
};

static struct strbuf *cell_at(const struct grid *g, size_t line, size_t col)
{
    return &g->cell[line * COLS_NR + col];
}

static double unit_of(const struct cmp *c)
{
    double b = time_unit(&c->before.cases), a = time_unit(&c->after.cases);
    return b < a ? b : a;
}

static void fill_line(const struct cmp_row *r, double unit_ns, struct strbuf *cell)
{
    const char *before = r->before->arm ? r->before->arm : "?";
    const char *after = r->after->arm ? r->after->arm : "?";

    strbuf_addstr(&cell[COL_CASE], r->after->case_id ? r->after->case_id : "?");
    if (strcmp(before, after))
        strbuf_addf(&cell[COL_ARM], "%s -> ", before);
    strbuf_addstr(&cell[COL_ARM], after);
    add_time(&cell[COL_OLD], r->before_ns, unit_ns, r->before->tick_ns);
    add_time(&cell[COL_NEW], r->after_ns, unit_ns, r->after->tick_ns);
    if (r->compared) {
        add_log_change(&cell[COL_CHANGE], r->u.theta, r->u.lo, r->u.hi);
        strbuf_addstr(&cell[COL_VERDICT], verdict_name(r->verdict));
        if ((r->verdict == VERDICT_SAME || r->verdict == VERDICT_UNSURE) && isfinite(r->u.mde))
            strbuf_addf(&cell[COL_CHANGE], ", MDE %.1f %%", 100 * expm1(r->u.mde));
    }
    strbuf_addf(&cell[COL_N], "%zu -> %zu", r->u.nr_before, r->u.nr_after);
    strbuf_addstr(&cell[COL_NOTES], r->notes.buf);
}

static int grid_init(struct grid *g, const struct cmp *c, bool markdown, struct err *err)
{
    double unit_ns = unit_of(c);

    g->lines_nr = c->match.nr + 1;
    g->cell = calloc(g->lines_nr * COLS_NR, sizeof(*g->cell));
    if (!g->cell)
        return err_memory(err);
    for (size_t i = 0; i < g->lines_nr * COLS_NR; i++)
        strbuf_init(&g->cell[i]);
    for (size_t col = 0; col < COLS_NR; col++)
        strbuf_addstr(cell_at(g, 0, col), cols[col].head);
    strbuf_addf(cell_at(g, 0, COL_OLD), " %s", time_unit_name(unit_ns, !markdown));
    strbuf_addf(cell_at(g, 0, COL_NEW), " %s", time_unit_name(unit_ns, !markdown));
    for (size_t i = 0; i < c->match.nr; i++)
        fill_line(&c->row[i], unit_ns, cell_at(g, i + 1, 0));
    return 0;
}

static int grid_release(struct grid *g, struct err *err)
{
    bool oom = false;

    for (size_t i = 0; i < g->lines_nr * COLS_NR; i++) {
        oom |= g->cell[i].oom;
        strbuf_release(&g->cell[i]);
    }
    free(g->cell);
    return oom ? err_memory(err) : 0;
}

static void add_plain(const struct grid *g, struct strbuf *out)
{
    size_t width[COLS_NR] = {0};

    for (size_t l = 0; l < g->lines_nr; l++)
        for (size_t col = 0; col < COLS_NR; col++)
            if (cell_at(g, l, col)->len > width[col])
                width[col] = cell_at(g, l, col)->len;
    for (size_t l = 0; l < g->lines_nr; l++) {
        for (size_t col = 0; col < COLS_NR; col++) {
            const struct strbuf *cell = cell_at(g, l, col);
            strbuf_addf(out, cols[col].right ? "%*s%*s" : "%*s%-*s", col ? GAP : 0, "",
                        (int)width[col], cell->buf);
        }
        while (out->len && out->buf[out->len - 1] == ' ')
            out->buf[--out->len] = '\0';
        strbuf_addch(out, '\n');
    }
}

static void add_markdown(const struct grid *g, struct strbuf *out)
{
    for (size_t l = 0; l < g->lines_nr; l++) {
        for (size_t col = 0; col < COLS_NR; col++) {
            strbuf_addstr(out, "| ");
            add_escaped(out, cell_at(g, l, col)->buf);
            strbuf_addch(out, ' ');
        }
        strbuf_addstr(out, "|\n");
        for (size_t col = 0; !l && col < COLS_NR; col++)
            strbuf_addf(out, "|%s", cols[col].right ? "--:" : ":--");
        strbuf_addstr(out, l ? "" : "|\n");
    }
}

/* ---- what surrounds the table ---- */

static void add_title(const struct cmp *c, bool markdown, struct strbuf *out)
{
    const char *mark = markdown ? "`" : "'";

    strbuf_addf(out, "%sunpaired%s comparison of two runs: old %s%s%s (%s), new %s%s%s (%s)\n\n",
                markdown ? "**" : "", markdown ? "**" : "", mark, c->before.dir, mark,
                run_text(c->before.run, NULL, "started_utc"), mark, c->after.dir, mark,
                run_text(c->after.run, NULL, "started_utc"));
}

static void add_list(const struct text_list *list, const char *start, struct strbuf *out)
{
    for (size_t i = 0; i < list->nr; i++)
        strbuf_addf(out, "%s%s\n", start, list->items[i]);
    if (list->nr)
        strbuf_addch(out, '\n');
}

/* What the verdicts were held against: one value, or the range over the rows. */
static void add_delta(const struct cmp *c, struct strbuf *out)
{
    double lo = INFINITY, hi = -INFINITY;

    for (size_t i = 0; i < c->match.nr; i++) {
        if (!c->row[i].compared)
            continue;
        lo = fmin(lo, 100 * expm1(c->row[i].delta));
        hi = fmax(hi, 100 * expm1(c->row[i].delta));
    }
    if (lo <= hi && hi - lo < 0.05)
        strbuf_addf(out, " Verdicts against a delta of %.1f %%.", hi);
    else if (lo <= hi)
        strbuf_addf(out, " Verdicts against a delta of %.1f to %.1f %%.", lo, hi);
}

static void add_sentence(const struct cmp *c, bool markdown, struct strbuf *out)
{
    size_t nr[4] = {0}, timed = 0;
    double sum = 0, worst = -INFINITY;

    for (size_t i = 0; i < c->match.nr; i++) {
        const struct cmp_row *r = &c->row[i];
        if (!r->compared)
            continue;
        timed++;
        nr[r->verdict]++;
        sum += r->u.theta;
        worst = fmax(worst, r->u.theta);
    }
    strbuf_addf(out,
                "%sunpaired, %zu row%s: %zu faster, %zu same, %zu slower, %zu unsure, %zu not "
                "compared.",
                markdown ? "**" : "", c->match.nr, c->match.nr == 1 ? "" : "s", nr[VERDICT_FASTER],
                nr[VERDICT_SAME], nr[VERDICT_SLOWER], nr[VERDICT_UNSURE], c->match.nr - timed);
    if (timed) {
        strbuf_addstr(out, " Geometric mean ");
        add_percent(out, expm1(sum / (double)timed));
        strbuf_addstr(out, " %, worst row ");
        add_percent(out, expm1(worst));
        strbuf_addstr(out, " %.");
    }
    strbuf_addf(out,
                " Time, lower is better; change = new against old.%s\nThe runs were not "
                "interleaved: what changed on the machine between them stands in every number; "
                "Welch's interval over the medians of processes.",
                markdown ? "**\n" : "");
    add_delta(c, out);
    strbuf_addch(out, '\n');
}

static void add_only(const struct store *s, const size_t *list, size_t nr, const char *side,
                     bool markdown, struct strbuf *out)
{
    if (!nr)
        return;
    strbuf_addf(out, "\nonly in the %s run, %zu row%s:\n%s", side, nr, nr == 1 ? "" : "s",
                markdown ? "\n" : "");
    for (size_t i = 0; i < nr && i < LIST_SHOWN; i++) {
        const struct case_row *row = &s->cases.row[list[i]];
        strbuf_addf(out, "%s%s, arm %s\n", markdown ? "- " : "  ",
                    row->case_id ? row->case_id : "?", row->arm ? row->arm : "?");
    }
    if (nr > LIST_SHOWN)
        strbuf_addf(out, "%sand %zu more\n", markdown ? "- " : "  ", nr - LIST_SHOWN);
}

int cmp_print(const struct cmp *c, bool markdown, struct strbuf *out, struct err *err)
{
    struct grid g;

    if (grid_init(&g, c, markdown, err))
        return -1;
    add_title(c, markdown, out);
    add_list(&c->warnings, markdown ? "> WARNING: " : "WARNING: ", out);
    if (markdown)
        add_markdown(&g, out);
    else
        add_plain(&g, out);
    if (grid_release(&g, err))
        return -1;
    strbuf_addch(out, '\n');
    add_sentence(c, markdown, out);
    add_only(&c->before, c->match.only_before, c->match.only_before_nr, "old", markdown, out);
    add_only(&c->after, c->match.only_after, c->match.only_after_nr, "new", markdown, out);
    if (c->notes.nr)
        strbuf_addch(out, '\n');
    add_list(&c->notes, markdown ? "- " : "", out);
    return out->oom ? err_memory(err) : 0;
}
