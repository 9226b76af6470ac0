/*
 * aa.c - `bench aa`: how often this harness calls a kernel different from itself, here.
 */
#include "aa.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "config_args.h"
#include "exit.h"
#include "ui.h"

/* ---- an aligned table ---- */

#define MAX_COLS 8

struct grid {
    struct strbuf *cell;
    size_t lines, cols;
};

/* The first line is the heading; the first column stands left, the others right. */
static void grid_print(const struct grid *g)
{
    int width[MAX_COLS] = {0};

    for (size_t i = 0; i < g->lines * g->cols; i++)
        if ((int)g->cell[i].len > width[i % g->cols])
            width[i % g->cols] = (int)g->cell[i].len;
    for (size_t i = 0; i < g->lines * g->cols; i++) {
        size_t col = i % g->cols;
        printf(col ? "  %*s" : "%-*s", width[col], g->cell[i].buf);
        if (col + 1 == g->cols)
            printf("\n");
    }
}

static int grid_init(struct grid *g, size_t lines, const char *const *heads, size_t cols)
{
    g->lines = lines + 1;
    g->cols = cols;
    g->cell = malloc(g->lines * cols * sizeof(*g->cell));
    for (size_t i = 0; g->cell && i < g->lines * cols; i++) {
        strbuf_init(&g->cell[i]);
        if (i < cols)
            strbuf_addstr(&g->cell[i], heads[i]);
    }
    return g->cell ? 0 : -1;
}

static void grid_release(struct grid *g)
{
    for (size_t i = 0; g->cell && i < g->lines * g->cols; i++)
        strbuf_release(&g->cell[i]);
    free(g->cell);
}

/* ---- what the trials came to ---- */

static void add_rate(struct strbuf *sb, const struct aa_rate *rate)
{
    if (!rate->nr) {
        strbuf_addstr(sb, "-");
        return;
    }
    strbuf_addf(sb, "%zu of %zu, %.1f %% [%.1f, %.1f]", rate->hits, rate->nr, 100 * rate->share,
                100 * rate->lo, 100 * rate->hi);
}

static void add_share(struct strbuf *sb, const struct aa_rate *rate)
{
    if (rate->nr)
        strbuf_addf(sb, "%.0f %%", 100 * rate->share);
    else
        strbuf_addstr(sb, "-");
}

static void add_floor(struct strbuf *sb, double floor)
{
    if (isnan(floor))
        strbuf_addstr(sb, "-");
    else
        strbuf_addf(sb, "%.2f %%", 100 * floor);
}

static int print_rates(const struct aa *aa, struct err *err)
{
    static const char *const heads[] = {
        "case",   "median", "false alarms [95 % CI]", "interval excluded 0", "SAME",
        "UNSURE", "floor"};
    enum { COLS = sizeof(heads) / sizeof(heads[0]) };
    size_t nr = aa->result.nr;
    struct grid g;
    int ret = 0;

    if (grid_init(&g, nr + 1, heads, COLS))
        return err_memory(err);
    for (size_t i = 0; i <= nr && !ret; i++) {
        struct strbuf *cell = &g.cell[(i + 1) * COLS];
        struct aa_rates rates;
        ret = aa_result_rates(&aa->result, i < nr ? i : AA_POOLED, &rates, err);
        if (ret)
            break;
        strbuf_addstr(&cell[0], i < nr ? aa->result.item[i].id : "all");
        if (!isnan(rates.median_ns))
            text_add_duration(&cell[1], rates.median_ns);
        add_rate(&cell[2], &rates.false_alarm);
        add_rate(&cell[3], &rates.excluded_zero);
        add_share(&cell[4], &rates.same);
        add_share(&cell[5], &rates.unsure);
        add_floor(&cell[6], rates.floor);
    }
    if (!ret)
        grid_print(&g);
    grid_release(&g);
    return ret;
}

static int print_power(const struct aa *aa, struct err *err)
{
    static const char *const heads[] = {"injected", "SLOWER [95 % CI]", "interval covers it"};
    enum { COLS = sizeof(heads) / sizeof(heads[0]) };
    struct aa_rates all;
    struct grid g;

    if (aa_result_rates(&aa->result, AA_POOLED, &all, err))
        return -1;
    if (grid_init(&g, AA_TWINS, heads, COLS))
        return err_memory(err);
    for (size_t t = 0; t < AA_TWINS; t++) {
        struct strbuf *cell = &g.cell[(t + 1) * COLS];
        strbuf_addf(&cell[0], "+%.1f %%", 100 * aa_effect[t]);
        add_rate(&cell[1], &all.power[t]);
        add_rate(&cell[2], &all.covers[t]);
    }
    printf("\n");
    grid_print(&g);
    grid_release(&g);
    return 0;
}

