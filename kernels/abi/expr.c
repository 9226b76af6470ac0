/*
 * expr.c - recursive descent over the grammar of expr.h. Nothing is stored: a text is evaluated
 * where it stands, and what follows a decided && or || is stepped over unread.
 */
#include "expr_math.h"

#include <string.h>

struct parser {
    const char *at;
    const char *end;
    const struct sab_expr_env *env;
    int depth;
};

/* Deeper than any row, shallow enough for any stack. */
#define DEPTH_MAX 64

static int parse_or(struct parser *p, struct sab_expr_value *v);

static void skip(struct parser *p)
{
    while (p->at < p->end && *p->at == ' ')
        p->at++;
}

static int take(struct parser *p, const char *token)
{
    size_t len = strlen(token);

    skip(p);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, token, len) != 0)
        return 0;
    p->at += len;
    return 1;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t take_name(struct parser *p, const char **name)
{
    skip(p);
    *name = p->at;
    if (p->at == p->end || !is_letter(*p->at))
        return 0;
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at)))
        p->at++;
    return (size_t)(p->at - *name);
}

static int parse_number(struct parser *p, struct sab_expr_value *v)
{
    int64_t n = 0;
    double fraction = 0.0, unit = 0.1;
    struct sab_expr_value real = {SAB_EXPR_REAL, 0, 1, 0.0};

    while (p->at < p->end && is_digit(*p->at))
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p->at++ - '0', &n))
            return SAB_EXPR_OVERFLOW;
    *v = sab_expr_int(n);
    if (p->at == p->end || *p->at != '.')
        return SAB_EXPR_OK;
    for (p->at++; p->at < p->end && is_digit(*p->at); unit /= 10)
        fraction += unit * (*p->at++ - '0');
    real.f = (double)n + fraction;
    *v = real;
    return SAB_EXPR_OK;
}

static int parse_tensor_call(struct parser *p, const char *function, size_t function_len,
                             struct sab_expr_value *v)
{
    const char *name, *dtype = NULL;
    size_t len = take_name(p, &name), dtype_len = 0;

    if (len == 0)
        return SAB_EXPR_SYNTAX;
    if (sab_expr_same(function, function_len, "is")) {
        if (!take(p, ","))
            return SAB_EXPR_SYNTAX;
        dtype_len = take_name(p, &dtype);
    }
    if (!take(p, ")"))
        return SAB_EXPR_SYNTAX;
    return p->env->tensor(p->env->context, function, function_len, name, len, dtype, dtype_len, v);
}

static int parse_call(struct parser *p, const char *name, size_t len, struct sab_expr_value *v)
{
    static const struct {
        const char *name;
        sab_expr_binary apply;
    } binary[] = {{"min", sab_expr_min}, {"max", sab_expr_max}, {"mod", sab_expr_mod}};
    struct sab_expr_value a, b;
    int status;

    if (sab_expr_same(name, len, "present") || sab_expr_same(name, len, "rank") ||
        sab_expr_same(name, len, "is"))
        return parse_tensor_call(p, name, len, v);
    if ((status = parse_or(p, &a)) != SAB_EXPR_OK)
        return status;
    if (take(p, ")"))
        return sab_expr_unary(name, len, &a, v);
    if (!take(p, ","))
        return SAB_EXPR_SYNTAX;
    if ((status = parse_or(p, &b)) != SAB_EXPR_OK)
        return status;
    if (!take(p, ")"))
        return SAB_EXPR_SYNTAX;
    for (size_t i = 0; i < sizeof(binary) / sizeof(binary[0]); i++)
        if (sab_expr_same(name, len, binary[i].name))
            return binary[i].apply(&a, &b, v);
    return SAB_EXPR_SYNTAX;
}

static int parse_primary(struct parser *p, struct sab_expr_value *v)
{
    const char *name;
    size_t len;
    int status;

    skip(p);
    if (p->at == p->end)
        return SAB_EXPR_SYNTAX;
    if (is_digit(*p->at))
        return parse_number(p, v);
    if (take(p, "(")) {
        status = parse_or(p, v);
        return status != SAB_EXPR_OK || take(p, ")") ? status : SAB_EXPR_SYNTAX;
    }
    if ((len = take_name(p, &name)) == 0)
        return SAB_EXPR_SYNTAX;
    if (take(p, "("))
        return parse_call(p, name, len, v);
    return p->env->symbol(p->env->context, name, len, v);
}

