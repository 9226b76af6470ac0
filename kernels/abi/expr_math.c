/*
 * expr_math.c - the arithmetic of expr.h: exact integers and fractions, doubles otherwise.
 */
#include "expr_math.h"

#include <math.h>
#include <string.h>

int sab_expr_same(const char *name, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(name, word, len) == 0;
}

struct sab_expr_value sab_expr_int(int64_t n)
{
    struct sab_expr_value v = {SAB_EXPR_INT, n, 1, 0.0};

    return v;
}

static struct sab_expr_value of_real(double f)
{
    struct sab_expr_value v = {SAB_EXPR_REAL, 0, 1, f};

    return v;
}

double sab_expr_real(const struct sab_expr_value *value)
{
    if (value->kind == SAB_EXPR_REAL)
        return value->f;
    return (double)value->n / (double)value->d;
}

int sab_expr_true(const struct sab_expr_value *value)
{
    return value->kind == SAB_EXPR_REAL ? value->f != 0.0 : value->n != 0;
}

int sab_expr_integer(const struct sab_expr_value *value, int64_t *n)
{
    if (value->kind == SAB_EXPR_REAL)
        return SAB_EXPR_DOMAIN;
    if (value->n % value->d != 0)
        return SAB_EXPR_DOMAIN;
    *n = value->n / value->d;
    return SAB_EXPR_OK;
}

const char *sab_expr_error(int status)
{
    switch (status) {
    case SAB_EXPR_OK:
        return "no error";
    case SAB_EXPR_UNBOUND:
        return "a name without a value";
    case SAB_EXPR_OVERFLOW:
        return "a value beyond 64 bits";
    case SAB_EXPR_DOMAIN:
        return "an operation without a result";
    default:
        return "not an expression";
    }
}

static int both_int(const struct sab_expr_value *a, const struct sab_expr_value *b)
{
    return a->kind == SAB_EXPR_INT && b->kind == SAB_EXPR_INT;
}

int sab_expr_add(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v)
{
    int64_t n = 0;

    if (!both_int(a, b))
        *v = of_real(sab_expr_real(a) + sab_expr_real(b));
    else if (__builtin_add_overflow(a->n, b->n, &n))
        return SAB_EXPR_OVERFLOW;
    else
        *v = sab_expr_int(n);
    return SAB_EXPR_OK;
}

int sab_expr_sub(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v)
{
    int64_t n = 0;

    if (!both_int(a, b))
        *v = of_real(sab_expr_real(a) - sab_expr_real(b));
    else if (__builtin_sub_overflow(a->n, b->n, &n))
        return SAB_EXPR_OVERFLOW;
    else
        *v = sab_expr_int(n);
    return SAB_EXPR_OK;
}

int sab_expr_mul(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v)
{
    int64_t n = 0;

    if (!both_int(a, b))
        *v = of_real(sab_expr_real(a) * sab_expr_real(b));
    else if (__builtin_mul_overflow(a->n, b->n, &n))
        return SAB_EXPR_OVERFLOW;
    else
        *v = sab_expr_int(n);
    return SAB_EXPR_OK;
}

int sab_expr_div(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v)
{
    struct sab_expr_value ratio = {SAB_EXPR_RATIO, a->n, b->n, 0.0};

    if (!sab_expr_true(b))
        return SAB_EXPR_DOMAIN;
    if (!both_int(a, b)) {
        *v = of_real(sab_expr_real(a) / sab_expr_real(b));
        return SAB_EXPR_OK;
    }
    if (b->n < 0) {
        if (a->n == INT64_MIN || b->n == INT64_MIN)
            return SAB_EXPR_OVERFLOW;
        ratio.n = -a->n;
        ratio.d = -b->n;
    }
    *v = ratio;
    return SAB_EXPR_OK;
}

int sab_expr_mod(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v)
{
    if (!both_int(a, b) || b->n <= 0)
        return SAB_EXPR_DOMAIN;
    *v = sab_expr_int(a->n % b->n);
    return SAB_EXPR_OK;
}

int sab_expr_less(const struct sab_expr_value *a, const struct sab_expr_value *b)
{
    return both_int(a, b) ? a->n < b->n : sab_expr_real(a) < sab_expr_real(b);
}

int sab_expr_equal(const struct sab_expr_value *a, const struct sab_expr_value *b)
{
    return both_int(a, b) ? a->n == b->n : sab_expr_real(a) == sab_expr_real(b);
}

int sab_expr_min(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v)
{
    *v = sab_expr_less(b, a) ? *b : *a;
    return SAB_EXPR_OK;
}

int sab_expr_max(const struct sab_expr_value *a, const struct sab_expr_value *b,
                 struct sab_expr_value *v)
{
    *v = sab_expr_less(a, b) ? *b : *a;
    return SAB_EXPR_OK;
}

/* ceil() and floor(): exact on fractions, whatever the signs. */
static int do_round(int up, const struct sab_expr_value *a, struct sab_expr_value *v)
{
    int64_t whole;

    if (a->kind == SAB_EXPR_REAL) {
        *v = of_real(up ? ceil(a->f) : floor(a->f));
        return SAB_EXPR_OK;
    }
    whole = a->n / a->d;
    if (a->n % a->d != 0)
        whole += (up && a->n > 0) - (!up && a->n < 0);
    *v = sab_expr_int(whole);
    return SAB_EXPR_OK;
}

int sab_expr_unary(const char *name, size_t len, const struct sab_expr_value *a,
                   struct sab_expr_value *v)
{
    double x = sab_expr_real(a);

    if (sab_expr_same(name, len, "ceil") || sab_expr_same(name, len, "floor"))
        return do_round(name[0] == 'c', a, v);
    if (sab_expr_same(name, len, "sqrt")) {
        *v = of_real(sqrt(x));
        return x >= 0.0 ? SAB_EXPR_OK : SAB_EXPR_DOMAIN;
    }
    if (sab_expr_same(name, len, "ln")) {
        *v = of_real(log(x));
        return x > 0.0 ? SAB_EXPR_OK : SAB_EXPR_DOMAIN;
    }
    return SAB_EXPR_SYNTAX;
}
