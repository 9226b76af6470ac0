/*
 * manual.c - bench(1), from the tables that `--help` and `bench help` print.
 */
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "exit.h"
#include "plan.h"

static const struct {
    const char *name, *help;
} files[] = {
    {"results/NAME/samples.csv",
     "every sample; the journal of a run, appended as cases are sealed"},
    {"results/NAME/cases.csv", "one row a case and arm: times, ratio, interval, verdict, errors"},
    {"results/NAME/run.json", "machine, versions, configuration, hashes of the other files"},
    {"results/NAME/report.md", "the table for a pull request"},
    {"~/.cache/sab", "libraries that `bench ab` has built"},
    {"~/.local/share/sab", "noise floors that `bench aa` has measured"},
};

static const struct {
    const char *name, *help;
} variables[] = {
    {"CUDA_VISIBLE_DEVICES", "GPUs that are not in it are not used"},
    {"CUDA_HOME, CUDA_PATH", "where CUPTI is looked for beside the usual folders"},
    {"CUDACXX", "the compiler of `bench ab`"},
    {"NO_COLOR", "no colours in tables"},
    {"SAB_PLOTS", "the folder of the gnuplot scripts"},
    {"TMPDIR", "where private copies of libraries lie during a run"},
    {"XDG_CACHE_HOME, XDG_DATA_HOME", "in place of ~/.cache and ~/.local/share"},
};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

/* Text as it is: roff has its own meaning for '\', and for '.' and ''' in front of a line. */
static void add_text(struct strbuf *sb, const char *text)
{
    if (*text == '.' || *text == '\'')
        strbuf_addstr(sb, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            strbuf_addstr(sb, "\\e");
        else if (*text == '-')
            strbuf_addstr(sb, "\\-");
        else if (*text == '~')
            strbuf_addstr(sb, "\\(ti");
        else if (*text == '^')
            strbuf_addstr(sb, "\\(ha");
        else
            strbuf_addch(sb, *text);
    }
}

static void add_item(struct strbuf *sb, const char *name, const char *rest, const char *help)
{
    strbuf_addstr(sb, ".TP\n\\fB");
    add_text(sb, name);
    strbuf_addstr(sb, "\\fR");
    if (rest && *rest) {
        strbuf_addstr(sb, " \\fI");
        add_text(sb, rest);
        strbuf_addstr(sb, "\\fR");
    }
    strbuf_addch(sb, '\n');
    add_text(sb, help);
    strbuf_addch(sb, '\n');
}

static void add_option(struct strbuf *sb, const struct option_row *row)
{
    char name[128];

    if (row->letter)
        snprintf(name, sizeof(name), "-%c, --%s", row->letter, row->name);
    else
        snprintf(name, sizeof(name), "--%s", row->name);
    add_item(sb, name, row->argument, row->help);
}

/* Options that all commands with a configuration share stand once, above. */
static void add_commands(struct strbuf *sb)
{
    strbuf_addstr(sb, ".SH COMMANDS\n");
    for (size_t i = 0; command_at(i); i++) {
        const struct command *c = command_at(i);
        char name[64];

        snprintf(name, sizeof(name), "bench %s", c->name);
        strbuf_addstr(sb, ".SS ");
        add_text(sb, name);
        strbuf_addstr(sb, "\n\\fB");
        add_text(sb, name);
        strbuf_addstr(sb, "\\fR \\fI");
        add_text(sb, c->usage);
        strbuf_addstr(sb, "\\fR\n.PP\n");
        add_text(sb, c->summary);
        strbuf_addch(sb, '\n');
        for (size_t k = 0; k < command_options_nr(c); k++) {
            struct option_row row;
            const struct option_row *rows = c->options(&(size_t){0});
            bool own =
                command_option(c, k, &row) && (!command_takes_keys(c) || row.help != rows[k].help);
            if (own)
                add_option(sb, &row);
        }
    }
}

static void add_shared(struct strbuf *sb)
{
    const struct command *run = command_find("run");

    strbuf_addstr(sb, ".SH OPTIONS\nOf the commands that read a configuration. "
                      "Every key and axis of it is an option too: \\fB\\-\\-rounds 2x40\\fR, "
                      "\\fB\\-\\-sweep.NAME.batch=1,8\\fR.\n");
    for (size_t k = 0; k < command_options_nr(run); k++) {
        struct option_row row;
        if (command_option(run, k, &row))
            add_option(sb, &row);
    }
}

static void add_keys(struct strbuf *sb)
{
    const char *section = "";

    strbuf_addstr(sb, ".SH CONFIGURATION\nAn INI file; \\fBbench help\\fR \\fIKEY\\fR says more, "
                      "\\fBbench list \\-\\-operators\\fR prints the axes of a sweep.\n");
    for (size_t i = 0; plan_key_at(i); i++) {
        const struct plan_key *key = plan_key_at(i);

        if (strcmp(section, key->section))
            strbuf_addf(sb, ".SS [%s]\n", key->section);
        section = key->section;
        add_item(sb, key->name, key->kind, key->help);
        if (*key->initial) {
            strbuf_addstr(sb, "(default ");
            add_text(sb, key->initial);
            strbuf_addstr(sb, ")\n");
        }
    }
}

static void add_statuses(struct strbuf *sb)
{
    char number[16];

    strbuf_addstr(sb, ".SH EXIT STATUS\nThe first that applies of 130, 6, 2, 3, 4, 5, 1, 0.\n");
    for (size_t i = 0; exit_code_at(i); i++) {
        snprintf(number, sizeof(number), "%d", exit_code_at(i)->status);
        add_item(sb, number, NULL, exit_code_at(i)->help);
    }
}

int completion_manual(struct strbuf *sb, struct err *err)
{
    (void)err;
    strbuf_addstr(sb, ".TH BENCH 1 \"\" \"bench " SAB_VERSION "\" \"User Commands\"\n"
                      ".SH NAME\nbench \\- measure and compare sparse attention kernels\n"
                      ".SH SYNOPSIS\n\\fBbench\\fR \\fB\\-\\-config\\fR \\fIFILE\\fR "
                      "[\\fIoptions\\fR]\n.br\n\\fBbench\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n"
                      ".SH DESCRIPTION\nReads a sweep, checks every arm of every case against an "
                      "oracle, times the arms interleaved with a cold cache, and says which is "
                      "faster, with an interval.\n"
                      "A run that was cut off goes on by \\fB\\-\\-resume\\fR.\n");
    add_shared(sb);
    add_commands(sb);
    add_keys(sb);
    add_statuses(sb);
    strbuf_addstr(sb, ".SH FILES\n");
    for (size_t i = 0; i < NR(files); i++)
        add_item(sb, files[i].name, NULL, files[i].help);
    strbuf_addstr(sb, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < NR(variables); i++)
        add_item(sb, variables[i].name, NULL, variables[i].help);
    return 0;
}
