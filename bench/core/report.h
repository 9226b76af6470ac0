/*
 * report.h - a finished or interrupted run in words: report.md, and the table on the terminal.
 *
 * Rows are those of cases.csv, `run` is run.json. Whatever `run` lacks is left out of the text;
 * counts are those of the rows. Nothing is computed here beyond units and rounding. Where
 * report_rows_changed() was told, the head says so, and the geometric mean, which is that of other
 * rows, is left out.
 */
#ifndef BENCH_CORE_REPORT_H
#define BENCH_CORE_REPORT_H

#include <stdbool.h>

#include "err.h"
#include "json.h"
#include "rows.h"
#include "strbuf.h"

#define REPORT_MAX_CHARS 65000 /* what a comment on a code host may hold */

/* Notes in `run` that the rows are not those that the run wrote. ERR_MEMORY. */
int report_rows_changed(json_t *run, struct err *err);

/*
 * Markdown in the order of harness.md 4.1: a failed A' check, the verdict sentence, one table per
 * candidate arm (times per arm where there is no candidate), exceptions, whether
 * outputs agree, the method, a folded block. Sweeps of more than 40 rows are folded, and cut where
 * the whole would pass REPORT_MAX_CHARS, saying so. `run` may be NULL. ERR_MEMORY.
 */
int report_markdown(const struct case_table *cases, const json_t *run, struct strbuf *out,
                    struct err *err);

/*
 * The plain table for stdout: one line per case and arm, aligned, then the verdict sentence.
 * `width` is the terminal's, 0 for no limit; the case is shortened where a line would be longer.
 * `colour` marks verdicts with ANSI colours that the words do not depend on.
 */
int report_terminal(const struct case_table *cases, const json_t *run, int width, bool colour,
                    struct strbuf *out, struct err *err);

#endif
