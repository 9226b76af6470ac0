/*
 * option.h - the command line, from a table.
 *
 * To add an option: a field in the command's struct, a row in its table. Help, parsing and the
 * suggestion for a misspelt name follow from the row.
 */
#ifndef BENCH_BASE_OPTION_H
#define BENCH_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "strbuf.h"
#include "text.h"

/* The type of the field at `offset`. */
enum option_kind {
    OPTION_FLAG,   /* bool; takes no value, or `=yes`, `=no` */
    OPTION_STRING, /* const char *, into argv; the last one given wins */
    OPTION_LIST,   /* struct text_list, one item more each time it is given; the caller releases */
    OPTION_INT,    /* int64_t, by text_int() */
    OPTION_REAL,   /* double, by text_real() */
};

struct option_row {
    const char *name;     /* without dashes */
    const char *argument; /* the word for its value in the help: "FILE"; NULL for a flag */
    const char *help;     /* one sentence, no stop */
    enum option_kind kind;
    size_t offset; /* of the field in the struct that option_parse() fills */
    char letter;   /* `-q`; 0 for none */
};

/* What is a configuration key, asked for names that are in no row. All may be NULL. */
struct option_keys {
    bool (*is_key)(const void *ctx, const char *name);
    const char *(*nearest)(const void *ctx, const char *name); /* NULL: nothing is near */
    const void *ctx;
};

struct option_override {
    char *key; /* as given, without dashes: `rounds`, `sweep.sage.batch` */
    char *value;
};

struct option_result {
    const char **args; /* what is no option, in order; the strings are argv's */
    size_t nr_args;
    struct option_override *overrides; /* in order; for ini_set_flag() */
    size_t nr_overrides, alloc_overrides;
};

void option_result_init(struct option_result *result);
void option_result_release(struct option_result *result);

/*
 * Reads argv[0..argc), which does not hold the program's name. `--key value` and `--key=value` are
 * the same; a value that starts with `--` needs the second form; `--` ends the options; `-` alone
 * is an argument. A name with a dot in it, or one that `keys` knows, is a configuration key and
 * goes to the overrides; there and in rows `-` and `_` are the same. Errors are ERR_CONFIG.
 */
int option_parse(const struct option_row *rows, size_t nr_rows, void *dest,
                 const struct option_keys *keys, int argc, const char *const *argv,
                 struct option_result *result, struct err *err);

/* One paragraph per row, in the table's order: "  -q, --quiet        no progress". */
void option_add_help(struct strbuf *sb, const struct option_row *rows, size_t nr_rows);

#endif
