/*
 * reasons.h - the codes that stand in the `reasons` column and in warnings: what each one means and
 * what to do about it. One row per code; `bench help REASON` and the report print them.
 */
#ifndef BENCH_CORE_REASONS_H
#define BENCH_CORE_REASONS_H

#include <stddef.h>

struct reason {
    const char *code;
    const char *sentence; /* what happened, one plain sentence without its stop */
    const char *remedy;   /* what to do, likewise */
};

/* Row `i` of the table, NULL behind the last. */
const struct reason *reason_at(size_t i);
/* NULL where no reason has that code. */
const struct reason *reason_find(const char *code);
/* The code nearest to a misspelt one, or NULL. */
const char *reason_nearest(const char *word);

#endif
