#include <stdio.h>

#include "cmd.h"
#include "exit.h"
#include "repro.h"
#include "words.h"

struct repro_args {
    bool ini, help;
};

static const struct option_row options[] = {
    {"ini", NULL, "print a configuration of that one case instead of the command", OPTION_FLAG,
     offsetof(struct repro_args, ini), 0},
    {"help", NULL, "print this", OPTION_FLAG, offsetof(struct repro_args, help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

const struct option_row *repro_options(size_t *nr)
{
    *nr = OPTIONS_NR;
    return options;
}

static const struct words words = {
    "usage: bench repro DIR CASE [options]\n\n"
    "Prints the command that measures one case of a finished run again. CASE is "
    "its id in cases.csv.\nWith --ini the answer depends on no other file:\n\n"
    "  bench repro DIR CASE --ini > case.ini && bench --config case.ini\n\n",
    options, OPTIONS_NR};

static void repro(const char *dir, const char *case_id, bool ini, struct err *err)
{
    struct strbuf text = STRBUF_INIT;
    struct repro r;

    repro_init(&r);
    if (!repro_open(&r, dir, case_id, err)) {
        if (r.other_plan)
            fprintf(stderr,
                    "bench: this bench reads the configuration of '%s' as another plan: "
                    "defaults have changed since\n",
                    dir);
        if (!(ini ? repro_ini(&r, &text, err) : repro_command(r.run, r.item->id, &text, err)))
            fputs(text.buf, stdout);
    }
    repro_release(&r);
    strbuf_release(&text);
}

int cmd_repro(int argc, const char **argv)
{
    struct repro_args args = {0};
    struct option_result result;
    struct err err = ERR_INIT;
    int status;

    if (!words_parse(&words, &args, &args.help, argc, argv, &result, &status))
        return status;
    if (result.nr_args != 2)
        err_set(&err, ERR_CONFIG,
                "repro takes a results folder and a case, %zu words were given: bench repro DIR "
                "CASE",
                result.nr_args);
    else
        repro(result.args[0], result.args[1], args.ini, &err);
    option_result_release(&result);
    return exit_report(&err);
}
