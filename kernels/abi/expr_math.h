/*
 * expr_math.h - private to expr.c and expr_math.c. Each returns an enum sab_expr_status.
 */
#ifndef SAB_EXPR_MATH_H
#define SAB_EXPR_MATH_H

#include "expr.h"

typedef int (*sab_expr_binary)(const struct sab_expr_value *a, const struct sab_expr_value *b,
                               struct sab_expr_value *v);

struct sab_expr_value sab_expr_int(int64_t n);
int sab_expr_add(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v);
int sab_expr_sub(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v);
int sab_expr_mul(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v);
int sab_expr_div(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v);
int sab_expr_mod(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v);
int sab_expr_min(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v);
int sab_expr_max(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v);
/* ceil, floor, sqrt or ln. */
int sab_expr_unary(const char *name, size_t len, const struct sab_expr_value *a,
                   struct sab_expr_value *v);
int sab_expr_less(const struct sab_expr_value *a, const struct sab_expr_value *b);
int sab_expr_equal(const struct sab_expr_value *a, const struct sab_expr_value *b);
/* Is name[0..len) the word? */
int sab_expr_same(const char *name, size_t len, const char *word);

#endif
