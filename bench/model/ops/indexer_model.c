/*
 * indexer_model.c - sizes and inputs that the models of the indexer's operators share.
 */
#include "indexer_model.h"

#include <math.h>
#include <string.h>

#include "dsa_model.h"
#include "numfmt.h"
#include "plan_parts.h"

/* In the order of the words of IX_OFFSET. */
enum ix_offset {
    OFFSET_NONE = 0,
    OFFSET_ZERO,
    OFFSET_END,
    OFFSET_WHOLE,
    OFFSET_NEGATIVE,
    OFFSET_INT_MIN,
    OFFSET_INT_MAX,
    OFFSET_MIXED
};

int64_t ix_axis(const struct op_case *c, const char *name, int64_t otherwise)
{
    const int place = op_axis_find(c->op, name);

    return place < 0 ? otherwise : c->axis[place].i;
}

double ix_scale(const struct op_case *c, const char *axis)
{
    const double scale = op_case_real(c, axis);
    const double width = (double)ix_axis(c, "head_dim", 128);

    return (double)(float)(scale > 0 ? scale : 1 / sqrt(width));
}

uint64_t ix_seed(const struct op_case *c, enum ix_stream stream)
{
    const bool ends = stream == IX_STREAM_CU_K || stream == IX_STREAM_CU_Q;
    const uint64_t seed = ends && c->shape_seed ? c->shape_seed : c->seed;

    return recipe_seed(seed, 4 * SAB_MAX_TENSORS + (uint32_t)stream);
}

static void segments_recipe(const struct op_case *c, const struct ix_sizes *s, bool keys,
                            struct recipe *r)
{
    r->kind = RECIPE_SEGMENTS;
    r->dtype = SAB_I32;
    r->seed = ix_seed(c, keys ? IX_STREAM_CU_K : IX_STREAM_CU_Q);
    r->rank = 1;
    r->shape[0] = s->batch + 1;
    r->p[0] = keys ? s->seqlen_k : s->seqlen_q;
    r->p[1] = s->batch;
}

static int64_t longest(const struct op_case *c, const struct ix_sizes *s, bool keys)
{
    struct recipe r = {0};
    int64_t most = 1;

    segments_recipe(c, s, keys, &r);
    for (int64_t i = 0; i < s->batch; i++) {
        const int64_t n = recipe_segment(&r, i + 1) - recipe_segment(&r, i);

        if (n > most)
            most = n;
    }
    return most;
}

void ix_sizes(const struct op_case *c, struct ix_sizes *s)
{
    s->batch = ix_axis(c, "batch", 1);
    s->heads = ix_axis(c, "heads", 1);
    s->kv_heads = ix_axis(c, "kv_heads", 1);
    s->seqlen_q = ix_axis(c, "seqlen_q", 1);
    s->seqlen_k = ix_axis(c, "seqlen_k", 1);
    s->width = ix_axis(c, "head_dim", 128);
    s->slots = ix_axis(c, "topk", 0);
    s->ratio = ix_axis(c, "compress_ratio", 1);
    s->packed = ix_axis(c, "layout", 0) != 0;
    s->rows = s->batch * s->seqlen_q;
    s->keys = s->batch * s->seqlen_k;
    s->columns = s->packed ? (longest(c, s, true) + 3) / 4 * 4 : s->seqlen_k;
    s->most_q = s->packed ? longest(c, s, false) : s->seqlen_q;
}

