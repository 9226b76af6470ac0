#include "ini.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "ini_reader.h"
#include "ini_store.h"

#define INI_MAX_BYTES ((size_t)64 << 20)
#define INI_MAX_DEPTH 64

static int read_file(struct ini *ini, const char *path, const struct ini_reader *parent,
                     struct err *err);

static int open_section(struct ini_reader *reader, const char *kind, const char *name)
{
    struct ini_opened opened = {.line = reader->line};
    size_t i;

    if (ini_check_header(kind, name, reader->err))
        return ini_reader_place(reader);
    if (ini_store_section(reader->ini, kind, name, reader->file, reader->line, &opened.section,
                          reader->err))
        return -1;
    for (i = 0; i < reader->nr; i++) {
        if (reader->opened[i].section != opened.section)
            continue;
        err_set(reader->err, ERR_CONFIG, "[%s%s%.100s] stands in this file already, at line %u",
                kind, *name ? " " : "", name, reader->opened[i].line);
        return ini_reader_place(reader);
    }
    if (reader->nr == reader->alloc) {
        size_t alloc = reader->alloc ? reader->alloc * 2 : 8;
        struct ini_opened *grown = realloc(reader->opened, alloc * sizeof(*grown));

        if (!grown)
            return err_memory(reader->err);
        reader->opened = grown;
        reader->alloc = alloc;
    }
    reader->opened[reader->nr++] = opened;
    return 0;
}

static int read_header(struct ini_reader *reader, const char *begin, const char *end)
{
    const char *close = memchr(begin, ']', (size_t)(end - begin)), *rest;
    struct strbuf header = STRBUF_INIT;
    char *kind, *name;
    int ret;

    if (!close)
        return ini_reader_error(reader, "a section header without its ']'");
    rest = ini_skip_space(close + 1, end);
    if (rest < end && *rest != ';' && *rest != '#')
        return ini_reader_error(reader, "text behind a section header");
    strbuf_add(&header, begin + 1, (size_t)(close - begin - 1));
    if (header.oom)
        return err_memory(reader->err);
    kind = header.len ? text_trim(header.buf) : header.buf;
    name = kind + strcspn(kind, " \t");
    if (*name)
        *name++ = '\0';
    if (*kind)
        ret = open_section(reader, kind, header.len ? text_trim(name) : name);
    else
        ret = ini_reader_error(reader, "an empty section name, expected one such as [sweep NAME]");
    strbuf_release(&header);
    return ret;
}

/* The key in [begin, end), without the white space around a ':'. */
static int read_key(const struct ini_reader *reader, const char *begin, const char *end,
                    struct strbuf *out)
{
    const char *p, *next;

    end = ini_trim_end(begin, end);
    for (p = begin; p < end; p++) {
        next = ini_skip_space(p, end);
        if (text_is_space(*p) && (*next == ':' || p[-1] == ':')) {
            p = next - 1;
            continue;
        }
        strbuf_addch(out, *p);
    }
    if (out->oom)
        return err_memory(reader->err);
    return ini_check_key(out->buf, reader->err) ? ini_reader_place(reader) : 0;
}

static int store_entry(struct ini_reader *reader, const char *key, const char *value)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a key stands in a section */
    struct ini_section *section = &reader->ini->sections[reader->opened[reader->nr - 1].section];
    const struct ini_entry *old = ini_section_find(section, key);

    if (old && old->file == reader->file) {
        err_set(reader->err, ERR_CONFIG, "'%.100s' is set in this section already, at line %u", key,
                old->line);
        return ini_reader_place(reader);
    }
    return ini_store_entry(section, key, value, reader->file, reader->line, reader->err);
}

static int read_entry(struct ini_reader *reader, const char *begin, const char *end)
{
    const char *limit = ini_find_comment(begin + 1, end);
    const char *equals = memchr(begin, '=', (size_t)(limit - begin));
    struct strbuf key = STRBUF_INIT, value = STRBUF_INIT;
    int ret;

    if (!equals) {
        err_set(reader->err, ERR_CONFIG, "expected 'key = value' or a section, found '%.*s'",
                (int)(limit - begin < 100 ? ini_trim_end(begin, limit) - begin : 100), begin);
        return ini_reader_place(reader);
    }
    ret = read_key(reader, begin, equals, &key);
    if (!ret && !reader->nr) {
        err_set(reader->err, ERR_CONFIG, "'%.100s' is set before any section, expected [global]",
                key.buf);
        ret = ini_reader_place(reader);
    }
    if (!ret)
        ret = ini_read_value(reader, equals + 1, end, &value);
    if (!ret)
        ret = store_entry(reader, key.buf, value.buf);
    strbuf_release(&key);
    strbuf_release(&value);
    return ret;
}

/* `include FILE` or `include = FILE`; NULL for any other line, else what stands behind. */
static const char *match_include(const char *begin, const char *end)
{
    static const char word[] = "include";
    size_t len = sizeof(word) - 1;
    const char *p = begin + len;

    if ((size_t)(end - begin) < len || memcmp(begin, word, len) ||
        (p < end && *p != '=' && !text_is_space(*p)))
        return NULL;
    p = ini_skip_space(p, end);
    return p < end && *p == '=' ? p + 1 : p;
}

