/*
 * dsa_bwd_oracle.c - the right answers of dsa_bwd in double (dsa contract, 3.2 and 3.3).
 *
 * Query rows are visited once each. What a row gives to the wanted rows of dkv is added up by every
 * thread for itself; which thread has which rows depends on their number alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dsa_bwd_model.h"
#include "dsa_input.h"
#include "dsa_math.h"

struct bwd_run {
    struct dsa_input in;
    struct op_slice **dq;  /* [T]: the slice of a query row, or NULL */
    struct op_slice **dkv; /* by their rows, ascending */
    int64_t dkv_nr;
    struct op_slice **d_sink;
    int64_t d_sink_nr;
    double *terms; /* [T][d_sink_nr]: p_sink * delta */
    double *sinks; /* [H] */
};

/* What one thread works with. */
struct bwd_row {
    double *q, *dout, *out; /* [H][D], [H][512], [512] */
    double *lse, *delta;    /* [H] */
    struct dsa_norm *norm;  /* [H] */
    double *kv;             /* [D] */
    int32_t *ids;           /* [K] */
    double *sum;            /* [dkv_nr][D] */
};

static void row_release(struct bwd_row *r)
{
    free(r->q);
    free(r->dout);
    free(r->out);
    free(r->lse);
    free(r->delta);
    free(r->norm);
    free(r->kv);
    free(r->ids);
    free(r->sum);
}

static bool row_init(struct bwd_row *r, const struct bwd_run *run)
{
    const size_t heads = (size_t)run->in.heads, width = (size_t)run->in.width;

    r->q = malloc(heads * width * sizeof(double));
    r->dout = malloc(heads * DSA_V * sizeof(double));
    r->out = malloc(DSA_V * sizeof(double));
    r->lse = malloc(heads * sizeof(double));
    r->delta = malloc(heads * sizeof(double));
    r->norm = calloc(heads, sizeof(*r->norm));
    r->kv = malloc(width * sizeof(double));
    r->ids = malloc((size_t)(run->in.slots + 1) * sizeof(*r->ids));
    r->sum = calloc((size_t)run->dkv_nr * width + 1, sizeof(double));
    return r->q && r->dout && r->out && r->lse && r->delta && r->norm && r->kv && r->ids && r->sum;
}

