/*
 * report_internal.h - what the files behind report.h share: rows put in order, and cells.
 */
#ifndef BENCH_CORE_REPORT_INTERNAL_H
#define BENCH_CORE_REPORT_INTERNAL_H

#include "report.h"

/* Characters that each part of the Markdown may take; together below REPORT_MAX_CHARS. */
#define REPORT_TABLE_CHARS       33000
#define REPORT_EXCEPTION_CHARS   8000
#define REPORT_ENVIRONMENT_CHARS 5000
#define REPORT_CONFIG_CHARS      7000
#define REPORT_COMMAND_CHARS     6000
#define REPORT_OUTPUTS_CHARS     1500
#define REPORT_PARTS_CHARS       2500
#define REPORT_VISIBLE_ROWS      40

/* What the report needs to know of a row beside its cells. */
struct report_entry {
    char *label;                 /* the case for people: "8.32.1024.128, 0.10" */
    const struct case_row *base; /* what the row names as baseline, else its case's; or NULL */
};

struct report_view {
    const struct case_table *cases;
    const json_t *run;
    struct report_entry *entry; /* one a row of cases */
    bool shaped;                /* labels are B.H.S.D */
    bool has_density;
    struct text_list candidates; /* labels of candidate arms, in order of appearance */
};

int report_view_init(struct report_view *view, const struct case_table *cases, const json_t *run,
                     struct err *err);
void report_view_release(struct report_view *view);

/* What a sweep came to, by the rows that the tables show. */
struct report_counts {
    size_t rows, faster, same, slower, unsure, failed, skipped;
    double worst; /* ln of the slowest row's ratio, NAN without */
};
void report_count(const struct report_view *view, struct report_counts *out);

bool cell_is(const char *member, const char *word); /* NULL is no word */
bool report_is_role(const struct case_row *row, const char *role);
bool report_is_ok(const struct case_row *row);
bool report_is_failed(const struct case_row *row);   /* wrong, crash, timeout, env */
bool report_is_compared(const struct case_row *row); /* a candidate on the common problem */

/* A member of run.json, one level down: NULL, NAN, "" where it is missing. */
const json_t *run_at(const json_t *run, const char *group, const char *name);
double run_real(const json_t *run, const char *group, const char *name);
const char *run_text(const json_t *run, const char *group, const char *name);

/* ---- cells ---- */

/* "+0.2 %" without its unit, and never "-0.0". */
void add_percent(struct strbuf *sb, double fraction);
/* "-1.4 % [-1.5, -1.2]" from logarithms; the interval is left out where it is NAN. */
void add_log_change(struct strbuf *sb, double theta, double lo, double hi);
/* The change cell of a row against its baseline: interval, ticks, MDE, `multiple`. */
void add_change(struct strbuf *sb, const struct case_row *row, const struct case_row *base);
/* A time in the unit of `unit_ns`, no digit finer than the tick, at most 5 digits. */
void add_time(struct strbuf *sb, double ns, double unit_ns, double tick_ns);
/* 1000 for microseconds, or 1e6 where every time is a millisecond and more. */
double time_unit(const struct case_table *cases);
const char *time_unit_name(double unit_ns, bool plain); /* "µs"; plain: "us" */
/* "2.2e-4". */
void add_scientific(struct strbuf *sb, double value);
/* "5x24": processes x rounds kept in each, with the sum in parentheses where it does not divide. */
void add_rounds(struct strbuf *sb, const struct case_row *row);
/* A table cell's text: `|`, `<` and line ends made harmless. NULL adds nothing. */
void add_escaped(struct strbuf *sb, const char *text);

/* ---- parts ---- */

int report_tables(const struct report_view *view, struct strbuf *out, struct err *err);
void report_sentence(const struct report_view *view, struct strbuf *out, bool markdown);
int report_exceptions(const struct report_view *view, struct strbuf *out, struct err *err);
/* report_outputs.c: how the outputs of each candidate compare with its baseline's. */
void report_outputs(const struct report_view *view, struct strbuf *out);
/* report_crossover.c: up to which density a sparse arm pays, where a dense one stands beside it. */
int report_crossover(const struct report_view *view, struct strbuf *out, struct err *err);
/* report_parts.c: the steps of each pipeline, and accuracy against unquantised inputs. */
void report_parts(const struct report_view *view, struct strbuf *out);
void report_method(const struct report_view *view, struct strbuf *out);
int report_details(const struct report_view *view, struct strbuf *out, struct err *err);

#endif
