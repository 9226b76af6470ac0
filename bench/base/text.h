/*
 * text.h - words to values and back.
 *
 * Every parser takes the whole string (white space around it is ignored) and refuses what it does
 * not understand, with a message that names the value. All failures are ERR_CONFIG.
 */
#ifndef BENCH_BASE_TEXT_H
#define BENCH_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strbuf.h"

/* Decimal, optional sign, optional suffix k, m or g (either case): 4k is 4096, 4000 is 4000. */
int text_int(const char *s, int64_t *out, struct err *err);
/* Decimal with optional fraction and exponent, finite, no suffix. */
int text_real(const char *s, double *out, struct err *err);
/* yes, no, true, false, on, off, 1, 0. */
int text_bool(const char *s, bool *out, struct err *err);
/* A real with one of ns, us, ms, s, m or min, h behind it; a bare number is seconds. Not negative.
 */
int text_seconds(const char *s, double *seconds, struct err *err);

/* White space here and everywhere in this floor: blank, tab, CR, LF, VT, FF; never the locale's. */
bool text_is_space(char c);
/* Cuts white space off both ends, in place; returns the new beginning inside `s`. */
char *text_trim(char *s);
bool text_starts_with(const char *s, const char *prefix);

/* A list of strings that the list owns. A zeroed struct is an empty list. */
struct text_list {
    char **items;
    size_t nr, alloc;
};

int text_list_add(struct text_list *list, const char *s, struct err *err);
int text_list_add_mem(struct text_list *list, const char *s, size_t len, struct err *err);
void text_list_release(struct text_list *list);

/*
 * Appends to `list` the trimmed pieces of `s` between the `separator`s that stand outside
 * parentheses. An empty or blank `s` has no pieces; an empty piece (`1,,2`) and unbalanced
 * parentheses are errors, after which `list` may hold some of the pieces.
 */
int text_split(struct text_list *list, const char *s, char separator, struct err *err);

/*
 * The name nearest to `word` by edit distance (insert, delete, replace, swap of neighbours), or
 * NULL where none is within a third of the word's length (at least 1). First of equals. Names that
 * are NULL are passed over.
 */
const char *text_nearest(const char *word, const char *const *names, size_t nr);

/* The shell's pattern language over all of `s`; a `/` or a leading dot is nothing special. */
bool text_glob(const char *pattern, const char *s);

/* For people: 870 ns, 12.4 us, 3.50 ms, 1.25 s, 2 min 05 s, 1 h 03 min. */
void text_add_duration(struct strbuf *sb, double ns);
/* For people: 512 B, 1.50 KiB, 3.00 GiB. */
void text_add_bytes(struct strbuf *sb, uint64_t bytes);
/* The shortest decimal that strtod() reads back as the same value; nan, inf, -inf. */
void text_add_real(struct strbuf *sb, double value);

#endif