static int32_t shape_of(enum ix_shape kind, const struct ix_sizes *s, int64_t shape[SAB_MAX_RANK])
{
    const bool keys = kind == IX_SHAPE_K || kind == IX_SHAPE_K1 || kind == IX_SHAPE_KEYS ||
                      kind == IX_SHAPE_MX_K || kind == IX_SHAPE_MX_KH;
    const int64_t scales = (s->width + 31) / 32;
    int32_t rank = 0;

    if (kind == IX_SHAPE_BATCH || kind == IX_SHAPE_ENDS || kind == IX_SHAPE_ONE) {
        shape[0] = kind == IX_SHAPE_ONE ? 1 : s->batch + (kind == IX_SHAPE_ENDS);
        return 1;
    }
    if (!s->packed)
        shape[rank++] = s->batch;
    shape[rank++] = s->packed ? (keys ? s->keys : s->rows) : keys ? s->seqlen_k : s->seqlen_q;
    if (kind == IX_SHAPE_Q || kind == IX_SHAPE_HEADS || kind == IX_SHAPE_MX_Q)
        shape[rank++] = s->heads;
    if (kind == IX_SHAPE_K || kind == IX_SHAPE_MX_KH)
        shape[rank++] = s->kv_heads;
    if (kind == IX_SHAPE_Q || kind == IX_SHAPE_K || kind == IX_SHAPE_K1)
        shape[rank++] = s->width;
    if (kind == IX_SHAPE_MX_Q || kind == IX_SHAPE_MX_K || kind == IX_SHAPE_MX_KH)
        shape[rank++] = scales;
    if (kind == IX_SHAPE_SLOTS)
        shape[rank++] = s->slots;
    if (kind == IX_SHAPE_DENSE)
        shape[rank++] = s->columns;
    return rank;
}

struct op_tensor *ix_add(struct op_problem *p, const char *name, int32_t dtype, enum ix_shape kind,
                         const struct ix_sizes *s, struct err *err)
{
    const int32_t place = sab_tensor_find(p->spec, name);
    int64_t shape[SAB_MAX_RANK] = {0};
    const int32_t rank = shape_of(kind, s, shape);

    if (place < 0) {
        err_set(err, ERR_BUG, "operator '%s' has no tensor '%s'", p->spec->name, name);
        return NULL;
    }
    return dsa_tensor(p, (uint32_t)place, dtype, shape, rank, err) ? NULL : &p->tensor[place];
}

int ix_add_normal(struct op_problem *p, const char *name, int32_t dtype, enum ix_shape kind,
                  const struct ix_sizes *s, uint64_t seed, double f0, double f1, struct err *err)
{
    struct op_tensor *t = ix_add(p, name, dtype, kind, s, err);

    if (!t)
        return -1;
    t->recipe.kind = RECIPE_NORMAL;
    t->recipe.seed = seed;
    t->recipe.f[0] = (float)f0;
    t->recipe.f[1] = (float)f1;
    return 0;
}

static int32_t offset_value(const struct ix_sizes *s, int64_t kind)
{
    const int64_t whole = s->seqlen_k * s->ratio, end = whole - s->seqlen_q;

    switch (kind) {
    case OFFSET_END:
        return (int32_t)(end < INT32_MAX ? end : INT32_MAX);
    case OFFSET_WHOLE:
        return (int32_t)(whole < INT32_MAX ? whole : INT32_MAX);
    case OFFSET_NEGATIVE:
        return -3;
    case OFFSET_INT_MIN:
        return INT32_MIN;
    case OFFSET_INT_MAX:
        return INT32_MAX;
    default:
        return 0;
    }
}

/* With OFFSET_MIXED the first batch has the end's, so that it sees something. */
static int64_t mixed_kind(int64_t batch)
{
    return 1 + (batch + 1) % OFFSET_INT_MAX;
}

int64_t ix_offset(const struct op_case *c, const struct ix_sizes *s, int64_t batch)
{
    const int64_t kind = ix_axis(c, "offset", OFFSET_NONE);

    return offset_value(s, kind == OFFSET_MIXED ? mixed_kind(batch) : kind);
}

static void offset_recipe(const struct op_case *c, const struct ix_sizes *s, struct recipe *r)
{
    r->kind = RECIPE_CYCLE;
    r->p[0] = OFFSET_INT_MAX;
    for (int64_t i = 0; i < r->p[0]; i++)
        r->p[1 + i] = ix_offset(c, s, i);
}

static void set_param(struct op_problem *p, const char *name, int64_t value)
{
    const int32_t place = sab_param_find(p->spec, name);

    if (place >= 0)
        p->param[place].i = value;
}

