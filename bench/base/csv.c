#include "csv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "text.h"

enum field_end { FIELD_NEXT, FIELD_LAST, FIELD_TORN, FIELD_BAD };

/* The reader unquotes in place: `put` never overtakes `get`. */
struct csv_reader {
    struct csv *csv;
    char *get, *put, *end;
    size_t line;
    struct err *err;
};

void csv_init(struct csv *csv)
{
    *csv = (struct csv){0};
}

void csv_release(struct csv *csv)
{
    free(csv->name);
    free(csv->text);
    free(csv->columns);
    free(csv->cells);
    csv_init(csv);
}

static int csv_error(struct csv_reader *reader, const char *what)
{
    return err_set(reader->err, ERR_CONFIG, "%s:%zu: %s", reader->csv->name, reader->line, what);
}

static enum field_end bad_field(struct csv_reader *reader, const char *what)
{
    csv_error(reader, what);
    return FIELD_BAD;
}

/* The separator behind a field. CR counts only in front of LF. */
static enum field_end end_field(struct csv_reader *reader)
{
    if (reader->get < reader->end && *reader->get == ',') {
        reader->get++;
        return FIELD_NEXT;
    }
    if (reader->get < reader->end && *reader->get == '\r')
        reader->get++;
    if (reader->get == reader->end)
        return FIELD_TORN;
    if (*reader->get != '\n')
        return bad_field(reader, "a carriage return or text where a field should end");
    reader->get++;
    return FIELD_LAST;
}

static enum field_end read_quoted(struct csv_reader *reader)
{
    size_t first = reader->line;

    for (reader->get++;; reader->get++) {
        if (reader->get == reader->end)
            return FIELD_TORN;
        if (!*reader->get) {
            reader->line = first;
            return bad_field(reader, "a quoted field holds a NUL byte");
        }
        if (*reader->get == '"') {
            if (reader->get + 1 == reader->end || reader->get[1] != '"')
                break;
            reader->get++;
        }
        reader->line += *reader->get == '\n';
        *reader->put++ = *reader->get;
    }
    reader->get++;
    return end_field(reader);
}

static enum field_end read_plain(struct csv_reader *reader)
{
    for (; reader->get < reader->end; reader->get++) {
        char c = *reader->get;

        if (c == ',' || c == '\n' || c == '\r')
            break;
        /* A crash can leave a tail of zeros; with a line behind them they are damage. */
        if (!c)
            return memchr(reader->get, '\n', (size_t)(reader->end - reader->get))
                       ? bad_field(reader, "a NUL byte: not a text file")
                       : FIELD_TORN;
        if (c == '"')
            return bad_field(reader, "a quote inside a field that is not quoted");
        *reader->put++ = c;
    }
    return end_field(reader);
}

static enum field_end read_field(struct csv_reader *reader, char **field)
{
    enum field_end how;

    *field = reader->put;
    if (reader->get < reader->end && *reader->get == '"')
        how = read_quoted(reader);
    else
        how = read_plain(reader);
    /* At least the separator has been read, so there is room. */
    if (how == FIELD_NEXT || how == FIELD_LAST)
        *reader->put++ = '\0';
    return how;
}

static int check_columns(struct csv_reader *reader)
{
    const struct csv *csv = reader->csv;
    size_t i, j;

    for (i = 0; i < csv->nr_columns; i++) {
        if (!*csv->columns[i])
            return err_set(reader->err, ERR_CONFIG, "%s:1: column %zu has no name", csv->name,
                           i + 1);
        for (j = 0; j < i; j++)
            if (!strcmp(csv->columns[i], csv->columns[j]))
                return err_set(reader->err, ERR_CONFIG, "%s:1: column '%.200s' stands twice",
                               csv->name, csv->columns[i]);
    }
    return 0;
}

static int read_header(struct csv_reader *reader)
{
    struct csv *csv = reader->csv;
    enum field_end how;

    csv->columns = calloc(CSV_MAX_COLUMNS, sizeof(*csv->columns));
    if (!csv->columns)
        return err_memory(reader->err);
    do {
        if (csv->nr_columns == CSV_MAX_COLUMNS)
            return csv_error(reader, "more columns than a table may have (4096)");
        how = read_field(reader, &csv->columns[csv->nr_columns]);
        csv->nr_columns++;
    } while (how == FIELD_NEXT);
    if (how == FIELD_TORN)
        return csv_error(reader, "no complete header line");
    return how == FIELD_BAD ? -1 : check_columns(reader);
}

static int grow_cells(struct csv_reader *reader, size_t need)
{
    struct csv *csv = reader->csv;
    size_t alloc = csv->alloc_cells * 2 > need ? csv->alloc_cells * 2 : need * 16;
    char **cells;

    if (need <= csv->alloc_cells)
        return 0;
    cells = realloc(csv->cells, alloc * sizeof(*cells));
    if (!cells)
        return err_memory(reader->err);
    csv->cells = cells;
    csv->alloc_cells = alloc;
    return 0;
}

