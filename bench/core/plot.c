#include "plot.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "file.h"
#include "json.h"
#include "rows.h"

#ifndef SAB_PLOTS_DIR
#    define SAB_PLOTS_DIR "plots"
#endif

#define GNUPLOT_TIMEOUT_MS 120000
#define GNUPLOT_MAX_BYTES  65536

/* What of a results folder decides the charts of one device. */
struct plotter {
    const char *dir;
    char *scripts; /* absolute: gnuplot runs inside the folder */
    struct case_table cases;
    long long protocol; /* -1 unknown */
    const char *device; /* NULL: the only one */
    struct strbuf by;   /* columns that tell lines of `latency` apart */
};

static bool has_bars(const struct plotter *p);
static bool has_forest(const struct plotter *p);
static bool has_latency(const struct plotter *p);
static bool has_run_order(const struct plotter *p);

/* To add a chart: a script of that name in plots/, a row here. */
static const struct {
    const char *name;
    bool (*makes_sense)(const struct plotter *p);
} charts[] = {
    {"bars", has_bars},
    {"forest", has_forest},
    {"latency", has_latency},
    {"run_order", has_run_order},
};

static const char *const terms[] = {"png", "svg"};

/* Columns that say nothing beside the sequence length, or that follow from another column. */
static const char *const not_by[] = {"seqlen",  "seqlen_q", "seqlen_k",
                                     "density", "topk",     "kv_heads"};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

void plot_result_init(struct plot_result *result)
{
    memset(result, 0, sizeof(*result));
}

void plot_result_release(struct plot_result *result)
{
    text_list_release(&result->drawn);
    plot_result_init(result);
}

const char *plot_scripts(void)
{
    const char *env = getenv("SAB_PLOTS");
    return env && *env ? env : SAB_PLOTS_DIR;
}

static bool is_drawn(const struct plotter *p, const struct case_row *row)
{
    return row->status && !strcmp(row->status, "ok") && row->span_median_ns > 0 &&
           (!p->device || (row->device && !strcmp(row->device, p->device)));
}

static bool has_bars(const struct plotter *p)
{
    for (size_t i = 0; i < p->cases.nr; i++)
        if (is_drawn(p, &p->cases.row[i]))
            return true;
    return false;
}

static bool is_compared(const struct plotter *p, const struct case_row *row)
{
    return is_drawn(p, row) && !isnan(row->ratio) &&
           (!row->problem || strcmp(row->problem, "across") != 0);
}

static bool has_forest(const struct plotter *p)
{
    size_t nr = 0;
    for (size_t i = 0; i < p->cases.nr; i++)
        nr += is_compared(p, &p->cases.row[i]);
    return nr > 1;
}

static bool has_latency(const struct plotter *p)
{
    const char *first = NULL;

    for (size_t i = 0; i < p->cases.nr; i++) {
        const struct case_row *row = &p->cases.row[i];
        const char *s = case_table_axis(&p->cases, row, "seqlen_k");

        if (!s || !is_drawn(p, row))
            continue;
        if (first && strcmp(first, s) != 0)
            return true;
        first = s;
    }
    return false;
}

static bool has_run_order(const struct plotter *p)
{
    struct strbuf path = STRBUF_INIT;
    file_add_path(&path, p->dir, "samples.csv");
    bool found = !path.oom && file_exists(path.buf) && has_bars(p);
    strbuf_release(&path);
    return found;
}

/* The case whose candidate moved most; without candidates the first one that was timed. */
static const char *run_order_case(const struct plotter *p)
{
    const char *first = NULL, *best = NULL;
    double most = -1;

    for (size_t i = 0; i < p->cases.nr; i++) {
        const struct case_row *row = &p->cases.row[i];

        if (!is_drawn(p, row))
            continue;
        first = first ? first : row->case_id;
        bool candidate = row->role && !strcmp(row->role, "candidate");
        if (candidate && is_compared(p, row) && fabs(log(row->ratio)) > most) {
            most = fabs(log(row->ratio));
            best = row->case_id;
        }
    }
    return best ? best : first;
}

