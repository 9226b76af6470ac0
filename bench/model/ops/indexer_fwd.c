/*
 * indexer_fwd.c - the indexer's scores: axes, shapes, cost, what is checked, and the bars. Section
 * numbers are those of the indexer contract.
 */
#include <string.h>

#include "indexer_dense.h"
#include "op_models.h"

/* clang-format off */
static const struct axis_spec axes[] = {
    IX_BATCH, IX_HEADS("64"), IX_KV_HEADS(1), IX_SEQLEN_Q, IX_SEQLEN_K, IX_HEAD_DIM, IX_RATIO, IX_OFFSET,
    IX_LAYOUT, IX_PRECISION("bf16 fp8 mxfp8"),
    {"weights", AXIS_WORD, "bf16 f32", "bf16", 0, 0, "type of w; f32 with precision = fp8 holds the queries' scales and sm_scale already"},
    {"lse", AXIS_INT, NULL, "1", 0, 1, "1: the log-sum of each row is written too"},
    IX_SCALE("sm_scale"), IX_DENSE_DATA,
};
/* clang-format on */

static const struct ix_dense_places places = {
    .q = SAB_T_indexer_fwd_q,
    .k = SAB_T_indexer_fwd_k,
    .q_scale = SAB_T_indexer_fwd_q_scale,
    .k_scale = SAB_T_indexer_fwd_k_scale,
    .heads = SAB_T_indexer_fwd_w,
    .out = SAB_T_indexer_fwd_scores,
    .sums = SAB_T_indexer_fwd_lse,
    .scale = SAB_P_indexer_fwd_sm_scale,
};

static bool is_prescaled(const struct op_case *c)
{
    return op_case_is(c, "precision", "fp8") && op_case_is(c, "weights", "f32");
}

static int settle(struct op_case *c, struct err *err)
{
    const int64_t heads = op_case_int(c, "heads"), width = op_case_int(c, "head_dim");

    if (ix_settle(c, err) || ix_settle_dense(c, err))
        return -1;
    if (heads != 16 && heads != 32 && heads != 64)
        return err_set(err, ERR_CONFIG, "heads = %lld, must be 16, 32 or 64", (long long)heads);
    if (width != 128)
        return err_set(err, ERR_CONFIG, "head_dim = %lld, must be 128", (long long)width);
    if (op_case_is(c, "precision", "mxfp8") && op_case_is(c, "weights", "f32"))
        return err_set(err, ERR_CONFIG,
                       "precision = mxfp8 has no weights = f32, weights = bf16 it has");
    if (op_case_is(c, "data", "poison") && op_case_is(c, "layout", "thd"))
        return err_set(err, ERR_CONFIG,
                       "data = poison is not made for layout = thd, layout = bshd is");
    return 0;
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    struct ix_sizes s;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("indexer_fwd");
    ix_sizes(c, &s);
    if (ix_dense_describe(c, &s, p, err) ||
        ix_add_normal(p, "w", op_case_is(c, "weights", "f32") ? SAB_F32 : SAB_BF16, IX_SHAPE_HEADS,
                      &s, ix_seed(c, IX_STREAM_W), is_prescaled(c) ? 0.09 : 1, 0, err) ||
        !ix_add(p, "scores", SAB_F32, IX_SHAPE_DENSE, &s, err) ||
        (op_case_int(c, "lse") && !ix_add(p, "lse", SAB_F32, IX_SHAPE_ROWS, &s, err)))
        return -1;
    p->param[SAB_P_indexer_fwd_precision].i = op_case_int(c, "precision");
    p->param[SAB_P_indexer_fwd_sm_scale].f = ix_scale(c, "sm_scale");
    p->param[SAB_P_indexer_fwd_w_prescaled].i = is_prescaled(c);
    return 0;
}

/* Section 2, tests. */
static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    const double within = op_case_is(c, "precision", "bf16") ? 1e-4 : 5e-3;

    (void)sampled;
    out[0] = (struct bar){SAB_T_indexer_fwd_scores, BAR_ELEMENT, BAR_WHOLE, within, within};
    out[1] = (struct bar){SAB_T_indexer_fwd_lse, BAR_ELEMENT, BAR_WHOLE, within, within};
    return 2;
}

static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    return ix_dense_slices(c, &places, op_case_int(c, "lse") != 0, flops, out, err);
}

/* With weights that hold it, sm_scale is left out. */
static int oracle(const struct op_problem *p, const struct op_source *src,
                  const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                  struct op_slices *list, struct err *err)
{
    struct op_problem unscaled = *p;

    (void)attributes;
    (void)attributes_nr;
    if (p->param[SAB_P_indexer_fwd_w_prescaled].i)
        unscaled.param[SAB_P_indexer_fwd_sm_scale].f = 1;
    return ix_dense_oracle(&unscaled, src, &places, threads, list, err);
}

/* Before an attention operator, whose heads are others. */
static bool follow(const struct op_case *fed, size_t axis, struct axis_value *value)
{
    const char *name = axes[axis].name;

    *value = (struct axis_value){0};
    if (!strcmp(name, "data"))
        return true;
    if (!strcmp(name, "lse") && strcmp(fed->op->name, "indexer_topk") == 0)
        return true;
    return false;
}

const struct op_model op_model_indexer_fwd = {
    .name = "indexer_fwd",
    .help = "indexer scores: weighted relu of head products, ratio-causal",
    .axes = axes,
    .axes_nr = sizeof(axes) / sizeof(axes[0]),
    .settle = settle,
    .describe = describe,
    .cost = ix_dense_cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = ix_dense_flops,
    .oracle = oracle,
    .follow = follow,
};
