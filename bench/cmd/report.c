#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "exit.h"
#include "file.h"
#include "folder.h"
#include "report.h"
#include "ui.h"
#include "words.h"

struct report_args {
    bool help;
    bool table;
    bool write;
};

static const struct option_row options[] = {
    {"table", NULL, "the plain table for a terminal instead of Markdown", OPTION_FLAG,
     offsetof(struct report_args, table), 0},
    {"write", NULL, "replace DIR/report.md instead of printing", OPTION_FLAG,
     offsetof(struct report_args, write), 0},
    {"help", NULL, "print this", OPTION_FLAG, offsetof(struct report_args, help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

const struct option_row *report_options(size_t *nr)
{
    *nr = OPTIONS_NR;
    return options;
}

static const struct words words = {
    "usage: bench report DIR [options]\n\nPrints a finished run as Markdown.\n\n", options,
    OPTIONS_NR};

static int put(const char *dir, const struct report_args *args, const struct strbuf *text,
               struct err *err)
{
    struct strbuf path = STRBUF_INIT;
    int ret = 0;

    if (!args->write) {
        fwrite(text->buf, 1, text->len, stdout);
        if (fflush(stdout))
            return err_errno(err, ERR_ENVIRONMENT, "cannot write to standard output");
        return 0;
    }
    file_add_path(&path, dir, "report.md");
    ret = path.oom ? err_memory(err) : file_write(path.buf, text->buf, text->len, err);
    strbuf_release(&path);
    return ret;
}

/* A changed file is the user's to have: it is said, here and in the report. */
static int note_change(const char *dir, json_t *run, struct err *err)
{
    struct err change = ERR_INIT;

    if (!folder_check_hash(dir, run, "cases.csv", &change))
        return 0;
    fprintf(stderr, "bench: warning: %s\n", change.text);
    return change.kind == ERR_CONFIG ? report_rows_changed(run, err) : 0;
}

static int report(const char *dir, const struct report_args *args, struct err *err)
{
    struct case_table cases;
    struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
    json_t *run = NULL;
    int ret = -1;

    case_table_init(&cases);
    file_add_path(&path, dir, "cases.csv");
    if (path.oom) {
        err_memory(err);
        goto out;
    }
    if (case_table_read(&cases, path.buf, err))
        goto out;
    strbuf_reset(&path);
    file_add_path(&path, dir, "run.json");
    run = json_load_file(path.buf, 0, NULL);
    if (!run)
        fprintf(stderr, "bench: '%s' cannot be read, the report goes without it\n", path.buf);
    else if (note_change(dir, run, err))
        goto out;
    ret = args->table ? report_terminal(&cases, run, ui_width(), ui_colour(), &text, err)
                      : report_markdown(&cases, run, &text, err);
    if (!ret)
        ret = put(dir, args, &text, err);
out:
    json_decref(run);
    case_table_release(&cases);
    strbuf_release(&path);
    strbuf_release(&text);
    return ret;
}

int cmd_report(int argc, const char **argv)
{
    struct report_args args = {0};
    struct option_result result;
    struct err err = ERR_INIT;
    int status;

    if (!words_parse(&words, &args, &args.help, argc, argv, &result, &status))
        return status;
    if (args.table && args.write)
        err_set(&err, ERR_CONFIG, "'--table' and '--write' exclude each other");
    else if (result.nr_args != 1)
        err_set(&err, ERR_CONFIG,
                "report takes one results folder, %zu were given: bench report DIR",
                result.nr_args);
    else
        report(result.args[0], &args, &err);
    option_result_release(&result);
    return exit_report(&err);
}
