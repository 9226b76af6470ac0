#include "exit.h"

#include <stdio.h>

int exit_status(const struct err *err)
{
    switch (err->kind) {
    case ERR_NONE:
        return EXIT_OK;
    case ERR_CONFIG:
        return EXIT_USAGE;
    case ERR_ENVIRONMENT:
    case ERR_MEMORY:
        return EXIT_ENVIRONMENT;
    case ERR_WRONG:
        return EXIT_WRONG;
    case ERR_INTERRUPTED:
        return EXIT_INTERRUPTED;
    case ERR_CRASH:
    case ERR_BUG:
        break;
    }
    return EXIT_CRASH;
}

int exit_report(const struct err *err)
{
    if (err->kind == ERR_BUG)
        fprintf(stderr, "bench: %s (this is a bug of bench itself)\n", err->text);
    else if (err->kind != ERR_NONE)
        fprintf(stderr, "bench: %s\n", err->text);
    return exit_status(err);
}
