/*
 * bind.c - symbols, guards and alternatives of ops.h for one problem.
 */
#include "bind.h"

#include <string.h>

static int same(const char *a, size_t a_len, const char *b, size_t b_len)
{
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static int is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!letter && (i == 0 || c < '0' || c > '9'))
            return 0;
    }
    return len > 0;
}

void sab_bind_init(struct sab_binding *b, const struct sab_op_spec *op,
                   const struct sab_problem *problem, uint32_t params_nr)
{
    memset(b, 0, sizeof(*b));
    b->op = op;
    b->problem = problem;
    b->params_nr = params_nr;
    if (b->params_nr > op->params_nr)
        b->params_nr = op->params_nr;
    if (b->params_nr > problem->params_nr)
        b->params_nr = problem->params_nr;
}

const struct sab_tensor *sab_bind_tensor(const struct sab_binding *b, uint32_t i)
{
    if (i >= b->problem->tensors_nr || b->problem->tensors[i].dtype == SAB_NONE)
        return NULL;
    return &b->problem->tensors[i];
}

static int find_tensor(const struct sab_binding *b, const char *name, size_t len)
{
    for (uint32_t i = 0; i < b->op->tensors_nr; i++)
        if (same(b->op->tensors[i].name, strlen(b->op->tensors[i].name), name, len))
            return (int)i;
    return -1;
}

static int find_param(const struct sab_binding *b, const char *name, size_t len)
{
    for (uint32_t i = 0; i < b->op->params_nr; i++)
        if (same(b->op->params[i].name, strlen(b->op->params[i].name), name, len))
            return (int)i;
    return -1;
}

static const struct sab_symbol *find_symbol(const struct sab_symbol *list, uint32_t nr,
                                            const char *name, size_t len)
{
    for (uint32_t i = 0; i < nr; i++)
        if (same(list[i].name, list[i].len, name, len))
            return &list[i];
    return NULL;
}

static void add_symbol(struct sab_symbol *list, uint32_t *nr, const char *name, size_t len,
                       int64_t value)
{
    struct sab_symbol symbol = {name, len, value};

    if (*nr < SAB_MAX_SYMBOLS && !find_symbol(list, *nr, name, len))
        list[(*nr)++] = symbol;
}

/* A word of any word parameter: its place in the list. */
static int find_word(const struct sab_binding *b, const char *name, size_t len)
{
    for (uint32_t i = 0; i < b->op->params_nr; i++) {
        const char *words = b->op->params[i].words, *token;
        size_t at = 0, token_len;

        for (int place = 0; (token_len = sab_next_token(words, strlen(words), &at, &token)) > 0;
             place++)
            if (same(token, token_len, name, len))
                return place;
    }
    return -1;
}

static int lookup_symbol(void *context, const char *name, size_t len, struct sab_expr_value *value)
{
    struct sab_binding *b = context;
    const struct sab_symbol *symbol;
    int i = find_param(b, name, len);

    memset(value, 0, sizeof(*value));
    value->d = 1;
    if (i >= 0) {
        if ((uint32_t)i >= b->params_nr)
            return SAB_EXPR_UNBOUND;
        if (b->op->params[i].kind == SAB_REAL) {
            value->kind = SAB_EXPR_REAL;
            value->f = (double)(float)b->problem->params[i].f; /* what a kernel takes */
            return SAB_EXPR_OK;
        }
        value->n = b->problem->params[i].i;
    } else if ((symbol = find_symbol(b->symbols, b->symbols_nr, name, len)) != NULL) {
        value->n = symbol->value;
    } else if ((i = find_word(b, name, len)) >= 0) {
        value->n = i;
        return SAB_EXPR_OK;
    } else {
        return SAB_EXPR_UNBOUND;
    }
    add_symbol(b->seen, &b->seen_nr, name, len, value->n);
    return SAB_EXPR_OK;
}

static int lookup_tensor(void *context, const char *function, size_t function_len, const char *name,
                         size_t len, const char *dtype, size_t dtype_len,
                         struct sab_expr_value *value)
{
    struct sab_binding *b = context;
    const struct sab_tensor *tensor;
    int i = find_tensor(b, name, len);

