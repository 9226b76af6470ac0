/*
 * exit.h - exit statuses (DESIGN 5) and the one way in which a command reports a failure.
 */
#ifndef BENCH_CMD_EXIT_H
#define BENCH_CMD_EXIT_H

#include <stddef.h>

#include "err.h"

enum exit_code {
    EXIT_OK = 0,
    EXIT_SLOWER = 1,      /* slower beyond the gate */
    EXIT_USAGE = 2,       /* usage or configuration */
    EXIT_WRONG = 3,       /* wrong result */
    EXIT_CRASH = 4,       /* a case crashed or timed out, or a bug of our own */
    EXIT_UNBELIEVED = 5,  /* the run's own A' check failed, or unsure with `unsure = fail` */
    EXIT_ENVIRONMENT = 6, /* the environment was refused */
    EXIT_INTERRUPTED = 130,
};

/* Every status with a sentence for the manual, NULL behind the last. */
struct exit_code_help {
    int status;
    const char *help;
};
const struct exit_code_help *exit_code_at(size_t i);

int exit_status(const struct err *err);
/* Prints "bench: TEXT" on stderr and returns exit_status(). */
int exit_report(const struct err *err);

#endif
