#include "axis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"

void axis_list_release(struct axis_list *list)
{
    for (size_t i = 0; i < list->nr; i++)
        free(list->item[i].expr);
    free(list->item);
    *list = (struct axis_list){0};
}

void axis_group_release(struct axis_group *group)
{
    for (size_t i = 0; i < group->rows_nr * group->columns_nr; i++)
        free(group->element[i].expr);
    free(group->element);
    *group = (struct axis_group){0};
}

bool axis_value_equal(const struct axis_spec *spec, const struct axis_value *a,
                      const struct axis_value *b)
{
    return spec->kind == AXIS_REAL ? a->f == b->f : a->i == b->i;
}

static void add_word(struct strbuf *sb, const char *words, int64_t place)
{
    for (; *words && place > 0; place--) {
        words += strcspn(words, " ");
        words += strspn(words, " ");
    }
    strbuf_add(sb, words, strcspn(words, " "));
}

void axis_value_add(struct strbuf *sb, const struct axis_spec *spec, const struct axis_value *value)
{
    if (spec->kind == AXIS_REAL)
        text_add_real(sb, value->f);
    else if (spec->kind == AXIS_INT)
        strbuf_addf(sb, "%lld", (long long)value->i);
    else
        add_word(sb, spec->words, value->i);
}

/* ERR_CONFIG that says what an axis takes. */
static int refuse(const struct axis_spec *spec, const char *text, struct err *err)
{
    struct strbuf right = STRBUF_INIT;

    if (spec->kind == AXIS_WORD) {
        strbuf_addf(&right, "one of: %s", spec->words);
    } else {
        strbuf_addstr(&right, spec->kind == AXIS_INT ? "an integer from " : "a real from ");
        text_add_real(&right, spec->min);
        strbuf_addstr(&right, " to ");
        text_add_real(&right, spec->max);
    }
    err_set(err, ERR_CONFIG, "'%.200s' is no value of axis '%.200s', which takes %s", text,
            spec->name, right.buf);
    strbuf_release(&right);
    return -1;
}

int axis_value_check(const struct axis_spec *spec, const struct axis_value *value, struct err *err)
{
    struct strbuf text = STRBUF_INIT;
    double v = spec->kind == AXIS_REAL ? value->f : (double)value->i;

    /* Written so that NaN fails. */
    if (spec->kind == AXIS_WORD || (v >= spec->min && v <= spec->max))
        return 0;
    axis_value_add(&text, spec, value);
    refuse(spec, text.buf, err);
    strbuf_release(&text);
    return -1;
}

/* Without the range. */
static int read_number(const struct axis_spec *spec, const char *text, struct axis_value *out,
                       struct err *err)
{
    *out = (struct axis_value){0};
    if (spec->kind == AXIS_INT ? text_int(text, &out->i, NULL) : text_real(text, &out->f, NULL))
        return refuse(spec, text, err);
    return 0;
}

static int read_word(const struct axis_spec *spec, const char *text, struct axis_value *out,
                     struct err *err)
{
    struct text_list words = {0};
    const char *near = NULL;

    *out = (struct axis_value){.i = formula_word_find(spec->words, text)};
    if (out->i >= 0)
        return 0;
    if (text_split(&words, spec->words, ' ', NULL) == 0)
        near = text_nearest(text, (const char *const *)words.items, words.nr);
    if (near)
        err_set(err, ERR_CONFIG, "'%.200s' is no value of axis '%.200s', did you mean '%.200s'",
                text, spec->name, near);
    else
        refuse(spec, text, err);
    text_list_release(&words);
    return -1;
}

int axis_value_read(const struct axis_spec *spec, const char *text, struct axis_value *out,
                    struct err *err)
{
    if (spec->kind == AXIS_WORD)
        return read_word(spec, text, out, err);
    if (read_number(spec, text, out, err))
        return -1;
    return axis_value_check(spec, out, err) ? refuse(spec, text, err) : 0;
}

