/*
 * expr.h - the small expressions of ops.h: sizes ("4*ceil(Sq/128)"), guards ("layout==thd"), rules
 * ("mod(H, Hk) == 0") and defaults ("1/sqrt(D)").
 *
 * Integers are exact in 64 bits, overflow is found and never wraps. `a/b` of two integers stays an
 * exact fraction for ceil() and floor(); anything else done with it is in double. Operators:
 * || && == != < <= > >= + - * / unary - and !, parentheses; functions: ceil floor sqrt ln min max
 * mod present rank is. || and && take no offence at what fails behind a decided left side.
 */
#ifndef SAB_EXPR_H
#define SAB_EXPR_H

#include <stddef.h>
#include <stdint.h>

enum sab_expr_status {
    SAB_EXPR_OK = 0,
    SAB_EXPR_SYNTAX,   /* not an expression, or an unknown function */
    SAB_EXPR_UNBOUND,  /* a name without a value */
    SAB_EXPR_OVERFLOW, /* beyond 64 bits */
    SAB_EXPR_DOMAIN,   /* division by 0, root of a negative number, not an integer where one must be
                        */
};

enum sab_expr_kind { SAB_EXPR_INT = 0, SAB_EXPR_RATIO, SAB_EXPR_REAL };

struct sab_expr_value {
    enum sab_expr_kind kind;
    int64_t n, d; /* INT: n; RATIO: n/d with d > 0 */
    double f;     /* REAL */
};

/* Where names get their values. `name` is not terminated. Both return an enum sab_expr_status. */
struct sab_expr_env {
    void *context;
    int (*symbol)(void *context, const char *name, size_t len, struct sab_expr_value *value);
    /* present(t), rank(t), is(t, dtype): `dtype` is NULL but for the last. */
    int (*tensor)(void *context, const char *function, size_t function_len, const char *name,
                  size_t len, const char *dtype, size_t dtype_len, struct sab_expr_value *value);
};

/* Evaluates text[0..len). */
int sab_expr_eval(const char *text, size_t len, const struct sab_expr_env *env,
                  struct sab_expr_value *value);
double sab_expr_real(const struct sab_expr_value *value);
int sab_expr_true(const struct sab_expr_value *value);
/* The value as an integer, or SAB_EXPR_DOMAIN where it is none. */
int sab_expr_integer(const struct sab_expr_value *value, int64_t *n);
const char *sab_expr_error(int status);

#endif
