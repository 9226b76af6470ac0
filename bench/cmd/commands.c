#include "cmd.h"

#include <string.h>

#include "text.h"

static const struct command commands[] = {
    {"run", cmd_run, "--config FILE", "measure every case of a sweep; --config FILE alone is this",
     config_options},
    {"list", cmd_list, "--config FILE",
     "print the expanded cases, arms, memory and time estimate; runs nothing", config_options},
    {"check", cmd_check, "--config FILE", "check correctness and contract, without timing",
     config_options},
    {"ab", cmd_ab, "BASE HEAD [MORE...] --config FILE",
     "compare git refs (or WORKTREE, or libraries): builds each, runs every arm at each",
     config_options},
    {"aa", cmd_aa, "--config FILE",
     "measure false alarms, noise floor and power: one arm against itself, --trials times",
     config_options},
    {"ceilings", cmd_ceilings, "[--config FILE]",
     "measure what this machine can do: memory, tiles, reductions, tensor units; kept for later "
     "runs",
     config_options},
    {"report", cmd_report, "DIR", "print a finished run as Markdown", report_options},
    {"plot", cmd_plot, "DIR", "draw the charts of a finished run", plot_options},
    {"cmp", cmd_cmp, "OLD NEW", "compare two finished runs, unpaired", cmp_options},
    {"merge", cmd_merge, "OUT IN IN", "join finished runs of one plan into one", merge_options},
    {"repro", cmd_repro, "DIR CASE", "print the command or the INI for one case of a run",
     repro_options},
    {"ncu", cmd_ncu, "--config FILE",
     "profile one arm of one case (--only CASE --arm NAME) with Nsight Compute; -- NCU OPTIONS",
     config_options},
    {"doctor", cmd_doctor, "", "say what on this machine would spoil a run", doctor_options},
    {"completion", cmd_completion, "bash|zsh|fish|man",
     "print the completions of a shell, or the manual page", completion_options},
    {"help", cmd_help, "[TOPIC]", "explain a configuration key, a reason or a command", NULL},
};

#define COMMANDS_NR (sizeof(commands) / sizeof(commands[0]))

const struct command *command_at(size_t i)
{
    return i < COMMANDS_NR ? &commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS_NR; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

const char *command_nearest(const char *word)
{
    const char *names[COMMANDS_NR];

    for (size_t i = 0; i < COMMANDS_NR; i++)
        names[i] = commands[i].name;
    return text_nearest(word, names, COMMANDS_NR);
}

/* "ab: build the refs" is an option of ab: its help, or NULL where it is another command's. */
static const char *help_for(const struct command *c, const char *help)
{
    size_t len = strcspn(help, ": ");

    for (size_t i = 0; help[len] == ':' && i < COMMANDS_NR; i++)
        if (strlen(commands[i].name) == len && !strncmp(commands[i].name, help, len))
            return &commands[i] == c ? help + len + 2 : NULL;
    return help;
}

bool command_option(const struct command *c, size_t i, struct option_row *row)
{
    size_t nr = 0;
    const struct option_row *rows = c->options ? c->options(&nr) : NULL;

    if (i >= nr || !help_for(c, rows[i].help))
        return false;
    *row = rows[i];
    row->help = help_for(c, rows[i].help);
    return true;
}

size_t command_options_nr(const struct command *c)
{
    size_t nr = 0;

    if (c->options)
        c->options(&nr);
    return nr;
}

bool command_takes_keys(const struct command *c)
{
    return c->options == config_options;
}