static bool same_text(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* Whether two cases of one sweep and one length differ in that axis: then it tells lines apart. */
static bool tells_apart(const struct plotter *p, size_t axis)
{
    const struct case_table *t = &p->cases;

    for (size_t i = 0; i < t->nr; i++) {
        for (size_t k = i + 1; k < t->nr; k++) {
            const struct case_row *a = &t->row[i], *b = &t->row[k];
            const char *x = case_table_axis(t, a, "seqlen_k"),
                       *y = case_table_axis(t, b, "seqlen_k");

            if (same_text(x, y) && same_text(a->sweep, b->sweep) && a->axis[axis] &&
                b->axis[axis] && strcmp(a->axis[axis], b->axis[axis]) != 0)
                return true;
        }
    }
    return false;
}

static void find_by(struct plotter *p)
{
    strbuf_addstr(&p->by, "sweep density_asked");
    for (size_t i = 0; i < p->cases.axes.nr; i++) {
        const char *name = p->cases.axes.items[i];
        bool passed_over = false;

        for (size_t k = 0; k < NR(not_by); k++)
            passed_over |= !strcmp(name, not_by[k]);
        if (!passed_over && tells_apart(p, i))
            strbuf_addf(&p->by, " %s", name);
    }
}

/* gnuplot reads '' inside a string in single quotes as one quote. */
static void add_setting(struct strbuf *sb, const char *name, const char *value)
{
    strbuf_addf(sb, "%s='", name);
    for (; *value; value++) {
        if (*value == '\'')
            strbuf_addch(sb, '\'');
        strbuf_addch(sb, *value);
    }
    strbuf_addstr(sb, "'; ");
}

static void add_slug(struct strbuf *sb, const char *text)
{
    for (; *text; text++)
        strbuf_addch(sb, isalnum((unsigned char)*text) ? (char)tolower((unsigned char)*text) : '-');
}

static void add_settings(const struct plotter *p, const char *out, const char *term,
                         struct strbuf *sb)
{
    const char *only = run_order_case(p);
    char protocol[32];

    snprintf(protocol, sizeof(protocol), "%lld", p->protocol);
    add_setting(sb, "dir", ".");
    add_setting(sb, "out", out);
    add_setting(sb, "term", term);
    add_setting(sb, "dev", p->device ? p->device : "");
    add_setting(sb, "protocol", p->protocol >= 0 ? protocol : "");
    add_setting(sb, "by", p->by.buf);
    add_setting(sb, "only", only ? only : "");
}

/* The chart appears whole or not at all. */
static int take_chart(const struct plotter *p, const char *from, const char *to,
                      const char *complaint, struct err *err)
{
    struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    struct stat st;
    int ret = -1;

    file_add_path(&a, p->dir, from);
    file_add_path(&b, p->dir, to);
    if (a.oom || b.oom)
        err_memory(err);
    else if (stat(a.buf, &st) || !st.st_size)
        err_set(err, ERR_ENVIRONMENT, "gnuplot drew nothing for '%s': %.500s", to, complaint);
    else if (rename(a.buf, b.buf))
        err_errno(err, ERR_ENVIRONMENT, "cannot rename '%s'", a.buf);
    else
        ret = 0;
    if (ret && !a.oom)
        unlink(a.buf);
    strbuf_release(&a);
    strbuf_release(&b);
    return ret;
}

static int draw_one(const struct plotter *p, const char *chart, const char *term,
                    struct plot_result *result, struct err *err)
{
    struct strbuf name = STRBUF_INIT, temp = STRBUF_INIT, set = STRBUF_INIT, script = STRBUF_INIT,
                  said = STRBUF_INIT;
    int ret = -1;

    strbuf_addstr(&name, chart);
    if (p->device) {
        strbuf_addch(&name, '-');
        add_slug(&name, p->device);
    }
    strbuf_addf(&name, ".%s", term);
    strbuf_addf(&temp, ".%s.tmp", name.buf);
    add_settings(p, temp.buf, term, &set);
    strbuf_addf(&script, "%s/%s.gp", p->scripts, chart);
    if (name.oom || temp.oom || set.oom || script.oom) {
        err_memory(err);
        goto out;
    }
    const char *argv[] = {"gnuplot", "-d", "-e", set.buf, script.buf, NULL};
    struct child_options options = {.argv = argv, .dir = p->dir};
    if (child_run(&options, GNUPLOT_TIMEOUT_MS, GNUPLOT_MAX_BYTES, &said, err)) {
        err_set(err, ERR_ENVIRONMENT, "gnuplot could not draw '%s': %.700s", name.buf, said.buf);
        goto out;
    }
    if (take_chart(p, temp.buf, name.buf, said.buf, err) ||
        text_list_add(&result->drawn, name.buf, err))
        goto out;
    ret = 0;
out:
    strbuf_release(&name);
    strbuf_release(&temp);
    strbuf_release(&set);
    strbuf_release(&script);
    strbuf_release(&said);
    return ret;
}

static int draw_device(const struct plotter *p, struct plot_result *result, struct err *err)
{
    for (size_t c = 0; c < NR(charts); c++) {
        if (!charts[c].makes_sense(p))
            continue;
        for (size_t t = 0; t < NR(terms); t++)
            if (draw_one(p, charts[c].name, terms[t], result, err))
                return -1;
    }
    return 0;
}

static int draw_devices(struct plotter *p, struct plot_result *result, struct err *err)
{
    struct text_list devices = {0};
    int ret = -1;

    for (size_t i = 0; i < p->cases.nr; i++) {
        const char *device = p->cases.row[i].device;
        bool known = !device || !is_drawn(p, &p->cases.row[i]);

        for (size_t k = 0; k < devices.nr && !known; k++)
            known = !strcmp(devices.items[k], device);
        if (!known && text_list_add(&devices, device, err))
            goto out;
    }
    if (devices.nr < 2) {
        ret = draw_device(p, result, err);
        goto out;
    }
    for (size_t k = 0; k < devices.nr; k++) {
        p->device = devices.items[k];
        if (draw_device(p, result, err))
            goto out;
    }
    ret = 0;
out:
    p->device = NULL;
    text_list_release(&devices);
    return ret;
}

static bool gnuplot_is_there(void)
{
    const char *argv[] = {"gnuplot", "--version", NULL};
    struct child_options options = {.argv = argv};
    struct strbuf said = STRBUF_INIT;
    bool there = !child_run(&options, 20000, 4096, &said, NULL);

    strbuf_release(&said);
    return there;
}

static int plotter_init(struct plotter *p, const char *dir, struct err *err)
{
    struct strbuf path = STRBUF_INIT;
    int ret = -1;

    *p = (struct plotter){.dir = dir, .protocol = -1};
    strbuf_init(&p->by);
    case_table_init(&p->cases);
    file_add_path(&path, dir, "cases.csv");
    if (path.oom) {
        err_memory(err);
        goto out;
    }
    if (case_table_read(&p->cases, path.buf, err))
        goto out;
    strbuf_reset(&path);
    file_add_path(&path, dir, "run.json");
    json_t *run = json_load_file(path.buf, 0, NULL);
    const json_t *protocol = json_object_get(run, "protocol");
    if (json_is_integer(protocol))
        p->protocol = json_integer_value(protocol);
    json_decref(run);
    p->scripts = realpath(plot_scripts(), NULL);
    if (!p->scripts) {
        err_errno(err, ERR_ENVIRONMENT, "the chart scripts are not in '%s', set SAB_PLOTS",
                  plot_scripts());
        goto out;
    }
    find_by(p);
    ret = p->by.oom ? err_memory(err) : 0;
out:
    strbuf_release(&path);
    return ret;
}

static void plotter_release(struct plotter *p)
{
    free(p->scripts);
    strbuf_release(&p->by);
    case_table_release(&p->cases);
}

int plot_draw(const char *dir, struct plot_result *result, struct err *err)
{
    struct plotter p;
    int ret = plotter_init(&p, dir, err);

    if (ret)
        goto out;
    if (!has_bars(&p)) {
        result->outcome = PLOT_NO_DATA;
        snprintf(result->note, sizeof(result->note), "not drawn: no row was timed");
    } else if (!gnuplot_is_there()) {
        result->outcome = PLOT_NO_GNUPLOT;
        snprintf(result->note, sizeof(result->note),
                 "not drawn: gnuplot is not installed (apt install gnuplot-nox)");
    } else {
        result->outcome = PLOT_DRAWN;
        ret = draw_devices(&p, result, err);
    }
out:
    plotter_release(&p);
    return ret;
}
