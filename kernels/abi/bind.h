/*
 * bind.h - private to the validator: what a problem's symbols stand for.
 */
#ifndef SAB_BIND_H
#define SAB_BIND_H

#include "expr.h"
#include "schema.h"

#define SAB_MAX_SYMBOLS 32

struct sab_symbol {
    const char *name; /* inside a shape of ops.h, not terminated */
    size_t len;
    int64_t value;
};

/* `seen` gathers the names that an evaluation asked for, so that a message can show their values.
 */
struct sab_binding {
    const struct sab_op_spec *op;
    const struct sab_problem *problem;
    uint32_t params_nr; /* parameters that may be looked at */
    uint32_t symbols_nr;
    struct sab_symbol symbols[SAB_MAX_SYMBOLS];
    uint32_t seen_nr;
    struct sab_symbol seen[SAB_MAX_SYMBOLS];
};

/* One alternative of a shape or dtype column. */
struct sab_alternative {
    const char *guard; /* NULL: none */
    size_t guard_len;
    const char *text;
    size_t len;
};

void sab_bind_init(struct sab_binding *b, const struct sab_op_spec *op,
                   const struct sab_problem *problem, uint32_t params_nr);
/* The problem's tensor i, or NULL where it is absent or behind the problem's list. */
const struct sab_tensor *sab_bind_tensor(const struct sab_binding *b, uint32_t i);
/* An enum sab_expr_status. */
int sab_bind_eval(struct sab_binding *b, const char *text, size_t len,
                  struct sab_expr_value *value);
int sab_bind_integer(struct sab_binding *b, const char *text, size_t len, int64_t *n);

/* Steps through a column; *cursor starts at the text and NULL ends it. */
int sab_next_alternative(const char **cursor, struct sab_alternative *alternative);
/* Does its guard hold? A guard that cannot be had does not. */
int sab_alternative_holds(struct sab_binding *b, const struct sab_alternative *alternative);
/* The next space-separated token of text[*at..len); its length, 0 at the end. */
size_t sab_next_token(const char *text, size_t len, size_t *at, const char **token);
/* The alternative that a tensor's rank and the guards choose. 0 where none fits. */
int sab_choose_shape(struct sab_binding *b, uint32_t tensor, struct sab_alternative *chosen);

/* Binds the bare symbols of every tensor's shape, in list order. 0 where a rank fits nowhere or a
 * size is negative; `tensor` is the place. */
int sab_bind_symbols(struct sab_binding *b, uint32_t *tensor);
/* Holds shapes, dtypes and strides of everything against ops.h; symbols are bound on the way. */
int sab_check_shapes(struct sab_binding *b, struct sab_message *msg);
/* Addresses: present, aligned, no output sharing a byte with anything. */
int sab_check_pointers(struct sab_binding *b, struct sab_message *msg);

#endif
