/*
 * dsa_model.c - what the models of dsa_fwd and dsa_bwd share: sizes, inputs, active slots.
 */
#include "dsa_model.h"

#include <math.h>
#include <string.h>

#include "numfmt.h"

/* Offset of q and, negated, of kv for data = deep: 2.1^2 * sqrt(512) is 99.8. */
#define DEEP_OFFSET 2.1
/* The same of q and of the rows behind the prefix for data = prefix_below: 3.4^2 * sqrt(512) is
 * 261.6. The rows of the prefix stand at a logit of 5, and not at 0, where the bar of lse_indexer
 * would be that of an exact 0: 3.4 * 0.065 * sqrt(512). */
#define ABOVE_OFFSET 3.4
#define BELOW_OFFSET 0.065

void dsa_sizes(const struct op_case *c, struct dsa_sizes *s)
{
    s->rows = c->axis[DSA_SEQLEN_Q].i;
    s->keys = c->axis[DSA_SEQLEN_K].i;
    s->heads = c->axis[DSA_HEADS].i;
    s->width = c->axis[DSA_HEAD_DIM].i;
    s->slots = c->axis[DSA_TOPK].i;
    s->dtype = c->axis[DSA_DTYPE].i ? SAB_FP16 : SAB_BF16;
}

/* Ids by which the window of IDS_OVERLAP moves on. */
static int64_t overlap_step(const struct op_case *c, const struct dsa_sizes *s)
{
    return (int64_t)llround((1 - c->axis[DSA_OVERLAP].f) * (double)s->slots);
}

int dsa_settle(struct op_case *c, struct err *err)
{
    struct dsa_sizes s;
    int64_t least;

    dsa_sizes(c, &s);
    least = s.slots + overlap_step(c, &s);
    if (s.width != 512 && s.width != 576)
        return err_set(err, ERR_CONFIG, "head_dim = %lld, must be 512 or 576", (long long)s.width);
    if (c->axis[DSA_DATA].i == DATA_POISON && s.keys < 2)
        return err_set(err, ERR_CONFIG,
                       "data = poison keeps one row from all active slots, seqlen_k = %lld must be "
                       "at least 2",
                       (long long)s.keys);
    if (c->axis[DSA_PATTERN].i == IDS_OVERLAP && s.keys < least)
        return err_set(err, ERR_CONFIG,
                       "overlap = %g of topk = %lld needs seqlen_k of at least %lld, %lld given",
                       c->axis[DSA_OVERLAP].f, (long long)s.slots, (long long)least,
                       (long long)s.keys);
    return 0;
}

double dsa_softmax_scale(const struct op_case *c)
{
    double scale = c->axis[DSA_SOFTMAX_SCALE].f;

    if (scale <= 0)
        scale =
            c->axis[DSA_DATA].i == DATA_FLASHMLA ? 0.5 : 1 / sqrt((double)c->axis[DSA_HEAD_DIM].i);
    return (double)(float)scale;
}

void dsa_use(const struct op_case *c, struct op_cost *cost, double written_bytes)
{
    struct dsa_sizes s;

    dsa_sizes(c, &s);
    const double row_bytes = 2 * (double)s.width, active = dsa_active(c);

    cost->use[OP_WRITE].amount = written_bytes;
    cost->use[OP_READ].amount = cost->bytes_min - written_bytes;
    cost->use[s.dtype == SAB_FP16 ? OP_FP16 : OP_BF16].amount = cost->flops_valid;
    cost->use[OP_EXP2].amount = active * (double)s.heads;
    cost->use[OP_GATHER] = (struct op_use){active * row_bytes * ceil((double)s.heads / 64),
                                           (double)s.keys * row_bytes};
}

double dsa_rms_of_values(const struct op_case *c)
{
    switch ((enum dsa_data)c->axis[DSA_DATA].i) {
    case DATA_CUDNN:
        return 1 / sqrt((double)c->axis[DSA_HEAD_DIM].i);
    case DATA_UNIT:
        return 1;
    case DATA_DEEP:
        return DEEP_OFFSET;
    case DATA_PREFIX_BELOW:
        return ABOVE_OFFSET;
    default:
        return 0.1;
    }
}

