#include "plot.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "file.h"
#include "plot_internal.h"

#ifndef SAB_PLOTS_DIR
#    define SAB_PLOTS_DIR "plots"
#endif

#define GNUPLOT_TIMEOUT_MS 120000
#define GNUPLOT_MAX_BYTES  65536

/* Both, so that a README and a zoom have what they need. */
static const char *const terms[] = {"png", "svg"};

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

static void add_slug(struct strbuf *sb, const char *text)
{
    for (; *text; text++)
        strbuf_addch(sb, isalnum((unsigned char)*text) ? (char)tolower((unsigned char)*text) : '-');
}

static void add_settings(const struct plotter *p, const struct plot_chart *chart, const char *out,
                         const char *term, struct strbuf *sb)
{
    char protocol[32];

    snprintf(protocol, sizeof(protocol), "%lld", p->protocol);
    plot_add_setting(sb, "dir", ".");
    plot_add_setting(sb, "cases_csv", plotter_cases_csv(p));
    plot_add_setting(sb, "out", out);
    plot_add_setting(sb, "term", term);
    plot_add_setting(sb, "dev", p->device ? p->device : "");
    plot_add_setting(sb, "protocol", p->protocol >= 0 ? protocol : "");
    if (chart->settings)
        chart->settings(p, sb);
}

/* What gnuplot said, on one line and without the carets under it. */
static const char *one_line(struct strbuf *said)
{
    size_t to = 0;

    for (size_t i = 0; i < said->len; i++) {
        char c = said->buf[i] == '^' || said->buf[i] == '\n' ? ' ' : said->buf[i];
        if (c != ' ' || (to && said->buf[to - 1] != ' '))
            said->buf[to++] = c;
    }
    if (to)
        said->buf[to] = '\0';
    return said->buf;
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

static void drop_chart(const struct plotter *p, const char *name)
{
    struct strbuf path = STRBUF_INIT;

    file_add_path(&path, p->dir, name);
    if (!path.oom)
        unlink(path.buf);
    strbuf_release(&path);
}

static int draw_one(const struct plotter *p, const struct plot_chart *chart, const char *term,
                    struct plot_result *result, struct err *err)
{
    struct strbuf name = STRBUF_INIT, temp = STRBUF_INIT, set = STRBUF_INIT, script = STRBUF_INIT,
                  said = STRBUF_INIT;
    int ret = -1;

    strbuf_addstr(&name, chart->name);
    if (p->device) {
        strbuf_addch(&name, '-');
        add_slug(&name, p->device);
    }
    strbuf_addf(&name, ".%s", term);
    strbuf_addf(&temp, ".%s.tmp", name.buf);
    add_settings(p, chart, temp.buf, term, &set);
    strbuf_addf(&script, "%s/%s.gp", p->scripts, chart->name);
    if (name.oom || temp.oom || set.oom || script.oom) {
        err_memory(err);
        goto out;
    }
    const char *argv[] = {"gnuplot", "-d", "-e", set.buf, script.buf, NULL};
    struct child_options options = {.argv = argv, .dir = p->dir};
    if (child_run(&options, GNUPLOT_TIMEOUT_MS, GNUPLOT_MAX_BYTES, &said, err)) {
        err_set(err, ERR_ENVIRONMENT, "gnuplot could not draw '%s': %.700s", name.buf,
                one_line(&said));
        drop_chart(p, temp.buf);
        goto out;
    }
    if (take_chart(p, temp.buf, name.buf, one_line(&said), err) ||
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

static bool is_chosen(const struct plotter *p, const struct plot_chart *chart)
{
    bool found = !p->choice || !p->choice->charts_nr;

    for (size_t i = 0; !found && i < p->choice->charts_nr; i++)
        found = !strcmp(p->choice->charts[i], chart->name);
    return found;
}

/* A chart that fails takes no other with it; the first failure is told. */
static int draw_device(struct plotter *p, struct plot_result *result, struct err *err)
{
    size_t nr;
    const struct plot_chart *charts = plot_charts(&nr);
    int ret = 0;

    if (plotter_look(p, err))
        return -1;
    for (size_t c = 0; c < nr; c++) {
        if (!is_chosen(p, &charts[c]))
            continue;
        if (!charts[c].makes_sense(p)) {
            if (p->choice && p->choice->charts_nr)
                return err_set(err, ERR_CONFIG, "chart '%s' is not for these rows: it is drawn %s",
                               charts[c].name, charts[c].rule);
            continue;
        }
        for (size_t t = 0; t < NR(terms); t++)
            if (draw_one(p, &charts[c], terms[t], result, ret ? NULL : err))
                ret = -1;
    }
    return ret;
}

static int draw_devices(struct plotter *p, struct plot_result *result, struct err *err)
{
    struct text_list devices = {0};
    int ret = -1;

    for (size_t i = 0; i < p->cases.nr; i++) {
        const char *device = p->cases.row[i].device;
        bool known = !device || !plotter_draws(p, &p->cases.row[i]);

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

const char *plot_chart_at(size_t i, const char **rule)
{
    size_t nr;
    const struct plot_chart *charts = plot_charts(&nr);

    if (i >= nr)
        return NULL;
    *rule = charts[i].rule;
    return charts[i].name;
}

static int check_choice(const struct plot_choice *choice, struct err *err)
{
    const char *names[16];
    size_t nr;
    const struct plot_chart *charts = plot_charts(&nr);

    for (size_t i = 0; i < nr; i++)
        names[i] = charts[i].name;
    for (size_t i = 0; choice && i < choice->charts_nr; i++) {
        bool known = false;
        for (size_t k = 0; k < nr; k++)
            known |= !strcmp(choice->charts[i], names[k]);
        const char *near = known ? NULL : text_nearest(choice->charts[i], names, nr);
        if (!known && near)
            return err_set(err, ERR_CONFIG, "there is no chart '%s', did you mean '%s'",
                           choice->charts[i], near);
        if (!known)
            return err_set(err, ERR_CONFIG,
                           "there is no chart '%s', `bench plot --help` lists them",
                           choice->charts[i]);
    }
    return 0;
}

int plot_draw(const char *dir, const struct plot_choice *choice, struct plot_result *result,
              struct err *err)
{
    struct plotter p;

    if (check_choice(choice, err))
        return -1;
    int ret = plotter_init(&p, dir, choice, err);
    if (ret)
        goto out;
    if (!plotter_has_bars(&p)) {
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