/* Place of a row of kv among the wanted ones, or -1. */
static int64_t dkv_place(const struct bwd_run *run, int64_t key)
{
    int64_t low = 0, high = run->dkv_nr;

    while (low < high) {
        const int64_t middle = (low + high) / 2;

        if (run->dkv[middle]->tile < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->dkv_nr && run->dkv[low]->tile == key ? low : -1;
}

static int by_id(const void *a, const void *b)
{
    const int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;

    return (left > right) - (left < right);
}

/* The active ids of a row that matter, sorted; their number, or -1. */
static int64_t row_ids(const struct bwd_run *run, int64_t row, struct bwd_row *r)
{
    const int64_t n = dsa_read_length(&run->in, row);
    int64_t kept = 0;

    if (n < 0 || dsa_read_ids(&run->in, row, n, r->ids))
        return -1;
    for (int64_t j = 0; j < n; j++) {
        const int32_t id = r->ids[j];

        if (id >= 0 && id < run->in.keys && (run->dq[row] || dkv_place(run, id) >= 0))
            r->ids[kept++] = id;
    }
    if (kept > 1)
        qsort(r->ids, (size_t)kept, sizeof(*r->ids), by_id);
    return kept;
}

/* delta of one head, where anything depends on it. */
static int head_delta(const struct bwd_run *run, int64_t row, int64_t h, struct bwd_row *r)
{
    const int64_t at = (row * run->in.heads + h) * DSA_V;

    r->delta[h] = 0;
    if (r->norm[h].nl == -INFINITY && r->norm[h].p_sink == 0)
        return 0;
    if (dsa_read(&run->in, SAB_T_dsa_bwd_out, at, DSA_V, r->out) ||
        dsa_read(&run->in, SAB_T_dsa_bwd_dout, at, DSA_V, r->dout + h * DSA_V))
        return -1;
    r->delta[h] = dsa_dot(r->out, r->dout + h * DSA_V, DSA_V);
    return 0;
}

static int row_load(const struct bwd_run *run, int64_t row, bool all, struct bwd_row *r)
{
    const struct dsa_input *in = &run->in;

    if (dsa_read(in, SAB_T_dsa_bwd_lse, row * in->heads, in->heads, r->lse))
        return -1;
    for (int64_t h = 0; h < in->heads; h++)
        dsa_norm_init(&r->norm[h], r->lse[h], run->sinks[h]);
    if (!all) {
        for (int64_t i = 0; i < run->d_sink_nr; i++)
            if (head_delta(run, row, run->d_sink[i]->head, r))
                return -1;
        return 0;
    }
    for (int64_t h = 0; h < in->heads; h++)
        if (head_delta(run, row, h, r))
            return -1;
    return dsa_read(in, SAB_T_dsa_bwd_q, row * in->heads * in->width, in->heads * in->width, r->q);
}

/* `times` slots of the row that hold `id`. */
static int row_add(const struct bwd_run *run, int64_t row, int32_t id, int64_t times,
                   struct bwd_row *r)
{
    const struct dsa_input *in = &run->in;
    const int64_t place = dkv_place(run, id);

    if (dsa_read(in, SAB_T_dsa_bwd_kv, id * in->width, in->width, r->kv))
        return -1;
    for (int64_t h = 0; h < in->heads; h++) {
        const struct dsa_grad g = {
            in->width,          in->scale, r->norm[h].nl, r->delta[h], r->q + h * in->width,
            r->dout + h * DSA_V};

        dsa_grad_add(&g, r->kv, (double)times,
                     run->dq[row] ? run->dq[row]->ref + h * in->width : NULL,
                     place >= 0 ? r->sum + place * in->width : NULL);
    }
    return 0;
}

/* Heads of a row of dq that must be 0: all without an active slot, else those whose P is 0. */
static void mark_zeros(const struct bwd_run *run, const struct bwd_row *r, bool empty,
                       struct op_slice *dq)
{
    for (int64_t i = 0; i < dq->n; i++)
        if (empty || r->norm[i / run->in.width].nl == -INFINITY)
            dq->within[i] = WITHIN_EQUAL;
}

static int row_run(const struct bwd_run *run, int64_t row, struct bwd_row *r)
{
    const int64_t n = row_ids(run, row, r);

    if (n < 0)
        return -1;
    if ((n > 0 || run->d_sink_nr > 0) && row_load(run, row, n > 0, r))
        return -1;
    if (run->dq[row])
        mark_zeros(run, r, n == 0, run->dq[row]);
    if (n == 0 && run->d_sink_nr == 0)
        return 0;
    for (int64_t i = 0; i < run->d_sink_nr; i++) {
        const int64_t h = run->d_sink[i]->head;

        run->terms[row * run->d_sink_nr + i] =
            r->norm[h].p_sink > 0 ? r->norm[h].p_sink * r->delta[h] : 0;
    }
    for (int64_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && r->ids[next] == r->ids[i];)
            next++;
        if (row_add(run, row, r->ids[i], next - i, r))
            return -1;
    }
    return 0;
}

/* Every `of`-th group of four rows, from group `part` on. */
static int part_run(const struct bwd_run *run, int part, int of, struct bwd_row *r)
{
    for (int64_t row = 4 * (int64_t)part; row < run->in.rows; row += 4 * (int64_t)of)
        for (int64_t i = row; i < row + 4 && i < run->in.rows; i++)
            if (row_run(run, i, r))
                return -1;
    return 0;
}

static void fold(const struct bwd_run *run, const struct bwd_row *rows, int rows_nr)
{
    for (int64_t i = 0; i < run->dkv_nr; i++)
        for (int64_t d = 0; d < run->in.width; d++)
            for (int k = 0; k < rows_nr; k++)
                run->dkv[i]->ref[d] += rows[k].sum[i * run->in.width + d];
    for (int64_t i = 0; i < run->d_sink_nr; i++)
        for (int64_t row = 0; row < run->in.rows; row++)
            run->d_sink[i]->ref[0] -= run->terms[row * run->d_sink_nr + i];
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
        if (!unread)
            fold(run, rows, threads);
    }
    for (int i = 0; rows && i < threads; i++)
        row_release(&rows[i]);
    free(rows);
    if (!room)
        return err_memory(err);
    return unread ? err_set(err, ERR_BUG, "an input of dsa_bwd cannot be read by its oracle") : 0;
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
    const size_t nr = slices->nr + 1;

    run->dq = calloc((size_t)run->in.rows + 1, sizeof(struct op_slice *));
    run->dkv = calloc(nr, sizeof(struct op_slice *));
    run->d_sink = calloc(nr, sizeof(struct op_slice *));
    run->sinks = malloc((size_t)run->in.heads * sizeof(double));
    if (!run->dq || !run->dkv || !run->d_sink || !run->sinks)
        return err_memory(err);
    for (size_t i = 0; i < slices->nr; i++) {
        struct op_slice *s = &slices->item[i];

        free(s->ref);
        free(s->within);
        s->ref = calloc((size_t)s->n + 1, sizeof(double));
        s->within = calloc((size_t)s->n + 1, sizeof(double));
        if (!s->ref || !s->within)
            return err_memory(err);
        if (s->tensor == SAB_T_dsa_bwd_dq)
            run->dq[s->tile] = s;
        else if (s->tensor == SAB_T_dsa_bwd_dkv)
            run->dkv[run->dkv_nr++] = s;
        else
            run->d_sink[run->d_sink_nr++] = s;
    }
    if (run->dkv_nr > 1)
        qsort(run->dkv, (size_t)run->dkv_nr, sizeof(struct op_slice *), by_tile);
    run->terms = calloc((size_t)(run->in.rows * run->d_sink_nr) + 1, sizeof(double));
    return run->terms ? 0 : err_memory(err);
}

static void run_release(struct bwd_run *run)
{
    free(run->dq);
    free(run->dkv);
    free(run->d_sink);
    free(run->sinks);
    free(run->terms);
}

int dsa_bwd_oracle(const struct op_problem *p, const struct op_source *src,
                   const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                   struct op_slices *slices, struct err *err)
{
    static const struct dsa_places places = {SAB_T_dsa_bwd_q, SAB_T_dsa_bwd_kv,
                                             SAB_T_dsa_bwd_topk_idxs, SAB_T_dsa_bwd_attn_sink,
                                             SAB_T_dsa_bwd_topk_length};
    struct bwd_run run;
    int ret;

    (void)attributes;
    (void)attributes_nr;
    memset(&run, 0, sizeof(run));
    dsa_input_init(&run.in, p, src, &places, p->param[SAB_P_dsa_bwd_softmax_scale].f);
    ret = run_init(&run, slices, err);
    if (!ret && dsa_read_sinks(&run.in, run.sinks))
        ret = err_set(err, ERR_BUG, "the sinks of dsa_bwd cannot be read by its oracle");
    if (!ret)
        ret = rows_run(&run, threads > 0 ? threads : 1, err);
    run_release(&run);
    return ret;
}
