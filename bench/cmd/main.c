#include <stdio.h>
#include <string.h>

#include "child.h"
#include "cmd.h"
#include "exit.h"
#include "sab_build.h"
#include "strbuf.h"
#include "worker.h"

static int usage(FILE *out)
{
    fprintf(out, "usage: bench --config FILE [options]\n"
                 "       bench COMMAND [options]\n\n");
    for (size_t i = 0; command_at(i); i++)
        fprintf(out, "  %-8s %-15s %s\n", command_at(i)->name, command_at(i)->usage,
                command_at(i)->summary);
    fprintf(out, "\n`bench COMMAND --help` prints a command's options.\n");
    return out == stdout ? EXIT_OK : EXIT_USAGE;
}

static int unknown(const char *word)
{
    struct err err = ERR_INIT;
    const char *near = command_nearest(word);
    err_set(&err, ERR_CONFIG, "no command '%s'%s%s%s; `bench --help` lists them", word,
            near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
    return exit_report(&err);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;

    if (!word)
        return usage(stderr);
    if (!strcmp(word, "--worker") && argc == 2)
        return worker_main();
    if (!strcmp(word, "--guard"))
        return child_guard(argc - 2, argv + 2);
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        return usage(stdout);
    if (!strcmp(word, "--version")) {
        printf("bench %s (%s)\n", SAB_VERSION, SAB_BUILD_DESCRIBE);
        return EXIT_OK;
    }
    /* Flags alone mean `run`. */
    if (word[0] == '-')
        return cmd_run(argc - 1, (const char **)argv + 1);
    const struct command *c = command_find(word);
    return c ? c->fn(argc - 2, (const char **)argv + 2) : unknown(word);
}
