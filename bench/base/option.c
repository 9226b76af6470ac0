#include "option.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Help texts are wrapped to this many columns, and start at this one. */
#define HELP_WIDTH  80
#define HELP_INDENT 26

struct option_reader {
    const struct option_row *rows;
    size_t nr_rows;
    char *dest;
    const struct option_keys *keys;
    int argc, at; /* argv[at] is the next word */
    const char *const *argv;
    struct option_result *result;
    struct err *err;
};

void option_result_init(struct option_result *result)
{
    *result = (struct option_result){0};
}

void option_result_release(struct option_result *result)
{
    size_t i;

    for (i = 0; i < result->nr_overrides; i++) {
        free(result->overrides[i].key);
        free(result->overrides[i].value);
    }
    free(result->overrides);
    free(result->args);
    option_result_init(result);
}

/* Equal, with '-' and '_' the same. */
static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b))
            return false;
    return *a == *b;
}

static const struct option_row *find_row(const struct option_reader *reader, const char *name)
{
    size_t i;

    for (i = 0; i < reader->nr_rows; i++)
        if (same_name(reader->rows[i].name, name))
            return &reader->rows[i];
    return NULL;
}

static const struct option_row *find_letter(const struct option_reader *reader, char letter)
{
    size_t i;

    for (i = 0; i < reader->nr_rows; i++)
        if (reader->rows[i].letter && reader->rows[i].letter == letter)
            return &reader->rows[i];
    return NULL;
}

/* Stores a value, NULL only for a flag without one. */
static int store_value(const struct option_reader *reader, const struct option_row *row,
                       const char *value)
{
    void *field = reader->dest + row->offset;
    int ret = 0;

    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        if (value)
            ret = text_bool(value, field, reader->err);
        break;
    case OPTION_STRING:
        *(const char **)field = value;
        break;
    case OPTION_LIST:
        ret = text_list_add(field, value, reader->err);
        break;
    case OPTION_INT:
        ret = text_int(value, field, reader->err);
        break;
    case OPTION_REAL:
        ret = text_real(value, field, reader->err);
        break;
    }
    return ret ? err_prefix(reader->err, "'--%s'", row->name) : 0;
}

/* The word behind an option, NULL after an error. */
static const char *next_value(struct option_reader *reader, const char *name, const char *argument)
{
    const char *value = reader->at < reader->argc ? reader->argv[reader->at] : NULL;

    if (value && (value[0] != '-' || value[1] != '-')) {
        reader->at++;
        return value;
    }
    err_set(reader->err, ERR_CONFIG, "'--%.100s' needs a value, as in '--%.100s=%s'", name, name,
            argument);
    return NULL;
}

static int add_override(const struct option_reader *reader, const char *key, const char *value)
{
    struct option_result *result = reader->result;
    struct option_override override;

    if (result->nr_overrides == result->alloc_overrides) {
        size_t alloc = result->alloc_overrides ? result->alloc_overrides * 2 : 8;
        struct option_override *grown = realloc(result->overrides, alloc * sizeof(*grown));

        if (!grown)
            return err_memory(reader->err);
        result->overrides = grown;
        result->alloc_overrides = alloc;
    }
    override.key = strdup(key);
    override.value = strdup(value);
    if (!override.key || !override.value) {
        free(override.key);
        free(override.value);
        return err_memory(reader->err);
    }
    result->overrides[result->nr_overrides++] = override;
    return 0;
}

static bool is_key(const struct option_reader *reader, const char *name)
{
    return reader->keys && reader->keys->is_key && reader->keys->is_key(reader->keys->ctx, name);
}

/* Brings `name` to the spelling of a configuration key; false where it is none. Of a dotted name
 * only the key behind the last dot is touched: a section may well have a '-' in its name. */
static bool match_key(const struct option_reader *reader, char *name)
{
    char *dot = strrchr(name, '.'), *p;

    if (!dot && is_key(reader, name))
        return true;
    for (p = dot ? dot : name; *p; p++)
        if (*p == '-')
            *p = '_';
    return dot ? reader->keys != NULL : is_key(reader, name);
}