int ix_add_layout(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
                  struct err *err)
{
    struct op_tensor *t;

    if (ix_axis(c, "offset", OFFSET_NONE) != OFFSET_NONE) {
        t = ix_add(p, "q_causal_offset", SAB_I32, IX_SHAPE_BATCH, s, err);
        if (!t)
            return -1;
        offset_recipe(c, s, &t->recipe);
    }
    for (int keys = 0; s->packed && keys < 2; keys++) {
        t = ix_add(p, keys ? "cu_seqlens_k" : "cu_seqlens_q", SAB_I32, IX_SHAPE_ENDS, s, err);
        if (!t)
            return -1;
        segments_recipe(c, s, keys != 0, &t->recipe);
    }
    set_param(p, "layout", s->packed);
    set_param(p, "ratio", s->ratio);
    if (s->packed) {
        set_param(p, "max_seqlen_q", s->most_q);
        set_param(p, "max_seqlen_k", s->columns);
    }
    return 0;
}

int ix_add_lse(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
               struct err *err)
{
    const double level = log((double)s->seqlen_k) + 0.5;
    const double mixed[] = {level, level - 1, INFINITY, level + 1, level + 2};
    struct op_tensor *t = ix_add(p, "lse", SAB_F32, IX_SHAPE_HEADS, s, err);

    if (!t)
        return -1;
    t->recipe.kind = op_case_is(c, "lse", "mixed") ? RECIPE_CYCLE : RECIPE_NORMAL;
    t->recipe.seed = ix_seed(c, IX_STREAM_LSE);
    t->recipe.f[0] = 0.3f;
    t->recipe.f[1] = (float)level;
    if (t->recipe.kind == RECIPE_NORMAL)
        return 0;
    t->recipe.p[0] = sizeof(mixed) / sizeof(mixed[0]);
    for (int64_t i = 0; i < t->recipe.p[0]; i++)
        t->recipe.p[1 + i] = numfmt_bits_of_f32((float)mixed[i]);
    return 0;
}

void ix_ids_recipe(const struct op_case *c, const struct ix_sizes *s, struct recipe *r)
{
    const int data = op_axis_find(c->op, "data");
    const bool poison = data >= 0 && op_case_is(c, "data", "poison");

    memset(r, 0, sizeof(*r));
    r->kind = RECIPE_IDS;
    r->dtype = SAB_I32;
    r->seed = ix_seed(c, IX_STREAM_IDS);
    r->rank = 2;
    r->shape[0] = s->rows;
    r->shape[1] = s->slots;
    r->p[IDS_PATTERN] = ix_axis(c, "pattern", IDS_UNIQUE);
    r->p[IDS_ROWS] = s->seqlen_k;
    r->p[IDS_DOMAIN] = poison ? s->seqlen_k - 1 : s->seqlen_k;
    r->p[IDS_SLOTS] = s->slots;
    r->p[IDS_LENGTHS] = ix_axis(c, "lengths", LENGTHS_NONE);
    r->p[IDS_LENGTH_SEED] = (int64_t)ix_seed(c, IX_STREAM_LENGTH);
    r->p[IDS_STEP] = (s->slots + 1) / 2;
    r->p[IDS_BEHIND] = poison ? s->seqlen_k : 0;
    r->p[IDS_BATCH_ROWS] = ix_axis(c, "id_space", 0) ? s->seqlen_q : 0;
}

int ix_add_ids(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
               struct err *err)
{
    struct op_tensor *ids = ix_add(p, "ids", SAB_I32, IX_SHAPE_SLOTS, s, err), *length;
    struct recipe r;

    if (!ids)
        return -1;
    ix_ids_recipe(c, s, &r);
    r.rank = ids->rank;
    memcpy(r.shape, ids->shape, sizeof(r.shape));
    ids->recipe = r;
    set_param(p, "id_space", ix_axis(c, "id_space", 0));
    if (r.p[IDS_LENGTHS] == LENGTHS_NONE)
        return 0;
    length = ix_add(p, "length", SAB_I32, IX_SHAPE_ROWS, s, err);
    if (!length)
        return -1;
    length->recipe.kind = RECIPE_LENGTHS;
    memcpy(length->recipe.p, r.p, sizeof(r.p));
    return 0;
}

