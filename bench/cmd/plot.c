#include <stdio.h>

#include "cmd.h"
#include "exit.h"
#include "plot.h"
#include "words.h"

struct plot_args {
    struct text_list charts;
    struct text_list only;
    bool help;
    bool quiet;
};

#define FIELD(name) offsetof(struct plot_args, name)

static const struct option_row options[] = {
    {"chart", "NAME", "draw this chart; may be given again", OPTION_LIST, FIELD(charts), 0},
    {"only", "GLOB", "cases whose id matches; may be given again", OPTION_LIST, FIELD(only), 0},
    {"quiet", NULL, "do not list the files", OPTION_FLAG, FIELD(quiet), 'q'},
    {"help", NULL, "print this", OPTION_FLAG, FIELD(help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

const struct option_row *plot_options(size_t *nr)
{
    *nr = OPTIONS_NR;
    return options;
}

static void add_usage(struct strbuf *sb)
{
    const char *name, *rule;

    strbuf_addstr(sb, "usage: bench plot DIR\n\n"
                      "Draws the charts of a finished run into its folder, as PNG and SVG. Sealed "
                      "files stay as they are.\nThe scripts are found in $SAB_PLOTS, else in the "
                      "installed plots folder; each tells in its first lines how to run it by hand."
                      "\n\n");
    for (size_t i = 0; (name = plot_chart_at(i, &rule)); i++)
        strbuf_addf(sb, "  %-13s %s\n", name, rule);
    strbuf_addch(sb, '\n');
}

/* Asked for by name, a chart that cannot be drawn is a failure; at the end of a run it is not. */
static int plot(const char *dir, const struct plot_args *args, struct err *err)
{
    const struct plot_choice choice = {(const char *const *)args->only.items, args->only.nr,
                                       (const char *const *)args->charts.items, args->charts.nr};
    struct plot_result result;

    plot_result_init(&result);
    int ret = plot_draw(dir, &choice, &result, err);
    for (size_t i = 0; !args->quiet && i < result.drawn.nr; i++)
        printf("%s/%s\n", dir, result.drawn.items[i]);
    if (!ret && result.outcome == PLOT_NO_GNUPLOT)
        ret = err_set(err, ERR_ENVIRONMENT, "%s", result.note);
    else if (!ret && result.outcome == PLOT_NO_DATA)
        ret = err_set(err, ERR_CONFIG, "'%s': %s", dir, result.note);
    plot_result_release(&result);
    return ret;
}

int cmd_plot(int argc, const char **argv)
{
    struct plot_args args = {.help = false};
    struct strbuf usage = STRBUF_INIT;
    struct option_result result;
    struct err err = ERR_INIT;
    int status;

    add_usage(&usage);
    const struct words words = {usage.buf, options, OPTIONS_NR};
    if (words_parse(&words, &args, &args.help, argc, argv, &result, &status)) {
        if (result.nr_args != 1)
            err_set(&err, ERR_CONFIG,
                    "plot takes one results folder, %zu were given: bench plot DIR",
                    result.nr_args);
        else
            plot(result.args[0], &args, &err);
        option_result_release(&result);
        status = exit_report(&err);
    }
    text_list_release(&args.charts);
    text_list_release(&args.only);
    strbuf_release(&usage);
    return status;
}
