#include "formula.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

#define FORMULA_DEPTH_MAX 64
#define FORMULA_TOKEN_MAX 64

struct parser {
    const char *text;
    const char *at;
    const struct formula_env *env;
    struct err *err;
    bool live; /* false: only grammar, names and kinds */
    int depth;
};

struct operator_row {
    const char *sign;
    int level;
    char code;
};

/* A sign that begins with another stands before it. A higher level binds tighter. */
static const struct operator_row operators[] = {
    {"||", 1, '|'}, {"&&", 2, '&'}, {"==", 3, '='}, {"!=", 3, '!'}, {"<=", 4, 'l'},
    {">=", 4, 'g'}, {"<", 4, '<'},  {">", 4, '>'},  {"+", 5, '+'},  {"-", 5, '-'},
    {"*", 6, '*'},  {"/", 6, '/'},  {"%", 6, '%'},
};

#define LEVEL_AND     2
#define LEVEL_EQUAL   3
#define LEVEL_COMPARE 4

static int parse_binary(struct parser *p, int level, struct formula_value *out);

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return is_name_start(c) || is_digit(c);
}

static void skip_space(struct parser *p)
{
    while (text_is_space(*p->at))
        p->at++;
}

static int refuse(struct parser *p, const char *why)
{
    return err_set(p->err, ERR_CONFIG, "'%.200s' %s", p->text, why);
}

int64_t formula_word_find(const char *words, const char *word)
{
    size_t len = strlen(word);
    int64_t place = 0;

    while (words && *words) {
        size_t span = strcspn(words, " ");

        if (span == len && len > 0 && !memcmp(words, word, len))
            return place;
        words += span;
        words += strspn(words, " ");
        place++;
    }
    return -1;
}

static struct formula_value of_int(int64_t i)
{
    return (struct formula_value){.kind = FORMULA_INT, .i = i};
}

static double as_real(const struct formula_value *v)
{
    return v->kind == FORMULA_INT ? (double)v->i : v->f;
}

static bool is_true(const struct formula_value *v)
{
    return v->kind == FORMULA_INT ? v->i != 0 : v->f != 0;
}

/* Copies the token [p->at, end) and goes behind it. */
static int take(struct parser *p, const char *end, char token[FORMULA_TOKEN_MAX])
{
    size_t len = (size_t)(end - p->at);

    if (len >= FORMULA_TOKEN_MAX)
        return refuse(p, "holds a word that is too long");
    memcpy(token, p->at, len);
    token[len] = '\0';
    p->at = end;
    return 0;
}

static int parse_number(struct parser *p, struct formula_value *out)
{
    char token[FORMULA_TOKEN_MAX];
    const char *end = p->at;

    while (is_name(*end) || *end == '.' ||
           ((*end == '+' || *end == '-') && (end[-1] == 'e' || end[-1] == 'E')))
        end++;
    if (take(p, end, token))
        return -1;
    if (strpbrk(token, ".eE")) {
        *out = (struct formula_value){.kind = FORMULA_REAL};
        return text_real(token, &out->f, p->err);
    }
    *out = of_int(0);
    return text_int(token, &out->i, p->err);
}

static int parse_name(struct parser *p, struct formula_value *out)
{
    char token[FORMULA_TOKEN_MAX];
    const char *end = p->at, *words = NULL;
    int kind;

    while (is_name(*end))
        end++;
    if (take(p, end, token))
        return -1;
    kind = p->env->kind(p->env->ctx, token, &words, p->err);
    if (kind < 0)
        return -1;
    *out = (struct formula_value){.kind = (enum formula_kind)kind, .words = words};
    return p->live ? p->env->value(p->env->ctx, token, out, p->err) : 0;
}

static int negate(struct parser *p, struct formula_value *v)
{
    if (v->kind == FORMULA_REAL)
        v->f = -v->f;
    else if (v->i == INT64_MIN)
        return refuse(p, "overflows 64 bits");
    else
        v->i = -v->i;
    return 0;
}

static int parse_unary(struct parser *p, struct formula_value *out)
{
    char sign = *p->at++;

    if (parse_binary(p, 7, out))
        return -1;
    if (out->kind == FORMULA_WORD)
        return refuse(p, "computes with a word: words know '==' and '!=' only");
    if (sign == '-')
        return negate(p, out);
    if (sign == '!')
        *out = of_int(!is_true(out));
    return 0;
}

static int parse_parens(struct parser *p, struct formula_value *out)
{
    p->at++;
    if (parse_binary(p, 1, out))
        return -1;
    skip_space(p);
    if (*p->at != ')')
        return refuse(p, "lacks a ')'");
    p->at++;
    return 0;
}

static int parse_primary(struct parser *p, struct formula_value *out)
{
    int rc;

    if (++p->depth > FORMULA_DEPTH_MAX)
        return refuse(p, "is nested too deeply");
    skip_space(p);
    if (*p->at == '(')
        rc = parse_parens(p, out);
    else if (*p->at == '-' || *p->at == '+' || (*p->at == '!' && p->at[1] != '='))
        rc = parse_unary(p, out);
    else if (is_digit(*p->at) || (*p->at == '.' && is_digit(p->at[1])))
        rc = parse_number(p, out);
    else if (is_name_start(*p->at))
        rc = parse_name(p, out);
    else if (*p->at == '\0')
        rc = refuse(p, "ends where a value should stand");
    else
        rc = err_set(p->err, ERR_CONFIG, "'%.200s' has '%c' where a value should stand", p->text,
                     *p->at);
    p->depth--;
    return rc;
}

static const struct operator_row *peek_operator(struct parser *p)
{
    skip_space(p);
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (text_starts_with(p->at, operators[i].sign))
            return &operators[i];
    return NULL;
}

