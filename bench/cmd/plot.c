#include <stdio.h>

#include "cmd.h"
#include "exit.h"
#include "plot.h"
#include "words.h"

struct plot_args {
    bool help;
    bool quiet;
};

static const struct option_row options[] = {
    {"quiet", NULL, "do not list the files", OPTION_FLAG, offsetof(struct plot_args, quiet), 'q'},
    {"help", NULL, "print this", OPTION_FLAG, offsetof(struct plot_args, help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

const struct option_row *plot_options(size_t *nr)
{
    *nr = OPTIONS_NR;
    return options;
}

static const struct words words = {
    "usage: bench plot DIR\n\n"
    "Draws the charts of a finished run into its folder, as PNG and SVG. Sealed "
    "files stay as they are.\nThe scripts are found in $SAB_PLOTS, else in the "
    "installed plots folder.\n\n",
    options, OPTIONS_NR};

/* Asked for by name, a chart that cannot be drawn is a failure; at the end of a run it is not. */
static int plot(const char *dir, bool quiet, struct err *err)
{
    struct plot_result result;

    plot_result_init(&result);
    int ret = plot_draw(dir, &result, err);
    for (size_t i = 0; !quiet && i < result.drawn.nr; i++)
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
    struct plot_args args = {0};
    struct option_result result;
    struct err err = ERR_INIT;
    int status;

    if (!words_parse(&words, &args, &args.help, argc, argv, &result, &status))
        return status;
    if (result.nr_args != 1)
        err_set(&err, ERR_CONFIG, "plot takes one results folder, %zu were given: bench plot DIR",
                result.nr_args);
    else
        plot(result.args[0], args.quiet, &err);
    option_result_release(&result);
    return exit_report(&err);
}
