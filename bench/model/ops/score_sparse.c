/*
 * score_sparse.c - score_sparse_indexer and score_sparse_attention: axes, shapes, cost, what is
 * checked, and the bars. Section numbers are those of the indexer contract.
 */
#include <math.h>
#include <string.h>

#include "dsa_model.h"
#include "op_models.h"
#include "score_sparse_model.h"

#define SAMPLED_MAX 512
#define WHOLE_MAX   (INT64_C(1) << 24)
#define READ_FLOPS  8.0

/* clang-format off */
#define AXES_OF_BOTH \
    IX_BATCH, IX_HEADS("32"), IX_SEQLEN_Q, IX_SEQLEN_K, IX_HEAD_DIM, IX_TOPK("32"), IX_PATTERN, \
    IX_LENGTHS, IX_ID_SPACE, \
    {"data", AXIS_WORD, "normal zero poison", "normal", 0, 0, "N(0,1); queries of 0; N(0,1) with a key of NaN that no active slot names"}

static const struct axis_spec indexer_axes[] = {AXES_OF_BOTH, IX_SCALE("sm_scale")};
static const struct axis_spec attention_axes[] = {AXES_OF_BOTH, IX_SCALE("softmax_scale"), IX_LSE};
/* clang-format on */

static const struct ix_sparse_places indexer_places = {
    .q = SAB_T_score_sparse_indexer_q,
    .k = SAB_T_score_sparse_indexer_k,
    .ids = SAB_T_score_sparse_indexer_ids,
    .length = SAB_T_score_sparse_indexer_length,
    .out = SAB_T_score_sparse_indexer_predict,
    .heads = SAB_T_score_sparse_indexer_w,
    .scale = SAB_P_score_sparse_indexer_sm_scale,
    .id_space = SAB_P_score_sparse_indexer_id_space,
};

static const struct ix_sparse_places attention_places = {
    .q = SAB_T_score_sparse_attention_q,
    .k = SAB_T_score_sparse_attention_k,
    .ids = SAB_T_score_sparse_attention_ids,
    .length = SAB_T_score_sparse_attention_length,
    .out = SAB_T_score_sparse_attention_target,
    .heads = SAB_T_score_sparse_attention_lse,
    .scale = SAB_P_score_sparse_attention_softmax_scale,
    .id_space = SAB_P_score_sparse_attention_id_space,
    .attention = true,
};

static bool is_attention(const struct op_case *c)
{
    return c->op == &op_model_score_sparse_attention;
}

static int settle(struct op_case *c, struct err *err)
{
    return ix_settle(c, err) || ix_settle_served(c, err) ? -1 : 0;
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    const double query = op_case_is(c, "data", "zero") ? 0 : 1;
    struct ix_sizes s;
    struct recipe *k;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find(c->op->name);
    ix_sizes(c, &s);
    if (ix_add_normal(p, "q", SAB_BF16, IX_SHAPE_Q, &s,
                      ix_seed(c, is_attention(c) ? IX_STREAM_ATTN_Q : IX_STREAM_Q), query, 0,
                      err) ||
        ix_add_normal(p, "k", SAB_BF16, IX_SHAPE_K1, &s,
                      ix_seed(c, is_attention(c) ? IX_STREAM_ATTN_K : IX_STREAM_K), 1, 0, err) ||
        ix_add_ids(c, &s, p, err) ||
        (is_attention(c) ? ix_add_lse(c, &s, p, err)
                         : ix_add_normal(p, "w", SAB_BF16, IX_SHAPE_HEADS, &s,
                                         ix_seed(c, IX_STREAM_W), 1, 0, err)) ||
        !ix_add(p, is_attention(c) ? "target" : "predict", SAB_F32, IX_SHAPE_SLOTS, &s, err))
        return -1;
    k = &p->tensor[sab_tensor_find(p->spec, "k")].recipe;
    if (op_case_is(c, "data", "poison")) {
        k->kind = RECIPE_POISONED;
        k->p[0] = s.seqlen_k - 1;
    }
    if (is_attention(c))
        p->param[SAB_P_score_sparse_attention_softmax_scale].f = ix_scale(c, "softmax_scale");
    else
        p->param[SAB_P_score_sparse_indexer_sm_scale].f = ix_scale(c, "sm_scale");
    return 0;
}