    if (i < 0)
        return SAB_EXPR_UNBOUND;
    tensor = sab_bind_tensor(b, (uint32_t)i);
    memset(value, 0, sizeof(*value));
    value->d = 1;
    if (same(function, function_len, "present", 7)) {
        value->n = tensor != NULL;
    } else if (same(function, function_len, "rank", 4)) {
        value->n = tensor ? tensor->rank : 0;
    } else {
        const char *given = sab_dtype_name(tensor ? tensor->dtype : SAB_NONE);

        value->n = dtype && same(given, strlen(given), dtype, dtype_len);
    }
    return SAB_EXPR_OK;
}

int sab_bind_eval(struct sab_binding *b, const char *text, size_t len, struct sab_expr_value *value)
{
    struct sab_expr_env env = {b, lookup_symbol, lookup_tensor};

    b->seen_nr = 0;
    return sab_expr_eval(text, len, &env, value);
}

int sab_bind_integer(struct sab_binding *b, const char *text, size_t len, int64_t *n)
{
    struct sab_expr_value value;
    int status = sab_bind_eval(b, text, len, &value);

    return status == SAB_EXPR_OK ? sab_expr_integer(&value, n) : status;
}

int sab_next_alternative(const char **cursor, struct sab_alternative *alternative)
{
    const char *at = *cursor;

    if (!at)
        return 0;
    memset(alternative, 0, sizeof(*alternative));
    at += strspn(at, " ");
    if (*at == '[') {
        alternative->guard = ++at;
        alternative->guard_len = strcspn(at, "]");
        at += alternative->guard_len;
        at += *at == ']';
        at += strspn(at, " ");
    }
    alternative->text = at;
    alternative->len = strcspn(at, "|");
    *cursor = at[alternative->len] == '|' ? at + alternative->len + 1 : NULL;
    while (alternative->len > 0 && at[alternative->len - 1] == ' ')
        alternative->len--;
    return 1;
}

int sab_alternative_holds(struct sab_binding *b, const struct sab_alternative *alternative)
{
    struct sab_expr_value value;

    if (!alternative->guard)
        return 1;
    return sab_bind_eval(b, alternative->guard, alternative->guard_len, &value) == SAB_EXPR_OK &&
           sab_expr_true(&value);
}

size_t sab_next_token(const char *text, size_t len, size_t *at, const char **token)
{
    size_t start;

    while (*at < len && text[*at] == ' ')
        (*at)++;
    start = *at;
    while (*at < len && text[*at] != ' ')
        (*at)++;
    *token = text + start;
    return *at - start;
}

int sab_choose_shape(struct sab_binding *b, uint32_t tensor, struct sab_alternative *chosen)
{
    const char *cursor = b->op->tensors[tensor].shape, *token;

    while (sab_next_alternative(&cursor, chosen)) {
        size_t at = 0;
        int32_t rank = 0;

        while (sab_next_token(chosen->text, chosen->len, &at, &token) > 0)
            rank++;
        if (rank == b->problem->tensors[tensor].rank && sab_alternative_holds(b, chosen))
            return 1;
    }
    return 0;
}

/* `B` or `B+1`: the symbol and what is added to it. */
static size_t bare_symbol(const char *token, size_t len, int64_t *added)
{
    *added = 0;
    if (len > 2 && token[len - 2] == '+' && token[len - 1] >= '0' && token[len - 1] <= '9') {
        *added = token[len - 1] - '0';
        len -= 2;
    }
    return is_name(token, len) ? len : 0;
}

int sab_bind_symbols(struct sab_binding *b, uint32_t *tensor)
{
    struct sab_alternative shape;

    for (*tensor = 0; *tensor < b->op->tensors_nr; (*tensor)++) {
        const struct sab_tensor *t = sab_bind_tensor(b, *tensor);
        const char *token;
        size_t at = 0, len;
        int64_t added;

        if (!t)
            continue;
        if (!sab_choose_shape(b, *tensor, &shape))
            return 0;
        for (int i = 0; (len = sab_next_token(shape.text, shape.len, &at, &token)) > 0; i++) {
            len = bare_symbol(token, len, &added);
            if (len > 0 && find_param(b, token, len) < 0)
                add_symbol(b->symbols, &b->symbols_nr, token, len, t->shape[i] - added);
        }
    }
    return 1;
}
