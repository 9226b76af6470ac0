/*
 * sage_fwd.c - the Sage forward operator: axes, shapes and inputs. Sections: sage contract.
 */
#include "sage_model.h"

#include <math.h>
#include <string.h>

#include "op_models.h"

#define MAX_TOKENS 16777216.0

static const struct axis_spec axes[SAGE_AXES_NR] = {
    [SAGE_BATCH] = {"batch", AXIS_INT, NULL, "1", 1, 1048576, "sequences"},
    [SAGE_HEADS] = {"heads", AXIS_INT, NULL, "2", 1, 1048576, "query heads"},
    [SAGE_KV_HEADS] = {"kv_heads", AXIS_INT, NULL, "heads", 1, 1048576,
                       "key and value heads; fewer than heads is a case that kernels skip"},
    [SAGE_SEQLEN_Q] = {"seqlen_q", AXIS_INT, NULL, "512", 1, MAX_TOKENS, "query tokens"},
    [SAGE_SEQLEN_K] = {"seqlen_k", AXIS_INT, NULL, "seqlen_q", 1, MAX_TOKENS, "key tokens"},
    [SAGE_DENSITY] = {"density", AXIS_REAL, NULL, "0.5", 0, 1,
                      "share of the key blocks that a row selects, rounded up to whole blocks"},
    [SAGE_TOPK] = {"topk", AXIS_INT, NULL, "0", 0, MAX_TOKENS,
                   "key blocks a row instead of a density; 0: the density decides"},
    [SAGE_HEAD_DIM] = {"head_dim", AXIS_INT, NULL, "128", 1, 1024,
                       "channels; other than 128 is a case that kernels skip"},
    [SAGE_DTYPE] = {"dtype", AXIS_WORD, "int8_e4m3", "int8_e4m3", 0, 0, "int8 QK, fp8 PV"},
    [SAGE_PATTERN] = {"pattern", AXIS_WORD, "contiguous topk", "contiguous", 0, 0,
                      "blocks in a row modulo Kb, or a sorted random selection with gaps"},
    [SAGE_COUNTS] = {"counts", AXIS_WORD, "uniform per_row varying", "uniform", 0, 0,
                     "slots a row: all selected, 1 to selected, or with empty rows and counts next "
                     "to multiples of 8"},
    [SAGE_PROMISE] = {"promise", AXIS_WORD, "auto uniform_contiguous uniform per_row scalar",
                      "auto", 0, 0,
                      "how the call is made; auto: the strongest that pattern and counts allow"},
    [SAGE_CAP] = {"cap", AXIS_INT, NULL, "0", 0, MAX_TOKENS,
                  "slots a row in the index tensor; 0: as many as are selected"},
    [SAGE_SIZES_MODE] = {"sizes_mode", AXIS_INT, NULL, "0", 0, 3,
                         "rank of block_sizes: 0 none, 1 global, 2 per batch, 3 per head"},
    [SAGE_SOFTMAX_SCALE] = {"softmax_scale", AXIS_REAL, NULL, "0", 0, 1e6, "0: 1/sqrt(head_dim)"},
    [SAGE_DATA] =
        {"data", AXIS_WORD, "strong public", "strong", 0, 0,
         "scales of q and k: U*0.04+0.04, or the public U*0.01+0.002, which hides faults"},
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static enum sage_promise promise_of(const struct op_case *c)
{
    const enum sage_promise asked = (enum sage_promise)c->axis[SAGE_PROMISE].i;

    if (asked != PROMISE_AUTO)
        return asked;
    if (c->axis[SAGE_COUNTS].i != COUNTS_UNIFORM)
        return PROMISE_PER_ROW;
    return c->axis[SAGE_PATTERN].i == PATTERN_CONTIGUOUS ? PROMISE_UNIFORM_CONTIGUOUS
                                                         : PROMISE_UNIFORM;
}

void sage_sizes(const struct op_case *c, struct sage_sizes *s)
{
    const int64_t topk = c->axis[SAGE_TOPK].i, cap = c->axis[SAGE_CAP].i;

    s->batch = c->axis[SAGE_BATCH].i;
    s->heads = c->axis[SAGE_HEADS].i;
    s->kv_heads = c->axis[SAGE_KV_HEADS].i;
    s->seqlen_q = c->axis[SAGE_SEQLEN_Q].i;
    s->seqlen_k = c->axis[SAGE_SEQLEN_K].i;
    s->dim = c->axis[SAGE_HEAD_DIM].i;
    s->q_blocks = ceil_div(s->seqlen_q, SAGE_TILE);
    s->k_blocks = ceil_div(s->seqlen_k, SAGE_TILE);
    s->k_padded = SAGE_TILE * s->k_blocks;
    s->q_scales = 4 * ceil_div(s->seqlen_q, 128);
    /* Less a hair, so that 0.07 * 100 asks for 7 blocks and not for 8 (section 10.2). */
    s->selected =
        topk > 0 ? topk : (int64_t)ceil(c->axis[SAGE_DENSITY].f * (double)s->k_blocks - 1e-9);
    s->cap = cap > 0 ? cap : s->selected > 0 ? s->selected : 1;
    if (s->selected > s->k_blocks)
        s->selected = s->k_blocks;
    s->sizes_mode = (int)c->axis[SAGE_SIZES_MODE].i;
    s->promise = promise_of(c);
}

static int settle(struct op_case *c, struct err *err)
{
    struct sage_sizes s;

    sage_sizes(c, &s);
    if (s.kv_heads > s.heads || s.heads % s.kv_heads)
        return err_set(err, ERR_CONFIG, "kv_heads = %lld does not divide heads = %lld",
                       (long long)s.kv_heads, (long long)s.heads);
    if (s.cap < s.selected)
        return err_set(err, ERR_CONFIG,
                       "cap = %lld is below the %lld blocks selected a row, at least as many are "
                       "needed, or 0",
                       (long long)s.cap, (long long)s.selected);
    if (s.promise == PROMISE_UNIFORM_CONTIGUOUS && c->axis[SAGE_PATTERN].i != PATTERN_CONTIGUOUS)
        return err_set(err, ERR_CONFIG,
                       "promise = uniform_contiguous would be broken by pattern = topk, pattern = "
                       "contiguous keeps it");
    if (s.promise != PROMISE_PER_ROW && c->axis[SAGE_COUNTS].i != COUNTS_UNIFORM) {
        char promise[32], counts[32];

        return err_set(err, ERR_CONFIG,
                       "promise = %s would be broken by counts = %s, counts = uniform keeps it",
                       op_case_text(c, SAGE_PROMISE, promise, sizeof(promise)),
                       op_case_text(c, SAGE_COUNTS, counts, sizeof(counts)));
    }
    if (c->axis[SAGE_TOPK].i > 0)
        c->axis[SAGE_DENSITY].f = (double)s.selected / (double)s.k_blocks;
    return 0;
}

/* Gives tensor `place` its type and shape (dimensions until a 0) and a recipe without parameters.
 */
static struct recipe *shape(const struct op_case *c, struct op_problem *p, uint32_t place,
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

void sage_rows_recipe(const struct op_case *c, const struct sage_sizes *s, struct recipe *r)
{
    const int64_t dims[4] = {s->batch, s->heads, s->q_blocks, s->cap};

    memset(r, 0, sizeof(*r));
    r->kind = RECIPE_BLOCK_ROWS;
    r->dtype = SAB_I32;
    r->seed = recipe_seed(c->seed, SAB_T_sage_fwd_q2k_block_index);
    r->rank = 4;
    memcpy(r->shape, dims, sizeof(dims));
    r->p[ROWS_PATTERN] = c->axis[SAGE_PATTERN].i;
    r->p[ROWS_BLOCKS] = s->k_blocks;
    r->p[ROWS_COUNTS] = c->axis[SAGE_COUNTS].i;
    r->p[ROWS_SELECTED] = s->selected;
    r->p[ROWS_COUNT_SEED] = (int64_t)recipe_seed(c->seed, SAB_T_sage_fwd_q2k_block_nums);
}

static void describe_values(const struct op_case *c, const struct sage_sizes *s,
                            struct op_problem *p, bool *overflow)
{
    const int64_t q[4] = {s->batch, s->heads, s->seqlen_q, s->dim};
    const int64_t k[4] = {s->batch, s->kv_heads, s->seqlen_k, s->dim};
    const int64_t v[4] = {s->batch, s->kv_heads, s->dim, s->k_padded};
    const int64_t qs[4] = {s->batch, s->heads, s->q_scales};
    const int64_t ks[4] = {s->batch, s->kv_heads, s->k_blocks};
    const int64_t vs[4] = {s->batch, s->kv_heads, s->dim};
    const bool strong = c->axis[SAGE_DATA].i == 0;
    struct recipe *r;

    /* Section 9.2; `strong` are the suite's own scales, which do not hide a wrong QK product. */
    for (int i = 0; i < 2; i++) {
        r = i ? shape(c, p, SAB_T_sage_fwd_k_int8, SAB_I8, k, 4, overflow)
              : shape(c, p, SAB_T_sage_fwd_q_int8, SAB_I8, q, 4, overflow);
        r->kind = RECIPE_INT;
        r->p[0] = -32;
        r->p[1] = 32;
        r = i ? shape(c, p, SAB_T_sage_fwd_k_scale, SAB_F32, ks, 3, overflow)
              : shape(c, p, SAB_T_sage_fwd_q_scale, SAB_F32, qs, 3, overflow);
        r->kind = RECIPE_REAL;
        r->f[0] = strong ? 0.04f : 0.01f;
        r->f[1] = strong ? 0.04f : 0.002f;
    }
    r = shape(c, p, SAB_T_sage_fwd_v_fp8, SAB_E4M3, v, 4, overflow);
    r->kind = RECIPE_SAGE_V;
    r->p[SAGE_V_TOKENS] = s->seqlen_k;
    r->p[SAGE_V_SIZES] = s->sizes_mode;
    r->f[0] = 0.25f;
    r = shape(c, p, SAB_T_sage_fwd_v_scale, SAB_F32, vs, 3, overflow);
    r->kind = RECIPE_REAL;
    r->f[0] = 0.75f;
    r->f[1] = 0.25f;
    shape(c, p, SAB_T_sage_fwd_out, SAB_BF16, q, 4, overflow);
}

static void describe_blocks(const struct op_case *c, const struct sage_sizes *s,
                            struct op_problem *p, bool *overflow)
{
    const int64_t rows[4] = {s->batch, s->heads, s->q_blocks, s->cap};
    const int64_t sizes[3][4] = {
        {s->k_blocks}, {s->batch, s->k_blocks}, {s->batch, s->heads, s->k_blocks}};
    struct recipe *r = shape(c, p, SAB_T_sage_fwd_q2k_block_index, SAB_I32, rows, 4, overflow);

    sage_rows_recipe(c, s, r);
    if (s->promise != PROMISE_SCALAR) {
        const struct recipe index = *r;

        r = shape(c, p, SAB_T_sage_fwd_q2k_block_nums, SAB_I32, rows, 3, overflow);
        r->kind = RECIPE_BLOCK_COUNTS;
        memcpy(r->p, index.p, sizeof(r->p));
        if (s->promise != PROMISE_PER_ROW)
            r->p[ROWS_CONTRADICT] = s->cap;
    }
    if (s->sizes_mode > 0) {
        r = shape(c, p, SAB_T_sage_fwd_block_sizes, SAB_I32, sizes[s->sizes_mode - 1],
                  s->sizes_mode, overflow);
        r->kind = RECIPE_BLOCK_SIZES;
    }
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    const double scale = c->axis[SAGE_SOFTMAX_SCALE].f;
    bool overflow = false;
    struct sage_sizes s;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("sage_fwd");
    sage_sizes(c, &s);
    describe_values(c, &s, p, &overflow);
    describe_blocks(c, &s, p, &overflow);
    if (overflow)
        return err_set(err, ERR_CONFIG, "a tensor of this case has more than 2^63 bytes");
    /* With counts a row the scalar is not the count: the capacity is poison there. */
    p->param[SAB_P_sage_fwd_block_sparse_num].i = s.promise == PROMISE_PER_ROW ? s.cap : s.selected;
    p->param[SAB_P_sage_fwd_softmax_scale].f =
        (double)(float)(scale > 0 ? scale : 1.0 / sqrt((double)s.dim));
    p->param[SAB_P_sage_fwd_uniform_block_count].i =
        s.promise == PROMISE_UNIFORM || s.promise == PROMISE_UNIFORM_CONTIGUOUS;
    p->param[SAB_P_sage_fwd_contiguous_block_indices].i = s.promise == PROMISE_UNIFORM_CONTIGUOUS;
    return 0;
}

static const struct op_quantised quantised[] = {{"q_int8", "q"}, {"k_int8", "k"}, {"v_fp8", "v"}};

const struct op_model op_model_sage_fwd = {
    .name = "sage_fwd",
    .help = "Sage block-sparse attention forward: int8 QK, fp8 PV, bf16 out",
    .axes = axes,
    .axes_nr = SAGE_AXES_NR,
    .settle = settle,
    .describe = describe,
    .cost = sage_cost,
    .bars = sage_bars,
    .bars_fed = sage_bars_fed,
    .slices = sage_slices,
    .oracle_flops = sage_oracle_flops,
    .oracle = sage_oracle,
    .accuracy = sage_accuracy,
    .quantised = quantised,
    .quantised_nr = sizeof(quantised) / sizeof(quantised[0]),
};
