/*
 * ceilings.c - `bench ceilings`: what this machine can do, measured and kept for later runs.
 */
#include "ceilings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "config_args.h"
#include "exit.h"
#include "file.h"
#include "profile.h"
#include "ui.h"

#ifndef SAB_CONFIGS_DIR
#    define SAB_CONFIGS_DIR "configs"
#endif

/* <prefix>/bin/bench has its configurations in <prefix>/share/sab/configs; a build has those of
 * its sources. */
static int find_config(const char *exe, struct strbuf *path, struct err *err)
{
    file_add_dir(path, exe);
    strbuf_addstr(path, "/../share/sab/configs/ceilings.ini");
    if (!path->oom && !file_exists(path->buf)) {
        strbuf_reset(path);
        strbuf_addstr(path, SAB_CONFIGS_DIR "/ceilings.ini");
    }
    return path->oom ? err_memory(err) : 0;
}

/* ---- what came out ---- */

static bool counts_operations(int kind)
{
    return kind >= OP_BF16 && kind <= OP_EXP2;
}

static void print_rates(const struct ceilings *c)
{
    printf("%-22s  %10s  %14s  %9s  %s\n", "ceiling", "size", "rate", "clock", "arm");
    for (size_t i = 0; i < c->nr; i++) {
        const struct ceiling *one = &c->item[i];
        struct strbuf size = STRBUF_INIT, clock = STRBUF_INIT;
        const char *unit = !counts_operations(one->kind) ? "GB/s"
                           : one->kind == OP_EXP2        ? "Gop/s"
                                                         : "TFLOP/s";
        const double rate = *unit == 'T' ? one->per_ns * 1e-3 : one->per_ns;

        if (one->size > 0)
            text_add_bytes(&size, (uint64_t)one->size);
        if (isfinite(one->run_mhz))
            strbuf_addf(&clock, "%.0f MHz", one->run_mhz);
        /* Bytes that are copied are read and written. */
        printf("%-22s  %10s  %6.*f %-7s  %9s  %s\n", ceiling_name(one->kind),
               size.len ? size.buf : "", rate < 100 ? 1 : 0,
               one->kind == OP_WRITE ? 2 * rate : rate, unit, clock.len ? clock.buf : "", one->arm);
        strbuf_release(&size);
        strbuf_release(&clock);
    }
}

static void print_failures(const struct session *s)
{
    const struct case_table *cases = &s->store.cases;

    for (size_t i = 0; i < cases->nr; i++) {
        const struct case_row *row = &cases->row[i];

        if (row->status && strcmp(row->status, "ok") && strcmp(row->status, "skip"))
            printf("%s %s: %s: %s\n", row->case_id, row->arm, row->status,
                   row->status_text ? row->status_text : "");
    }
}

/* Rates of an earlier measurement that this one did not repeat stay. */
static int keep(const struct session *s, struct ceilings *c, char **path, struct err *err)
{
    json_t *about = json_object();
    char stamp[32];
    time_t now = time(NULL);
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_object_set_new(about, "measured_utc", json_string(stamp));
    json_object_set_new(about, "config", json_string(s->plan.config_name));
    int ret = ceilings_keep(c, &s->info, err) || ceilings_write(c, &s->info, about, err);
    json_decref(about);
    if (ret)
        return -1;
    *path = profile_path(&s->info, err);
    return *path ? 0 : -1;
}

static int finish(struct session *s, struct err *err)
{
    struct ceilings c;
    char *path = NULL;
    int ret = -1;

    ceilings_init(&c);
    if (ceilings_take(&c, &s->store.cases, err))
        goto out;
    print_failures(s);
    if (!c.nr) {
        err_set(err, ERR_ENVIRONMENT, "no ceiling could be measured on %s", s->info.name);
        goto out;
    }
    print_rates(&c);
    if (keep(s, &c, &path, err))
        goto out;
    printf("\n%s/cases.csv\n%s\n", s->store.dir, path);
    ret = 0;
out:
    free(path);
    ceilings_release(&c);
    return ret;
}

/* A rate of an earlier measurement is no ground to refuse this one. */
static int status_of(const struct session *s)
{
    return s->stopped                 ? EXIT_INTERRUPTED
           : s->store.summary.wrong   ? EXIT_WRONG
           : s->store.summary.crashed ? EXIT_CRASH
                                      : EXIT_OK;
}

int cmd_ceilings(int argc, const char **argv)
{
    struct strbuf config = STRBUF_INIT;
    struct config_args args;
    struct option_result result;
    struct session_request request;
    struct session s;
    struct ui ui;
    struct err err = ERR_INIT;
    char exe[4096];
    int status;

    if (config_args_parse(&args, &result, "ceilings", argc, argv, &status)) {
        config_args_release(&args, &result);
        return status;
    }
    config_args_request(&args, &result, JOB_RUN, &request);
    ui_init(&ui, args.quiet);
    ui_fill_request(&ui, &request, exe, sizeof(exe), argc, argv);
    session_init(&s);
    int ret = request.config ? 0 : find_config(exe, &config, &err);
    if (!ret && !request.config)
        request.config = config.buf;
    if (!ret && !session_open(&s, &request, &err) && !session_device(&s, &err) &&
        !session_store(&s, &err))
        session_run(&s, &err);
    ui_end(&ui);
    if (err.kind == ERR_NONE && !s.stopped)
        finish(&s, &err);
    status = err.kind == ERR_NONE ? status_of(&s) : exit_report(&err);
    session_release(&s);
    strbuf_release(&config);
    config_args_release(&args, &result);
    return status;
}
