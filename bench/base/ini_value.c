#include "ini_reader.h"

#include <stdlib.h>
#include <string.h>

#include "ini_store.h"

int ini_reader_place(const struct ini_reader *reader)
{
    return err_prefix(reader->err, "%s:%u", reader->file, reader->line);
}

int ini_reader_error(const struct ini_reader *reader, const char *what)
{
    err_set(reader->err, ERR_CONFIG, "%s", what);
    return ini_reader_place(reader);
}

const char *ini_find_comment(const char *begin, const char *end)
{
    const char *p;

    for (p = begin; p < end; p++)
        if ((*p == ';' || *p == '#') && text_is_space(p[-1]))
            return p;
    return end;
}

const char *ini_skip_space(const char *p, const char *end)
{
    while (p < end && text_is_space(*p))
        p++;
    return p;
}

const char *ini_trim_end(const char *begin, const char *end)
{
    while (end > begin && text_is_space(end[-1]))
        end--;
    return end;
}

static bool is_variable_name(const char *name)
{
    const char *p;

    for (p = name; *p; p++)
        if (*p != '_' && !(*p >= 'A' && *p <= 'Z') && !(*p >= 'a' && *p <= 'z') &&
            (p == name || *p < '0' || *p > '9'))
            return false;
    return *name != '\0';
}

/* `p` stands on "${"; returns what follows the "}", NULL after an error. */
static const char *expand_variable(const struct ini_reader *reader, const char *p, const char *end,
                                   struct strbuf *out)
{
    const char *close = memchr(p, '}', (size_t)(end - p)), *value;
    struct strbuf name = STRBUF_INIT;

    if (!close) {
        ini_reader_error(reader, "'${' without its '}'");
        return NULL;
    }
    strbuf_add(&name, p + 2, (size_t)(close - p - 2));
    value = is_variable_name(name.buf) ? getenv(name.buf) : NULL;
    if (!is_variable_name(name.buf)) {
        err_set(reader->err, ERR_CONFIG, "'${%.100s}' is not the name of a variable", name.buf);
        close = NULL;
    } else if (!value) {
        err_set(reader->err, ERR_CONFIG, "the environment variable '%.100s' is not set", name.buf);
        close = NULL;
    } else if (ini_check_value(value, reader->err)) {
        err_prefix(reader->err, "the environment variable '%.100s'", name.buf);
        close = NULL;
    }
    strbuf_release(&name);
    if (!close) {
        ini_reader_place(reader);
        return NULL;
    }
    strbuf_addstr(out, value);
    return close + 1;
}

static int read_quoted(const struct ini_reader *reader, const char *p, const char *end,
                       struct strbuf *out)
{
    for (p++; p < end && *p != '"';) {
        if (*p == '\\') {
            if (p + 1 == end || !strchr("\"\\$", p[1]))
                return ini_reader_error(reader, "a '\\' in quotes that is not \\\", \\\\ or \\$");
            strbuf_addch(out, p[1]);
            p += 2;
        } else if (*p == '$' && p + 1 < end && p[1] == '{') {
            p = expand_variable(reader, p, end, out);
            if (!p)
                return -1;
        } else {
            strbuf_addch(out, *p++);
        }
    }
    if (p == end)
        return ini_reader_error(reader, "a quote without its end");
    p = ini_skip_space(p + 1, end);
    if (p < end && *p != ';' && *p != '#')
        return ini_reader_error(reader, "text behind the closing quote");
    return out->oom ? err_memory(reader->err) : 0;
}

int ini_read_value(const struct ini_reader *reader, const char *p, const char *end,
                   struct strbuf *out)
{
    const char *first = ini_skip_space(p, end);

    if (first < end && *first == '"')
        return read_quoted(reader, first, end, out);
    end = ini_trim_end(first, ini_find_comment(first, end));
    for (p = first; p < end;) {
        if (*p != '$' || p + 1 == end || p[1] != '{') {
            strbuf_addch(out, *p++);
            continue;
        }
        p = expand_variable(reader, p, end, out);
        if (!p)
            return -1;
    }
    return out->oom ? err_memory(reader->err) : 0;
}
