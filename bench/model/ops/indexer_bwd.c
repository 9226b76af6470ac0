/*
 * indexer_bwd.c - indexer_bwd_sparse and indexer_bwd_dense: axes, shapes, inputs, cost. What is
 * checked stands in indexer_bwd_check.c. Section numbers are those of the indexer contract.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "indexer_bwd_check.h"
#include "numfmt.h"
#include "op_models.h"

/* clang-format off */
#define IX_INPUTS {"inputs", AXIS_WORD, "made random extreme", "made", 0, 0, \
    "scores of teacher and indexer: by the score operators (packed segments: random); random; at the limits of the clips, some rows switched off"}
#define AXES_OF_BOTH \
    IX_BATCH, IX_HEADS("64"), IX_SEQLEN_Q, IX_SEQLEN_K, IX_HEAD_DIM, IX_LAYOUT, \
    {"dk_dtype", AXIS_WORD, "bf16 f32", "bf16", 0, 0, "type of d_index_k"}, IX_SCALE("sm_scale"), \
    {"grad_loss", AXIS_REAL, NULL, "1", -1e6, 1e6, "the device scalar"}, \
    {"grad_scale", AXIS_REAL, NULL, "1", -1e6, 1e6, "the host scalar"}, \
    {"deterministic", AXIS_INT, NULL, "0", 0, 1, "1: equal bits of d_index_k in every run"}, IX_INPUTS

static const struct axis_spec sparse_axes[] = {AXES_OF_BOTH, IX_TOPK("32"), IX_PATTERN, IX_LENGTHS, IX_ID_SPACE};
static const struct axis_spec dense_axes[] = {AXES_OF_BOTH, IX_RATIO, IX_OFFSET};
/* clang-format on */

enum inputs { INPUTS_MADE = 0, INPUTS_RANDOM, INPUTS_EXTREME };

static int settle(struct op_case *c, struct err *err)
{
    const int64_t heads = op_case_int(c, "heads"), width = op_case_int(c, "head_dim");
    struct axis_value *inputs = &c->axis[op_axis_find(c->op, "inputs")];

    if (ix_settle(c, err))
        return -1;
    if (heads != 16 && heads != 32 && heads != 64)
        return err_set(err, ERR_CONFIG, "heads = %lld, must be 16, 32 or 64", (long long)heads);
    if (width != IX_BWD_WIDTH)
        return err_set(err, ERR_CONFIG, "head_dim = %lld, must be 128", (long long)width);
    if (op_case_is(c, "layout", "thd") && inputs->i == INPUTS_MADE)
        inputs->i = INPUTS_RANDOM;
    return 0;
}

/* A tensor of scores: without a recipe where another operator makes it. `scale` and `shift` are of
 * the random form; the extreme one has `values` in turn. */
static int add_scores(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
                      const char *name, enum ix_shape shape, uint64_t seed, double scale,
                      double shift, const double *values, int values_nr, struct err *err)
{
    struct op_tensor *t = ix_add(p, name, SAB_F32, shape, s, err);
    const int64_t inputs = op_case_int(c, "inputs");

    if (!t)
        return -1;
    if (inputs == INPUTS_MADE)
        return 0;
    t->recipe.kind = inputs == INPUTS_RANDOM || !values ? RECIPE_REAL : RECIPE_CYCLE;
    t->recipe.seed = seed;
    t->recipe.f[0] = (float)scale;
    t->recipe.f[1] = (float)shift;
    if (t->recipe.kind == RECIPE_REAL)
        return 0;
    t->recipe.p[0] = values_nr;
    for (int i = 0; i < values_nr; i++)
        t->recipe.p[1 + i] = numfmt_bits_of_f32((float)values[i]);
    return 0;
}

static int add_sparse(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
                      struct err *err)
{
    const double share = 1 / (double)s->slots;
    /* The largest subnormal number, which gets no gradient, and the smallest normal one, which
     * does; five of one
     * beside four of the other: all pairs meet. */
    const double targets[5] = {share, 0, 0x1p-130, share / 2, 2 * share};
    const double predicts[4] = {0x1p-127, FLT_MIN, share, 0};