int dsa_tensor(struct op_problem *p, uint32_t place, int32_t dtype, const int64_t *shape,
               int32_t rank, struct err *err)
{
    struct op_tensor *t = &p->tensor[place];
    int64_t bytes = (int64_t)sab_dtype_size(dtype);

    t->dtype = dtype;
    t->rank = rank;
    for (int32_t i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        if (__builtin_mul_overflow(bytes, shape[i], &bytes))
            return err_set(err, ERR_CONFIG, "a tensor of this case has more than 2^63 bytes");
    }
    t->elements = bytes / (int64_t)sab_dtype_size(dtype);
    t->bytes = (uint64_t)bytes;
    t->recipe.dtype = dtype;
    t->recipe.rank = rank;
    memcpy(t->recipe.shape, t->shape, sizeof(t->recipe.shape));
    return 0;
}

void dsa_values_recipe(const struct op_case *c, struct op_problem *p, uint32_t place, uint64_t seed,
                       double offset)
{
    struct recipe *r = &p->tensor[place].recipe;

    r->seed = seed;
    r->kind = RECIPE_NORMAL;
    r->f[0] = 0.1f;
    switch ((enum dsa_data)c->axis[DSA_DATA].i) {
    case DATA_CUDNN:
    case DATA_UNIT:
        r->f[0] = (float)dsa_rms_of_values(c);
        break;
    case DATA_FLASHMLA:
        r->kind = RECIPE_BLEND;
        r->f[1] = 0.1f;
        break;
    case DATA_DEEP:
        r->f[1] = (float)(offset * DEEP_OFFSET);
        break;
    case DATA_PREFIX_BELOW:
        r->f[1] = (float)(offset * ABOVE_OFFSET);
        break;
    default:
        break;
    }
}

void dsa_ids_recipe(const struct op_case *c, const struct dsa_sizes *s, struct recipe *r)
{
    const bool poison = c->axis[DSA_DATA].i == DATA_POISON;
    const bool below = c->axis[DSA_DATA].i == DATA_PREFIX_BELOW;

    memset(r, 0, sizeof(*r));
    r->kind = RECIPE_IDS;
    r->dtype = SAB_I32;
    r->seed = recipe_seed(c->seed, SAB_T_dsa_fwd_topk_idxs);
    r->rank = 2;
    r->shape[0] = s->rows;
    r->shape[1] = s->slots;
    r->p[IDS_PATTERN] = c->axis[DSA_PATTERN].i;
    r->p[IDS_ROWS] = s->keys;
    r->p[IDS_DOMAIN] = poison ? s->keys - 1 : below ? s->keys / 2 : s->keys;
    r->p[IDS_SLOTS] = s->slots;
    r->p[IDS_LENGTHS] = c->axis[DSA_LENGTHS].i;
    r->p[IDS_LENGTH_SEED] = (int64_t)recipe_seed(c->seed, SAB_T_dsa_fwd_topk_length);
    r->p[IDS_STEP] = overlap_step(c, s);
    r->p[IDS_BEHIND] = poison ? s->keys : 0;
    r->p[IDS_ODD_FROM] = below ? c->axis[DSA_LSE_PREFIX].i : 0;
}

double dsa_active(const struct op_case *c)
{
    struct dsa_sizes s;
    struct recipe ids;
    double active = 0;

    dsa_sizes(c, &s);
    dsa_ids_recipe(c, &s, &ids);
    for (int64_t row = 0; row < s.rows; row++)
        active += (double)recipe_ids_active(&ids, row);
    return active;
}

static void constant(struct recipe *r, float value)
{
    r->kind = RECIPE_CONST;
    r->p[0] = numfmt_bits_of_f32(value);
}

/* Section 6, and the kinds of 2.5 and 3.6. Sinks that are to matter stand at the height of the
 * logits. */
