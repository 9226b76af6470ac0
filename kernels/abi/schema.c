/*
 * schema.c - the rows of ops.h as tables, their hash, and the names of dtypes and statuses.
 */
#include "schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Every list ends with an empty row, since a list may have no other and C has no empty arrays. */
#define ROW_T(op, name, role, optional, dtypes, shape, alignment, strided)                         \
    {#name, role, optional, dtypes, shape, alignment, strided},
#define ROW_P(op, name, kind, words, initial)          {#name, kind, words, initial},
#define ROW_R(op, status, subject, condition, right)   {status, #subject, condition, right},
#define ROW_F(op, output, consumer, input, conversion) {#output, #consumer, #input, conversion},
#define TABLES(op, help)                                                                           \
    static const struct sab_tensor_spec tensors_##op[] = {                                         \
        SAB_TENSORS_##op(ROW_T){NULL, 0, 0, NULL, NULL, 0, NULL}};                                 \
    static const struct sab_param_spec params_##op[] = {                                           \
        SAB_PARAMS_##op(ROW_P){NULL, 0, NULL, NULL}};                                              \
    static const struct sab_rule_spec rules_##op[] = {SAB_RULES_##op(ROW_R){0, NULL, NULL, NULL}}; \
    static const struct sab_feed_spec feeds_##op[] = {                                             \
        SAB_FEEDS_##op(ROW_F){NULL, NULL, NULL, NULL}};                                            \
    _Static_assert(SAB_TENSORS_NR_##op <= SAB_MAX_TENSORS, "too many tensors: " #op);              \
    _Static_assert(SAB_PARAMS_NR_##op <= SAB_MAX_PARAMS, "too many parameters: " #op);
SAB_OPS(TABLES)

#define NR(table) ((uint32_t)(sizeof(table) / sizeof((table)[0])) - 1)
#define ROW_OP(op, help)                                                                           \
    {#op,                                                                                          \
     help,                                                                                         \
     tensors_##op,                                                                                 \
     params_##op,                                                                                  \
     rules_##op,                                                                                   \
     feeds_##op,                                                                                   \
     NR(tensors_##op),                                                                             \
     NR(params_##op),                                                                              \
     NR(rules_##op),                                                                               \
     NR(feeds_##op)},
static const struct sab_op_spec ops[] = {SAB_OPS(ROW_OP)};

static const struct {
    const char *name;
    size_t size;
} dtypes[SAB_DTYPE_NR] = {
    [SAB_NONE] = {"none", 0}, [SAB_I8] = {"i8", 1},     [SAB_U8] = {"u8", 1},
    [SAB_I32] = {"i32", 4},   [SAB_F32] = {"f32", 4},   [SAB_BF16] = {"bf16", 2},
    [SAB_FP16] = {"fp16", 2}, [SAB_E4M3] = {"e4m3", 1}, [SAB_E8M0] = {"e8m0", 1},
};

const struct sab_op_spec *sab_op_at(uint32_t i)
{
    return i < sizeof(ops) / sizeof(ops[0]) ? &ops[i] : NULL;
}

const struct sab_op_spec *sab_op_find(const char *name)
{
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

int32_t sab_tensor_find(const struct sab_op_spec *op, const char *name)
{
    for (uint32_t i = 0; i < op->tensors_nr; i++)
        if (strcmp(op->tensors[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

int32_t sab_param_find(const struct sab_op_spec *op, const char *name)
{
    for (uint32_t i = 0; i < op->params_nr; i++)
        if (strcmp(op->params[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

int32_t sab_word_find(const struct sab_param_spec *param, const char *word)
{
    size_t len = strlen(word);
    const char *at = param->words;

    for (int32_t i = 0; param->kind == SAB_WORD && *at; i++) {
        size_t next = strcspn(at, " ");

        if (next == len && memcmp(at, word, len) == 0)
            return i;
        at += next;
        at += strspn(at, " ");
    }
    return -1;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    const uint64_t prime = 0x100000001b3ull;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * prime;
    return (hash ^ 0x1fu) * prime; /* a separator that no text holds */
}

static uint64_t hash_number(uint64_t hash, int64_t n)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)n);
    return hash_text(hash, text);
}

/* FNV-1a, 64 bits, over the columns of the first rows. Rules and feeds are not part of it: they may
 * be made sharper without making a kernel unusable. */
uint64_t sab_schema_hash(const struct sab_op_spec *op, uint32_t tensors_nr, uint32_t params_nr)
{
    uint64_t hash = 0xcbf29ce484222325ull;

    if (tensors_nr > op->tensors_nr || params_nr > op->params_nr)
        return 0;
    hash = hash_text(hash, op->name);
    for (uint32_t i = 0; i < tensors_nr; i++) {
        const struct sab_tensor_spec *t = &op->tensors[i];

        hash = hash_text(hash_number(hash_text(hash, t->name), t->role), t->dtypes);
        hash = hash_text(hash_number(hash, t->optional), t->shape);
        hash = hash_text(hash_number(hash, t->alignment), t->strided);
    }
    hash = hash_text(hash, "parameters");
    for (uint32_t i = 0; i < params_nr; i++) {
        const struct sab_param_spec *p = &op->params[i];

        hash = hash_text(hash_number(hash_text(hash, p->name), p->kind), p->words);
        hash = hash_text(hash, p->initial);
    }
    return hash;
}

size_t sab_dtype_size(int32_t dtype)
{
    return dtype >= 0 && dtype < SAB_DTYPE_NR ? dtypes[dtype].size : 0;
}

const char *sab_dtype_name(int32_t dtype)
{
    return dtype >= 0 && dtype < SAB_DTYPE_NR ? dtypes[dtype].name : "?";
}

int32_t sab_dtype_find(const char *name)
{
    for (int32_t i = 0; i < SAB_DTYPE_NR; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return i;
    return -1;
}

const char *sab_status_name(int status)
{
    static const char *const names[] = {"ok", "invalid", "unsupported", "failed"};

    return status >= SAB_OK && status <= SAB_FAILED ? names[status] : "?";
}

int sab_say(struct sab_message *msg, int status, const char *format, ...)
{
    va_list args;

    if (!msg || !msg->text || msg->size == 0)
        return status;
    va_start(args, format);
    vsnprintf(msg->text, msg->size, format, args);
    va_end(args);
    return status;
}

int sab_target_served(const char *targets, int32_t arch)
{
    const char *at = targets;

    while (*at) {
        size_t len = strcspn(at, ";");
        int32_t number = 0;

        for (size_t i = 0; i < len && at[i] >= '0' && at[i] <= '9' && number < 100000; i++)
            number = 10 * number + (at[i] - '0');
        if (number == arch && number > 0)
            return 1;
        at += len;
        at += *at == ';';
    }
    return 0;
}

void *sab_data(const struct sab_problem *problem, uint32_t tensor)
{
    const struct sab_tensor *t = &problem->tensors[tensor];

    return t->dtype == SAB_NONE ? NULL : t->data;
}

void sab_contiguous(struct sab_tensor *tensor)
{
    int64_t stride = 1;

    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        tensor->stride[i] = stride;
        /* An overflow is found by the validator, by the sizes themselves. */
        if (__builtin_mul_overflow(stride, tensor->shape[i], &stride))
            stride = INT64_MAX;
    }
}

int64_t sab_tensor_bytes(const struct sab_tensor *tensor)
{
    int64_t last = 0, step = 0;

    for (int32_t i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] == 0)
            return 0;
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0 || (tensor->shape[i] > 1 && tensor->stride[i] < 0))
            return -1;
        if (tensor->shape[i] == 1)
            continue;
        if (__builtin_mul_overflow(tensor->shape[i] - 1, tensor->stride[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return -1;
    }
    if (__builtin_add_overflow(last, 1, &last) ||
        __builtin_mul_overflow(last, (int64_t)sab_dtype_size(tensor->dtype), &last))
        return -1;
    return last;
}