    return add_scores(c, s, p, "target", IX_SHAPE_SLOTS, ix_seed(c, IX_STREAM_TARGET), 2 * share, 0,
                      targets, 5, err) ||
                   add_scores(c, s, p, "predict", IX_SHAPE_SLOTS, ix_seed(c, IX_STREAM_PREDICT),
                              2 * share, 0, predicts, 4, err) ||
                   ix_add_ids(c, s, p, err)
               ? -1
               : 0;
}

static int add_dense(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
                     struct err *err)
{
    const double level = log((double)s->seqlen_k) + 0.5, columns = (double)s->seqlen_k;
    const double norms[5] = {columns / 2, 0, columns, 1, columns / 4};
    const double lses[5] = {level, INFINITY, level + 1, -INFINITY, level - 1};
    const bool extreme = op_case_int(c, "inputs") == INPUTS_EXTREME;

    return add_scores(c, s, p, "attn_raw", IX_SHAPE_DENSE, ix_seed(c, IX_STREAM_TARGET), 1, 0, NULL,
                      0, err) ||
                   add_scores(c, s, p, "attn_l1norm", IX_SHAPE_ROWS,
                              ix_seed(c, IX_STREAM_TARGET) + 1, columns / 4, columns / 4, norms, 5,
                              err) ||
                   add_scores(c, s, p, "index_raw", IX_SHAPE_DENSE, ix_seed(c, IX_STREAM_PREDICT),
                              extreme ? 160 : 3, extreme ? -158 : -1, NULL, 0, err) ||
                   add_scores(c, s, p, "index_lse", IX_SHAPE_ROWS,
                              ix_seed(c, IX_STREAM_PREDICT) + 1, 0.5, level, lses, 5, err)
               ? -1
               : 0;
}

static int add_outputs(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
                       struct err *err)
{
    struct op_tensor *loss = ix_add(p, "grad_loss", SAB_F32, IX_SHAPE_ONE, s, err);
    const int32_t dk = op_case_is(c, "dk_dtype", "f32") ? SAB_F32 : SAB_BF16;

    if (!loss || !ix_add(p, "d_index_q", SAB_BF16, IX_SHAPE_Q, s, err) ||
        !ix_add(p, "d_weights", SAB_BF16, IX_SHAPE_HEADS, s, err) ||
        !ix_add(p, "d_index_k", dk, IX_SHAPE_K1, s, err))
        return -1;
    loss->recipe.kind = RECIPE_CONST;
    loss->recipe.p[0] = numfmt_bits_of_f32((float)op_case_real(c, "grad_loss"));
    return 0;
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    const bool sparse = indexer_bwd_is_sparse(c);
    const double grad_scale = (double)(float)op_case_real(c, "grad_scale");
    struct ix_sizes s;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find(c->op->name);
    ix_sizes(c, &s);
    if (ix_add_normal(p, "index_q", SAB_BF16, IX_SHAPE_Q, &s, ix_seed(c, IX_STREAM_Q), 1, 0, err) ||
        ix_add_normal(p, "index_k", SAB_BF16, IX_SHAPE_K1, &s, ix_seed(c, IX_STREAM_K), 1, 0,
                      err) ||
        ix_add_normal(p, "weights", SAB_BF16, IX_SHAPE_HEADS, &s, ix_seed(c, IX_STREAM_W), 1, 0,
                      err) ||
        ix_add_layout(c, &s, p, err) ||
        (sparse ? add_sparse(c, &s, p, err) : add_dense(c, &s, p, err)) ||
        add_outputs(c, &s, p, err))
        return -1;
    if (sparse) {
        p->param[SAB_P_indexer_bwd_sparse_sm_scale].f = ix_scale(c, "sm_scale");
        p->param[SAB_P_indexer_bwd_sparse_grad_scale].f = grad_scale;
        p->param[SAB_P_indexer_bwd_sparse_deterministic].i = op_case_int(c, "deterministic");
    } else {
        p->param[SAB_P_indexer_bwd_dense_sm_scale].f = ix_scale(c, "sm_scale");
        p->param[SAB_P_indexer_bwd_dense_grad_scale].f = grad_scale;
        p->param[SAB_P_indexer_bwd_dense_deterministic].i = op_case_int(c, "deterministic");
    }
    return 0;
}

