/*
 * formula.h - expressions over axis names: derived values and `where` predicates.
 *
 *   || && ! == != < <= > >= + - * / % ( )     with C's precedence
 *
 * Values are 64-bit integers and reals; two integers give an integer (`/` drops the rest, as in C),
 * anything with a real gives a real, a comparison gives 0 or 1. `4k`, `2m`, `1g` are binary. An
 * axis of words can be compared with `==` and `!=` only, and stands on the left: `pattern == topk`.
 * Comparisons do not chain. `&&` and `||` leave their right side alone where the left one decides.
 * Overflow, division by zero and a real that is not finite are errors, never values.
 *
 * All failures are ERR_CONFIG; the message names the expression.
 */
#ifndef BENCH_MODEL_FORMULA_H
#define BENCH_MODEL_FORMULA_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum formula_kind { FORMULA_INT = 0, FORMULA_REAL, FORMULA_WORD };

struct formula_value {
    enum formula_kind kind;
    int64_t i;         /* FORMULA_INT */
    double f;          /* FORMULA_REAL */
    const char *words; /* FORMULA_WORD: the list that the word is one of */
    int64_t word;      /* FORMULA_WORD: its place there */
};

/* What names mean. Both return a negative value after filling `err`. */
struct formula_env {
    void *ctx;
    /* Kind of a name (enum formula_kind), and for FORMULA_WORD its list. Must not evaluate
     * anything. */
    int (*kind)(void *ctx, const char *name, const char **words, struct err *err);
    int (*value)(void *ctx, const char *name, struct formula_value *out, struct err *err);
};

/* Grammar, names and kinds, without a value: env->value is not called. */
int formula_check(const char *text, const struct formula_env *env, struct err *err);
int formula_eval(const char *text, const struct formula_env *env, struct formula_value *out,
                 struct err *err);

/* Place of a word in a list "contiguous topk", or -1. */
int64_t formula_word_find(const char *words, const char *word);

#endif
