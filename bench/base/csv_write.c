#include "csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

void csv_writer_init(struct csv_writer *writer, struct strbuf *sb, size_t nr_columns)
{
    *writer = (struct csv_writer){.sb = sb, .nr_columns = nr_columns};
}

static void csv_separate(struct csv_writer *writer)
{
    if (writer->at++)
        strbuf_addch(writer->sb, ',');
}

void csv_text(struct csv_writer *writer, const char *s)
{
    csv_separate(writer);
    if (!s)
        return;
    if (!strpbrk(s, ",\"\r\n")) {
        strbuf_addstr(writer->sb, s);
        return;
    }
    strbuf_addch(writer->sb, '"');
    for (; *s; s++) {
        if (*s == '"')
            strbuf_addch(writer->sb, '"');
        strbuf_addch(writer->sb, *s);
    }
    strbuf_addch(writer->sb, '"');
}

void csv_int(struct csv_writer *writer, int64_t value)
{
    csv_separate(writer);
    strbuf_addf(writer->sb, "%" PRId64, value);
}

void csv_uint(struct csv_writer *writer, uint64_t value)
{
    csv_separate(writer);
    strbuf_addf(writer->sb, "%" PRIu64, value);
}

void csv_real(struct csv_writer *writer, double value)
{
    csv_separate(writer);
    if (!isnan(value))
        text_add_real(writer->sb, value);
}

void csv_empty(struct csv_writer *writer, size_t nr)
{
    while (nr--)
        csv_separate(writer);
}

int csv_end_row(struct csv_writer *writer, struct err *err)
{
    size_t nr = writer->at;
    struct strbuf *sb = writer->sb;

    writer->at = 0;
    if (!writer->nr_columns)
        writer->nr_columns = nr;
    if (!nr || nr != writer->nr_columns)
        return err_set(err, ERR_BUG, "a CSV row of %zu fields in a table of %zu columns", nr,
                       writer->nr_columns);
    /* A lone empty field would be an empty line, which no reader takes for a row. */
    if (nr == 1 && (!sb->len || sb->buf[sb->len - 1] == '\n'))
        strbuf_addstr(sb, "\"\"");
    strbuf_addch(sb, '\n');
    return sb->oom ? err_memory(err) : 0;
}

int csv_header(struct csv_writer *writer, const char *const *names, size_t nr, struct err *err)
{
    size_t i, j;

    for (i = 0; i < nr; i++) {
        if (!*names[i])
            return err_set(err, ERR_BUG, "CSV column %zu has no name", i + 1);
        for (j = 0; j < i; j++)
            if (!strcmp(names[i], names[j]))
                return err_set(err, ERR_BUG, "CSV column '%s' stands twice in the header",
                               names[i]);
        csv_text(writer, names[i]);
    }
    writer->nr_columns = nr;
    return csv_end_row(writer, err);
}
