#include "indexer_bwd_check.h"

#include <math.h>

#include "dsa_model.h"
#include "op_models.h"

/* More rows of dQ and of dK than this are not sampled; more values are not held as a whole. */
#define SAMPLED_MAX 256
#define WHOLE_MAX   (INT64_C(1) << 24)
#define KEYS_MAX    (INT64_C(1) << 22) /* values of dK, which every thread adds up for itself */
#define READ_FLOPS  8.0

static const struct ix_bwd_places sparse_places = {
    .q = SAB_T_indexer_bwd_sparse_index_q,
    .w = SAB_T_indexer_bwd_sparse_weights,
    .k = SAB_T_indexer_bwd_sparse_index_k,
    .grad_loss = SAB_T_indexer_bwd_sparse_grad_loss,
    .dq = SAB_T_indexer_bwd_sparse_d_index_q,
    .dw = SAB_T_indexer_bwd_sparse_d_weights,
    .dk = SAB_T_indexer_bwd_sparse_d_index_k,
    .teacher = SAB_T_indexer_bwd_sparse_target,
    .indexer = SAB_T_indexer_bwd_sparse_predict,
    .sm_scale = SAB_P_indexer_bwd_sparse_sm_scale,
    .grad_scale = SAB_P_indexer_bwd_sparse_grad_scale,
    .sparse = true,
};

static const struct ix_bwd_places dense_places = {
    .q = SAB_T_indexer_bwd_dense_index_q,
    .w = SAB_T_indexer_bwd_dense_weights,
    .k = SAB_T_indexer_bwd_dense_index_k,
    .grad_loss = SAB_T_indexer_bwd_dense_grad_loss,
    .dq = SAB_T_indexer_bwd_dense_d_index_q,
    .dw = SAB_T_indexer_bwd_dense_d_weights,
    .dk = SAB_T_indexer_bwd_dense_d_index_k,
    .teacher = SAB_T_indexer_bwd_dense_attn_raw,
    .indexer = SAB_T_indexer_bwd_dense_index_raw,
    .l1norm = SAB_T_indexer_bwd_dense_attn_l1norm,
    .index_lse = SAB_T_indexer_bwd_dense_index_lse,
    .sm_scale = SAB_P_indexer_bwd_dense_sm_scale,
    .grad_scale = SAB_P_indexer_bwd_dense_grad_scale,
};

bool indexer_bwd_is_sparse(const struct op_case *c)
{
    return c->op == &op_model_indexer_bwd_sparse;
}

static const struct ix_bwd_places *places_of(const struct op_case *c)
{
    return indexer_bwd_is_sparse(c) ? &sparse_places : &dense_places;
}

/* Section 6.4, choices. A row that gets no gradient is 0. */
size_t indexer_bwd_bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    const struct ix_bwd_places *at = places_of(c);
    const uint32_t tensors[] = {at->dq, at->dw, at->dk};
    size_t nr = 0;

    (void)sampled;
    for (size_t i = 0; i < 3; i++) {
        const bool wide = tensors[i] == at->dk && op_case_is(c, "dk_dtype", "f32");

        out[nr++] = (struct bar){tensors[i], BAR_REL_L2, BAR_WHOLE, wide ? 5e-3 : 1e-2, 0};
        out[nr++] = (struct bar){tensors[i], BAR_COSINE, BAR_WHOLE, 0.9999, 0};
        out[nr++] = (struct bar){tensors[i], BAR_ZERO, BAR_WHOLE, 0, 0};
    }
    return nr;
}

/* Entries of an average row that may get a gradient. */
static double row_pairs(const struct op_case *c, const struct ix_sizes *s)
{
    struct ix_seen seen;

    if (indexer_bwd_is_sparse(c))
        return ix_active(c) / (double)s->rows;
    return ix_visible(c, &seen, NULL) ? (double)s->columns : seen.columns / (double)s->rows;
}

static double pair_flops(const struct ix_sizes *s)
{
    return (double)IX_BWD_WIDTH * (6 * (double)s->heads + READ_FLOPS);
}

