#include "exit.h"

#include <stdio.h>

static const struct exit_code_help codes[] = {
    {EXIT_OK, "none of the others"},
    {EXIT_SLOWER, "an arm is slower than its baseline beyond [gate] slower"},
    {EXIT_USAGE, "usage or configuration: nothing has run"},
    {EXIT_WRONG, "an arm computed a wrong result"},
    {EXIT_CRASH, "a case crashed or timed out, or a ref did not build"},
    {EXIT_UNBELIEVED, "the run's own check failed: a copy of the baseline differs from it; or a "
                      "verdict is UNSURE with [gate] unsure = fail"},
    {EXIT_ENVIRONMENT, "a device, timer, folder or disk that is not to be had"},
    {EXIT_INTERRUPTED, "interrupted; what was measured is sealed"},
};

const struct exit_code_help *exit_code_at(size_t i)
{
    return i < sizeof(codes) / sizeof(codes[0]) ? &codes[i] : NULL;
}

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
