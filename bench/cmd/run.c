#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "config_args.h"
#include "exit.h"
#include "plot.h"
#include "report.h"
#include "ui.h"

static int print_table(const struct session *s, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    int ret = report_terminal(&s->store.cases, s->store.run, ui_width(), ui_colour(), &sb, err);
    if (!ret)
        fputs(sb.buf, stdout);
    strbuf_release(&sb);
    return ret;
}

static void draw_charts(const struct session *s)
{
    struct plot_result plot;
    struct err err = ERR_INIT;

    plot_result_init(&plot);
    if (plot_draw(s->store.dir, NULL, &plot, &err))
        session_note(s, "charts: %s", err.text);
    else if (plot.outcome != PLOT_DRAWN)
        session_note(s, "%s; `bench plot %s` draws them later", plot.note, s->store.dir);
    for (size_t i = 0; i < plot.drawn.nr; i++)
        printf("%s/%s\n", s->store.dir, plot.drawn.items[i]);
    plot_result_release(&plot);
}

static int finish(struct session *s, bool quiet)
{
    struct err err = ERR_INIT;

    if (print_table(s, &err))
        return exit_report(&err);
    printf("\n");
    static const char *const files[] = {"report.md", "cases.csv", "samples.csv", "run.json"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        printf("%s/%s\n", s->store.dir, files[i]);
    /* Whoever pressed Ctrl-C does not want to wait for gnuplot. */
    if (s->stopped)
        session_note(s, "no charts: `bench plot %s` draws them", s->store.dir);
    else
        draw_charts(s);
    if (!s->store.summary.believed && !quiet)
        fprintf(stderr, "bench: not to be believed: a copy of the baseline differs from it\n");
    if (s->store.summary.above_limit && !quiet)
        fprintf(stderr, "bench: not to be believed: a row is faster than this machine can be; "
                        "`bench help above_limit`\n");
    return session_status(s);
}

int run_request(struct session_request *request, struct ui *ui, int argc, const char **argv,
                json_t *branches)
{
    struct session s;
    struct err err = ERR_INIT;
    char exe[4096];
    int status;

    ui_fill_request(ui, request, exe, sizeof(exe), argc, argv);
    session_init(&s);
    if (session_open(&s, request, &err) || session_device(&s, &err) || session_store(&s, &err) ||
        (branches && json_object_set(s.store.run, "branches", branches)) ||
        session_warn(&s, &err) || session_run(&s, &err)) {
        ui_end(ui);
        status = exit_report(&err);
    } else {
        ui_end(ui);
        status = finish(&s, ui->quiet);
    }
    session_release(&s);
    request->exe = NULL; /* ends with this function */
    return status;
}

int cmd_run(int argc, const char **argv)
{
    struct config_args args;
    struct option_result result;
    struct session_request request;
    struct ui ui;
    int status;

    if (!config_args_parse(&args, &result, "run", argc, argv, &status)) {
        config_args_request(&args, &result, JOB_RUN, &request);
        ui_init(&ui, args.quiet);
        status = run_request(&request, &ui, argc, argv, NULL);
    }
    config_args_release(&args, &result);
    return status;
}