/* Reading a query row with its scores. */
static double row_flops(const struct op_case *c, const struct ix_sizes *s)
{
    const double columns = (double)(indexer_bwd_is_sparse(c) ? s->slots : s->columns);

    return READ_FLOPS * ((double)(s->heads * IX_BWD_WIDTH) + 6 * columns);
}

double indexer_bwd_oracle_flops(const struct op_case *c)
{
    struct ix_sizes s;

    ix_sizes(c, &s);
    return (double)s.rows * (row_flops(c, &s) + pair_flops(&s) * row_pairs(c, &s));
}

static int add(struct op_slices *out, uint32_t tensor, int64_t i, int64_t n, struct err *err)
{
    struct op_slice *item;

    for (size_t k = 0; !out->complete && k < out->nr; k++)
        if (out->item[k].tensor == tensor && out->item[k].tile == i)
            return 0;
    item = op_slices_add(out, tensor, i * n, n, err);
    if (!item)
        return -1;
    item->tile = i;
    return 0;
}

static int add_row(const struct ix_bwd_places *at, const struct ix_sizes *s, int64_t row,
                   struct op_slices *out, struct err *err)
{
    return add(out, at->dq, row, s->heads * IX_BWD_WIDTH, err) ||
                   add(out, at->dw, row, s->heads, err)
               ? -1
               : 0;
}

/* Half of the budget each for query rows and for keys, two of either at least. Every row of its
 * batch may give to a key. */
static int add_samples(const struct op_case *c, const struct ix_sizes *s, double flops,
                       struct op_slices *out, struct err *err)
{
    const struct ix_bwd_places *at = places_of(c);
    const double pairs = row_pairs(c, s), row = row_flops(c, s) + pair_flops(s) * pairs;
    const double share = fmin(1, pairs / (double)s->seqlen_k);
    const double key =
        (double)s->seqlen_q * (READ_FLOPS * pairs + share * (row_flops(c, s) + pair_flops(s)));
    double left = flops / 2;

    for (uint64_t pick = 0; pick < SAMPLED_MAX && (pick < 2 || left >= row); pick++, left -= row)
        if (add_row(at, s, dsa_pick(c, 0, pick, s->rows), out, err))
            return -1;
    left = flops / 2;
    for (uint64_t pick = 0; pick < SAMPLED_MAX && (pick < 2 || left >= key); pick++, left -= key)
        if (add(out, at->dk, dsa_pick(c, 1, 2 + pick, s->keys), IX_BWD_WIDTH, err))
            return -1;
    return 0;
}

int indexer_bwd_slices(const struct op_case *c, double flops, struct op_slices *out,
                       struct err *err)
{
    struct ix_sizes s;

    ix_sizes(c, &s);
    out->complete = s.rows * s.heads * IX_BWD_WIDTH <= WHOLE_MAX &&
                    s.keys * IX_BWD_WIDTH <= KEYS_MAX && indexer_bwd_oracle_flops(c) <= flops;
    if (!out->complete)
        return add_samples(c, &s, flops, out, err);
    for (int64_t row = 0; row < s.rows; row++)
        if (add_row(places_of(c), &s, row, out, err))
            return -1;
    for (int64_t key = 0; key < s.keys; key++)
        if (add(out, places_of(c)->dk, key, IX_BWD_WIDTH, err))
            return -1;
    return 0;
}

int indexer_bwd_sparse_oracle(const struct op_problem *p, const struct op_source *src,
                              const struct sab_attribute *attributes, uint32_t attributes_nr,
                              int threads, struct op_slices *slices, struct err *err)
{
    (void)attributes;
    (void)attributes_nr;
    return indexer_bwd_oracle(p, src, &sparse_places, threads, slices, err);
}

int indexer_bwd_dense_oracle(const struct op_problem *p, const struct op_source *src,
                             const struct sab_attribute *attributes, uint32_t attributes_nr,
                             int threads, struct op_slices *slices, struct err *err)
{
    (void)attributes;
    (void)attributes_nr;
    return indexer_bwd_oracle(p, src, &dense_places, threads, slices, err);
}
