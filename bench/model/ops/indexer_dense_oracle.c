/*
 * indexer_dense_oracle.c - scores of whole rows and their sums in double (indexer contract,
 * sections 2 and 4).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dsa_math.h"
#include "indexer_dense.h"

enum fault { FAULT_NONE = 0, FAULT_READ, FAULT_MEMORY };

struct dense_input {
    const struct op_problem *p;
    const struct op_source *src;
    const struct ix_dense_places *at;
    struct ix_rows rows;
    int64_t heads, kv_heads, width;
    double scale;
};

struct dense_row {
    double *q;       /* [H][D] */
    double *weights; /* [H] */
    double *k;       /* [Hk][D] */
    double *scores;  /* [columns] */
    struct ix_place place;
};

static bool is_present(const struct dense_input *in, uint32_t tensor)
{
    return in->p->tensor[tensor].dtype != SAB_NONE;
}

/* `n` rows from `row` on, with the powers of two of the mxfp8 form. */
static int read_rows(const struct dense_input *in, uint32_t tensor, uint32_t scale, int64_t row,
                     int64_t n, double *to)
{
    const int64_t groups = (in->width + 31) / 32;
    double exponents[64]; /* of a row: 576/32 at most */

    if (ix_read(in->p, in->src, tensor, row * in->width, n * in->width, to))
        return -1;
    if (!is_present(in, scale) || in->p->tensor[scale].dtype != SAB_E8M0)
        return 0;
    for (int64_t i = 0; i < n; i++) {
        if (ix_read(in->p, in->src, scale, (row + i) * groups, groups, exponents))
            return -1;
        for (int64_t d = 0; d < in->width; d++)
            to[i * in->width + d] *= exponents[d / 32];
    }
    return 0;
}

/* 1 where there is none. */
static int read_scale(const struct dense_input *in, uint32_t tensor, int64_t at, double *scale)
{
    *scale = 1;
    if (!is_present(in, tensor) || in->p->tensor[tensor].dtype != SAB_F32)
        return 0;
    return ix_read(in->p, in->src, tensor, at, 1, scale);
}

static int read_query(const struct dense_input *in, int64_t row, struct dense_row *r)
{
    if (read_rows(in, in->at->q, in->at->q_scale, row * in->heads, in->heads, r->q) ||
        ix_read(in->p, in->src, in->at->heads, row * in->heads, in->heads, r->weights))
        return -1;
    for (int64_t h = 0; !in->at->attention && h < in->heads; h++) {
        double scale;

        if (read_scale(in, in->at->q_scale, row * in->heads + h, &scale))
            return -1;
        r->weights[h] *= scale;
    }
    return 0;
}

static double score(const struct dense_input *in, const struct dense_row *r)
{
    const int64_t group = in->heads / in->kv_heads;
    double sum = 0;

    for (int64_t h = 0; h < in->heads; h++) {
        const double x = dsa_dot(r->q + h * in->width, r->k + h / group * in->width, in->width);

        if (!in->at->attention)
            sum += (x > 0 ? x : 0) * r->weights[h];
        else if (r->weights[h] != INFINITY)
            sum += exp(in->scale * x - r->weights[h]);
    }
    return in->at->attention ? sum : sum * in->scale;
}

static int run_columns(const struct dense_input *in, int64_t row, struct dense_row *r)
{
    double scale = 1;

    ix_rows_place(&in->rows, row, &r->place);
    if (r->place.limit > in->rows.columns)
        r->place.limit = in->rows.columns;
    if (r->place.limit > 0 && read_query(in, row, r))
        return -1;
    for (int64_t i = 0; i < in->rows.columns; i++) {
        const int64_t key = r->place.first_k + i;

        r->scores[i] = -INFINITY;
        if (i >= r->place.limit)
            continue;
        if (read_rows(in, in->at->k, in->at->k_scale, key * in->kv_heads, in->kv_heads, r->k) ||
            read_scale(in, in->at->k_scale, key, &scale))
            return -1;
        r->scores[i] = score(in, r) * scale;
    }
    return 0;
}

