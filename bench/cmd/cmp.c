#include <stdio.h>

#include "cmd.h"
#include "cmp.h"
#include "exit.h"
#include "words.h"

struct cmp_args {
    bool help;
    bool markdown;
};

static const struct option_row options[] = {
    {"markdown", NULL, "Markdown instead of the plain table", OPTION_FLAG,
     offsetof(struct cmp_args, markdown), 0},
    {"help", NULL, "print this", OPTION_FLAG, offsetof(struct cmp_args, help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

const struct option_row *cmp_options(size_t *nr)
{
    *nr = OPTIONS_NR;
    return options;
}

static const struct words words = {
    "usage: bench cmp OLD NEW [options]\n\n"
    "Compares two finished results folders. They were not measured together, so the "
    "comparison is\nunpaired and says so: prefer `bench ab`, or two arms in one run, "
    "where you can.\nThe exit status says nothing about the verdicts.\n\n",
    options, OPTIONS_NR};

static void compare(const char *before, const char *after, bool markdown, struct err *err)
{
    struct strbuf text = STRBUF_INIT;
    struct cmp c;

    cmp_init(&c);
    if (!cmp_open(&c, before, after, err) && !cmp_print(&c, markdown, &text, err)) {
        fwrite(text.buf, 1, text.len, stdout);
        if (fflush(stdout))
            err_errno(err, ERR_ENVIRONMENT, "cannot write to standard output");
    }
    /* In a table that is piped away the warnings would go unseen. */
    for (size_t i = 0; err->kind == ERR_NONE && i < c.warnings.nr; i++)
        fprintf(stderr, "bench: warning: %s\n", c.warnings.items[i]);
    cmp_release(&c);
    strbuf_release(&text);
}

int cmd_cmp(int argc, const char **argv)
{
    struct cmp_args args = {0};
    struct option_result result;
    struct err err = ERR_INIT;
    int status;

    if (!words_parse(&words, &args, &args.help, argc, argv, &result, &status))
        return status;
    if (result.nr_args != 2)
        err_set(&err, ERR_CONFIG,
                "cmp takes two results folders, %zu were given: bench cmp OLD NEW", result.nr_args);
    else
        compare(result.args[0], result.args[1], args.markdown, &err);
    option_result_release(&result);
    return exit_report(&err);
}
