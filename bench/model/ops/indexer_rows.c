/*
 * indexer_rows.c - which columns each row of a problem sees, by what its tensors hold (indexer
 * contract, section 1).
 */
#include <stdlib.h>
#include <string.h>

#include "indexer_model.h"
#include "numfmt.h"

#define PART 1024

/* A whole i32 tensor, or NULL where it is absent; *fault where it cannot be had. */
static int32_t *take(const struct op_problem *p, const struct op_source *src, const char *name,
                     bool *fault)
{
    const int32_t place = sab_tensor_find(p->spec, name);
    const struct op_tensor *t = place < 0 ? NULL : &p->tensor[place];
    int32_t *values;

    if (!t || t->dtype == SAB_NONE)
        return NULL;
    values = malloc((size_t)t->bytes + 1);
    if (!values || src->read(src->ctx, (uint32_t)place, 0, t->elements, values) < 0)
        *fault = true;
    return values;
}

static int64_t param_of(const struct op_problem *p, const char *name, int64_t otherwise)
{
    const int32_t place = sab_param_find(p->spec, name);

    return place < 0 ? otherwise : p->param[place].i;
}

static const struct op_tensor *tensor_of(const struct op_problem *p, const char *name,
                                         const char *other)
{
    int32_t place = sab_tensor_find(p->spec, name);

    if (place < 0)
        place = sab_tensor_find(p->spec, other);
    return &p->tensor[place < 0 ? 0 : place];
}

int ix_rows_init(struct ix_rows *r, const struct op_problem *p, const struct op_source *src,
                 struct err *err)
{
    const struct op_tensor *q = tensor_of(p, "q", "index_q"), *k = tensor_of(p, "k", "index_k");
    const bool packed = param_of(p, "layout", 0) != 0;
    bool fault = false;

    memset(r, 0, sizeof(*r));
    r->offsets = take(p, src, "q_causal_offset", &fault);
    if (packed) {
        r->cu_q = take(p, src, "cu_seqlens_q", &fault);
        r->cu_k = take(p, src, "cu_seqlens_k", &fault);
        fault |= !r->cu_q || !r->cu_k;
    }
    if (fault) {
        ix_rows_release(r);
        return err_set(err, ERR_BUG, "the rows of %s cannot be read by its oracle", p->spec->name);
    }
    r->batch = packed ? tensor_of(p, "cu_seqlens_q", "q")->shape[0] - 1 : q->shape[0];
    r->seqlen_q = packed ? param_of(p, "max_seqlen_q", 0) : q->shape[1];
    r->seqlen_k = packed ? param_of(p, "max_seqlen_k", 0) : k->shape[1];
    r->rows = packed ? q->shape[0] : r->batch * r->seqlen_q;
    r->keys = packed ? k->shape[0] : r->batch * r->seqlen_k;
    r->columns = r->seqlen_k;
    r->ratio = param_of(p, "ratio", 1);
    return 0;
}

void ix_rows_release(struct ix_rows *r)
{
    free(r->offsets);
    free(r->cu_q);
    free(r->cu_k);
    memset(r, 0, sizeof(*r));
}

/* The last segment that begins at or before the row and ends behind it. */
static int64_t segment_of(const struct ix_rows *r, int64_t row)
{
    int64_t low = 0, high = r->batch;

    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;

        if (r->cu_q[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void ix_rows_place(const struct ix_rows *r, int64_t row, struct ix_place *place)
{
    if (r->cu_q) {
        place->batch = segment_of(r, row);
        place->q = row - r->cu_q[place->batch];
        place->first_k = r->cu_k[place->batch];
        place->keys = (int64_t)r->cu_k[place->batch + 1] - place->first_k;
    } else {
        place->batch = row / r->seqlen_q;
        place->q = row % r->seqlen_q;
        place->first_k = place->batch * r->seqlen_k;
        place->keys = r->seqlen_k;
    }
    place->limit =
        recipe_limit(r->offsets ? r->offsets[place->batch] : 0, place->q, r->ratio, place->keys);
}

void ix_slots_init(struct ix_slots *s, const struct op_problem *p, const struct op_source *src)
{
    const int32_t ids = sab_tensor_find(p->spec, "ids");
    const struct op_tensor *t = &p->tensor[ids];

    s->p = p;
    s->src = src;
    s->ids = (uint32_t)ids;
    s->length = (uint32_t)sab_tensor_find(p->spec, "length");
    s->slots = t->shape[t->rank - 1];
    s->global = param_of(p, "id_space", 0) != 0;
}

int ix_slots_read(const struct ix_slots *s, const struct ix_rows *rows, int64_t row, int64_t *keys)
{
    struct ix_place place;
    int32_t id, length = INT32_MAX;

    ix_rows_place(rows, row, &place);
    if (s->p->tensor[s->length].dtype != SAB_NONE &&
        s->src->read(s->src->ctx, s->length, row, 1, &length) < 0)
        return -1;
    for (int64_t j = 0; j < s->slots; j++) {
        keys[j] = -1;
        if (j >= length)
            continue;
        if (s->src->read(s->src->ctx, s->ids, row * s->slots + j, 1, &id) < 0)
            return -1;
        const int64_t local = s->global ? id - place.first_k : id;
        if (local >= 0 && local < place.keys)
            keys[j] = place.first_k + local;
    }
    return 0;
}

int ix_visible(const struct op_case *c, struct ix_seen *seen, struct err *err)
{
    int64_t batch = -1, most = 0; /* most: columns of its batch that a row has seen */
    struct op_problem p;
    struct op_source src;
    struct ix_place place;
    struct ix_rows rows;

    if (c->op->describe(c, &p, err))
        return -1;
    op_source_recipes(&src, &p);
    if (ix_rows_init(&rows, &p, &src, err))
        return -1;
    *seen = (struct ix_seen){0};
    for (int64_t row = 0; row < rows.rows; row++) {
        ix_rows_place(&rows, row, &place);
        if (place.batch != batch)
            most = 0;
        batch = place.batch;
        seen->columns += (double)place.limit;
        seen->rows += place.limit > 0;
        seen->keys += (double)(place.limit > most ? place.limit - most : 0);
        most = place.limit > most ? place.limit : most;
    }
    ix_rows_release(&rows);
    return 0;
}

int ix_read(const struct op_problem *p, const struct op_source *src, uint32_t tensor, int64_t at,
            int64_t n, double *dst)
{
    const int32_t dtype = p->tensor[tensor].dtype;
    uint32_t raw[PART]; /* elements have four bytes at most */

    while (n > 0) {
        const int64_t part = n < PART ? n : PART;

        if (src->read(src->ctx, tensor, at, part, raw) < 0)
            return -1;
        for (int64_t i = 0; i < part; i++)
            dst[i] = numfmt_decode(dtype, numfmt_load(dtype, raw, i));
        at += part;
        dst += part;
        n -= part;
    }
    return 0;
}