static void sink_recipe(const struct op_case *c, const struct dsa_sizes *s, struct recipe *r)
{
    const float ln_k = s->slots > 0 ? (float)log((double)s->slots) : 0;
    const double level =
        c->axis[DSA_DATA].i == DATA_DEEP
            ? (double)ln_k - DEEP_OFFSET * DEEP_OFFSET * (double)s->width * dsa_softmax_scale(c)
            : 0;
    const float mixed[] = {0.5f, -INFINITY, INFINITY, ln_k, 3e38f, 1e30f, -3e38f, -1};

    switch ((enum dsa_sink)c->axis[DSA_SINK].i) {
    case SINK_NONE:
    case SINK_NEG_INF:
        constant(r, -INFINITY);
        break;
    case SINK_LINSPACE:
        r->kind = RECIPE_LINE;
        r->f[0] = (float)(level - 2);
        r->f[1] = (float)(level + 2);
        break;
    case SINK_POS_INF:
        constant(r, INFINITY);
        break;
    case SINK_LN_K:
        constant(r, ln_k);
        break;
    case SINK_LARGE:
        constant(r, 1e30f);
        break;
    case SINK_OVERFLOW:
        constant(r, 3e38f);
        break;
    case SINK_MIXED:
        r->kind = RECIPE_CYCLE;
        r->p[0] = sizeof(mixed) / sizeof(mixed[0]);
        for (int64_t i = 0; i < r->p[0]; i++)
            r->p[1 + i] = numfmt_bits_of_f32(mixed[i]);
        break;
    }
}

int dsa_describe_inputs(const struct op_case *c, const struct dsa_places *at, bool sink_required,
                        struct op_problem *p, struct err *err)
{
    struct dsa_sizes s;

    dsa_sizes(c, &s);
    const int64_t q[3] = {s.rows, s.heads, s.width}, kv[2] = {s.keys, s.width};
    const int64_t ids[2] = {s.rows, s.slots};

    if (dsa_tensor(p, at->q, s.dtype, q, 3, err) || dsa_tensor(p, at->kv, s.dtype, kv, 2, err) ||
        dsa_tensor(p, at->topk_idxs, SAB_I32, ids, 2, err))
        return -1;
    dsa_values_recipe(c, p, at->q, recipe_seed(c->seed, SAB_T_dsa_fwd_q), 1);
    dsa_values_recipe(c, p, at->kv, recipe_seed(c->seed, SAB_T_dsa_fwd_kv), -1);
    if (c->axis[DSA_DATA].i == DATA_POISON) {
        p->tensor[at->kv].recipe.kind = RECIPE_POISONED;
        p->tensor[at->kv].recipe.p[0] = s.keys - 1;
    }
    if (c->axis[DSA_DATA].i == DATA_PREFIX_BELOW) {
        p->tensor[at->kv].recipe.kind = RECIPE_ODD_ROWS;
        p->tensor[at->kv].recipe.f[1] = (float)BELOW_OFFSET;
        p->tensor[at->kv].recipe.f[2] = (float)ABOVE_OFFSET;
    }
    dsa_ids_recipe(c, &s, &p->tensor[at->topk_idxs].recipe);
    if (sink_required || c->axis[DSA_SINK].i != SINK_NONE) {
        if (dsa_tensor(p, at->attn_sink, SAB_F32, &q[1], 1, err))
            return -1;
        sink_recipe(c, &s, &p->tensor[at->attn_sink].recipe);
    }
    if (c->axis[DSA_LENGTHS].i != LENGTHS_NONE) {
        struct recipe *r = &p->tensor[at->topk_length].recipe;

        if (dsa_tensor(p, at->topk_length, SAB_I32, q, 1, err))
            return -1;
        r->kind = RECIPE_LENGTHS;
        memcpy(r->p, p->tensor[at->topk_idxs].recipe.p, sizeof(r->p));
    }
    return 0;
}

int64_t dsa_pick(const struct op_case *c, uint64_t stream, uint64_t pick, int64_t nr)
{
    if (pick < 2)
        return pick == 0 ? 0 : nr - 1;
    return (int64_t)(recipe_hash(recipe_seed(c->seed, (uint32_t)(SAB_MAX_TENSORS + stream)), pick) %
                     (uint64_t)nr);
}