size_t axis_targets(const struct op_model *op, const char *name, int places[2])
{
    static const char *const both[] = {"seqlen_q", "seqlen_k"};
    size_t nr = 0;
    int place = op_axis_find(op, name);

    if (place >= 0)
        places[nr++] = place;
    else if (!strcmp(name, AXIS_SEQLEN))
        for (int i = 0; i < 2; i++)
            if ((place = op_axis_find(op, both[i])) >= 0)
                places[nr++] = place;
    return nr;
}

int axis_unknown(const struct op_model *op, const char *name, struct err *err)
{
    const char *names[OP_MAX_AXES + 1];
    const char *near;
    size_t nr = 0;
    int places[2];

    for (size_t i = 0; i < op->axes_nr; i++)
        names[nr++] = op->axes[i].name;
    if (axis_targets(op, AXIS_SEQLEN, places))
        names[nr++] = AXIS_SEQLEN;
    near = text_nearest(name, names, nr);
    if (near)
        return err_set(err, ERR_CONFIG, "'%.200s' is no axis of '%.200s', did you mean '%.200s'",
                       name, op->name, near);
    return err_set(
        err, ERR_CONFIG,
        "'%.200s' is no axis of '%.200s': 'bench list --operators' prints those that are", name,
        op->name);
}

static int list_add(struct axis_list *list, struct axis_value value, char *expr, struct err *err)
{
    struct axis_element *grown;

    if (list->nr == list->alloc) {
        size_t alloc = list->alloc ? 2 * list->alloc : 8;

        grown = realloc(list->item, alloc * sizeof(*grown));
        if (!grown)
            return err_memory(err);
        list->item = grown;
        list->alloc = alloc;
    }
    list->item[list->nr++] = (struct axis_element){.value = value, .expr = expr};
    return 0;
}

