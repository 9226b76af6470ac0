/*
 * report_table.h - a Markdown table of the report and its columns.
 */
#ifndef BENCH_CORE_REPORT_TABLE_H
#define BENCH_CORE_REPORT_TABLE_H

#include "report_internal.h"

struct table {
    const struct report_view *view;
    const char *arm; /* NULL: every arm, times only */
    double unit_ns;
    size_t *order; /* rows of view->cases */
    size_t nr;
    bool limit, activities, resources, errors, rates;
};

/* A column: heading, alignment, whether it has anything in it, and its cell. */
struct column {
    void (*head)(const struct table *t, struct strbuf *sb);
    const char *align;
    bool (*used)(const struct table *t);
    void (*cell)(const struct table *t, size_t row, struct strbuf *sb);
};

const struct column *table_columns(const struct table *t, size_t *nr);
/* Label of the baseline arm that the table's rows are held against. */
const char *table_base_name(const struct table *t);

#endif
