/*
 * shape.c - dtypes, shapes and strides of a problem against ops.h.
 */
#include "bind.h"

#include <stdio.h>
#include <string.h>

/* "[1,2,64,128]" */
static const char *show_sizes(const int64_t *sizes, int32_t rank, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "[");

    for (int32_t i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld", i ? "," : "", (long long)sizes[i]);
    if (at < size)
        snprintf(text + at, size - at, "]");
    return text;
}

/* Is `dtype` one of the names in an alternative? */
static int dtype_listed(const struct sab_alternative *list, int32_t dtype)
{
    const char *token, *name = sab_dtype_name(dtype);
    size_t at = 0, len;

    while ((len = sab_next_token(list->text, list->len, &at, &token)) > 0)
        if (strlen(name) == len && memcmp(token, name, len) == 0)
            return 1;
    return 0;
}

static int check_dtype(struct sab_binding *b, uint32_t i, struct sab_message *msg)
{
    const struct sab_tensor_spec *spec = &b->op->tensors[i];
    const struct sab_tensor *t = sab_bind_tensor(b, i);
    struct sab_alternative list = {NULL, 0, "", 0};
    const char *cursor = spec->dtypes;

    if (spec->dtypes[0] == '=') {
        int32_t other = sab_tensor_find(b->op, spec->dtypes + 1);
        const struct sab_tensor *model = other < 0 ? NULL : sab_bind_tensor(b, (uint32_t)other);

        if (model && model->dtype == t->dtype)
            return SAB_OK;
        return sab_say(msg, SAB_INVALID, "'%s' has dtype %s, expected that of '%s', %s", spec->name,
                       sab_dtype_name(t->dtype), spec->dtypes + 1,
                       sab_dtype_name(model ? model->dtype : SAB_NONE));
    }
    while (sab_next_alternative(&cursor, &list))
        if (sab_alternative_holds(b, &list))
            break;
    if (dtype_listed(&list, t->dtype))
        return SAB_OK;
    return sab_say(msg, SAB_INVALID, "'%s' has dtype %s, expected %.*s", spec->name,
                   sab_dtype_name(t->dtype), (int)list.len, list.text);
}

static int check_sizes(struct sab_binding *b, uint32_t i, struct sab_message *msg)
{
    const struct sab_tensor_spec *spec = &b->op->tensors[i];
    const struct sab_tensor *t = sab_bind_tensor(b, i);
    struct sab_alternative shape;
    const char *token;
    char given[160];
    size_t at = 0, len;
    int64_t want = 0;

    if (!sab_choose_shape(b, i, &shape))
        return sab_say(msg, SAB_INVALID, "'%s' has rank %d, expected %s", spec->name, t->rank,
                       spec->shape);
    for (int32_t d = 0; (len = sab_next_token(shape.text, shape.len, &at, &token)) > 0; d++) {
        int status = sab_bind_integer(b, token, len, &want);

        if (status != SAB_EXPR_OK)
            return sab_say(msg, SAB_INVALID, "'%s' has a size %.*s that cannot be had: %s",
                           spec->name, (int)len, token, sab_expr_error(status));
        if (t->shape[d] != want)
            return sab_say(msg, SAB_INVALID, "'%s' has shape %s, expected [%.*s] with %.*s = %lld",
                           spec->name, show_sizes(t->shape, t->rank, given, sizeof(given)),
                           (int)shape.len, shape.text, (int)len, token, (long long)want);
    }
    return SAB_OK;
}

/* The row stride of "rows" and "rows4": that of the last outer dimension that has more than one
 * place. 0 where it will not do. */
static int row_stride(const struct sab_tensor *t, const char *strided, int64_t *stride)
{
    int64_t size = t->shape[t->rank - 1];
    int32_t d = t->rank - 2;

    while (d >= 0 && t->shape[d] == 1)
        d--;
    *stride = d < 0 ? size : t->stride[d];
    if (d < 0 || (*stride == size && strcmp(strided, "rows") == 0))
        return 1;
    return *stride >= size && *stride % 4 == 0;
}

static int strides_fit(const struct sab_tensor *t, const char *strided)
{
    int64_t want = 1;

    for (int32_t d = t->rank - 1; d >= 0; d--) {
        if (strcmp(strided, "free") == 0 && d != t->rank - 1) {
            if (t->shape[d] > 1 && t->stride[d] < 0)
                return 0;
            continue;
        }
        if (strncmp(strided, "rows", 4) == 0 && d == t->rank - 2 && !row_stride(t, strided, &want))
            return 0;
        if (t->shape[d] != 1 && t->stride[d] != want)
            return 0;
        if (__builtin_mul_overflow(want, t->shape[d], &want))
            return 0;
    }
    return 1;
}

static int check_strides(struct sab_binding *b, uint32_t i, struct sab_message *msg)
{
    const struct sab_tensor_spec *spec = &b->op->tensors[i];
    const struct sab_tensor *t = sab_bind_tensor(b, i);
    char shape[160], given[160];
    const char *want = "contiguous ones";

    if (sab_tensor_bytes(t) < 0)
        return sab_say(msg, SAB_INVALID,
                       "'%s' spans more than 63 bits of bytes, shape %s, strides %s", spec->name,
                       show_sizes(t->shape, t->rank, shape, sizeof(shape)),
                       show_sizes(t->stride, t->rank, given, sizeof(given)));
    /* Nothing is addressed in a tensor without elements. */
    if (sab_tensor_bytes(t) == 0 || strides_fit(t, spec->strided))
        return SAB_OK;
    if (strncmp(spec->strided, "rows", 4) == 0)
        want = "contiguous ones or a row stride that is a larger multiple of 4";
    if (strcmp(spec->strided, "rows4") == 0)
        want = "a row stride that is a multiple of 4 and covers the row";
    if (strcmp(spec->strided, "free") == 0)
        want = "a last stride of 1 and none below 0";
    return sab_say(msg, SAB_INVALID, "'%s' has strides %s for shape %s, expected %s", spec->name,
                   show_sizes(t->stride, t->rank, given, sizeof(given)),
                   show_sizes(t->shape, t->rank, shape, sizeof(shape)), want);
}

int sab_check_shapes(struct sab_binding *b, struct sab_message *msg)
{
    uint32_t place = 0;
    int status;

    for (uint32_t i = 0; i < b->op->tensors_nr; i++)
        if (sab_bind_tensor(b, i) && (status = check_dtype(b, i, msg)) != SAB_OK)
            return status;
    if (!sab_bind_symbols(b, &place))
        return sab_say(msg, SAB_INVALID, "'%s' has rank %d, expected %s",
                       b->op->tensors[place].name, b->problem->tensors[place].rank,
                       b->op->tensors[place].shape);
    for (uint32_t i = 0; i < b->op->tensors_nr; i++)
        if (sab_bind_tensor(b, i) && (status = check_sizes(b, i, msg)) != SAB_OK)
            return status;
    for (uint32_t i = 0; i < b->op->tensors_nr; i++)
        if (sab_bind_tensor(b, i) && (status = check_strides(b, i, msg)) != SAB_OK)
            return status;
    return SAB_OK;
}
