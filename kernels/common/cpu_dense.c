/*
 * cpu_dense.c - tiles of 64 columns are turned once for a few query rows; a thread has whole rows,
 * so neither the number of threads nor their order changes a bit.
 */
#include "cpu_dense.h"

#include <stdlib.h>
#if defined(_OPENMP)
#    include <omp.h>
#endif

#define ROWS 4 /* query rows that share a tile of keys */

/* One thread's scratch memory, cut into parts. */
struct dense_scratch {
    const struct cpu_product *product;
    float *q;      /* [ROWS][heads][width] */
    float *weight; /* [ROWS][heads] */
    float *line;   /* [width] */
    float *turned; /* [width][CPU_TILE] */
    float *s;      /* [heads][CPU_TILE] */
    float sums[ROWS][CPU_TILE];
    struct indexer_place place[ROWS];
    int64_t limit[ROWS];
};

static int64_t round_up(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* Floats of a thread. */
static int64_t scratch_floats(const struct indexer_dense *d)
{
    const int64_t width = d->q.width;

    return round_up(ROWS * d->heads * width) + round_up(ROWS * d->heads) + round_up(width) +
           width * CPU_TILE + d->heads * CPU_TILE;
}

void *cpu_dense_scratch(const struct cpu_dense *c)
{
    return aligned_alloc(64, (size_t)c->threads * (size_t)scratch_floats(&c->d) * sizeof(float));
}

static void scratch_cut(const struct indexer_dense *d, float *memory, struct dense_scratch *t)
{
    const int64_t width = d->q.width;

    t->q = memory;
    t->weight = t->q + round_up(ROWS * d->heads * width);
    t->line = t->weight + round_up(ROWS * d->heads);
    t->turned = t->line + round_up(width);
    t->s = t->turned + width * CPU_TILE;
}

static float weight_of(const struct indexer_dense *d, int64_t at)
{
    float w;

    if (d->attention)
        return d->lse[at];
    w = d->w_f32 ? ((const float *)d->w)[at] : dsa_of_bf16(((const uint16_t *)d->w)[at]);
    return d->q_scale ? w * d->q_scale[at] : w;
}

static void load_row(const struct indexer_dense *d, struct dense_scratch *t, int64_t i, int64_t row)
{
    for (int64_t h = 0; h < d->heads; h++) {
        cpu_rows_load(&d->q, row * d->heads + h, t->q + (i * d->heads + h) * d->q.width);
        t->weight[i * d->heads + h] = weight_of(d, row * d->heads + h);
    }
}

/* Adds the heads of one group of row i over the turned tile. */
static void add_group(const struct indexer_dense *d, struct dense_scratch *t, int64_t i, int64_t g)
{
    const int64_t heads = d->heads / d->kv_heads, first = i * d->heads + g * heads;
    const struct cpu_matrix q = {t->q + first * d->q.width, d->q.width, 1};
    const struct cpu_matrix k = {t->turned, 0, CPU_TILE};

    t->product->run(heads, CPU_TILE, d->q.width, q, k, t->s, CPU_TILE, 0);
    for (int64_t h = 0; h < heads; h++) {
        if (d->attention)
            cpu_add_exp(t->s + h * CPU_TILE, d->scale, t->weight[first + h], t->sums[i]);
        else
            cpu_add_relu(t->s + h * CPU_TILE, t->weight[first + h], t->sums[i]);
    }
}

static void write_tile(const struct indexer_dense *d, const struct dense_scratch *t, int64_t i,
                       int64_t row, int64_t first)
{
    const int64_t end = first + CPU_TILE < t->limit[i] ? first + CPU_TILE : t->limit[i];
    float *out = d->out + row * d->stride;

    for (int64_t k = first; k < end; k++) {
        float x = t->sums[i][k - first];

        if (!d->attention)
            x *= d->k_scale ? d->scale * d->k_scale[t->place[i].first_k + k] : d->scale;
        out[k] = x;
    }
}

static void run_tile(const struct indexer_dense *d, struct dense_scratch *t, int64_t row,
                     int64_t nr, int64_t first, int64_t most)
{
    const int64_t keys = most - first < CPU_TILE ? most - first : CPU_TILE;

    memset(t->sums, 0, sizeof(t->sums));
    for (int64_t g = 0; g < d->kv_heads; g++) {
        for (int64_t j = 0; j < CPU_TILE; j++)
            if (j < keys)
                cpu_rows_turn(&d->k, (t->place[0].first_k + first + j) * d->kv_heads + g, j,
                              t->line, t->turned);
            else
                for (int64_t c = 0; c < d->k.width; c++)
                    t->turned[c * CPU_TILE + j] = 0;
        for (int64_t i = 0; i < nr; i++)
            if (t->limit[i] > first)
                add_group(d, t, i, g);
    }
    for (int64_t i = 0; i < nr; i++)
        write_tile(d, t, i, row + i, first);
}

static float row_sum(const struct indexer_dense *d, const float *out, int64_t limit)
{
    float top = -INFINITY;
    double sum = 0;

    if (d->attention) {
        for (int64_t k = 0; k < limit; k++)
            sum += (double)out[k];
        return (float)sum;
    }
    for (int64_t k = 0; k < limit; k++)
        top = out[k] > top ? out[k] : top;
    if (top == -INFINITY)
        return -INFINITY;
    for (int64_t k = 0; k < limit; k++)
        sum += (double)dsa_exp2((out[k] - top) * (float)DSA_LOG2E);
    return (float)((double)top + log(sum));
}

/* Rows of one batch that lie one behind the other. */
static void run_rows(const struct indexer_dense *d, struct dense_scratch *t, int64_t row,
                     int64_t nr)
{
    int64_t most = 0;

    for (int64_t i = 0; i < nr; i++) {
        t->limit[i] = indexer_dense_limit(d, &t->place[i]);
        most = t->limit[i] > most ? t->limit[i] : most;
    }
    for (int64_t i = 0; most > 0 && i < nr; i++)
        load_row(d, t, i, row + i);
    for (int64_t first = 0; first < most; first += CPU_TILE)
        run_tile(d, t, row, nr, first, most);
    for (int64_t i = 0; i < nr; i++) {
        float *out = d->out + (row + i) * d->stride;

        for (int64_t k = t->limit[i]; k < d->columns; k++)
            out[k] = -INFINITY;
        if (d->sums)
            d->sums[row + i] = row_sum(d, out, t->limit[i]);
    }
}

static void run_block(const struct indexer_dense *d, struct dense_scratch *t, int64_t row)
{
    const int64_t end = row + ROWS < d->rows ? row + ROWS : d->rows;

    for (int64_t nr; row < end; row += nr) {
        nr = 0;
        do
            t->place[nr] = indexer_dense_place(d, row + nr);
        while (t->place[nr].batch == t->place[0].batch && ++nr < end - row);
        run_rows(d, t, row, nr);
    }
}

void cpu_dense_run(const struct cpu_dense *c, void *scratch)
{
    const struct indexer_dense *d = &c->d;
    const int64_t blocks = (d->rows + ROWS - 1) / ROWS;

#if defined(_OPENMP)
#    pragma omp parallel num_threads(c->threads)
#endif
    {
#if defined(_OPENMP)
        const int64_t thread = omp_get_thread_num();
#else
        const int64_t thread = 0;
#endif
        struct dense_scratch t;

        t.product = c->product;
        scratch_cut(d, (float *)scratch + thread * scratch_floats(d), &t);
        /* the last rows see most: they go first */
#if defined(_OPENMP)
#    pragma omp for schedule(dynamic)
#endif
        for (int64_t i = 0; i < blocks; i++)
            run_block(d, &t, (blocks - 1 - i) * ROWS);
    }
}
