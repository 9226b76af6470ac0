#include "promises.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numfmt.h"

#define TILE 64 /* tokens of a key block */

struct look {
    const struct op_problem *p;
    const struct op_source *src;
    struct promise_break *out;
};

__attribute__((format(printf, 5, 6))) static int broken(struct look *l, uint32_t tensor, int64_t at,
                                                        double value, const char *format, ...)
{
    va_list args;

    l->out->tensor = tensor;
    l->out->at = at;
    l->out->value = value;
    va_start(args, format);
    vsnprintf(l->out->text, sizeof(l->out->text), format, args);
    va_end(args);
    return 1;
}

static const struct op_tensor *present(const struct op_problem *p, const char *name,
                                       uint32_t *tensor)
{
    const int32_t at = sab_tensor_find(p->spec, name);

    *tensor = at < 0 ? 0 : (uint32_t)at;
    return at < 0 || p->tensor[at].dtype == SAB_NONE ? NULL : &p->tensor[at];
}

static int64_t param(const struct op_problem *p, const char *name)
{
    const int32_t at = sab_param_find(p->spec, name);

    return at < 0 ? 0 : p->param[at].i;
}

/* The whole of an i32 tensor, or NULL. The caller frees it. */
static int32_t *read_ints(struct look *l, uint32_t tensor, struct err *err)
{
    const struct op_tensor *t = &l->p->tensor[tensor];
    int32_t *data = malloc(t->bytes + 1);

    if (!data) {
        err_memory(err);
        return NULL;
    }
    if (l->src->read(l->src->ctx, tensor, 0, t->elements, data)) {
        free(data);
        err_set(err, ERR_BUG, "'%s' cannot be read", l->p->spec->tensors[tensor].name);
        return NULL;
    }
    return data;
}

/* ---- rows of key blocks ---- */

struct rows {
    const int32_t *index, *nums; /* nums NULL: every row has `count` slots */
    uint32_t index_tensor, nums_tensor;
    int64_t heads, tiles, cap, blocks, count;
    bool contiguous;
};

static int slot_broken(struct look *l, const struct rows *r, int64_t row, int64_t slot,
                       const char *right)
{
    const int64_t at = row * r->cap + slot;
    const int64_t head = row / r->tiles;

    return broken(l, r->index_tensor, at, r->index[at],
                  "batch %lld, head %lld, row %lld, slot %lld of 'q2k_block_index' is %d, must be "
                  "%s",
                  (long long)(head / r->heads), (long long)(head % r->heads),
                  (long long)(row % r->tiles), (long long)slot, (int)r->index[at], right);
}

static int check_row(struct look *l, const struct rows *r, int64_t row)
{
    const int32_t *index = r->index + row * r->cap;
    const int64_t count = r->nums ? r->nums[row] : r->count;
    const int64_t head = row / r->tiles;
    char right[96];

    if (count < 0 || count > r->cap)
        return broken(l, r->nums_tensor, row, (double)count,
                      "batch %lld, head %lld, row %lld of 'q2k_block_nums' is %lld, must be 0 to "
                      "the %lld slots of a row",
                      (long long)(head / r->heads), (long long)(head % r->heads),
                      (long long)(row % r->tiles), (long long)count, (long long)r->cap);
    for (int64_t s = 0; s < count; s++) {
        if (index[s] < 0 || index[s] >= r->blocks) {
            (void)snprintf(right, sizeof(right), "0 to %lld", (long long)r->blocks - 1);
            return slot_broken(l, r, row, s, right);
        }
        if (r->contiguous && index[s] != (index[0] + s) % r->blocks) {
            (void)snprintf(right, sizeof(right), "%lld as contiguous_block_indices promises",
                           (long long)((index[0] + s) % r->blocks));
            return slot_broken(l, r, row, s, right);
        }
    }
    return 0;
}

