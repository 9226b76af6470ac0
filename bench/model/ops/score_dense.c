/*
 * score_dense.c - score_dense_indexer and score_dense_attention: axes, shapes, cost, what is
 * checked, and the bars. Section numbers are those of the indexer contract.
 */
#include <math.h>
#include <string.h>

#include "indexer_dense.h"
#include "op_models.h"

/* clang-format off */
#define AXES_OF_BOTH \
    IX_BATCH, IX_HEADS("32"), IX_KV_HEADS(128), IX_SEQLEN_Q, IX_SEQLEN_K, IX_HEAD_DIM, IX_RATIO, \
    IX_OFFSET, IX_LAYOUT, IX_PRECISION("bf16 mxfp8"), IX_DENSE_DATA

static const struct axis_spec indexer_axes[] = {AXES_OF_BOTH, IX_SCALE("sm_scale")};
static const struct axis_spec attention_axes[] = {AXES_OF_BOTH, 
    {"softmax_scale", AXIS_REAL, NULL, "0", 0, 1e6, "0: 1/sqrt(head_dim), in mxfp8 a sixteenth of it"},
    IX_LSE};
/* clang-format on */

static const struct ix_dense_places indexer_places = {
    .q = SAB_T_score_dense_indexer_q,
    .k = SAB_T_score_dense_indexer_k,
    .q_scale = SAB_T_score_dense_indexer_q_scale,
    .k_scale = SAB_T_score_dense_indexer_k_scale,
    .heads = SAB_T_score_dense_indexer_w,
    .out = SAB_T_score_dense_indexer_out,
    .sums = SAB_T_score_dense_indexer_denom,
    .scale = SAB_P_score_dense_indexer_sm_scale,
};

static const struct ix_dense_places attention_places = {
    .q = SAB_T_score_dense_attention_q,
    .k = SAB_T_score_dense_attention_k,
    .q_scale = SAB_T_score_dense_attention_q_scale,
    .k_scale = SAB_T_score_dense_attention_k_scale,
    .heads = SAB_T_score_dense_attention_lse,
    .out = SAB_T_score_dense_attention_out,
    .sums = SAB_T_score_dense_attention_denom,
    .scale = SAB_P_score_dense_attention_softmax_scale,
    .attention = true,
};

static bool is_attention(const struct op_case *c)
{
    return c->op == &op_model_score_dense_attention;
}

/* Powers of two from -2 to 3 on both sides make logits of mxfp8 14 times as wide: the sixteenth
 * keeps them near the log-sums of the input `lse`, as those of bf16 are. */
static double attention_scale(const struct op_case *c)
{
    const bool wide = op_case_is(c, "precision", "mxfp8") && op_case_real(c, "softmax_scale") == 0;
    const double scale = ix_scale(c, "softmax_scale");

    return wide ? scale / 16 : scale;
}

static int settle(struct op_case *c, struct err *err)
{
    const int64_t heads = op_case_int(c, "heads"), kv_heads = op_case_int(c, "kv_heads");

    if (ix_settle(c, err) || ix_settle_served(c, err))
        return -1;
    if (heads % kv_heads)
        return err_set(err, ERR_CONFIG, "kv_heads = %lld does not divide heads = %lld",
                       (long long)kv_heads, (long long)heads);
    if (op_case_is(c, "data", "poison") && op_case_is(c, "layout", "thd"))
        return err_set(err, ERR_CONFIG,
                       "data = poison is not made for layout = thd, layout = bshd is");
    return 0;
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    struct ix_sizes s;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find(c->op->name);
    ix_sizes(c, &s);
    if (ix_dense_describe(c, &s, p, err) ||
        (is_attention(c) ? ix_add_lse(c, &s, p, err)
                         : ix_add_normal(p, "w", SAB_BF16, IX_SHAPE_HEADS, &s,
                                         ix_seed(c, IX_STREAM_W), 1, 0, err)) ||
        !ix_add(p, "out", SAB_F32, IX_SHAPE_DENSE, &s, err) ||
        !ix_add(p, "denom", SAB_F32, IX_SHAPE_ROWS, &s, err))
        return -1;
    if (is_attention(c)) {
        p->param[SAB_P_score_dense_attention_softmax_scale].f = attention_scale(c);
        p->param[SAB_P_score_dense_attention_precision].i = op_case_int(c, "precision");
    } else {
        p->param[SAB_P_score_dense_indexer_sm_scale].f = ix_scale(c, "sm_scale");
        p->param[SAB_P_score_dense_indexer_precision].i = op_case_int(c, "precision");
    }
    return 0;
}

/* Section 4, tests. Quantised inputs are held as in section 2. */
static size_t indexer_bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    const double within = op_case_is(c, "precision", "bf16") ? 1e-4 : 5e-3;

    (void)sampled;
    out[0] = (struct bar){SAB_T_score_dense_indexer_out, BAR_ELEMENT, BAR_WHOLE, within, within};
    out[1] = (struct bar){SAB_T_score_dense_indexer_denom, BAR_ELEMENT, BAR_WHOLE,
                          fmax(within, 1e-3), fmax(within, 1e-3)};
    return 2;
}

static size_t attention_bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    const double rtol = op_case_is(c, "precision", "bf16") ? 2e-3 : 5e-3;

    (void)sampled;
    out[0] = (struct bar){SAB_T_score_dense_attention_out, BAR_ELEMENT, BAR_WHOLE, 1e-6, rtol};
    out[1] = (struct bar){SAB_T_score_dense_attention_out, BAR_REL_L2, BAR_WHOLE, rtol / 2, 0};
    out[2] = (struct bar){SAB_T_score_dense_attention_denom, BAR_ELEMENT, BAR_WHOLE,
                          fmax(rtol / 2, 1e-3), fmax(rtol / 2, 1e-3)};
    return 3;
}

static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    return ix_dense_slices(c, is_attention(c) ? &attention_places : &indexer_places, true, flops,
                           out, err);
}

static int indexer_oracle(const struct op_problem *p, const struct op_source *src,
                          const struct sab_attribute *attributes, uint32_t attributes_nr,
                          int threads, struct op_slices *list, struct err *err)
{
    (void)attributes;
    (void)attributes_nr;
    return ix_dense_oracle(p, src, &indexer_places, threads, list, err);
}

static int attention_oracle(const struct op_problem *p, const struct op_source *src,
                            const struct sab_attribute *attributes, uint32_t attributes_nr,
                            int threads, struct op_slices *list, struct err *err)
{
    (void)attributes;
    (void)attributes_nr;
    return ix_dense_oracle(p, src, &attention_places, threads, list, err);
}

const struct op_model op_model_score_dense_indexer = {
    .name = "score_dense_indexer",
    .help = "indexer scores and their log-sum over visible columns",
    .axes = indexer_axes,
    .axes_nr = sizeof(indexer_axes) / sizeof(indexer_axes[0]),
    .settle = settle,
    .describe = describe,
    .cost = ix_dense_cost,
    .bars = indexer_bars,
    .slices = slices,
    .oracle_flops = ix_dense_flops,
    .oracle = indexer_oracle,
};

const struct op_model op_model_score_dense_attention = {
    .name = "score_dense_attention",
    .help = "attention weights, heads summed, over visible columns",
    .axes = attention_axes,
    .axes_nr = sizeof(attention_axes) / sizeof(attention_axes[0]),
    .settle = settle,
    .describe = describe,
    .cost = ix_dense_cost,
    .bars = attention_bars,
    .slices = slices,
    .oracle_flops = ix_dense_flops,
    .oracle = attention_oracle,
};
