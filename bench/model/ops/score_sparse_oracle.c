/*
 * score_sparse_oracle.c - predict and target of whole rows in double, and the sums of rows (indexer
 * contract, section 4).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsa_math.h"
#include "numfmt.h"
#include "score_sparse_model.h"

enum fault { FAULT_NONE = 0, FAULT_READ, FAULT_MEMORY };

struct sparse_input {
    const struct op_problem *p;
    const struct op_source *src;
    const struct ix_sparse_places *at;
    struct ix_rows rows;
    struct ix_slots slots;
    int64_t heads, width;
    double scale;
};

struct sparse_row {
    double *q;       /* [H][D] */
    double *weights; /* [H] */
    double *k;       /* [D] */
    double *scores;  /* [K] */
    int64_t *keys;   /* [K] */
};

static double score(const struct sparse_input *in, const struct sparse_row *r)
{
    double sum = 0;

    for (int64_t h = 0; h < in->heads; h++) {
        const double x = dsa_dot(r->q + h * in->width, r->k, in->width);

        if (!in->at->attention)
            sum += (x > 0 ? x : 0) * r->weights[h];
        else if (r->weights[h] != INFINITY)
            sum += exp(in->scale * x - r->weights[h]);
    }
    return in->at->attention ? sum : sum * in->scale;
}

/* Softmax, or division by the sum; 0 where a slot is not active. */
static void normalise(const struct sparse_input *in, struct sparse_row *r)
{
    double top = -INFINITY, sum = 0;

    for (int64_t j = 0; j < in->slots.slots; j++)
        if (r->keys[j] >= 0)
            top = fmax(top, r->scores[j]);
    for (int64_t j = 0; j < in->slots.slots; j++) {
        if (r->keys[j] < 0)
            r->scores[j] = 0;
        else if (!in->at->attention)
            r->scores[j] = exp(r->scores[j] - top);
        sum += r->scores[j];
    }
    if (in->at->attention && sum < 1e-12)
        sum = 1e-12;
    for (int64_t j = 0; sum > 0 && j < in->slots.slots; j++)
        r->scores[j] /= sum;
}

static enum fault run_row(const struct sparse_input *in, struct sparse_row *r, struct op_slice *s)
{
    const int64_t row = s->tile;
    bool any = false;

    if (ix_slots_read(&in->slots, &in->rows, row, r->keys))
        return FAULT_READ;
    for (int64_t j = 0; j < in->slots.slots; j++) {
        if (r->keys[j] < 0)
            continue;
        if (!any &&
            (ix_read(in->p, in->src, in->at->q, row * in->heads * in->width, in->heads * in->width,
                     r->q) ||
             ix_read(in->p, in->src, in->at->heads, row * in->heads, in->heads, r->weights)))
            return FAULT_READ;
        any = true;
        if (ix_read(in->p, in->src, in->at->k, r->keys[j] * in->width, in->width, r->k))
            return FAULT_READ;
        r->scores[j] = score(in, r);
    }
    normalise(in, r);
    free(s->within);
    s->within = calloc((size_t)s->n, sizeof(double));
    if (!s->ref)
        s->ref = malloc((size_t)s->n * sizeof(double));
    if (!s->ref || !s->within)
        return FAULT_MEMORY;
    for (int64_t j = 0; j < s->n; j++) {
        s->ref[j] = r->scores[j];
        s->within[j] = r->keys[j] < 0 ? WITHIN_EQUAL : 0;
    }
    return FAULT_NONE;
}

static void row_release(struct sparse_row *r)
{
    free(r->q);
    free(r->weights);
    free(r->k);
    free(r->scores);
    free(r->keys);
}

static bool row_init(struct sparse_row *r, const struct sparse_input *in)
{
    r->q = malloc((size_t)(in->heads * in->width) * sizeof(double));
    r->weights = malloc((size_t)in->heads * sizeof(double));
    r->k = malloc((size_t)in->width * sizeof(double));
    r->scores = calloc((size_t)in->slots.slots, sizeof(double));
    r->keys = malloc((size_t)in->slots.slots * sizeof(*r->keys));
    return r->q && r->weights && r->k && r->scores && r->keys;
}

static void run_slices(const struct sparse_input *in, int threads, struct op_slices *slices,
                       int *unread, int *no_memory)
{
    int lost = 0, full = 0;

    (void)threads;
#ifdef _OPENMP
#    pragma omp parallel num_threads(threads > 0 ? threads : 1) reduction(+ : lost, full)
#endif
    {
        struct sparse_row r = {0};
        const bool room = row_init(&r, in);

        full += !room;
#ifdef _OPENMP
#    pragma omp for schedule(dynamic)
#endif
        for (size_t i = 0; i < slices->nr; i++) {
            const enum fault fault = room ? run_row(in, &r, &slices->item[i]) : FAULT_NONE;

            lost += fault == FAULT_READ;
            full += fault == FAULT_MEMORY;
        }
        row_release(&r);
    }
    *unread = lost;
    *no_memory = full;
}

int score_sparse_oracle(const struct op_problem *p, const struct op_source *src,
                        const struct ix_sparse_places *at, int threads, struct op_slices *slices,
                        struct err *err)
{
    struct sparse_input in = {.p = p, .src = src, .at = at};
    int unread, no_memory;

    if (ix_rows_init(&in.rows, p, src, err))
        return -1;
    ix_slots_init(&in.slots, p, src);
    in.heads = p->tensor[at->q].shape[2];
    in.width = p->tensor[at->q].shape[3];
    in.scale = p->param[at->scale].f;
    run_slices(&in, threads, slices, &unread, &no_memory);
    ix_rows_release(&in.rows);
    if (no_memory)
        return err_memory(err);
    if (unread)
        return err_set(err, ERR_BUG, "an input of %s cannot be read by its oracle", p->spec->name);
    return 0;
}

int score_sparse_examine(const struct op_problem *p, const struct op_source *src,
                         const struct op_slices *slices, judge_read_fn read, void *ctx,
                         struct judgement *out, struct err *err)
{
    int ret = 0;

    (void)src;
    for (size_t i = 0; i < slices->nr && !ret && out->pass; i++) {
        const struct op_slice *s = &slices->item[i];
        const int32_t dtype = p->tensor[s->tensor].dtype;
        void *raw = malloc((size_t)s->n * numfmt_size(dtype) + 1);
        double got = 0, want = 0;

        if (!raw)
            return err_memory(err);
        ret = read(ctx, s->tensor, s->at, s->n, raw, err);
        for (int64_t j = 0; ret >= 0 && j < s->n; j++) {
            got += numfmt_decode(dtype, numfmt_load(dtype, raw, j));
            want += s->ref[j];
        }
        if (ret >= 0 && !(fabs(got - want) <= 1e-5)) {
            out->pass = false;
            snprintf(out->text, sizeof(out->text),
                     "row %lld of %s sums to %.9g, must be %.9g within 1e-05", (long long)s->tile,
                     p->spec->tensors[s->tensor].name, got, want);
        }
        free(raw);
    }
    return ret < 0 ? -1 : 0;
}
