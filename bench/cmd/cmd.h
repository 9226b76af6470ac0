/*
 * cmd.h - the subcommands of `bench`. Only this floor prints and decides exit statuses.
 *
 * To add a command: its file with `cmd_NAME`, a prototype here, a row in commands.c.
 */
#ifndef BENCH_CMD_CMD_H
#define BENCH_CMD_CMD_H

#include <stddef.h>

struct command {
    const char *name;
    /* argv[0..argc) are the words behind the command's name. Returns the exit status. */
    int (*fn)(int argc, const char **argv);
    const char *usage;   /* what follows the name: "DIR" */
    const char *summary; /* one line */
};

/* Row `i` of the table, NULL behind the last. */
const struct command *command_at(size_t i);
const struct command *command_find(const char *name);
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

#endif