/* ln of the sum of e^S; attention: the sum. */
static double row_sum(const struct dense_input *in, const struct dense_row *r)
{
    double top = -INFINITY, sum = 0;

    for (int64_t i = 0; i < r->place.limit; i++)
        top = fmax(top, r->scores[i]);
    for (int64_t i = 0; i < r->place.limit; i++)
        sum += in->at->attention ? r->scores[i] : exp(r->scores[i] - top);
    if (in->at->attention)
        return sum;
    return r->place.limit > 0 ? top + log(sum) : -INFINITY;
}

static enum fault slice_fill(const struct dense_input *in, const struct dense_row *r,
                             struct op_slice *s)
{
    if (!s->ref)
        s->ref = malloc((size_t)s->n * sizeof(double));
    if (!s->ref)
        return FAULT_MEMORY;
    if (s->tensor == in->at->sums)
        s->ref[0] = row_sum(in, r);
    else
        memcpy(s->ref, r->scores, (size_t)s->n * sizeof(double));
    return FAULT_NONE;
}

static void row_release(struct dense_row *r)
{
    free(r->q);
    free(r->weights);
    free(r->k);
    free(r->scores);
}

static bool row_init(struct dense_row *r, const struct dense_input *in)
{
    r->q = malloc((size_t)(in->heads * in->width) * sizeof(double));
    r->weights = malloc((size_t)in->heads * sizeof(double));
    r->k = malloc((size_t)(in->kv_heads * in->width) * sizeof(double));
    r->scores = malloc((size_t)in->rows.columns * sizeof(double));
    return r->q && r->weights && r->k && r->scores;
}

/* All slices of one row, from the first of them on. */
static enum fault run_row(const struct dense_input *in, struct dense_row *r, struct op_slice *s,
                          size_t left)
{
    enum fault fault = run_columns(in, s->tile, r) ? FAULT_READ : FAULT_NONE;

    for (size_t i = 0; fault == FAULT_NONE && i < left && s[i].tile == s->tile; i++)
        fault = slice_fill(in, r, &s[i]);
    return fault;
}

static void run_slices(const struct dense_input *in, int threads, struct op_slices *slices,
                       int *unread, int *no_memory)
{
    int lost = 0, full = 0;

    (void)threads;
#ifdef _OPENMP
#    pragma omp parallel num_threads(threads > 0 ? threads : 1) reduction(+ : lost, full)
#endif
    {
        struct dense_row r = {0};
        const bool room = row_init(&r, in);

        full += !room;
#ifdef _OPENMP
#    pragma omp for schedule(dynamic)
#endif
        for (size_t i = 0; i < slices->nr; i++) {
            enum fault fault;

            if (!room || (i > 0 && slices->item[i - 1].tile == slices->item[i].tile))
                continue;
            fault = run_row(in, &r, &slices->item[i], slices->nr - i);
            lost += fault == FAULT_READ;
            full += fault == FAULT_MEMORY;
        }
        row_release(&r);
    }
    *unread = lost;
    *no_memory = full;
}

int ix_dense_oracle(const struct op_problem *p, const struct op_source *src,
                    const struct ix_dense_places *at, int threads, struct op_slices *slices,
                    struct err *err)
{
    const struct op_tensor *q = &p->tensor[at->q], *k = &p->tensor[at->k];
    struct dense_input in = {.p = p, .src = src, .at = at};
    int unread, no_memory;

    if (ix_rows_init(&in.rows, p, src, err))
        return -1;
    in.heads = q->shape[q->rank - 2];
    in.width = q->shape[q->rank - 1];
    in.kv_heads = k->shape[k->rank - 2];
    in.scale = p->param[at->scale].f;
    run_slices(&in, threads, slices, &unread, &no_memory);
    ix_rows_release(&in.rows);
    if (no_memory)
        return err_memory(err);
    if (unread)
        return err_set(err, ERR_BUG, "an input of %s cannot be read by its oracle", p->spec->name);
    return 0;
}