/* Scores of the indexer, then those of a teacher with other queries and keys. */
static int producer(const struct op_case *c, size_t i, struct op_case *from, struct err *err)
{
    const bool sparse = indexer_bwd_is_sparse(c);
    const struct op_model *const ops[2] = {
        sparse ? &op_model_score_sparse_indexer : &op_model_score_dense_indexer,
        sparse ? &op_model_score_sparse_attention : &op_model_score_dense_attention};

    if (i > 1 || op_case_int(c, "inputs") != INPUTS_MADE)
        return 1;
    return ix_case_like(c, ops[i], from, err);
}

/* Section 6.6: three products. What is asked of the L2 in the sparse form is every gathered key and
 * the scatter. */
static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    const bool sparse = indexer_bwd_is_sparse(c);
    struct op_problem p;
    struct ix_sizes s;
    struct ix_seen seen;

    ix_sizes(c, &s);
    if (c->op->describe(c, &p, err) || (!sparse && ix_visible(c, &seen, err)))
        return -1;
    const double pairs = sparse ? ix_active(c) : seen.columns, keys = (double)s.keys;
    const double pair = 6 * (double)(s.heads * IX_BWD_WIDTH);
    const double all = (double)s.rows * (double)(sparse ? s.seqlen_k : s.columns);

    memset(out, 0, sizeof(*out));
    out->flops_nominal = sparse ? pair * (double)(s.rows * s.slots) : pair * pairs;
    out->flops_valid = pair * pairs;
    out->flops_dense = pair * all;
    for (uint32_t t = 0; t < p.spec->tensors_nr; t++)
        out->bytes_min += (double)p.tensor[t].bytes;
    out->bytes_tiles = sparse ? out->bytes_min + pairs * IX_BWD_WIDTH * (2 + 4) : NAN;
    out->density = pairs / all;
    /* of a dense row's scores only what it sees has to be read; its queries are taken to be so, too
     */
    ix_use_memory(&p, sparse ? 1 : out->density, sparse ? fmin(1, pairs / keys) : seen.keys / keys,
                  out);
    out->use[OP_BF16].amount = out->flops_valid;
    if (sparse) {
        out->use[OP_GATHER] = (struct op_use){pairs * IX_BWD_WIDTH * 2, keys * IX_BWD_WIDTH * 2};
        out->use[OP_REDUCE] = (struct op_use){pairs * IX_BWD_WIDTH * 4, keys * IX_BWD_WIDTH * 4};
    }
    return 0;
}

const struct op_model op_model_indexer_bwd_sparse = {
    .name = "indexer_bwd_sparse",
    .help = "indexer backward over selected columns",
    .axes = sparse_axes,
    .axes_nr = sizeof(sparse_axes) / sizeof(sparse_axes[0]),
    .settle = settle,
    .describe = describe,
    .cost = cost,
    .bars = indexer_bwd_bars,
    .slices = indexer_bwd_slices,
    .oracle_flops = indexer_bwd_oracle_flops,
    .oracle = indexer_bwd_sparse_oracle,
    .producer = producer,
};

const struct op_model op_model_indexer_bwd_dense = {
    .name = "indexer_bwd_dense",
    .help = "indexer backward over all visible columns",
    .axes = dense_axes,
    .axes_nr = sizeof(dense_axes) / sizeof(dense_axes[0]),
    .settle = settle,
    .describe = describe,
    .cost = cost,
    .bars = indexer_bwd_bars,
    .slices = indexer_bwd_slices,
    .oracle_flops = indexer_bwd_oracle_flops,
    .oracle = indexer_bwd_dense_oracle,
    .producer = producer,
};
