/*
 * indexer_bwd_oracle.c - the right answers of both backward operators in double (indexer contract,
 * 6.2 and 6.3).
 *
 * Query rows are visited once each. What a row gives to the wanted keys is added up by every thread
 * for itself; which thread has which rows depends on their number alone.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dsa_math.h"
#include "indexer_bwd_model.h"

#define WIDTH IX_BWD_WIDTH

struct bwd_run {
    const struct op_problem *p;
    const struct op_source *src;
    const struct ix_bwd_places *at;
    struct ix_rows rows;
    struct ix_slots slots;      /* sparse */
    int64_t heads, columns;     /* columns: entries of a row of scores */
    double scale, factor;       /* sm_scale, grad_scale * grad_loss */
    struct op_slice **dq, **dw; /* [rows]: the slice of a query row, or NULL */
    struct op_slice **dk;       /* by their keys, ascending */
    int64_t dk_nr;
};

/* What one thread works with. */
struct bwd_row {
    double *q, *w; /* [H][D], [H] */
    double *t, *p; /* [columns] */
    double *g;     /* [columns] */
    int64_t *keys; /* [columns], -1: not active */
    double *sum;   /* [dk_nr][D] */
    double k[WIDTH];
};

static void row_release(struct bwd_row *r)
{
    free(r->q);
    free(r->w);
    free(r->t);
    free(r->p);
    free(r->g);
    free(r->keys);
    free(r->sum);
}

static bool row_init(struct bwd_row *r, const struct bwd_run *run)
{
    const size_t columns = (size_t)run->columns;

    r->q = malloc((size_t)run->heads * WIDTH * sizeof(double));
    r->w = malloc((size_t)run->heads * sizeof(double));
    r->t = malloc(columns * sizeof(double));
    r->p = malloc(columns * sizeof(double));
    r->g = malloc(columns * sizeof(double));
    r->keys = malloc(columns * sizeof(*r->keys));
    r->sum = calloc((size_t)run->dk_nr * WIDTH + 1, sizeof(double));
    return r->q && r->w && r->t && r->p && r->g && r->keys && r->sum;
}

