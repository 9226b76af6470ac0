/*
 * cmp.h - two finished runs side by side: `bench cmp OLD NEW`.
 *
 * The runs were not interleaved, so nothing is paired: whatever changed between them (clocks,
 * temperature, neighbours, driver) stands in the difference. Every text made here says "unpaired".
 *
 * Rows match by operator, axes and arm; where an arm's label is gone, baseline goes with baseline.
 * Of several matches the one with the same case id wins. A' rows and rows without a partner are not
 * compared.
 */
#ifndef BENCH_CORE_CMP_H
#define BENCH_CORE_CMP_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "rows.h"
#include "stats_unpaired.h"
#include "stats_verdict.h"
#include "store.h"
#include "strbuf.h"
#include "text.h"

/* Which row of one table goes with which of the other; indices into their rows. */
struct cmp_match {
    struct cmp_match_pair {
        size_t before, after;
        bool by_role; /* the labels differ, both are the baseline */
    } * pair;         /* in the order of `after` */
    size_t nr;
    size_t *only_before, *only_after;
    size_t only_before_nr, only_after_nr;
};

int cmp_match_init(struct cmp_match *m, const struct case_table *before,
                   const struct case_table *after, struct err *err);
void cmp_match_release(struct cmp_match *m);

/* One matched row. Times are medians over processes of the processes' medians. */
struct cmp_row {
    const struct case_row *before, *after;
    bool compared; /* both were timed and right */
    double before_ns, after_ns;
    struct unpaired u; /* of the logarithms of the processes' medians */
    double delta;      /* natural logarithm */
    double p, q;
    enum verdict verdict;
    struct strbuf notes; /* what to know of the row, separated by "; " */
};

struct cmp {
    struct store before, after;
    struct cmp_match match;
    struct cmp_row *row;       /* one a pair of `match` */
    struct text_list warnings; /* differences that may explain everything: another GPU, cache */
    struct text_list notes;    /* further differences, and the libraries */
};

void cmp_init(struct cmp *c);
void cmp_release(struct cmp *c);
/*
 * Reads both folders and compares them. ERR_CONFIG where a folder holds no run, or where protocol
 * or schema differ: both values are named. Nothing in common is an error too.
 */
int cmp_open(struct cmp *c, const char *before, const char *after, struct err *err);
/* cmp_differ.c: fills warnings and notes from both run.json. */
int cmp_differ(struct cmp *c, struct err *err);
/* The table and what surrounds it, as plain text or Markdown. */
int cmp_print(const struct cmp *c, bool markdown, struct strbuf *out, struct err *err);

#endif