static int read_include(struct ini_reader *reader, const char *begin, const char *end)
{
    struct strbuf name = STRBUF_INIT, dir = STRBUF_INIT, path = STRBUF_INIT;
    int ret = ini_read_value(reader, begin, end, &name);

    if (!ret && !name.len)
        ret = ini_reader_error(reader, "include without a file");
    file_add_dir(&dir, reader->file);
    file_add_path(&path, dir.buf, name.buf);
    if (!ret && (dir.oom || path.oom))
        ret = err_memory(reader->err);
    if (!ret)
        ret = read_file(reader->ini, path.buf, reader, reader->err);
    strbuf_release(&name);
    strbuf_release(&dir);
    strbuf_release(&path);
    return ret;
}

static int check_bytes(const struct ini_reader *reader, const char *begin, const char *end)
{
    const char *p;

    for (p = begin; p < end; p++) {
        if (((unsigned char)*p >= 0x20 && *p != 0x7f) || *p == '\t' || (*p == '\r' && p + 1 == end))
            continue;
        err_set(reader->err, ERR_CONFIG, "the control byte 0x%02x: not a text file",
                (unsigned char)*p);
        return ini_reader_place(reader);
    }
    return 0;
}

static int read_line(struct ini_reader *reader, const char *begin, const char *end)
{
    const char *included;

    if (check_bytes(reader, begin, end))
        return -1;
    begin = ini_skip_space(begin, end);
    end = ini_trim_end(begin, end);
    if (begin == end || *begin == ';' || *begin == '#')
        return 0;
    if (*begin == '[')
        return read_header(reader, begin, end);
    included = match_include(begin, end);
    if (included)
        return read_include(reader, included, end);
    return read_entry(reader, begin, end);
}

static int read_lines(struct ini_reader *reader, const char *text, size_t len)
{
    const char *p = text, *end = text + len;
    int ret = 0;

    if (len >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
        p += 3;
    while (p < end && !ret) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;

        reader->line++;
        ret = read_line(reader, p, stop);
        p = newline ? newline + 1 : end;
    }
    free(reader->opened);
    return ret;
}

/* "a.ini -> b.ini", from the outermost file to this one. */
static void add_chain(struct strbuf *sb, const struct ini_reader *reader)
{
    if (reader->parent)
        add_chain(sb, reader->parent);
    strbuf_addf(sb, "%s -> ", reader->file);
}

/* A file that has been met before: a loop if it is still being read, else nothing to do. */
static int read_again(const struct ini_reader *parent, const char *file, struct err *err)
{
    const struct ini_reader *reader;
    struct strbuf chain = STRBUF_INIT;

    for (reader = parent; reader; reader = reader->parent)
        if (reader->file == file)
            break;
    if (!reader)
        return 0;
    add_chain(&chain, parent);
    err_set(err, ERR_CONFIG, "an include loop: %.800s%s", chain.buf, file);
    strbuf_release(&chain);
    return ini_reader_place(parent);
}

static int read_new(struct ini *ini, const char *path, const char *resolved,
                    const struct ini_reader *parent, struct err *err)
{
    struct ini_reader reader = {.ini = ini, .parent = parent, .err = err};
    struct strbuf text = STRBUF_INIT;
    int ret = -1;

    reader.depth = parent ? parent->depth + 1 : 0;
    if (reader.depth > INI_MAX_DEPTH) {
        err_set(err, ERR_CONFIG, "includes nested more than %d deep", INI_MAX_DEPTH);
        ini_reader_place(parent);
    } else if (file_read(path, &text, INI_MAX_BYTES, err)) {
        if (parent)
            ini_reader_place(parent);
    } else {
        reader.file = ini_store_file(ini, path, resolved, err);
        if (reader.file)
            ret = read_lines(&reader, text.buf, text.len);
    }
    strbuf_release(&text);
    return ret;
}

static int read_file(struct ini *ini, const char *path, const struct ini_reader *parent,
                     struct err *err)
{
    /* Pipes have no resolvable name: they go by the one given. */
    char *resolved = realpath(path, NULL);
    size_t i;
    int ret;

    if (!resolved)
        resolved = strdup(path);
    if (!resolved)
        return err_memory(err);
    for (i = 0; i < ini->paths.nr; i++)
        if (!strcmp(ini->paths.items[i], resolved))
            break;
    if (i < ini->paths.nr)
        ret = read_again(parent, ini->files.items[i], err);
    else
        ret = read_new(ini, path, resolved, parent, err);
    free(resolved);
    return ret;
}

int ini_read_file(struct ini *ini, const char *path, struct err *err)
{
    return read_file(ini, path, NULL, err);
}

int ini_read_text(struct ini *ini, const char *name, const char *text, size_t len, struct err *err)
{
    struct ini_reader reader = {.ini = ini, .err = err};

    /* No file system knows this text, so its name is its identity. */
    reader.file = ini_store_file(ini, name, name, err);
    return reader.file ? read_lines(&reader, text, len) : -1;
}
