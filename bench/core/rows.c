#include "rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

enum cell_kind { CELL_TEXT, CELL_INT, CELL_REAL };

struct column {
    const char *name;
    enum cell_kind kind;
    size_t offset;
};

#define CASE_T(name)   {#name, CELL_TEXT, offsetof(struct case_row, name)},
#define CASE_I(name)   {#name, CELL_INT, offsetof(struct case_row, name)},
#define CASE_R(name)   {#name, CELL_REAL, offsetof(struct case_row, name)},
#define SAMPLE_T(name) {#name, CELL_TEXT, offsetof(struct sample_row, name)},
#define SAMPLE_I(name) {#name, CELL_INT, offsetof(struct sample_row, name)},
#define SAMPLE_R(name) {#name, CELL_REAL, offsetof(struct sample_row, name)},

static const struct column identity[] = {CASE_COLUMNS_IDENTITY(CASE_T, CASE_I, CASE_R)};
static const struct column rest[] = {CASE_COLUMNS_REST(CASE_T, CASE_I, CASE_R)};
static const struct column sample[] = {SAMPLE_COLUMNS(SAMPLE_T, SAMPLE_I, SAMPLE_R)};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static void *member(void *row, const struct column *c)
{
    return (char *)row + c->offset;
}

static void columns_init(void *row, const struct column *c, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        if (c[i].kind == CELL_TEXT)
            *(char **)member(row, &c[i]) = NULL;
        else if (c[i].kind == CELL_INT)
            *(int64_t *)member(row, &c[i]) = -1;
        else
            *(double *)member(row, &c[i]) = NAN;
    }
}

static void columns_release(void *row, const struct column *c, size_t nr)
{
    for (size_t i = 0; i < nr; i++)
        if (c[i].kind == CELL_TEXT)
            free(*(char **)member(row, &c[i]));
}

static void columns_write(struct csv_writer *w, const void *row, const struct column *c, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        const char *at = (const char *)row + c[i].offset;
        if (c[i].kind == CELL_TEXT)
            csv_text(w, *(char *const *)at);
        else if (c[i].kind == CELL_REAL)
            csv_real(w, *(const double *)at);
        else if (*(const int64_t *)at == -1)
            csv_empty(w, 1);
        else
            csv_int(w, *(const int64_t *)at);
    }
}

static int cell_read(const struct csv *csv, size_t r, size_t col, void *row, const struct column *c,
                     struct err *err)
{
    const char *cell = csv_cell(csv, r, col);
    if (c->kind == CELL_TEXT)
        return *cell ? row_set(member(row, c), cell, err) : 0;
    if (c->kind == CELL_REAL)
        return csv_cell_real(csv, r, col, member(row, c), err);
    if (!*cell)
        return 0;
    return csv_cell_int(csv, r, col, member(row, c), err);
}

void case_row_init(struct case_row *row)
{
    memset(row, 0, sizeof(*row));
    row->place = SIZE_MAX;
    columns_init(row, identity, NR(identity));
    columns_init(row, rest, NR(rest));
}

void case_row_release(struct case_row *row)
{
    columns_release(row, identity, NR(identity));
    columns_release(row, rest, NR(rest));
    for (size_t i = 0; i < row->axes_nr; i++)
        free(row->axis[i]);
    free(row->axis);
    case_row_init(row);
}

void sample_row_init(struct sample_row *row)
{
    columns_init(row, sample, NR(sample));
}

void sample_row_release(struct sample_row *row)
{
    columns_release(row, sample, NR(sample));
    sample_row_init(row);
}

int row_set(char **text, const char *value, struct err *err)
{
    char *copy = value ? strdup(value) : NULL;
    if (value && !copy)
        return err_memory(err);
    free(*text);
    *text = copy;
    return 0;
}

