#include "config_args.h"

#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "exit.h"
#include "stats_aa.h"
#include "ui.h"

#define FIELD(name) offsetof(struct config_args, name)

static const struct option_row rows[] = {
    {"config", "FILE", "the sweep to read", OPTION_STRING, FIELD(config), 'c'},
    {"only", "GLOB", "cases whose id matches; may be given again", OPTION_LIST, FIELD(only), 0},
    {"arm", "NAME", "this arm alone; may be given again", OPTION_LIST, FIELD(arm), 0},
    {"check", "NAME", "check: this check alone; may be given again", OPTION_LIST, FIELD(check), 0},
    {"apart", NULL, "check: each check in a process of its own", OPTION_FLAG, FIELD(apart), 0},
    {"no-shrink", NULL, "check: failing cases are not reduced", OPTION_FLAG, FIELD(no_shrink), 0},
    {"together", NULL, "check: the cases of an arm share a process until something fails",
     OPTION_FLAG, FIELD(together), 0},
    {"out", "DIR", "the results folder", OPTION_STRING, FIELD(out), 'o'},
    {"resume", NULL, "go on with the run in the folder that --out names", OPTION_FLAG,
     FIELD(resume), 0},
    {"force", NULL, "replace an earlier run in that folder", OPTION_FLAG, FIELD(force), 0},
    {"quiet", NULL, "no progress and no notes", OPTION_FLAG, FIELD(quiet), 'q'},
    {"operators", NULL, "list: the operators and their axes", OPTION_FLAG, FIELD(operators), 0},
    {"kernels", NULL, "list: the kernels of the library", OPTION_FLAG, FIELD(kernels), 0},
    {"build-only", NULL, "ab: build the refs, print the libraries' paths, run nothing", OPTION_FLAG,
     FIELD(build_only), 0},
    {"arch", "LIST", "ab: build for these targets (90a;120a), or none for the CPU kernels alone",
     OPTION_STRING, FIELD(arch), 0},
    {"trials", "N", "aa: so many trials (40)", OPTION_INT, FIELD(trials), 0},
    {"help", NULL, "this text", OPTION_FLAG, FIELD(help), 'h'},
};
#define ROWS_NR (sizeof(rows) / sizeof(rows[0]))

const struct option_row *config_options(size_t *nr)
{
    *nr = ROWS_NR;
    return rows;
}

static bool is_key(const void *ctx, const char *name)
{
    (void)ctx;
    return plan_is_key(name);
}

static void print_help(const char *which)
{
    const struct command *c = command_find(which);
    struct strbuf sb = STRBUF_INIT;

    strbuf_addf(&sb, "usage: bench %s %s [options] [--KEY VALUE ...]\n\n%s\n\n", which,
                c ? c->usage : "", c ? c->summary : "");
    for (size_t i = 0; c && i < ROWS_NR; i++) {
        struct option_row row;
        if (command_option(c, i, &row))
            option_add_help(&sb, &row, 1);
    }
    strbuf_addstr(&sb, "\nEvery configuration key and axis is a flag too: --rounds 2x40, "
                       "--sweep.NAME.batch=1,8.\n`bench help KEY` explains one.\n");
    fputs(sb.buf, stdout);
    strbuf_release(&sb);
}

int config_args_parse(struct config_args *args, struct option_result *result, const char *which,
                      int argc, const char **argv, int *status)
{
    struct option_keys keys = {.is_key = is_key};
    struct err err = ERR_INIT;

    memset(args, 0, sizeof(*args));
    args->trials = AA_TRIALS;
    option_result_init(result);
    if (option_parse(rows, ROWS_NR, args, &keys, argc, argv, result, &err)) {
        *status = exit_report(&err);
        return -1;
    }
    if (args->help) {
        print_help(which);
        *status = EXIT_OK;
        return -1;
    }
    bool names = !strcmp(which, "ab"); /* its arguments are refs and libraries */
    /* `bench run FILE` is `bench run --config FILE`. */
    if (!args->config && result->nr_args == 1 && !names) {
        args->config = result->args[0];
        result->nr_args = 0;
    }
    if (result->nr_args && !names)
        err_set(&err, ERR_CONFIG, "'%s' is no option of `bench %s`; flags begin with --",
                result->args[0], which);
    else if (!args->config && strcmp(which, "ceilings") && !args->operators && !args->kernels &&
             !args->build_only)
        err_set(&err, ERR_CONFIG, "`bench %s` needs --config FILE", which);
    if (err.kind != ERR_NONE) {
        *status = exit_report(&err);
        return -1;
    }
    return 0;
}

void config_args_release(struct config_args *args, struct option_result *result)
{
    text_list_release(&args->only);
    text_list_release(&args->arm);
    text_list_release(&args->check);
    option_result_release(result);
}

void config_args_request(const struct config_args *args, const struct option_result *result,
                         enum job_mode mode, struct session_request *request)
{
    memset(request, 0, sizeof(*request));
    request->config = args->config;
    request->override = result->overrides;
    request->overrides_nr = result->nr_overrides;
    request->only = (const char *const *)args->only.items;
    request->only_nr = args->only.nr;
    request->arms = (const char *const *)args->arm.items;
    request->arms_nr = args->arm.nr;
    request->out = args->out;
    request->resume = args->resume;
    request->force = args->force;
    request->mode = mode;
}
