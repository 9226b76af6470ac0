/*
 * report_terminal.c - the aligned table for stdout.
 */
#include "report_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COL_CASE, COL_ARM, COL_TIME, COL_CHANGE, COL_VERDICT, COL_RATE, COL_STATUS, COLS_NR };

#define GAP       2
#define MIN_CASE  16 /* a case is not shortened below this */
#define MAX_STATE 60 /* characters of a status with its sentence, where no width is known */

/* Headings, alignment; the unit of the time column follows from the data. */
static const struct {
    const char *head;
    bool right;
} cols[COLS_NR] = {
    [COL_CASE] = {"case", false},       [COL_ARM] = {"arm", false},
    [COL_TIME] = {"median", true},      [COL_CHANGE] = {"change [95 % CI]", true},
    [COL_VERDICT] = {"verdict", false}, [COL_RATE] = {"TFLOP/s", true},
    [COL_STATUS] = {"status", false},
};

static const struct {
    const char *verdict, *start;
} colours[] = {
    {"FASTER", "\033[32m"},
    {"SLOWER", "\033[31m"},
    {"UNSURE", "\033[33m"},
};

struct grid {
    struct strbuf *cell; /* lines_nr x COLS_NR; line 0 is the heading */
    size_t lines_nr;
    size_t width[COLS_NR];
};

static struct strbuf *grid_cell(const struct grid *g, size_t line, size_t col)
{
    return &g->cell[line * COLS_NR + col];
}

static void add_state(struct strbuf *sb, const struct case_row *row, const struct case_row *base)
{
    if (!report_is_ok(row)) {
        strbuf_addf(sb, "%s%s%s", row->status ? row->status : "?", row->status_text ? ": " : "",
                    row->status_text ? row->status_text : "");
        return;
    }
    strbuf_addstr(sb, "ok");
    if (cell_is(row->problem, "across"))
        strbuf_addstr(sb, base ? ", across problems" : "");
    else if (row->reasons)
        strbuf_addf(sb, ", %s", row->reasons);
}

static void fill_line(const struct report_view *view, double unit_ns, size_t r, struct grid *g)
{
    const struct case_row *row = &view->cases->row[r];
    struct strbuf *cell = grid_cell(g, r + 1, 0);
    bool same_case =
        r && cell_is(row->case_id,
                     view->cases->row[r - 1].case_id ? view->cases->row[r - 1].case_id : "");

    if (!same_case && row->case_id)
        strbuf_addstr(&cell[COL_CASE], row->case_id);
    if (row->arm)
        strbuf_addstr(&cell[COL_ARM], row->arm);
    add_time(&cell[COL_TIME], row->span_median_ns, unit_ns, row->tick_ns);
    if (!isnan(row->ratio)) {
        add_percent(&cell[COL_CHANGE], row->ratio - 1);
        strbuf_addstr(&cell[COL_CHANGE], " %");
        if (!isnan(row->ratio_lo)) {
            strbuf_addstr(&cell[COL_CHANGE], " [");
            add_percent(&cell[COL_CHANGE], row->ratio_lo - 1);
            strbuf_addstr(&cell[COL_CHANGE], ", ");
            add_percent(&cell[COL_CHANGE], row->ratio_hi - 1);
            strbuf_addch(&cell[COL_CHANGE], ']');
        }
    }
    if (row->verdict)
        strbuf_addstr(&cell[COL_VERDICT], row->verdict);
    if (!isnan(row->tflops))
        strbuf_addf(&cell[COL_RATE], "%.3g", row->tflops);
    add_state(&cell[COL_STATUS], row, view->entry[r].base);
}

/* Columns of a terminal: characters, not bytes, of UTF-8. */
static size_t shown_width(const char *s)
{
    size_t nr = 0;
    for (; *s; s++)
        nr += ((unsigned char)*s & 0xc0) != 0x80;
    return nr;
}