/* Place of a key among the wanted ones, or -1. */
static int64_t dk_place(const struct bwd_run *run, int64_t key)
{
    int64_t low = 0, high = run->dk_nr;

    while (low < high) {
        const int64_t middle = (low + high) / 2;

        if (run->dk[middle]->tile < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->dk_nr && run->dk[low]->tile == key ? low : -1;
}

static int read(const struct bwd_run *run, uint32_t tensor, int64_t at, int64_t n, double *to)
{
    return ix_read(run->p, run->src, tensor, at, n, to);
}

/* Which entries are active: by id and length, or by what the row sees. */
static int row_keys(const struct bwd_run *run, int64_t row, struct bwd_row *r)
{
    struct ix_place place;

    if (run->at->sparse)
        return ix_slots_read(&run->slots, &run->rows, row, r->keys);
    ix_rows_place(&run->rows, row, &place);
    for (int64_t j = 0; j < run->columns; j++)
        r->keys[j] = j < place.limit ? place.first_k + j : -1;
    return 0;
}

/* Teacher and probability as given: their values count where an entry is active. `off` says that
 * the row is. */
static int row_scores(const struct bwd_run *run, int64_t row, struct bwd_row *r, bool *off)
{
    const int64_t at = row * run->columns;
    double l1 = 0, lse = 0;

    *off = false;
    if (read(run, run->at->teacher, at, run->columns, r->t) ||
        read(run, run->at->indexer, at, run->columns, r->p))
        return -1;
    if (run->at->sparse)
        return 0;
    if (read(run, run->at->l1norm, row, 1, &l1) || read(run, run->at->index_lse, row, 1, &lse))
        return -1;
    *off = !isfinite(lse);
    for (int64_t j = 0; !*off && j < run->columns; j++) {
        r->t[j] /= l1 + 1e-10;
        r->p[j] -= lse; /* the logarithm */
    }
    return 0;
}

/* Section 6.2. Returns whether any entry is not 0. */
static bool row_gradient(const struct bwd_run *run, struct bwd_row *r)
{
    double sum = 0;
    bool any = false;

    for (int64_t j = 0; j < run->columns; j++) {
        const bool counts = run->at->sparse ? r->p[j] >= (double)FLT_MIN : r->p[j] >= -100;

        r->g[j] = 0;
        if (r->keys[j] >= 0 && counts)
            r->g[j] = -fmax(r->t[j], (double)FLT_MIN) * run->factor;
        sum += r->g[j];
    }
    for (int64_t j = 0; j < run->columns; j++) {
        if (r->keys[j] >= 0)
            r->g[j] -= (run->at->sparse ? r->p[j] : exp(r->p[j])) * sum;
        any |= r->g[j] != 0;
    }
    return any;
}

/* Section 6.3 for one entry of the row; either output may be NULL. */
static void add_entry(const struct bwd_run *run, int64_t row, struct bwd_row *r, double g,
                      double *dk)
{
    double *dq = run->dq[row] ? run->dq[row]->ref : NULL;
    double *dw = run->dw[row] ? run->dw[row]->ref : NULL;

    for (int64_t h = 0; h < run->heads; h++) {
        const double *q = r->q + h * WIDTH;
        const double x = run->scale * dsa_dot(q, r->k, WIDTH), a = run->scale * g * r->w[h];

        if (!(x > 0))
            continue;
        if (dw)
            dw[h] += g * x;
        for (int d = 0; dq && d < WIDTH; d++)
            dq[h * WIDTH + d] += a * r->k[d];
        for (int d = 0; dk && d < WIDTH; d++)
            dk[d] += a * q[d];
    }
}

static int row_run(const struct bwd_run *run, int64_t row, struct bwd_row *r)
{
    const bool wanted = run->dq[row] || run->dw[row];
    bool off, touches = wanted;

    if (row_keys(run, row, r))
        return -1;
    for (int64_t j = 0; !touches && j < run->columns; j++)
        touches = r->keys[j] >= 0 && dk_place(run, r->keys[j]) >= 0;
    if (!touches)
        return 0;
    if (row_scores(run, row, r, &off))
        return -1;
    if (off || !row_gradient(run, r))
        return 0;
    if (read(run, run->at->q, row * run->heads * WIDTH, run->heads * WIDTH, r->q) ||
        read(run, run->at->w, row * run->heads, run->heads, r->w))
        return -1;
    for (int64_t j = 0; j < run->columns; j++) {
        const int64_t place = r->g[j] != 0 ? dk_place(run, r->keys[j]) : -1;

        if (r->g[j] == 0 || (!wanted && place < 0))
            continue;
        if (read(run, run->at->k, r->keys[j] * WIDTH, WIDTH, r->k))
            return -1;
        add_entry(run, row, r, r->g[j], place >= 0 ? r->sum + place * WIDTH : NULL);
    }
    return 0;
}

/* Every `of`-th row from row `part` on. */
static int part_run(const struct bwd_run *run, int part, int of, struct bwd_row *r)
{
    for (int64_t row = part; row < run->rows.rows; row += of)
        if (row_run(run, row, r))
            return -1;
    return 0;
}

static int rows_run(const struct bwd_run *run, int threads, struct err *err)
{
    struct bwd_row *rows = calloc((size_t)threads, sizeof(*rows));
    bool room = rows != NULL;
    int unread = 0;

    for (int i = 0; room && i < threads; i++)
        room = row_init(&rows[i], run);
    if (room) {
#ifdef _OPENMP
#    pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(+ : unread)
#endif
        for (int i = 0; i < threads; i++)
            unread += part_run(run, i, threads, &rows[i]) < 0;
    }
    for (int i = 0; rows && i < threads; i++) {
        for (int64_t n = 0; room && n < run->dk_nr * WIDTH; n++)
            run->dk[n / WIDTH]->ref[n % WIDTH] += rows[i].sum[n];
        row_release(&rows[i]);
    }
    free(rows);
    if (!room)
        return err_memory(err);
    return unread ? err_set(err, ERR_BUG, "an input of %s cannot be read by its oracle",
                            run->p->spec->name)
                  : 0;
}

static int by_tile(const void *a, const void *b)
{
    const struct op_slice *left = *(struct op_slice *const *)a;
    const struct op_slice *right = *(struct op_slice *const *)b;

    return (left->tile > right->tile) - (left->tile < right->tile);
}

/* Sorts the slices by what they are of, each with its values at 0. */
static int run_init(struct bwd_run *run, struct op_slices *slices, struct err *err)
{
    run->dq = calloc((size_t)run->rows.rows + 1, sizeof(struct op_slice *));
    run->dw = calloc((size_t)run->rows.rows + 1, sizeof(struct op_slice *));
    run->dk = calloc(slices->nr + 1, sizeof(struct op_slice *));
    if (!run->dq || !run->dw || !run->dk)
        return err_memory(err);
    for (size_t i = 0; i < slices->nr; i++) {
        struct op_slice *s = &slices->item[i];

        free(s->ref);
        s->ref = calloc((size_t)s->n + 1, sizeof(double));
        if (!s->ref)
            return err_memory(err);
        if (s->tensor == run->at->dq)
            run->dq[s->tile] = s;
        else if (s->tensor == run->at->dw)
            run->dw[s->tile] = s;
        else
            run->dk[run->dk_nr++] = s;
    }
    if (run->dk_nr > 1)
        qsort(run->dk, (size_t)run->dk_nr, sizeof(struct op_slice *), by_tile);
    return 0;
}

int indexer_bwd_oracle(const struct op_problem *p, const struct op_source *src,
                       const struct ix_bwd_places *at, int threads, struct op_slices *slices,
                       struct err *err)
{
    const struct op_tensor *q = &p->tensor[at->q], *scores = &p->tensor[at->indexer];
    struct bwd_run run = {.p = p, .src = src, .at = at};
    double grad_loss;
    int ret;

    if (ix_rows_init(&run.rows, p, src, err))
        return -1;
    if (at->sparse)
        ix_slots_init(&run.slots, p, src);
    run.heads = q->shape[q->rank - 2];
    run.columns = scores->shape[scores->rank - 1];
    run.scale = p->param[at->sm_scale].f;
    ret = run_init(&run, slices, err);
    if (!ret && ix_read(p, src, at->grad_loss, 0, 1, &grad_loss))
        ret = err_set(err, ERR_BUG, "grad_loss of %s cannot be read by its oracle", p->spec->name);
    if (!ret) {
        run.factor = p->param[at->grad_scale].f * grad_loss;
        ret = rows_run(&run, threads > 0 ? threads : 1, err);
    }
    free(run.dq);
    free(run.dw);
    free(run.dk);
    ix_rows_release(&run.rows);
    return ret;
}