/* Section 4: 2*H*D FLOPs a slot. */
static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    struct op_problem p;
    struct ix_sizes s;

    ix_sizes(c, &s);
    if (c->op->describe(c, &p, err))
        return -1;
    const double pair = 2 * (double)(s.heads * s.width), active = ix_active(c);

    memset(out, 0, sizeof(*out));
    out->flops_nominal = pair * (double)(s.rows * s.slots);
    out->flops_valid = pair * active;
    out->flops_dense = pair * (double)(s.rows * s.seqlen_k);
    for (uint32_t t = 0; t < p.spec->tensors_nr; t++)
        out->bytes_min += (double)p.tensor[t].bytes;
    out->bytes_tiles = (double)(s.rows * s.heads * s.width) * 2 + active * (double)s.width * 2;
    out->density = active / (double)(s.rows * s.seqlen_k);
    ix_use_memory(&p, 1, fmin(1, active / (double)s.keys), out);
    out->use[OP_BF16].amount = out->flops_valid;
    out->use[OP_EXP2].amount = active * (double)(is_attention(c) ? s.heads : 1);
    out->use[OP_GATHER] =
        (struct op_use){active * (double)s.width * 2, (double)(s.keys * s.width) * 2};
    return 0;
}

/* Section 4, choices: they are what decides. What must be 0 is marked. */
static size_t bars_of(uint32_t tensor, struct bar out[OP_MAX_BARS])
{
    out[0] = (struct bar){tensor, BAR_ELEMENT, BAR_WHOLE, 1e-6, 2e-3};
    out[1] = (struct bar){tensor, BAR_WITHIN, BAR_WHOLE, 1e-6, 2e-3};
    out[2] = (struct bar){tensor, BAR_REL_L2, BAR_WHOLE, 1e-3, 0};
    return 3;
}

static size_t indexer_bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    (void)c;
    (void)sampled;
    return bars_of(SAB_T_score_sparse_indexer_predict, out);
}

static size_t attention_bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    (void)c;
    (void)sampled;
    return bars_of(SAB_T_score_sparse_attention_target, out);
}

static double row_flops(const struct ix_sizes *s, double active)
{
    return active * (2 * (double)(s->heads * s->width) + READ_FLOPS * (double)s->width) +
           READ_FLOPS * (double)(s->heads * s->width + s->slots);
}

static double oracle_flops(const struct op_case *c)
{
    struct ix_sizes s;

    ix_sizes(c, &s);
    return (double)s.rows * row_flops(&s, ix_active(c) / (double)s.rows);
}

static int add_row(const struct op_case *c, const struct ix_sizes *s, int64_t row,
                   struct op_slices *out, struct err *err)
{
    struct op_slice *item =
        op_slices_add(out, is_attention(c) ? attention_places.out : indexer_places.out,
                      row * s->slots, s->slots, err);

    if (!item)
        return -1;
    item->tile = row;
    return 0;
}

static bool has_row(const struct op_slices *s, int64_t row)
{
    for (size_t i = 0; i < s->nr; i++)
        if (s->item[i].tile == row)
            return true;
    return false;
}

static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    struct ix_sizes s;
    struct recipe ids;
    double left = flops;

    ix_sizes(c, &s);
    ix_ids_recipe(c, &s, &ids);
    out->complete = s.rows * s.slots <= WHOLE_MAX && oracle_flops(c) <= flops;
    for (int64_t row = 0; out->complete && row < s.rows; row++)
        if (add_row(c, &s, row, out, err))
            return -1;
    for (uint64_t pick = 0; !out->complete && pick < SAMPLED_MAX; pick++) {
        const int64_t row = dsa_pick(c, 0, pick, s.rows);

        if (has_row(out, row))
            continue;
        left -= row_flops(&s, (double)recipe_ids_active(&ids, row));
        if (pick > 1 && left < 0)
            break;
        if (add_row(c, &s, row, out, err))
            return -1;
    }
    return 0;
}

static int indexer_oracle(const struct op_problem *p, const struct op_source *src,
                          const struct sab_attribute *attributes, uint32_t attributes_nr,
                          int threads, struct op_slices *list, struct err *err)
{
    (void)attributes;
    (void)attributes_nr;
    return score_sparse_oracle(p, src, &indexer_places, threads, list, err);
}

static int attention_oracle(const struct op_problem *p, const struct op_source *src,
                            const struct sab_attribute *attributes, uint32_t attributes_nr,
                            int threads, struct op_slices *list, struct err *err)
{
    (void)attributes;
    (void)attributes_nr;
    return score_sparse_oracle(p, src, &attention_places, threads, list, err);
}

const struct op_model op_model_score_sparse_indexer = {
    .name = "score_sparse_indexer",
    .help = "indexer softmax over selected columns (predict)",
    .axes = indexer_axes,
    .axes_nr = sizeof(indexer_axes) / sizeof(indexer_axes[0]),
    .settle = settle,
    .describe = describe,
    .cost = cost,
    .bars = indexer_bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = indexer_oracle,
    .examine = score_sparse_examine,
};

const struct op_model op_model_score_sparse_attention = {
    .name = "score_sparse_attention",
    .help = "attention weights over selected columns, heads summed (target)",
    .axes = attention_axes,
    .axes_nr = sizeof(attention_axes) / sizeof(attention_axes[0]),
    .settle = settle,
    .describe = describe,
    .cost = cost,
    .bars = attention_bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = attention_oracle,
    .examine = score_sparse_examine,
};
