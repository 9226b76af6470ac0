#include <stdio.h>

#include "cmd.h"
#include "exit.h"
#include "merge.h"
#include "plot.h"
#include "report.h"
#include "ui.h"
#include "words.h"

struct merge_args {
    bool across_gpus, force, quiet, help;
};

#define FIELD(name) offsetof(struct merge_args, name)

static const struct option_row options[] = {
    {"across-gpus", NULL, "join runs of several GPUs of one model", OPTION_FLAG, FIELD(across_gpus),
     0},
    {"force", NULL, "replace an earlier run in OUT", OPTION_FLAG, FIELD(force), 0},
    {"quiet", NULL, "no notes", OPTION_FLAG, FIELD(quiet), 'q'},
    {"help", NULL, "print this", OPTION_FLAG, FIELD(help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

const struct option_row *merge_options(size_t *nr)
{
    *nr = OPTIONS_NR;
    return options;
}

static const struct words words = {
    "usage: bench merge OUT IN IN... [options]\n\n"
    "Joins finished runs of one plan into a results folder of its own, as if "
    "their processes had\nrun in one. Plan, protocol, schema, device and "
    "libraries must be the same.\n\n",
    options, OPTIONS_NR};

static void draw_charts(const char *dir, bool quiet)
{
    struct plot_result plot;
    struct err err = ERR_INIT;

    plot_result_init(&plot);
    if (plot_draw(dir, NULL, &plot, &err))
        fprintf(stderr, "bench: charts: %s\n", err.text);
    else if (plot.outcome != PLOT_DRAWN && !quiet)
        fprintf(stderr, "bench: %s; `bench plot %s` draws them later\n", plot.note, dir);
    for (size_t i = 0; i < plot.drawn.nr; i++)
        printf("%s/%s\n", dir, plot.drawn.items[i]);
    plot_result_release(&plot);
}

static int show(const struct store *s, bool quiet, struct err *err)
{
    static const char *const files[] = {"report.md", "cases.csv", "samples.csv", "run.json"};
    struct strbuf sb = STRBUF_INIT;
    int ret = report_terminal(&s->cases, s->run, ui_width(), ui_colour(), &sb, err);

    if (!ret) {
        printf("%s\n", sb.buf);
        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
            printf("%s/%s\n", s->dir, files[i]);
        draw_charts(s->dir, quiet);
    }
    strbuf_release(&sb);
    return ret;
}

static void merge(const struct merge_request *request, bool quiet, struct err *err)
{
    struct text_list notes = {0};
    struct store out;

    store_init(&out);
    int ret = merge_runs(request, &out, &notes, err);
    for (size_t i = 0; !ret && !quiet && i < notes.nr; i++)
        fprintf(stderr, "bench: %s\n", notes.items[i]);
    if (!ret)
        show(&out, quiet, err);
    text_list_release(&notes);
    store_release(&out);
}

int cmd_merge(int argc, const char **argv)
{
    struct merge_args args = {0};
    struct option_result result;
    struct err err = ERR_INIT;
    int status;

    if (!words_parse(&words, &args, &args.help, argc, argv, &result, &status))
        return status;
    if (result.nr_args < 3) {
        err_set(&err, ERR_CONFIG,
                "merge takes a new folder and at least two runs, %zu folders were given: bench "
                "merge OUT IN IN",
                result.nr_args);
    } else {
        const struct merge_request request = {.out = result.args[0],
                                              .in = result.args + 1,
                                              .nr = result.nr_args - 1,
                                              .across_gpus = args.across_gpus,
                                              .force = args.force,
                                              .argc = argc,
                                              .argv = argv};
        merge(&request, args.quiet, &err);
    }
    option_result_release(&result);
    return exit_report(&err);
}
