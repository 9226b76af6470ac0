/*
 * config_args.h - the flags that run, list and check share, and what becomes of them.
 */
#ifndef BENCH_CMD_CONFIG_ARGS_H
#define BENCH_CMD_CONFIG_ARGS_H

#include <stdbool.h>

#include "option.h"
#include "session.h"

struct config_args {
    const char *config;
    const char *out;
    const char *arch; /* ab: targets to build for, "none" for no CUDA; NULL: the present GPU's */
    bool build_only;  /* ab */
    struct text_list only, arm;
    struct text_list check; /* of check */
    int64_t trials;         /* of aa */
    bool resume, force, quiet, operators, kernels, apart, together, no_shrink, help;
};

/* Reads the flags of one command; `which` is its name. Returns -1 with an exit status in *status
 * when the command is over (help was asked for, or a flag is wrong). */
int config_args_parse(struct config_args *args, struct option_result *result, const char *which,
                      int argc, const char **argv, int *status);
void config_args_release(struct config_args *args, struct option_result *result);
void config_args_request(const struct config_args *args, const struct option_result *result,
                         enum job_mode mode, struct session_request *request);

#endif