static void measure(struct grid *g, int limit)
{
    size_t sum = 0;

    for (size_t c = 0; c < COLS_NR; c++) {
        g->width[c] = 0;
        for (size_t l = 0; l < g->lines_nr; l++) {
            size_t w = shown_width(grid_cell(g, l, c)->buf);
            g->width[c] = w > g->width[c] ? w : g->width[c];
        }
        /* A column with nothing under its heading is left out. */
        bool empty = c != COL_CASE;
        for (size_t l = 1; l < g->lines_nr && empty; l++)
            empty = !grid_cell(g, l, c)->len;
        if (empty)
            g->width[c] = 0;
        if (c != COL_STATUS && c != COL_CASE && g->width[c])
            sum += g->width[c] + GAP;
    }
    if (g->width[COL_STATUS] > MAX_STATE)
        g->width[COL_STATUS] = MAX_STATE;
    if (limit <= 0)
        return;
    size_t all = (size_t)limit, want = g->width[COL_CASE] + sum + GAP;
    size_t state = all > want ? all - want : 0, least = 12;
    if (g->width[COL_STATUS] > state)
        g->width[COL_STATUS] = state > least ? state : least;
    want += g->width[COL_STATUS];
    if (want > all) {
        size_t over = want - all;
        g->width[COL_CASE] =
            g->width[COL_CASE] > MIN_CASE + over ? g->width[COL_CASE] - over : MIN_CASE;
    }
}

/* The text cut to `width` with ".." at its end, padded on the other side. */
static void add_cell(struct strbuf *out, const char *text, size_t width, bool right, bool last)
{
    size_t have = shown_width(text), cut = have > width ? width - 2 : have;
    size_t shown = have > width ? width : have;

    if (right)
        strbuf_addf(out, "%*s", (int)(width - shown), "");
    for (size_t nr = 0; *text; text++) {
        bool start = ((unsigned char)*text & 0xc0) != 0x80;
        if (start && nr++ == cut)
            break;
        strbuf_addch(out, *text == '\n' || *text == '\r' || *text == '\t' ? ' ' : *text);
    }
    if (have > width)
        strbuf_addstr(out, "..");
    if (!right && !last)
        strbuf_addf(out, "%*s", (int)(width - shown), "");
}

static const char *colour_of(const char *verdict)
{
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
        if (!strcmp(verdict, colours[i].verdict))
            return colours[i].start;
    return NULL;
}

static void add_line(const struct grid *g, size_t line, bool colour, struct strbuf *out)
{
    bool first = true;

    for (size_t c = 0; c < COLS_NR; c++) {
        const char *text = grid_cell(g, line, c)->buf;
        const char *start = colour && c == COL_VERDICT ? colour_of(text) : NULL;

        if (!g->width[c])
            continue;
        strbuf_addf(out, "%*s", first ? 0 : GAP, "");
        first = false;
        if (start)
            strbuf_addstr(out, start);
        add_cell(out, text, g->width[c], cols[c].right, c == COL_STATUS);
        if (start)
            strbuf_addstr(out, "\033[0m");
    }
    while (out->len && out->buf[out->len - 1] == ' ')
        out->buf[--out->len] = '\0';
    strbuf_addch(out, '\n');
}

static int grid_init(struct grid *g, size_t lines_nr, struct err *err)
{
    g->lines_nr = lines_nr;
    g->cell = calloc(lines_nr * COLS_NR, sizeof(*g->cell));
    if (!g->cell)
        return err_memory(err);
    for (size_t i = 0; i < lines_nr * COLS_NR; i++)
        strbuf_init(&g->cell[i]);
    return 0;
}

static void grid_release(struct grid *g, bool *oom)
{
    for (size_t i = 0; i < g->lines_nr * COLS_NR; i++) {
        *oom |= g->cell[i].oom;
        strbuf_release(&g->cell[i]);
    }
    free(g->cell);
}

int report_terminal(const struct case_table *cases, const json_t *run, int width, bool colour,
                    struct strbuf *out, struct err *err)
{
    struct report_view view;
    struct grid g;
    double unit_ns = time_unit(cases);
    bool oom = false;

    if (report_view_init(&view, cases, run, err))
        return -1;
    if (grid_init(&g, cases->nr + 1, err)) {
        report_view_release(&view);
        return -1;
    }
    for (size_t c = 0; c < COLS_NR; c++)
        strbuf_addstr(grid_cell(&g, 0, c), cols[c].head);
    strbuf_addf(grid_cell(&g, 0, COL_TIME), " %s", time_unit_name(unit_ns, true));
    for (size_t r = 0; r < cases->nr; r++)
        fill_line(&view, unit_ns, r, &g);
    measure(&g, width);
    for (size_t l = 0; l < g.lines_nr; l++)
        add_line(&g, l, colour, out);
    grid_release(&g, &oom);
    strbuf_addch(out, '\n');
    report_sentence(&view, out, false);
    report_view_release(&view);
    return oom || out->oom ? err_memory(err) : 0;
}
