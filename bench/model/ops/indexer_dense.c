#include "indexer_dense.h"

#include <math.h>
#include <string.h>

#include "dsa_model.h"

#define SAMPLED_MAX 512
#define WHOLE_MAX   (INT64_C(1) << 24)
/* Reading and decoding an element costs the oracle about as much as this many FLOPs. */
#define READ_FLOPS 8.0

static int add_scales(const struct op_case *c, const struct ix_sizes *s,
                      enum ix_precision precision, bool q_scale, struct op_problem *p,
                      struct err *err)
{
    const bool mx = precision == IX_MXFP8, one_head = !strcmp(p->spec->name, "indexer_fwd");
    const enum ix_shape keys = !mx                            ? IX_SHAPE_KEYS
                               : one_head || s->kv_heads == 1 ? IX_SHAPE_MX_K
                                                              : IX_SHAPE_MX_KH;

    for (int k = q_scale ? 0 : 1; k < 2; k++) {
        struct op_tensor *t = ix_add(p, k ? "k_scale" : "q_scale", mx ? SAB_E8M0 : SAB_F32,
                                     k    ? keys
                                     : mx ? IX_SHAPE_MX_Q
                                          : IX_SHAPE_HEADS,
                                     s, err);

        if (!t)
            return -1;
        t->recipe.seed = ix_seed(c, k ? IX_STREAM_K_SCALE : IX_STREAM_Q_SCALE);
        t->recipe.kind = mx ? RECIPE_INT : RECIPE_REAL;
        t->recipe.p[0] = 125; /* exponents -2 to 3 (section 2, tests) */
        t->recipe.p[1] = 130;
        t->recipe.f[0] = 1; /* 0.5 to 1.5 */
        t->recipe.f[1] = 0.5f;
    }
    return 0;
}

int ix_dense_describe(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
                      struct err *err)
{
    const enum ix_precision precision = op_case_is(c, "precision", "bf16")    ? IX_BF16
                                        : op_case_is(c, "precision", "mxfp8") ? IX_MXFP8
                                                                              : IX_FP8;
    const int32_t dtype = precision == IX_BF16 ? SAB_BF16 : SAB_E4M3;
    const bool attention = sab_tensor_find(p->spec, "w") < 0;
    const int64_t data = ix_axis(c, "data", IX_DATA_NORMAL);
    struct recipe *k = &p->tensor[sab_tensor_find(p->spec, "k")].recipe;

    if (ix_add_normal(p, "q", dtype, IX_SHAPE_Q, s,
                      ix_seed(c, attention ? IX_STREAM_ATTN_Q : IX_STREAM_Q),
                      data == IX_DATA_ZERO ? 0 : 1, 0, err) ||
        ix_add_normal(p, "k", dtype, IX_SHAPE_K, s,
                      ix_seed(c, attention ? IX_STREAM_ATTN_K : IX_STREAM_K), 1, 0, err) ||
        ix_add_layout(c, s, p, err))
        return -1;
    if (data == IX_DATA_POISON) {
        k->kind = RECIPE_POISONED;
        k->p[0] =
            s->kv_heads * recipe_limit(ix_offset(c, s, 0), s->seqlen_q - 1, s->ratio, s->seqlen_k);
    }
    if (precision == IX_BF16)
        return 0;
    /* f32 weights of the fp8 form hold the queries' scales already. */
    return add_scales(c, s, precision, precision == IX_MXFP8 || !ix_axis(c, "weights", 0), p, err);
}

int ix_dense_cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    struct op_problem p;
    struct ix_sizes s;
    struct ix_seen seen;

    ix_sizes(c, &s);
    if (ix_visible(c, &seen, err) || c->op->describe(c, &p, err))
        return -1;
    const double pair = 2 * (double)(s.heads * s.width), all = (double)(s.rows * s.columns);
    const bool attention = sab_tensor_find(p.spec, "w") < 0;

    memset(out, 0, sizeof(*out));
    out->flops_nominal = out->flops_valid = pair * seen.columns;
    out->flops_dense = pair * all;
    for (uint32_t t = 0; t < p.spec->tensors_nr; t++)
        out->bytes_min += (double)p.tensor[t].bytes;
    out->bytes_tiles = NAN;
    out->density = seen.columns / all;
    ix_use_memory(&p, seen.rows / (double)s.rows, seen.keys / (double)s.keys, out);
    out->use[op_case_is(c, "precision", "bf16") ? OP_BF16 : OP_E4M3].amount = out->flops_valid;
    out->use[OP_EXP2].amount = attention ? seen.columns * (double)s.heads : 0;
    return 0;
}

/* A row, with columns of an average one. */
static double row_flops(const struct ix_sizes *s, double columns)
{
    return columns * (2 * (double)(s->heads * s->width) + READ_FLOPS * (double)s->width) +
           READ_FLOPS * (double)(s->heads * s->width);
}

double ix_dense_flops(const struct op_case *c)
{
    struct ix_sizes s;
    struct ix_seen seen;

    ix_sizes(c, &s);
    if (ix_visible(c, &seen, NULL))
        seen.columns = (double)(s.rows * s.columns);
    return (double)s.rows * row_flops(&s, seen.columns / (double)s.rows);
}

static int add_row(const struct ix_sizes *s, const struct ix_dense_places *at, bool sums,
                   int64_t row, struct op_slices *out, struct err *err)
{
    struct op_slice *item = op_slices_add(out, at->out, row * s->columns, s->columns, err);

    if (!item)
        return -1;
    item->tile = row;
    if (!sums)
        return 0;
    item = op_slices_add(out, at->sums, row, 1, err);
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

int ix_dense_slices(const struct op_case *c, const struct ix_dense_places *at, bool sums,
                    double flops, struct op_slices *out, struct err *err)
{
    struct ix_sizes s;
    double left = flops;

    ix_sizes(c, &s);
    out->complete = s.rows * s.columns <= WHOLE_MAX && c->op->oracle_flops(c) <= flops;
    for (int64_t row = 0; out->complete && row < s.rows; row++)
        if (add_row(&s, at, sums, row, out, err))
            return -1;
    for (uint64_t pick = 0; !out->complete && pick < SAMPLED_MAX; pick++) {
        const int64_t row = dsa_pick(c, 0, pick, s.rows);

        if (has_row(out, row))
            continue;
        left -= row_flops(&s, (double)s.columns);
        if (pick > 1 && left < 0)
            break;
        if (add_row(&s, at, sums, row, out, err))
            return -1;
    }
    return 0;
}
