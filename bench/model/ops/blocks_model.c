/*
 * blocks_model.c - see blocks_model.h.
 */
#include "blocks_model.h"

#include <math.h>
#include <string.h>

/* Seeds of the metadata: the places of sage_fwd's tensors, so that one case has the same mask in
 * both operators. */
enum {
    INDEX_STREAM = SAB_T_sage_fwd_q2k_block_index,
    COUNT_STREAM = SAB_T_sage_fwd_q2k_block_nums
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static enum blocks_promise promise_of(const struct op_case *c)
{
    const enum blocks_promise asked = (enum blocks_promise)c->axis[BLOCKS_PROMISE].i;

    if (asked != PROMISE_AUTO)
        return asked;
    if (c->axis[BLOCKS_COUNTS].i != COUNTS_UNIFORM)
        return PROMISE_PER_ROW;
    return c->axis[BLOCKS_PATTERN].i == PATTERN_CONTIGUOUS ? PROMISE_UNIFORM_CONTIGUOUS
                                                           : PROMISE_UNIFORM;
}

void blocks_sizes(const struct op_case *c, struct blocks_sizes *s)
{
    const int64_t topk = c->axis[BLOCKS_TOPK].i, cap = c->axis[BLOCKS_CAP].i;

    s->batch = c->axis[BLOCKS_BATCH].i;
    s->heads = c->axis[BLOCKS_HEADS].i;
    s->kv_heads = c->axis[BLOCKS_KV_HEADS].i;
    s->seqlen_q = c->axis[BLOCKS_SEQLEN_Q].i;
    s->seqlen_k = c->axis[BLOCKS_SEQLEN_K].i;
    s->dim = c->axis[BLOCKS_HEAD_DIM].i;
    s->q_blocks = ceil_div(s->seqlen_q, BLOCKS_TILE);
    s->k_blocks = ceil_div(s->seqlen_k, BLOCKS_TILE);
    /* Less a hair, so that 0.07 * 100 asks for 7 blocks and not for 8 (section 10.2). */
    s->selected =
        topk > 0 ? topk : (int64_t)ceil(c->axis[BLOCKS_DENSITY].f * (double)s->k_blocks - 1e-9);
    s->cap = cap > 0 ? cap : s->selected > 0 ? s->selected : 1;
    if (s->selected > s->k_blocks)
        s->selected = s->k_blocks;
    s->sizes_mode = (int)c->axis[BLOCKS_SIZES_MODE].i;
    s->promise = promise_of(c);
}

int blocks_settle(struct op_case *c, struct err *err)
{
    struct blocks_sizes s;

    blocks_sizes(c, &s);
    if (s.kv_heads > s.heads || s.heads % s.kv_heads)
        return err_set(err, ERR_CONFIG, "kv_heads = %lld does not divide heads = %lld",
                       (long long)s.kv_heads, (long long)s.heads);
    if (s.cap < s.selected)
        return err_set(err, ERR_CONFIG,
                       "cap = %lld is below the %lld blocks selected a row, at least as many are "
                       "needed, or 0",
                       (long long)s.cap, (long long)s.selected);
    if (s.promise == PROMISE_UNIFORM_CONTIGUOUS && c->axis[BLOCKS_PATTERN].i != PATTERN_CONTIGUOUS)
        return err_set(err, ERR_CONFIG,
                       "promise = uniform_contiguous would be broken by pattern = topk, pattern = "
                       "contiguous keeps it");
    if (s.promise != PROMISE_PER_ROW && c->axis[BLOCKS_COUNTS].i != COUNTS_UNIFORM) {
        char promise[32], counts[32];

        return err_set(err, ERR_CONFIG,
                       "promise = %s would be broken by counts = %s, counts = uniform keeps it",
                       op_case_text(c, BLOCKS_PROMISE, promise, sizeof(promise)),
                       op_case_text(c, BLOCKS_COUNTS, counts, sizeof(counts)));
    }
    if (c->axis[BLOCKS_TOPK].i > 0)
        c->axis[BLOCKS_DENSITY].f = (double)s.selected / (double)s.k_blocks;
    return 0;
}

struct recipe *blocks_tensor(const struct op_case *c, struct op_problem *p, uint32_t place,
                             int32_t dtype, const int64_t dims[4], int32_t rank, bool *overflow)
{
    struct op_tensor *t = &p->tensor[place];
    int64_t elements = 1, bytes;

    t->dtype = dtype;
    t->rank = rank;
    for (int32_t i = 0; i < rank; i++) {
        t->shape[i] = dims[i];
        if (__builtin_mul_overflow(elements, dims[i], &elements))
            *overflow = true;
    }
    if (__builtin_mul_overflow(elements, (int64_t)sab_dtype_size(dtype), &bytes))
        *overflow = true;
    t->elements = elements;
    t->bytes = *overflow ? 0 : (uint64_t)bytes;
    t->recipe.dtype = dtype;
    t->recipe.seed = recipe_seed(c->seed, place);
    t->recipe.rank = rank;
    memcpy(t->recipe.shape, t->shape, sizeof(t->recipe.shape));
    return &t->recipe;
}

void blocks_rows_recipe(const struct op_case *c, const struct blocks_sizes *s, struct recipe *r)
{
    const int64_t dims[4] = {s->batch, s->heads, s->q_blocks, s->cap};

    memset(r, 0, sizeof(*r));
    r->kind = RECIPE_BLOCK_ROWS;
    r->dtype = SAB_I32;
    r->seed = recipe_seed(c->seed, INDEX_STREAM);
    r->rank = 4;
    memcpy(r->shape, dims, sizeof(dims));
    r->p[ROWS_PATTERN] = c->axis[BLOCKS_PATTERN].i;
    r->p[ROWS_BLOCKS] = s->k_blocks;
    r->p[ROWS_COUNTS] = c->axis[BLOCKS_COUNTS].i;
    r->p[ROWS_SELECTED] = s->selected;
    r->p[ROWS_COUNT_SEED] = (int64_t)recipe_seed(c->seed, COUNT_STREAM);
}

static void describe_tensors(const struct op_case *c, const struct blocks_sizes *s,
                             const struct blocks_places *at, struct op_problem *p, bool *overflow)
{
    const int64_t rows[4] = {s->batch, s->heads, s->q_blocks, s->cap};
    const int64_t sizes[3][4] = {
        {s->k_blocks}, {s->batch, s->k_blocks}, {s->batch, s->heads, s->k_blocks}};
    struct recipe *r = blocks_tensor(c, p, at->index, SAB_I32, rows, 4, overflow);

    blocks_rows_recipe(c, s, r);
    if (s->promise != PROMISE_SCALAR) {
        const struct recipe index = *r;

        r = blocks_tensor(c, p, at->nums, SAB_I32, rows, 3, overflow);
        r->kind = RECIPE_BLOCK_COUNTS;
        r->seed = recipe_seed(c->seed, COUNT_STREAM);
        memcpy(r->p, index.p, sizeof(r->p));
        if (s->promise != PROMISE_PER_ROW)
            r->p[ROWS_CONTRADICT] = s->cap;
    }
    if (s->sizes_mode > 0) {
        r = blocks_tensor(c, p, at->sizes, SAB_I32, sizes[s->sizes_mode - 1], s->sizes_mode,
                          overflow);
        r->kind = RECIPE_BLOCK_SIZES;
    }
}

void blocks_describe(const struct op_case *c, const struct blocks_sizes *s,
                     const struct blocks_places *at, struct op_problem *p, bool *overflow)
{
    const double scale = c->axis[BLOCKS_SOFTMAX_SCALE].f;

    describe_tensors(c, s, at, p, overflow);
    /* With counts a row the scalar is not the count: the capacity is poison there. */
    p->param[at->num].i = s->promise == PROMISE_PER_ROW ? s->cap : s->selected;
    p->param[at->scale].f = (double)(float)(scale > 0 ? scale : 1.0 / sqrt((double)s->dim));
    p->param[at->uniform].i =
        s->promise == PROMISE_UNIFORM || s->promise == PROMISE_UNIFORM_CONTIGUOUS;
    p->param[at->contiguous].i = s->promise == PROMISE_UNIFORM_CONTIGUOUS;
}