static int list_add_expr(struct axis_list *list, const char *text, struct err *err)
{
    char *expr = strdup(text);

    if (!expr)
        return err_memory(err);
    if (list_add(list, (struct axis_value){0}, expr, err)) {
        free(expr);
        return -1;
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list_add() took it */
    return 0;
}

/* A real as its decimal of 12 digits, so that 0.1 + 0.2 is the 0.3 that a user would write. */
static double decimal(double v)
{
    char text[40];

    (void)snprintf(text, sizeof(text), "%.12g", v);
    return strtod(text, NULL);
}

struct range {
    struct axis_value first, last;
    bool factor, stepped;
    struct axis_value step;
    double slack; /* what a real may pass the end by */
};

static bool range_next(const struct axis_spec *spec, const struct range *r, size_t at,
                       struct axis_value *v)
{
    if (spec->kind == AXIS_INT) {
        bool over = r->factor ? __builtin_mul_overflow(v->i, r->step.i, &v->i)
                              : __builtin_add_overflow(v->i, r->step.i, &v->i);
        return !over && v->i <= r->last.i;
    }
    v->f = decimal(r->factor ? v->f * r->step.f : r->first.f + (double)at * r->step.f);
    if (v->f > r->last.f && v->f <= r->last.f + r->slack)
        v->f = r->last.f;
    return v->f <= r->last.f;
}

static int check_stepless(const struct axis_spec *spec, const struct range *r, const char *text,
                          struct err *err)
{
    double nr = (double)r->last.i - (double)r->first.i + 1;

    if (r->stepped || nr <= AXIS_MAX_STEPLESS)
        return 0;
    return err_set(err, ERR_CONFIG,
                   "range '%.200s' of axis '%.200s' has %.0f values: write its step, as in "
                   "'%.100s *2' or '%.100s +%.0f'",
                   text, spec->name, nr, text, text, ceil(nr / 8));
}

static int range_check(const struct axis_spec *spec, const struct range *r, const char *text,
                       struct err *err)
{
    double first = spec->kind == AXIS_INT ? (double)r->first.i : r->first.f;
    double last = spec->kind == AXIS_INT ? (double)r->last.i : r->last.f;
    double step = spec->kind == AXIS_INT ? (double)r->step.i : r->step.f;

    if (first > last)
        return err_set(err, ERR_CONFIG, "range '%.200s' of axis '%.200s' starts above its end",
                       text, spec->name);
    if (r->factor && (step <= 1 || first <= 0))
        return err_set(
            err, ERR_CONFIG,
            "range '%.200s' of axis '%.200s' does not grow: a factor is above 1, its start above"
            " 0",
            text, spec->name);
    if (!r->factor && step <= 0)
        return err_set(err, ERR_CONFIG,
                       "range '%.200s' of axis '%.200s' does not grow: a step is above 0", text,
                       spec->name);
    return check_stepless(spec, r, text, err);
}

/* Cuts "FIRST..LAST [*FACTOR|+STEP]" into its words, in place. */
static int range_parse(const struct axis_spec *spec, char *text, const char *whole, struct range *r,
                       struct err *err)
{
    char *dots = strstr(text, ".."), *sign = dots + 2 + strcspn(dots + 2, "*+");
    char mark = *sign;

    *dots = '\0';
    if (mark)
        *sign = '\0';
    if (axis_value_read(spec, text_trim(text), &r->first, err) ||
        axis_value_read(spec, text_trim(dots + 2), &r->last, err))
        return -1;
    r->factor = mark == '*';
    r->stepped = mark != '\0';
    if (!mark && spec->kind == AXIS_REAL)
        return err_set(err, ERR_CONFIG,
                       "range '%.200s' of axis '%.200s' lacks its step: '+0.1' or '*2'", whole,
                       spec->name);
    r->step = (struct axis_value){.i = 1, .f = 1};
    return mark ? read_number(spec, text_trim(sign + 1), &r->step, err) : 0;
}

static int read_range(const struct axis_spec *spec, const char *text, struct axis_list *list,
                      struct err *err)
{
    struct range r = {.factor = false};
    struct axis_value v;
    char *copy = strdup(text);
    size_t at = 0;
    int rc = -1;

    if (!copy)
        return err_memory(err);
    if (range_parse(spec, copy, text, &r, err) || range_check(spec, &r, text, err))
        goto out;
    r.slack = 1e-9 * fabs(r.last.f);
    v = r.first;
    do {
        if (list->nr >= AXIS_MAX_VALUES) {
            err_set(err, ERR_CONFIG, "range '%.200s' of axis '%.200s' has more than %d values",
                    text, spec->name, AXIS_MAX_VALUES);
            goto out;
        }
        if (list_add(list, v, NULL, err))
            goto out;
    } while (range_next(spec, &r, ++at, &v));
    rc = 0;
out:
    free(copy);
    return rc;
}

/* One piece between two commas. */
static int read_piece(const struct op_model *op, const struct axis_spec *spec, const char *text,
                      struct axis_list *list, struct err *err)
{
    struct axis_value value;

    if (spec->kind != AXIS_WORD) {
        if (text[0] == '(' || op_axis_find(op, text) >= 0)
            return list_add_expr(list, text, err);
        if (strstr(text, ".."))
            return read_range(spec, text, list, err);
    } else if (text[0] == '(') {
        return err_set(err, ERR_CONFIG, "'%.200s' derives axis '%.200s', which takes words: %s",
                       text, spec->name, spec->words);
    }
    return axis_value_read(spec, text, &value, err) ? -1 : list_add(list, value, NULL, err);
}

int axis_list_read(const struct op_model *op, const struct axis_spec *spec, const char *text,
                   struct axis_list *list, struct err *err)
{
    struct text_list pieces = {0};
    int rc = text_split(&pieces, text, ',', err);

    if (!rc && pieces.nr == 0)
        rc = err_set(err, ERR_CONFIG, "axis '%.200s' has no value", spec->name);
    for (size_t i = 0; !rc && i < pieces.nr; i++)
        rc = read_piece(op, spec, pieces.items[i], list, err);
    text_list_release(&pieces);
    return rc;
}