static int integers(struct parser *p, char code, int64_t a, int64_t b, int64_t *out)
{
    bool over = false;

    if ((code == '/' || code == '%') && b == 0)
        return refuse(p, "divides by zero");
    switch (code) {
    case '+':
        over = __builtin_add_overflow(a, b, out);
        break;
    case '-':
        over = __builtin_sub_overflow(a, b, out);
        break;
    case '*':
        over = __builtin_mul_overflow(a, b, out);
        break;
    case '/':
        over = a == INT64_MIN && b == -1;
        *out = over ? 0 : a / b;
        break;
    default:
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): 0 is refused above */
        *out = b == -1 ? 0 : a % b;
        break;
    }
    return over ? refuse(p, "overflows 64 bits") : 0;
}

static int reals(struct parser *p, char code, double a, double b, double *out)
{
    if (code == '%')
        return refuse(p, "takes '%' of a real: both sides must be integers");
    if (code == '/' && b == 0)
        return refuse(p, "divides by zero");
    *out = code == '+' ? a + b : code == '-' ? a - b : code == '*' ? a * b : a / b;
    return isfinite(*out) ? 0 : refuse(p, "overflows");
}

static int64_t compare(char code, const struct formula_value *a, const struct formula_value *b)
{
    bool whole = a->kind == FORMULA_INT && b->kind == FORMULA_INT;
    double x = as_real(a), y = as_real(b);
    bool less = whole ? a->i < b->i : x < y;
    bool more = whole ? a->i > b->i : x > y;

    switch (code) {
    case '<':
        return less;
    case '>':
        return more;
    case 'l':
        return !more;
    case 'g':
        return !less;
    case '=':
        return !less && !more;
    default:
        return less || more;
    }
}

static int apply(struct parser *p, const struct operator_row *op, struct formula_value *left,
                 const struct formula_value *right)
{
    bool whole = left->kind == FORMULA_INT && right->kind == FORMULA_INT;

    if (left->kind == FORMULA_WORD || right->kind == FORMULA_WORD)
        return refuse(p, "computes with a word: words know '==' and '!=', the axis on the left");
    if (op->level <= LEVEL_COMPARE) {
        int64_t truth = op->code == '|'   ? is_true(left) || is_true(right)
                        : op->code == '&' ? is_true(left) && is_true(right)
                                          : compare(op->code, left, right);

        *left = of_int(truth);
        return 0;
    }
    if (whole) {
        int64_t out = 0;

        if (p->live && integers(p, op->code, left->i, right->i, &out))
            return -1;
        *left = of_int(out);
    } else {
        double out = 0;

        if (p->live && reals(p, op->code, as_real(left), as_real(right), &out))
            return -1;
        *left = (struct formula_value){.kind = FORMULA_REAL, .f = out};
    }
    return 0;
}

/* The word behind `AXIS ==`: looked up in that axis's list, not among the names. */
static int compare_word(struct parser *p, char code, struct formula_value *left)
{
    char token[FORMULA_TOKEN_MAX];
    const char *end;
    int64_t place;

    skip_space(p);
    end = p->at;
    while (is_name(*end) || *end == '.')
        end++;
    if (end == p->at)
        return refuse(p, "lacks a word behind '==' or '!='");
    if (take(p, end, token))
        return -1;
    place = formula_word_find(left->words, token);
    if (place < 0)
        return err_set(p->err, ERR_CONFIG, "'%.200s' compares with '%.200s', which is none of: %s",
                       p->text, token, left->words);
    *left = of_int((left->word == place) == (code == '='));
    return 0;
}

static int parse_right(struct parser *p, const struct operator_row *op, struct formula_value *left)
{
    bool live = p->live;
    struct formula_value right = {.kind = FORMULA_INT};
    /* Behind a comparison no other one is taken in, so that the caller sees the chain. */
    int level = op->level == LEVEL_EQUAL ? LEVEL_COMPARE + 1 : op->level + 1;

    if (left->kind == FORMULA_WORD && op->level == LEVEL_EQUAL)
        return compare_word(p, op->code, left);
    if (left->kind != FORMULA_WORD && op->level <= LEVEL_AND)
        p->live = live && is_true(left) == (op->code == '&');
    if (parse_binary(p, level, &right))
        return -1;
    p->live = live;
    return apply(p, op, left, &right);
}

static int parse_binary(struct parser *p, int level, struct formula_value *out)
{
    const struct operator_row *op;
    bool compared = false;

    if (parse_primary(p, out))
        return -1;
    while ((op = peek_operator(p)) && op->level >= level) {
        bool compares = op->level == LEVEL_EQUAL || op->level == LEVEL_COMPARE;

        if (compares && compared)
            return refuse(p, "chains comparisons: join two with '&&'");
        compared = compares;
        p->at += strlen(op->sign);
        if (parse_right(p, op, out))
            return -1;
    }
    return 0;
}

static int parse_all(struct parser *p, struct formula_value *out)
{
    if (parse_binary(p, 1, out))
        return -1;
    skip_space(p);
    if (*p->at == '\0')
        return 0;
    if (*p->at == '=')
        return refuse(p, "has a single '=': a comparison is '=='");
    return err_set(p->err, ERR_CONFIG,
                   "'%.200s' goes on with '%.200s' where an operator should stand", p->text, p->at);
}

int formula_check(const char *text, const struct formula_env *env, struct err *err)
{
    struct parser p = {.text = text, .at = text, .env = env, .err = err, .live = false};
    struct formula_value out = {.kind = FORMULA_INT};

    return parse_all(&p, &out);
}

int formula_eval(const char *text, const struct formula_env *env, struct formula_value *out,
                 struct err *err)
{
    struct parser p = {.text = text, .at = text, .env = env, .err = err, .live = true};

    return parse_all(&p, out);
}