static int parse_unary(struct parser *p, struct sab_expr_value *v)
{
    struct sab_expr_value zero = sab_expr_int(0), a;
    int status;

    skip(p);
    if (++p->depth > DEPTH_MAX)
        return SAB_EXPR_SYNTAX;
    if (take(p, "-")) {
        status = parse_unary(p, &a);
        status = status == SAB_EXPR_OK ? sab_expr_sub(&zero, &a, v) : status;
    } else if (p->end - p->at >= 1 && *p->at == '!' && (p->end - p->at == 1 || p->at[1] != '=')) {
        p->at++;
        status = parse_unary(p, &a);
        *v = sab_expr_int(status == SAB_EXPR_OK && !sab_expr_true(&a));
    } else {
        status = parse_primary(p, v);
    }
    p->depth--;
    return status;
}

static int parse_product(struct parser *p, struct sab_expr_value *v)
{
    struct sab_expr_value a, b;
    int status = parse_unary(p, v);

    while (status == SAB_EXPR_OK) {
        sab_expr_binary apply = take(p, "*") ? sab_expr_mul : take(p, "/") ? sab_expr_div : NULL;

        if (!apply)
            break;
        a = *v;
        status = parse_unary(p, &b);
        if (status == SAB_EXPR_OK)
            status = apply(&a, &b, v);
    }
    return status;
}

static int parse_sum(struct parser *p, struct sab_expr_value *v)
{
    struct sab_expr_value a, b;
    int status = parse_product(p, v);

    while (status == SAB_EXPR_OK) {
        sab_expr_binary apply = take(p, "+") ? sab_expr_add : take(p, "-") ? sab_expr_sub : NULL;

        if (!apply)
            break;
        a = *v;
        status = parse_product(p, &b);
        if (status == SAB_EXPR_OK)
            status = apply(&a, &b, v);
    }
    return status;
}

static int parse_compare(struct parser *p, struct sab_expr_value *v)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    struct sab_expr_value a, b;
    size_t i;
    int status = parse_sum(p, v);

    if (status != SAB_EXPR_OK)
        return status;
    for (i = 0; i < 6 && !take(p, signs[i]); i++)
        ;
    if (i == 6)
        return SAB_EXPR_OK;
    a = *v;
    if ((status = parse_sum(p, &b)) != SAB_EXPR_OK)
        return status;
    switch (i) {
    case 0:
    case 1:
        *v = sab_expr_int(sab_expr_equal(&a, &b) == (i == 0));
        break;
    case 2:
        *v = sab_expr_int(sab_expr_less(&a, &b) || sab_expr_equal(&a, &b));
        break;
    case 3:
        *v = sab_expr_int(sab_expr_less(&b, &a) || sab_expr_equal(&a, &b));
        break;
    default:
        *v = sab_expr_int(i == 4 ? sab_expr_less(&a, &b) : sab_expr_less(&b, &a));
    }
    return SAB_EXPR_OK;
}

/* To the next `||` (or `&&`, where asked for), closing parenthesis or comma of this level. */
static void step_over(struct parser *p, int stop_at_and)
{
    int depth = 0;

    for (; p->at < p->end; p->at++) {
        const char *next = p->end - p->at >= 2 ? p->at : "  ";

        if (*p->at == '(')
            depth++;
        else if (depth > 0)
            depth -= *p->at == ')';
        else if (*p->at == ')' || *p->at == ',' || memcmp(next, "||", 2) == 0 ||
                 (stop_at_and && memcmp(next, "&&", 2) == 0))
            return;
    }
}

static int parse_and(struct parser *p, struct sab_expr_value *v)
{
    int status = parse_compare(p, v);

    while (status == SAB_EXPR_OK && take(p, "&&")) {
        if (!sab_expr_true(v)) {
            step_over(p, 1);
            continue;
        }
        status = parse_compare(p, v);
        if (status == SAB_EXPR_OK)
            *v = sab_expr_int(sab_expr_true(v));
    }
    return status;
}

static int parse_or(struct parser *p, struct sab_expr_value *v)
{
    int status = parse_and(p, v);

    while (status == SAB_EXPR_OK && take(p, "||")) {
        if (sab_expr_true(v)) {
            step_over(p, 0);
            *v = sab_expr_int(1);
            continue;
        }
        status = parse_and(p, v);
        if (status == SAB_EXPR_OK)
            *v = sab_expr_int(sab_expr_true(v));
    }
    return status;
}

int sab_expr_eval(const char *text, size_t len, const struct sab_expr_env *env,
                  struct sab_expr_value *value)
{
    struct parser p = {text, text + len, env, 0};
    int status = parse_or(&p, value);

    skip(&p);
    return status == SAB_EXPR_OK && p.at != p.end ? SAB_EXPR_SYNTAX : status;
}