/* 1: a row; 0: the end, or a torn line; -1: an error. */
static int read_row(struct csv_reader *reader)
{
    struct csv *csv = reader->csv;
    size_t first = csv->nr_rows * csv->nr_columns, line = reader->line, nr = 0;
    enum field_end how;
    char *field;

    if (reader->get == reader->end)
        return 0;
    if (grow_cells(reader, first + csv->nr_columns))
        return -1;
    do {
        how = read_field(reader, &field);
        if (nr < csv->nr_columns)
            csv->cells[first + nr] = field;
        nr++;
    } while (how == FIELD_NEXT);
    if (how == FIELD_BAD)
        return -1;
    if (how == FIELD_TORN) {
        csv->torn = true;
        return 0;
    }
    if (nr != csv->nr_columns)
        return err_set(reader->err, ERR_CONFIG, "%s:%zu: %zu fields where the header has %zu",
                       csv->name, line, nr, csv->nr_columns);
    csv->nr_rows++;
    reader->line++;
    return 1;
}

/* Takes over `text`. */
static int csv_parse(struct csv *csv, const char *name, char *text, size_t len, struct err *err)
{
    struct csv_reader reader = {.csv = csv, .line = 1, .err = err};
    int got;

    csv->text = text;
    csv->name = strdup(name);
    if (!csv->name)
        return err_memory(err);
    reader.get = reader.put = text;
    reader.end = text + len;
    if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        reader.get += 3;
    if (reader.get == reader.end)
        return err_set(err, ERR_CONFIG, "%s: empty, without a header line", name);
    if (read_header(&reader))
        return -1;
    reader.line++;
    do {
        csv->whole_bytes = (size_t)(reader.get - text);
        got = read_row(&reader);
    } while (got == 1);
    return got;
}

int csv_read_file(struct csv *csv, const char *path, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    size_t len;
    char *text;

    if (file_read(path, &sb, CSV_MAX_BYTES, err)) {
        strbuf_release(&sb);
        return -1;
    }
    len = sb.len;
    text = strbuf_detach(&sb);
    return text ? csv_parse(csv, path, text, len, err) : err_memory(err);
}

int csv_read_text(struct csv *csv, const char *name, const char *text, size_t len, struct err *err)
{
    char *copy = malloc(len + 1);

    if (!copy)
        return err_memory(err);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return csv_parse(csv, name, copy, len, err);
}

ptrdiff_t csv_column(const struct csv *csv, const char *name)
{
    size_t i;

    for (i = 0; i < csv->nr_columns; i++)
        if (!strcmp(csv->columns[i], name))
            return (ptrdiff_t)i;
    return -1;
}

int csv_find_column(const struct csv *csv, const char *name, size_t *column, struct err *err)
{
    ptrdiff_t at = csv_column(csv, name);
    const char *nearest;

    if (at >= 0) {
        *column = (size_t)at;
        return 0;
    }
    nearest = text_nearest(name, (const char *const *)csv->columns, csv->nr_columns);
    if (nearest)
        return err_set(err, ERR_CONFIG, "%s: no column '%s', did you mean '%s'", csv->name, name,
                       nearest);
    return err_set(err, ERR_CONFIG, "%s: no column '%s'", csv->name, name);
}

const char *csv_cell(const struct csv *csv, size_t row, size_t column)
{
    return csv->cells[row * csv->nr_columns + column];
}

int csv_cell_real(const struct csv *csv, size_t row, size_t column, double *out, struct err *err)
{
    const char *s = csv_cell(csv, row, column);

    if (!*s || !strcmp(s, "nan"))
        *out = NAN;
    else if (!strcmp(s, "inf"))
        *out = INFINITY;
    else if (!strcmp(s, "-inf"))
        *out = -INFINITY;
    else if (text_real(s, out, err))
        return err_prefix(err, "%s: row %zu, column '%s'", csv->name, row + 1,
                          csv->columns[column]);
    return 0;
}

int csv_cell_int(const struct csv *csv, size_t row, size_t column, int64_t *out, struct err *err)
{
    const char *s = csv_cell(csv, row, column);
    char *end;
    long long value;

    errno = 0;
    value = strtoll(s, &end, 10);
    if (end == s || *end || errno || text_is_space(*s)) {
        err_set(err, ERR_CONFIG, "'%.200s' is not a whole number of 64 bits", s);
        return err_prefix(err, "%s: row %zu, column '%s'", csv->name, row + 1,
                          csv->columns[column]);
    }
    *out = value;
    return 0;
}
