/*
 * vectors_lines.c - the one-line entries of a golden vector: tolerances, rules and parameters.
 */
#include "vectors_reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more item at the end of a list. */
void *vector_grow(void **list, size_t nr, size_t *alloc, size_t size, struct err *err)
{
    if (nr == *alloc) {
        const size_t wanted = *alloc ? 2 * *alloc : 8;
        void *more = realloc(*list, wanted * size);

        if (!more) {
            err_memory(err);
            return NULL;
        }
        *list = more;
        *alloc = wanted;
    }
    memset((char *)*list + nr * size, 0, size);
    return (char *)*list + nr * size;
}

char *vector_strdup(const char *s, struct err *err)
{
    char *copy = strdup(s);

    if (!copy)
        err_memory(err);
    return copy;
}

/* A number that is the whole field. */
int vector_number(const char *s, double *out)
{
    char *end;

    *out = strtod(s, &end);
    return end != s && !*end ? 0 : -1;
}

static int read_bar(struct vector_reader *r, struct vector_tolerance *t, char *field)
{
    char *value = strchr(field, '=');
    const struct {
        const char *name;
        double *at;
    } reals[] = {{"atol", &t->atol},     {"rtol", &t->rtol}, {"rel_l2", &t->rel_l2},
                 {"cosine", &t->cosine}, {"diff", &t->diff}, {"row_sum", &t->row_sum}};
    const struct {
        const char *name;
        bool *at;
    } words[] = {{"zero", &t->zero}, {"bits", &t->bits}, {"selection", &t->selection}};

    if (!value) {
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            if (!strcmp(field, words[i].name)) {
                *words[i].at = true;
                return 0;
            }
        return VECTOR_BAD(r, "unknown tolerance '%s'", field);
    }
    *value++ = '\0';
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        if (strcmp(field, reals[i].name))
            continue;
        if (vector_number(value, reals[i].at) < 0 || !isfinite(*reals[i].at) || *reals[i].at < 0)
            return VECTOR_BAD(r, "tolerance %s = '%s' must be a number of at least 0", field,
                              value);
        return 0;
    }
    return VECTOR_BAD(r, "unknown tolerance '%s'", field);
}

/* # tolerance NAME key[=value] ... */
int vector_read_tolerance(struct vector_reader *r)
{
    struct vector *v = r->v;
    struct vector_tolerance *t;

    if (r->fields < 4)
        return VECTOR_BAD(r, "a tolerance needs a tensor and at least one bar");
    if (vector_tolerance_find(v, r->field[2]))
        return VECTOR_BAD(r, "second tolerance of '%s'", r->field[2]);
    t = vector_grow((void **)&v->tolerance, v->tolerances_nr, &v->tolerances_alloc, sizeof(*t),
                    r->err);
    if (!t)
        return -1;
    t->atol = t->rtol = t->rel_l2 = t->cosine = t->diff = t->row_sum = NAN;
    t->tensor = vector_strdup(r->field[2], r->err);
    if (!t->tensor)
        return -1;
    v->tolerances_nr++;
    for (int i = 3; i < r->fields; i++)
        if (read_bar(r, t, r->field[i]) < 0)
            return -1;
    return 0;
}

int vector_whole(const char *s, int64_t least, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(s, &end, 10);
    if (end == s || *end || errno || *out < least || *s == '+' || *s == ' ')
        return -1;
    return 0;
}

/* # accept NAME RULE [row R] */
int vector_read_accept(struct vector_reader *r)
{
    static const char *const rules[] = {"set", "ties", "order"};
    struct vector *v = r->v;
    struct vector_accept *a;
    int64_t row = -1;
    int rule = -1;

    if (r->fields != 4 && (r->fields != 6 || strcmp(r->field[4], "row")))
        return VECTOR_BAD(r, "must be '# accept NAME RULE' or '# accept NAME RULE row R'");
    for (int i = 0; i < 3; i++)
        if (!strcmp(r->field[3], rules[i]))
            rule = i;
    if (rule < 0)
        return VECTOR_BAD(r, "unknown rule '%s', must be set, ties or order", r->field[3]);
    if (r->fields == 6 && vector_whole(r->field[5], 0, &row) < 0)
        return VECTOR_BAD(r, "row '%s' must be a whole number of at least 0", r->field[5]);
    a = vector_grow((void **)&v->accept, v->accepts_nr, &v->accepts_alloc, sizeof(*a), r->err);
    if (!a)
        return -1;
    a->rule = (enum vector_rule)rule;
    a->row = row;
    a->tensor = vector_strdup(r->field[2], r->err);
    if (!a->tensor)
        return -1;
    v->accepts_nr++;
    return 0;
}

/* param NAME VALUE */
int vector_read_param(struct vector_reader *r)
{
    struct vector *v = r->v;
    struct vector_param *p;
    const char *value;

    if (r->fields != 3)
        return VECTOR_BAD(r, "must be 'param NAME VALUE'");
    if (vector_param_find(v, r->field[1]))
        return VECTOR_BAD(r, "second param '%s'", r->field[1]);
    if (v->tensors_nr)
        return VECTOR_BAD(r, "param '%s' behind a tensor, params come first", r->field[1]);
    p = vector_grow((void **)&v->param, v->params_nr, &v->params_alloc, sizeof(*p), r->err);
    if (!p)
        return -1;
    v->params_nr++;
    p->name = vector_strdup(r->field[1], r->err);
    p->word = vector_strdup(r->field[2], r->err);
    if (!p->name || !p->word)
        return -1;
    value = p->word + (p->word[0] == '-');
    if (*value >= 'a' && *value <= 'z' && strcmp(value, "inf") && strcmp(value, "nan")) {
        p->kind = VECTOR_WORD;
        return 0;
    }
    p->kind = value[0] == '0' && value[1] == 'x' ? VECTOR_REAL : VECTOR_INT;
    if (p->kind == VECTOR_INT ? vector_whole(p->word, INT64_MIN, &p->i)
                              : vector_number(p->word, &p->f))
        return VECTOR_BAD(r, "param %s = '%s' must be a decimal integer, a hex float or a word",
                          r->field[1], r->field[2]);
    if (p->kind == VECTOR_INT)
        p->f = (double)p->i;
    return 0;
}
