#include "words.h"

#include <stdio.h>

#include "exit.h"
#include "strbuf.h"

static void print_help(const struct words *words)
{
    struct strbuf sb = STRBUF_INIT;

    strbuf_addstr(&sb, words->usage);
    option_add_help(&sb, words->rows, words->nr);
    fputs(sb.buf, stdout);
    strbuf_release(&sb);
}

bool words_parse(const struct words *words, void *args, const bool *help, int argc,
                 const char **argv, struct option_result *result, int *status)
{
    struct err err = ERR_INIT;

    option_result_init(result);
    if (option_parse(words->rows, words->nr, args, NULL, argc, argv, result, &err)) {
        *status = exit_report(&err);
    } else if (*help) {
        print_help(words);
        *status = EXIT_OK;
    } else {
        return true;
    }
    option_result_release(result);
    return false;
}