/* What a quiet machine stays far below. */
#define HIGH_FLOOR 0.05

static int print_floors(const struct aa *aa, struct err *err)
{
    static const char *const heads[] = {"duration", "noise floor", "values"};
    enum { COLS = sizeof(heads) / sizeof(heads[0]) };
    struct grid g;
    size_t line = 0;
    bool high = false;

    if (!aa->floors.nr) {
        printf("\nno noise floor: a duration octave needs at least %d values\n", AA_PROFILE_MIN);
        return 0;
    }
    if (grid_init(&g, aa->floors.nr, heads, COLS))
        return err_memory(err);
    for (int o = 0; o < PROFILE_OCTAVES; o++) {
        if (isnan(aa->floors.octave[o]))
            continue;
        struct strbuf *cell = &g.cell[++line * COLS];
        text_add_duration(&cell[0], ldexp(1, o));
        strbuf_addstr(&cell[0], " to ");
        text_add_duration(&cell[0], ldexp(1, o + 1));
        add_floor(&cell[1], aa->floors.octave[o]);
        high |= aa->floors.octave[o] > HIGH_FLOOR;
        strbuf_addf(&cell[2], "%zu", aa->floors.values[o]);
    }
    printf("\n");
    grid_print(&g);
    grid_release(&g);
    if (high)
        printf("effects below such a floor cannot be seen: was the machine idle?\n");
    return 0;
}

static void print_failures(const struct aa *aa)
{
    for (size_t i = 0; i < aa->result.nr; i++)
        if (aa->result.item[i].failed)
            printf("%s: %s\n", aa->result.item[i].id, aa->result.item[i].failed);
}

static int print_result(const struct aa *aa, struct err *err)
{
    const struct plan_settings *set = &aa->probe.plan.set;

    for (size_t i = 0; i < aa->arms.nr; i++)
        printf("%s'%s'", i ? ", " : "arm ", aa->arms.items[i]);
    printf(" against itself on %s: %d trial%s of %dx%d%s\n\n", aa->probe.info.name,
           aa->result.trials, aa->result.trials == 1 ? "" : "s", set->processes, set->rounds,
           aa->stopped ? ", interrupted" : "");
    if (print_rates(aa, err) || print_power(aa, err) || print_floors(aa, err))
        return -1;
    print_failures(aa);
    printf("\n%s/aa.csv\n%s/aa_twin.csv\n%s/aa.json\n", aa->dir, aa->dir, aa->dir);
    if (aa->profile)
        printf("%s\n", aa->profile);
    return 0;
}

/* ---- the command ---- */

static int finish(const struct aa *aa, bool quiet)
{
    struct err err = ERR_INIT;
    int status = aa_status(aa);

    if (print_result(aa, &err))
        return exit_report(&err);
    if (status == EXIT_UNBELIEVED && !quiet)
        fprintf(stderr, "bench: too many false alarms: their rate lies above %.0f %%\n",
                100 * AA_FALSE_ALARM);
    return status;
}

int cmd_aa(int argc, const char **argv)
{
    struct config_args args;
    struct option_result result;
    struct session_request request;
    struct aa aa;
    struct ui ui;
    struct err err = ERR_INIT;
    char exe[4096];
    int status;

    if (config_args_parse(&args, &result, "aa", argc, argv, &status)) {
        config_args_release(&args, &result);
        return status;
    }
    config_args_request(&args, &result, JOB_RUN, &request);
    ui_init(&ui, args.quiet);
    ui_fill_request(&ui, &request, exe, sizeof(exe), argc, argv);
    aa_init(&aa);
    int trials = args.trials > INT_MAX ? INT_MAX : args.trials < 0 ? 0 : (int)args.trials;
    if (aa_open(&aa, &request, trials, &err) || session_warnings(&aa.probe, &aa.warnings, &err) ||
        aa_run(&aa, &err)) {
        ui_end(&ui);
        status = exit_report(&err);
    } else {
        ui_end(&ui);
        status = finish(&aa, args.quiet);
    }
    aa_release(&aa);
    config_args_release(&args, &result);
    return status;
}
