/*
 * words.h - the command line of a command whose arguments are words: `bench plot DIR`.
 */
#ifndef BENCH_CMD_WORDS_H
#define BENCH_CMD_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "option.h"

struct words {
    const char *usage; /* printed before the options by --help */
    const struct option_row *rows;
    size_t nr;
};

/* Fills `args` by the rows, whose flag for --help is *help. False when the command is over: *status
 * is its exit status then, and `result` is released; else the caller releases it. */
bool words_parse(const struct words *words, void *args, const bool *help, int argc,
                 const char **argv, struct option_result *result, int *status);

#endif