int row_setf(char **text, struct err *err, const char *format, ...)
{
    char buf[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(buf, sizeof(buf), format, args);
    va_end(args);
    return row_set(text, buf, err);
}

int row_has_reason(const struct case_row *row, const char *reason)
{
    size_t len = strlen(reason);
    for (const char *p = row->reasons; p && *p;) {
        const char *end = strchr(p, ';');
        size_t n = end ? (size_t)(end - p) : strlen(p);
        if (n == len && !memcmp(p, reason, len))
            return 1;
        p = end ? end + 1 : NULL;
    }
    return 0;
}

int row_add_reason(struct case_row *row, const char *reason, struct err *err)
{
    if (row_has_reason(row, reason))
        return 0;
    if (!row->reasons)
        return row_set(&row->reasons, reason, err);
    return row_setf(&row->reasons, err, "%s;%s", row->reasons, reason);
}

void case_table_init(struct case_table *t)
{
    memset(t, 0, sizeof(*t));
}

void case_table_release(struct case_table *t)
{
    for (size_t i = 0; i < t->nr; i++)
        case_row_release(&t->row[i]);
    free(t->row);
    text_list_release(&t->axes);
    case_table_init(t);
}

static int grow(void **rows, size_t nr, size_t *alloc, size_t size, struct err *err)
{
    if (nr < *alloc)
        return 0;
    size_t want = *alloc ? *alloc * 2 : 64;
    void *p = realloc(*rows, want * size);
    if (!p)
        return err_memory(err);
    *rows = p;
    *alloc = want;
    return 0;
}

struct case_row *case_table_add(struct case_table *t, struct err *err)
{
    void *rows = t->row;
    if (grow(&rows, t->nr, &t->alloc, sizeof(*t->row), err))
        return NULL;
    t->row = rows;
    struct case_row *row = &t->row[t->nr];
    case_row_init(row);
    row->axis = calloc(t->axes.nr + 1, sizeof(*row->axis));
    if (!row->axis) {
        err_memory(err);
        return NULL;
    }
    row->axes_nr = t->axes.nr;
    t->nr++;
    return row;
}

const char *case_table_axis(const struct case_table *t, const struct case_row *row,
                            const char *axis)
{
    for (size_t i = 0; i < t->axes.nr && i < row->axes_nr; i++)
        if (!strcmp(t->axes.items[i], axis))
            return row->axis[i];
    return NULL;
}

int case_table_write(const struct case_table *t, struct strbuf *sb, struct err *err)
{
    size_t nr = NR(identity) + t->axes.nr + NR(rest);
    const char **names = calloc(nr, sizeof(*names));
    struct csv_writer w;
    int ret = -1;

    if (!names)
        return err_memory(err);
    for (size_t i = 0; i < NR(identity); i++)
        names[i] = identity[i].name;
    for (size_t i = 0; i < t->axes.nr; i++)
        names[NR(identity) + i] = t->axes.items[i];
    for (size_t i = 0; i < NR(rest); i++)
        names[NR(identity) + t->axes.nr + i] = rest[i].name;
    csv_writer_init(&w, sb, 0);
    if (csv_header(&w, names, nr, err))
        goto out;
    for (size_t r = 0; r < t->nr; r++) {
        const struct case_row *row = &t->row[r];
        columns_write(&w, row, identity, NR(identity));
        for (size_t i = 0; i < t->axes.nr; i++)
            csv_text(&w, row->axis[i]);
        columns_write(&w, row, rest, NR(rest));
        if (csv_end_row(&w, err))
            goto out;
    }
    ret = 0;
out:
    free(names);
    return ret;
}

static const struct column *column_find(const char *name, const struct column *c, size_t nr)
{
    for (size_t i = 0; i < nr; i++)
        if (!strcmp(c[i].name, name))
            return &c[i];
    return NULL;
}

static const struct column *case_column(const char *name)
{
    const struct column *c = column_find(name, identity, NR(identity));
    return c ? c : column_find(name, rest, NR(rest));
}

static int schema_check(const struct csv *csv, const char *path, struct err *err)
{
    size_t col;
    int64_t schema;
    if (csv_find_column(csv, "schema", &col, err))
        return -1;
    if (!csv->nr_rows)
        return 0;
    if (csv_cell_int(csv, 0, col, &schema, err))
        return -1;
    if (schema != ROWS_SCHEMA)
        return err_set(err, ERR_CONFIG, "%s: has schema version %lld, this bench reads version %d",
                       path, (long long)schema, ROWS_SCHEMA);
    return 0;
}

/* The axis columns are those between `role` and the first of the rest. */
static int axes_read(struct case_table *t, const struct csv *csv, const char *path, struct err *err)
{
    size_t first, last;
    if (csv_find_column(csv, "role", &first, err) || csv_find_column(csv, rest[0].name, &last, err))
        return -1;
    for (size_t i = 0; i < csv->nr_columns; i++) {
        if (i > first && i < last) {
            if (text_list_add(&t->axes, csv->columns[i], err))
                return -1;
        } else if (!case_column(csv->columns[i])) {
            return err_set(err, ERR_CONFIG, "%s: unknown column '%s'", path, csv->columns[i]);
        }
    }
    return 0;
}

static int case_table_parse(struct case_table *t, const struct csv *csv, const char *path,
                            struct err *err)
{
    size_t axis0;

    if (schema_check(csv, path, err) || axes_read(t, csv, path, err) ||
        csv_find_column(csv, "role", &axis0, err))
        return -1;
    for (size_t r = 0; r < csv->nr_rows; r++) {
        struct case_row *row = case_table_add(t, err);
        if (!row)
            return -1;
        for (size_t i = 0; i < csv->nr_columns; i++) {
            const struct column *c = case_column(csv->columns[i]);
            const char *cell = csv_cell(csv, r, i);
            if (c ? cell_read(csv, r, i, row, c, err)
                  : *cell && row_set(&row->axis[i - axis0 - 1], cell, err))
                return -1;
        }
    }
    return case_table_check(t, path, err);
}

int case_table_read(struct case_table *t, const char *path, struct err *err)
{
    struct csv csv;
    csv_init(&csv);
    int ret = csv_read_file(&csv, path, err) || case_table_parse(t, &csv, path, err) ? -1 : 0;
    csv_release(&csv);
    return ret;
}

int case_table_read_text(struct case_table *t, const char *name, const char *text, struct err *err)
{
    struct csv csv;
    csv_init(&csv);
    int ret =
        csv_read_text(&csv, name, text, strlen(text), err) || case_table_parse(t, &csv, name, err)
            ? -1
            : 0;
    csv_release(&csv);
    return ret;
}

void sample_table_init(struct sample_table *t)
{
    memset(t, 0, sizeof(*t));
}

void sample_table_release(struct sample_table *t)
{
    for (size_t i = 0; i < t->nr; i++)
        sample_row_release(&t->row[i]);
    free(t->row);
    sample_table_init(t);
}

struct sample_row *sample_table_add(struct sample_table *t, struct err *err)
{
    void *rows = t->row;
    if (grow(&rows, t->nr, &t->alloc, sizeof(*t->row), err))
        return NULL;
    t->row = rows;
    sample_row_init(&t->row[t->nr]);
    return &t->row[t->nr++];
}

int sample_table_write(const struct sample_table *t, size_t from, int header, struct strbuf *sb,
                       struct err *err)
{
    const char *names[NR(sample)];
    struct csv_writer w;

    csv_writer_init(&w, sb, NR(sample));
    for (size_t i = 0; i < NR(sample); i++)
        names[i] = sample[i].name;
    if (header && csv_header(&w, names, NR(sample), err))
        return -1;
    for (size_t r = from; r < t->nr; r++) {
        columns_write(&w, &t->row[r], sample, NR(sample));
        if (csv_end_row(&w, err))
            return -1;
    }
    return 0;
}

static int sample_table_parse(struct sample_table *t, const struct csv *csv, const char *path,
                              struct err *err)
{
    if (schema_check(csv, path, err))
        return -1;
    const struct column **column = calloc(csv->nr_columns + 1, sizeof(*column));
    int ret = column ? 0 : err_memory(err);

    for (size_t i = 0; !ret && i < csv->nr_columns; i++) {
        column[i] = column_find(csv->columns[i], sample, NR(sample));
        if (!column[i])
            ret = err_set(err, ERR_CONFIG, "%s: unknown column '%s'", path, csv->columns[i]);
    }
    for (size_t r = 0; !ret && r < csv->nr_rows; r++) {
        struct sample_row *row = sample_table_add(t, err);
        ret = row ? 0 : -1;
        for (size_t i = 0; !ret && i < csv->nr_columns; i++)
            ret = cell_read(csv, r, i, row, column[i], err);
    }
    free(column);
    return ret ? ret : sample_table_check(t, path, err);
}

int sample_table_read(struct sample_table *t, const char *path, size_t limit_bytes, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    struct csv csv;
    csv_init(&csv);
    int ret = file_read(path, &sb, CSV_MAX_BYTES, err);
    size_t len = sb.len < limit_bytes ? sb.len : limit_bytes;
    if (!ret)
        ret = csv_read_text(&csv, path, sb.buf, len, err) || sample_table_parse(t, &csv, path, err)
                  ? -1
                  : 0;
    csv_release(&csv);
    strbuf_release(&sb);
    return ret;
}

int sample_table_read_text(struct sample_table *t, const char *name, const char *text,
                           struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    struct sample_table none;
    struct csv csv;

    /* Lines travel without their header. */
    csv_init(&csv);
    sample_table_init(&none);
    int ret = sample_table_write(&none, 0, 1, &sb, err);
    strbuf_addstr(&sb, text);
    if (!ret && sb.oom)
        ret = err_memory(err);
    if (!ret)
        ret =
            csv_read_text(&csv, name, sb.buf, sb.len, err) || sample_table_parse(t, &csv, name, err)
                ? -1
                : 0;
    csv_release(&csv);
    strbuf_release(&sb);
    return ret;
}
