/*
 * dsa_fwd_oracle.c - the right answers of dsa_fwd in double, one query row at a time (dsa contract,
 * 2.2 and 2.3).
 */
#include <math.h>
#include <stdlib.h>

#include "dsa_fwd_model.h"
#include "dsa_input.h"
#include "dsa_math.h"

enum fault { FAULT_NONE = 0, FAULT_READ, FAULT_MEMORY };

struct fwd_row {
    double *q;     /* [H][D] */
    double *sinks; /* [H] */
    double *kv;    /* [D] */
    int32_t *ids;  /* [K] */
    struct dsa_fold *fold;
    bool any; /* an active slot */
};

static void row_release(struct fwd_row *r)
{
    free(r->q);
    free(r->sinks);
    free(r->kv);
    free(r->ids);
    free(r->fold);
}

static bool row_init(struct fwd_row *r, const struct dsa_input *in)
{
    const size_t heads = (size_t)in->heads, width = (size_t)in->width;

    r->any = false;
    r->q = malloc(heads * width * sizeof(double));
    r->sinks = malloc(heads * sizeof(double));
    r->kv = malloc(width * sizeof(double));
    r->ids = malloc((size_t)(in->slots + 1) * sizeof(*r->ids));
    r->fold = malloc(heads * sizeof(*r->fold));
    return r->q && r->sinks && r->kv && r->ids && r->fold;
}

static int row_fold(const struct dsa_input *in, int64_t row, int64_t prefix, struct fwd_row *r)
{
    const int64_t n = dsa_read_length(in, row);

    if (n < 0 || dsa_read_ids(in, row, n, r->ids) || dsa_read_sinks(in, r->sinks) ||
        dsa_read(in, in->at.q, row * in->heads * in->width, in->heads * in->width, r->q))
        return -1;
    for (int64_t h = 0; h < in->heads; h++)
        dsa_fold_init(&r->fold[h]);
    for (int64_t j = 0; j < n; j++) {
        if (r->ids[j] < 0 || r->ids[j] >= in->keys)
            continue;
        if (dsa_read(in, in->at.kv, r->ids[j] * in->width, in->width, r->kv))
            return -1;
        r->any = true;
        for (int64_t h = 0; h < in->heads; h++)
            dsa_fold_add(&r->fold[h], in->scale * dsa_dot(r->q + h * in->width, r->kv, in->width),
                         r->kv, j < prefix);
    }
    return 0;
}

/* Section 2.3: all bits zero without an active slot, 0 below an infinite sink. */
static void mark_zeros(const struct dsa_input *in, const struct fwd_row *r, double *within)
{
    for (int64_t h = 0; h < in->heads; h++)
        for (int64_t d = 0; d < DSA_V; d++)
            within[h * DSA_V + d] = !r->any                   ? WITHIN_BITS
                                    : r->sinks[h] == INFINITY ? WITHIN_EQUAL
                                                              : 0;
}

static enum fault slice_fill(const struct dsa_input *in, const struct fwd_row *r,
                             struct op_slice *s)
{
    if (!s->ref)
        s->ref = malloc((size_t)s->n * sizeof(double));
    if (!s->within)
        s->within = calloc((size_t)s->n, sizeof(double));
    if (!s->ref || !s->within)
        return FAULT_MEMORY;
    for (int64_t h = 0; h < in->heads; h++) {
        const struct dsa_fold *f = &r->fold[h];

        if (s->tensor == SAB_T_dsa_fwd_out)
            dsa_fold_out(f, r->sinks[h], s->ref + h * DSA_V);
        else if (s->tensor == SAB_T_dsa_fwd_max_logits)
            s->ref[h] = f->max;
        else if (s->tensor == SAB_T_dsa_fwd_lse)
            s->ref[h] = dsa_fold_lse(f);
        else
            s->ref[h] = dsa_fold_prefix_lse(f);
    }
    if (s->tensor == SAB_T_dsa_fwd_out)
        mark_zeros(in, r, s->within);
    return FAULT_NONE;
}

/* All slices of one row, from the first of them on. */
static enum fault run_row(const struct dsa_input *in, int64_t prefix, struct op_slice *s,
                          size_t left)
{
    struct fwd_row r;
    enum fault fault = row_init(&r, in) ? FAULT_NONE : FAULT_MEMORY;

    if (fault == FAULT_NONE && row_fold(in, s->tile, prefix, &r))
        fault = FAULT_READ;
    for (size_t i = 0; fault == FAULT_NONE && i < left && s[i].tile == s->tile; i++)
        fault = slice_fill(in, &r, &s[i]);
    row_release(&r);
    return fault;
}

int dsa_fwd_oracle(const struct op_problem *p, const struct op_source *src,
                   const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                   struct op_slices *slices, struct err *err)
{
    static const struct dsa_places places = {SAB_T_dsa_fwd_q, SAB_T_dsa_fwd_kv,
                                             SAB_T_dsa_fwd_topk_idxs, SAB_T_dsa_fwd_attn_sink,
                                             SAB_T_dsa_fwd_topk_length};
    const int64_t prefix = p->param[SAB_P_dsa_fwd_lse_prefix].i;
    struct dsa_input in;
    int unread = 0, no_memory = 0;

    (void)attributes;
    (void)attributes_nr;
    (void)threads;
    dsa_input_init(&in, p, src, &places, p->param[SAB_P_dsa_fwd_softmax_scale].f);
#ifdef _OPENMP
#    pragma omp parallel for schedule(dynamic) num_threads(threads > 0 ? threads : 1)              \
        reduction(+ : unread, no_memory)
#endif
    for (size_t i = 0; i < slices->nr; i++) {
        enum fault fault;

        if (i > 0 && slices->item[i - 1].tile == slices->item[i].tile)
            continue;
        fault = run_row(&in, prefix, &slices->item[i], slices->nr - i);
        unread += fault == FAULT_READ;
        no_memory += fault == FAULT_MEMORY;
    }
    if (no_memory)
        return err_memory(err);
    if (unread)
        return err_set(err, ERR_BUG, "an input of dsa_fwd cannot be read by its oracle");
    return 0;
}