void ix_use_memory(const struct op_problem *p, double rows, double keys, struct op_cost *cost)
{
    for (uint32_t t = 0; t < p->spec->tensors_nr; t++) {
        const struct sab_tensor_spec *spec = &p->spec->tensors[t];
        const bool of_keys = spec->name[0] == 'k' || !strcmp(spec->name, "index_k");
        const double bytes = (double)p->tensor[t].bytes;

        if (spec->role == SAB_OUT)
            cost->use[OP_WRITE].amount += bytes;
        else
            cost->use[OP_READ].amount += bytes * (of_keys ? keys : rows);
    }
}

double ix_active(const struct op_case *c)
{
    struct ix_sizes s;
    struct recipe ids;
    double active = 0;

    ix_sizes(c, &s);
    ix_ids_recipe(c, &s, &ids);
    for (int64_t row = 0; row < s.rows; row++)
        active += (double)recipe_ids_active(&ids, row);
    return active;
}

int ix_settle(struct op_case *c, struct err *err)
{
    struct ix_sizes s;

    ix_sizes(c, &s);
    const int64_t window = s.slots + (s.slots + 1) / 2; /* and the step to the next */
    if (s.rows > INT32_MAX || s.keys > INT32_MAX)
        return err_set(err, ERR_CONFIG,
                       "batch = %lld of seqlen_q = %lld and seqlen_k = %lld has more rows than "
                       "32-bit ids can name",
                       (long long)s.batch, (long long)s.seqlen_q, (long long)s.seqlen_k);
    if (s.packed && ix_axis(c, "id_space", 0))
        return err_set(err, ERR_CONFIG,
                       "id_space = global is not made for layout = thd, id_space = local is");
    if (op_axis_find(c->op, "data") >= 0 && op_case_is(c, "data", "poison") &&
        (s.batch > 1 || s.seqlen_k < 2))
        return err_set(err, ERR_CONFIG,
                       "data = poison needs batch = 1 and seqlen_k of at least 2, batch = %lld and "
                       "seqlen_k = %lld given",
                       (long long)s.batch, (long long)s.seqlen_k);
    if (ix_axis(c, "pattern", 0) == IDS_OVERLAP && s.seqlen_k < window)
        return err_set(
            err, ERR_CONFIG,
            "pattern = overlap of topk = %lld needs seqlen_k of at least %lld, %lld given",
            (long long)s.slots, (long long)window, (long long)s.seqlen_k);
    return 0;
}

int ix_settle_dense(const struct op_case *c, struct err *err)
{
    struct ix_sizes s;

    ix_sizes(c, &s);
    if (s.columns % 4 && s.rows > 1)
        return err_set(
            err, ERR_CONFIG,
            "seqlen_k = %lld is no multiple of 4, which rows of scores need: %lld is one",
            (long long)s.seqlen_k, (long long)(s.seqlen_k + 3) / 4 * 4);
    return 0;
}

int ix_settle_served(const struct op_case *c, struct err *err)
{
    const int64_t width = op_case_int(c, "head_dim");

    if (width != 128 && width != 512 && width != 576)
        return err_set(err, ERR_CONFIG, "head_dim = %lld, must be 128, 512 or 576",
                       (long long)width);
    return 0;
}

int ix_case_like(const struct op_case *c, const struct op_model *op, struct op_case *out,
                 struct err *err)
{
    if (op_case_default(op, c->seed, out, err))
        return -1;
    out->shape_seed = c->shape_seed;
    for (size_t i = 0; i < op->axes_nr; i++) {
        const int place = op_axis_find(c->op, op->axes[i].name);

        if (place >= 0)
            (void)axis_translate(&c->op->axes[place], &c->axis[place], &op->axes[i], &out->axis[i]);
    }
    return op->settle ? op->settle(out, err) : 0;
}