/* Counts that the uniform promise overrides are never looked at. */
static int check_rows(struct look *l, struct err *err)
{
    const struct op_problem *p = l->p;
    uint32_t keys;
    struct rows r = {.count = param(p, "block_sparse_num"),
                     .contiguous = param(p, "contiguous_block_indices") != 0};
    const struct op_tensor *t = present(p, "q2k_block_index", &r.index_tensor), *k, *nums;
    int32_t *index, *counts = NULL;
    int ret = 0;

    k = present(p, "k_int8", &keys);
    if (!k)
        k = present(p, "k", &keys);
    if (!t || !k)
        return 0;
    l->out->looked_at = true;
    r.heads = t->shape[1];
    r.tiles = t->shape[2];
    r.cap = t->shape[3];
    r.blocks = (k->shape[2] + TILE - 1) / TILE;
    nums = param(p, "uniform_block_count") ? NULL : present(p, "q2k_block_nums", &r.nums_tensor);
    r.index = index = read_ints(l, r.index_tensor, err);
    if (index && nums)
        r.nums = counts = read_ints(l, r.nums_tensor, err);
    if (!index || (nums && !counts))
        ret = -1;
    for (int64_t row = 0; !ret && row < t->shape[0] * r.heads * r.tiles; row++)
        ret = check_row(l, &r, row);
    free(index);
    free(counts);
    return ret;
}

/* ---- scales ---- */

/* Of each (batch, head) the first `used` of `each` scales have an effect. */
static int check_scale(struct look *l, const char *name, int64_t used, struct err *err)
{
    uint32_t tensor;
    const struct op_tensor *t = present(l->p, name, &tensor);
    int64_t each;
    char *data;
    int ret = 0;

    if (!t || t->rank != 3)
        return 0;
    l->out->looked_at = true;
    each = t->shape[2];
    data = malloc(t->bytes + 1);
    if (!data)
        return err_memory(err);
    if (l->src->read(l->src->ctx, tensor, 0, t->elements, data))
        ret = err_set(err, ERR_BUG, "'%s' cannot be read", name);
    for (int64_t i = 0; !ret && i < t->elements; i++) {
        const double value = numfmt_decode(t->dtype, numfmt_load(t->dtype, data, i));

        if (i % each >= used || (isfinite(value) && value > 0))
            continue;
        ret = broken(l, tensor, i, value,
                     "batch %lld, head %lld, scale %lld of '%s' is %g, must be finite and above 0",
                     (long long)(i / each / t->shape[1]), (long long)(i / each % t->shape[1]),
                     (long long)(i % each), name, value);
    }
    free(data);
    return ret;
}

static int check_scales(struct look *l, struct err *err)
{
    uint32_t place;
    const struct op_tensor *q = present(l->p, "q_int8", &place);
    int ret;

    /* The Sage call alone has these three, and its quantisers write them. */
    if (strcmp(l->p->spec->name, "sage_fwd") != 0 || !q)
        return 0;
    ret = check_scale(l, "q_scale", (q->shape[2] + 31) / 32, err);
    if (!ret)
        ret = check_scale(l, "k_scale", INT64_MAX, err);
    return ret ? ret : check_scale(l, "v_scale", INT64_MAX, err);
}

/* ---- packed layouts ---- */

static int check_segments(struct look *l, const char *name, const char *of, struct err *err)
{
    uint32_t tensor, tokens;
    const struct op_tensor *t = present(l->p, name, &tensor);
    const struct op_tensor *packed = present(l->p, of, &tokens);
    int32_t *at, last = 0;
    int ret = 0;

    if (!t || !packed)
        return 0;
    l->out->looked_at = true;
    at = read_ints(l, tensor, err);
    if (!at)
        return -1;
    for (int64_t i = 0; !ret && i < t->elements; i++) {
        const bool ends = i + 1 == t->elements && at[i] != packed->shape[0];

        if (at[i] < last || (i == 0 && at[i] != 0) || ends)
            ret = broken(l, tensor, i, at[i],
                         "entry %lld of '%s' is %d, must begin at 0, never descend and end at %lld",
                         (long long)i, name, (int)at[i], (long long)packed->shape[0]);
        last = at[i];
    }
    free(at);
    return ret;
}

int promises_check(const struct op_problem *p, const struct op_source *src,
                   struct promise_break *out, struct err *err)
{
    struct look l = {p, src, out};
    int ret;

    memset(out, 0, sizeof(*out));
    out->at = -1;
    ret = check_rows(&l, err);
    if (!ret)
        ret = check_scales(&l, err);
    for (int i = 0; !ret && i < 2; i++) {
        ret = check_segments(&l, "cu_seqlens_q", i ? "index_q" : "q", err);
        if (!ret)
            ret = check_segments(&l, "cu_seqlens_k", i ? "index_k" : "k", err);
    }
    return ret < 0 ? -1 : 0;
}
