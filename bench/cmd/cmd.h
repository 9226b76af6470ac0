/*
 * cmd.h - the subcommands of `bench`. Only this floor prints and decides exit statuses.
 *
 * To add a command: its file with `cmd_NAME`, a prototype here, a row in commands.c.
 */
#ifndef BENCH_CMD_CMD_H
#define BENCH_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "option.h"

struct command {
    const char *name;
    /* argv[0..argc) are the words behind the command's name. Returns the exit status. */
    int (*fn)(int argc, const char **argv);
    const char *usage;   /* what follows the name: "DIR" */
    const char *summary; /* one line */
    /* Its table of options; NULL: it has none but --help. */
    const struct option_row *(*options)(size_t *nr);
};

/* Row `i` of the table, NULL behind the last. */
const struct command *command_at(size_t i);
const struct command *command_find(const char *name);
/* Row `i` of its options, as it holds for this command. False where that is another command's, or
 * behind the last: command_options_nr() rows. */
bool command_option(const struct command *c, size_t i, struct option_row *row);
size_t command_options_nr(const struct command *c);
/* Whether every configuration key is a flag of it. */
bool command_takes_keys(const struct command *c);
/* The command nearest to a misspelt one, or NULL. */
const char *command_nearest(const char *word);

int cmd_run(int argc, const char **argv);
int cmd_list(int argc, const char **argv);
int cmd_check(int argc, const char **argv);
int cmd_ab(int argc, const char **argv);
int cmd_aa(int argc, const char **argv);
int cmd_ceilings(int argc, const char **argv);
int cmd_report(int argc, const char **argv);
int cmd_plot(int argc, const char **argv);
int cmd_doctor(int argc, const char **argv);
int cmd_cmp(int argc, const char **argv);
int cmd_merge(int argc, const char **argv);
int cmd_repro(int argc, const char **argv);
int cmd_ncu(int argc, const char **argv);
int cmd_help(int argc, const char **argv);
int cmd_completion(int argc, const char **argv);

/* Tables of options. Those of commands that read a configuration are one; an option of one of them
 * alone says so in front of its help: "ab: ...". */
const struct option_row *config_options(size_t *nr);
const struct option_row *report_options(size_t *nr);
const struct option_row *plot_options(size_t *nr);
const struct option_row *doctor_options(size_t *nr);
const struct option_row *cmp_options(size_t *nr);
const struct option_row *merge_options(size_t *nr);
const struct option_row *repro_options(size_t *nr);
const struct option_row *completion_options(size_t *nr);

#endif
