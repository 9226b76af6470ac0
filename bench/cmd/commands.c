#include "cmd.h"

#include <string.h>

#include "text.h"

static const struct command commands[] = {
    {"run", cmd_run, "--config FILE", "measure every case of a sweep; --config FILE alone is this"},
    {"list", cmd_list, "--config FILE",
     "print the expanded cases, arms, memory and time estimate; runs nothing"},
    {"check", cmd_check, "--config FILE", "check correctness and contract, without timing"},
    {"ab", cmd_ab, "BASE HEAD [MORE...] --config FILE",
     "compare git refs (or WORKTREE, or libraries): builds each, runs every arm at each"},
    {"aa", cmd_aa, "--config FILE",
     "measure false alarms, noise floor and power: one arm against itself, --trials times"},
    {"ceilings", cmd_ceilings, "[--config FILE]",
     "measure what this machine can do: memory, tiles, reductions, tensor units; kept for later "
     "runs"},
    {"report", cmd_report, "DIR", "print a finished run as Markdown"},
    {"plot", cmd_plot, "DIR", "draw the charts of a finished run"},
    {"cmp", cmd_cmp, "OLD NEW", "compare two finished runs, unpaired"},
    {"merge", cmd_merge, "OUT IN IN", "join finished runs of one plan into one"},
    {"repro", cmd_repro, "DIR CASE", "print the command or the INI for one case of a run"},
    {"ncu", cmd_ncu, "--config FILE",
     "profile one arm of one case (--only CASE --arm NAME) with Nsight Compute; -- NCU OPTIONS"},
    {"doctor", cmd_doctor, "", "say what on this machine would spoil a run"},
    {"help", cmd_help, "[TOPIC]", "explain a configuration key, a reason or a command"},
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