static int unknown_option(const struct option_reader *reader, const char *name)
{
    const char **names = calloc(reader->nr_rows + 1, sizeof(*names)), *nearest;
    size_t i;

    if (!names)
        return err_memory(reader->err);
    for (i = 0; i < reader->nr_rows; i++)
        names[i] = reader->rows[i].name;
    if (reader->keys && reader->keys->nearest)
        names[i++] = reader->keys->nearest(reader->keys->ctx, name);
    nearest = text_nearest(name, names, i);
    free(names);
    if (nearest)
        return err_set(reader->err, ERR_CONFIG,
                       "no option is called '--%.100s', did you mean '--%s'", name, nearest);
    return err_set(reader->err, ERR_CONFIG, "no option is called '--%.100s'", name);
}

/* `name` without dashes and, with `value` (NULL: none), without what follows the '='. */
static int read_long(struct option_reader *reader, char *name, const char *value)
{
    const struct option_row *row = find_row(reader, name);

    if (row) {
        if (!value && row->kind != OPTION_FLAG) {
            value = next_value(reader, name, row->argument ? row->argument : "VALUE");
            if (!value)
                return -1;
        }
        return store_value(reader, row, value);
    }
    if (!match_key(reader, name))
        return unknown_option(reader, name);
    if (!value)
        value = next_value(reader, name, "VALUE");
    return value ? add_override(reader, name, value) : -1;
}

static int read_word(struct option_reader *reader, const char *word)
{
    const char *equals = strchr(word, '=');
    char *name;
    int ret;

    /* The name is cut where its '=' stands; the value stays in argv, to be kept by reference. */
    name = equals ? strndup(word + 2, (size_t)(equals - word - 2)) : strdup(word + 2);
    if (!name)
        return err_memory(reader->err);
    ret = read_long(reader, name, equals ? equals + 1 : NULL);
    free(name);
    return ret;
}

static int read_letter(struct option_reader *reader, const char *word)
{
    const struct option_row *row = word[2] ? NULL : find_letter(reader, word[1]);
    const char *value = NULL;

    if (!row)
        return err_set(reader->err, ERR_CONFIG,
                       "no option is called '%.100s'; options start with '--'", word);
    if (row->kind != OPTION_FLAG) {
        value = next_value(reader, row->name, row->argument ? row->argument : "VALUE");
        if (!value)
            return -1;
    }
    return store_value(reader, row, value);
}

int option_parse(const struct option_row *rows, size_t nr_rows, void *dest,
                 const struct option_keys *keys, int argc, const char *const *argv,
                 struct option_result *result, struct err *err)
{
    struct option_reader reader = {
        rows, nr_rows, dest, keys, argc, 0, argv, result, err,
    };
    bool options = true;

    free(result->args);
    result->nr_args = 0;
    result->args = calloc((size_t)argc + 1, sizeof(*result->args));
    if (!result->args)
        return err_memory(err);
    while (reader.at < argc) {
        const char *word = argv[reader.at++];
        int ret = 0;

        if (options && !strcmp(word, "--"))
            options = false;
        else if (options && word[0] == '-' && word[1] == '-')
            ret = read_word(&reader, word);
        else if (options && word[0] == '-' && word[1])
            ret = read_letter(&reader, word);
        else
            result->args[result->nr_args++] = word;
        if (ret)
            return -1;
    }
    return 0;
}

/* `text` word by word, the later lines indented as the first one is already. */
static void add_wrapped(struct strbuf *sb, const char *text)
{
    size_t column = HELP_INDENT;

    while (*text) {
        size_t len = strcspn(text, " ");

        if (column > HELP_INDENT && column + 1 + len > HELP_WIDTH) {
            strbuf_addf(sb, "\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        } else if (column > HELP_INDENT) {
            strbuf_addch(sb, ' ');
            column++;
        }
        strbuf_add(sb, text, len);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    strbuf_addch(sb, '\n');
}

void option_add_help(struct strbuf *sb, const struct option_row *rows, size_t nr_rows)
{
    size_t i;

    for (i = 0; i < nr_rows; i++) {
        const struct option_row *row = &rows[i];
        size_t start = sb->len, used;

        if (row->letter)
            strbuf_addf(sb, "  -%c, --%s", row->letter, row->name);
        else
            strbuf_addf(sb, "      --%s", row->name);
        if (row->argument)
            strbuf_addf(sb, " %s", row->argument);
        used = sb->len - start;
        if (used + 2 > HELP_INDENT)
            strbuf_addf(sb, "\n%*s", HELP_INDENT, "");
        else
            strbuf_addf(sb, "%*s", (int)(HELP_INDENT - used), "");
        add_wrapped(sb, row->help);
    }
}
