#include <stdio.h>

#include "cmd.h"
#include "exit.h"
#include "option.h"
#include "repro.h"

struct repro_args {
    bool ini, help;
};

static const struct option_row options[] = {
    {"ini", NULL, "print a configuration of that one case instead of the command", OPTION_FLAG,
     offsetof(struct repro_args, ini), 0},
    {"help", NULL, "print this", OPTION_FLAG, offsetof(struct repro_args, help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

static int usage(void)
{
    struct strbuf sb = STRBUF_INIT;

    strbuf_addstr(&sb, "usage: bench repro DIR CASE [options]\n\n"
                       "Prints the command that measures one case of a finished run again. CASE is "
                       "its id in cases.csv.\nWith --ini the answer depends on no other file:\n\n"
                       "  bench repro DIR CASE --ini > case.ini && bench --config case.ini\n\n");
    option_add_help(&sb, options, OPTIONS_NR);
    fputs(sb.buf, stdout);
    strbuf_release(&sb);
    return EXIT_OK;
}

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
        if (!(ini ? repro_ini(&r, &text, err) : repro_command(&r, &text, err)))
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

    option_result_init(&result);
    if (option_parse(options, OPTIONS_NR, &args, NULL, argc, argv, &result, &err)) {
        option_result_release(&result);
        return exit_report(&err);
    }
    if (args.help) {
        option_result_release(&result);
        return usage();
    }
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
