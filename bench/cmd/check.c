#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "config_args.h"
#include "exit.h"
#include "file.h"
#include "ui.h"

static void print_row(const struct case_row *row)
{
    char errors[96] = "";
    if (isfinite(row->rel_l2))
        snprintf(errors, sizeof(errors), "max abs %.2g, relative L2 %.2g, %s", row->max_abs_err,
                 row->rel_l2, row->oracle ? row->oracle : "");
    printf("%-8s %-40s %-12s %s%s\n", strcmp(row->status, "ok") ? row->status : "pass",
           row->case_id, row->arm, strcmp(row->status, "ok") ? "" : errors,
           row->status_text ? row->status_text : "");
}

static int write_checks(const struct session *s, struct err *err)
{
    struct strbuf sb = STRBUF_INIT, path = STRBUF_INIT;
    int ret = -1;

    file_add_path(&path, s->store.dir, "checks.csv");
    if (!case_table_write(&s->store.cases, &sb, err))
        ret = file_write(path.buf, sb.buf, sb.len, err);
    strbuf_release(&sb);
    strbuf_release(&path);
    return ret;
}

int cmd_check(int argc, const char **argv)
{
    struct config_args args;
    struct option_result result;
    struct session_request request;
    struct session s;
    struct ui ui;
    struct err err = ERR_INIT;
    char exe[4096];
    int status, failed = 0;

    if (config_args_parse(&args, &result, "check", argc, argv, &status)) {
        config_args_release(&args, &result);
        return status;
    }
    config_args_request(&args, &result, JOB_CHECK, &request);
    ui_init(&ui, args.quiet);
    ui_fill_request(&ui, &request, exe, sizeof(exe), argc, argv);
    session_init(&s);
    if (session_open(&s, &request, &err) || session_device(&s, &err) || session_store(&s, &err) ||
        session_run(&s, &err) || (s.store.dir && write_checks(&s, &err))) {
        ui_end(&ui);
        status = exit_report(&err);
    } else {
        ui_end(&ui);
        for (size_t i = 0; i < s.store.cases.nr; i++) {
            print_row(&s.store.cases.row[i]);
            failed += strcmp(s.store.cases.row[i].status, "ok") &&
                      strcmp(s.store.cases.row[i].status, "skip") &&
                      strcmp(s.store.cases.row[i].status, "oom");
        }
        printf("%zu checked, %d failed\n", s.store.cases.nr, failed);
        status = session_status(&s);
    }
    session_release(&s);
    config_args_release(&args, &result);
    return status;
}
