/*
 * csv.h - RFC 4180, with LF line ends on writing and both on reading.
 */
#ifndef BENCH_BASE_CSV_H
#define BENCH_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strbuf.h"

#define CSV_MAX_COLUMNS 4096
#define CSV_MAX_BYTES   ((size_t)4 << 30)

/*
 * Writes rows behind `sb`, which the caller owns. The number of fields of a row is checked by
 * csv_end_row(); 0 columns means not known yet: the first row sets it.
 */
struct csv_writer {
    struct strbuf *sb;
    size_t nr_columns;
    size_t at; /* fields of the current row so far */
};

void csv_writer_init(struct csv_writer *writer, struct strbuf *sb, size_t nr_columns);
/* The header row; a repeated or empty name is ERR_BUG. Sets the number of columns. */
int csv_header(struct csv_writer *writer, const char *const *names, size_t nr, struct err *err);
void csv_text(struct csv_writer *writer, const char *s); /* NULL: an empty field */
void csv_int(struct csv_writer *writer, int64_t value);
void csv_uint(struct csv_writer *writer, uint64_t value);
void csv_real(struct csv_writer *writer, double value); /* shortest round trip; NaN: empty */
void csv_empty(struct csv_writer *writer, size_t nr);   /* `nr` empty fields */
/* ERR_BUG where the row has not the header's number of fields, ERR_MEMORY where `sb` ran out. */
int csv_end_row(struct csv_writer *writer, struct err *err);

/* A whole file in memory. Cells point into `text`; all of it lives until csv_release(). */
struct csv {
    char *name; /* the file's, for messages */
    char *text;
    char **columns;
    size_t nr_columns;
    char **cells; /* row after row */
    size_t nr_rows, alloc_cells;
    bool torn;          /* the last line was incomplete and is left out */
    size_t whole_bytes; /* length of the file without a torn last line: truncate here to go on */
};

void csv_init(struct csv *csv);
void csv_release(struct csv *csv);
/*
 * The first line names the columns; an empty or repeated name is an error. A quoted field may hold
 * newlines. Every row has as many fields as the header. A last line without its line end is torn
 * (a writer died): reported in `torn`, never an error, unless it is the header itself.
 * Errors are ERR_CONFIG, "FILE:LINE: ...". The struct must be initialised and empty.
 */
int csv_read_file(struct csv *csv, const char *path, struct err *err);
int csv_read_text(struct csv *csv, const char *name, const char *text, size_t len, struct err *err);

/* Index of a column, -1 where there is none. */
ptrdiff_t csv_column(const struct csv *csv, const char *name);
/* The same, as an error that names the nearest column. */
int csv_find_column(const struct csv *csv, const char *name, size_t *column, struct err *err);
/* Never NULL. */
const char *csv_cell(const struct csv *csv, size_t row, size_t column);
/* An empty cell is NaN; `inf`, `-inf` and `nan` are themselves. */
int csv_cell_real(const struct csv *csv, size_t row, size_t column, double *out, struct err *err);
/* Plain decimal, no suffix; an empty cell is an error. */
int csv_cell_int(const struct csv *csv, size_t row, size_t column, int64_t *out, struct err *err);

#endif
