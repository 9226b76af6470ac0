/*
 * cpu_sparse.c - a thread has whole rows; the active slots of a row are gathered in tiles of 64, so
 * neither the number of threads nor their order changes a bit.
 */
#include "cpu_sparse.h"

#include <stdlib.h>
#if defined(_OPENMP)
#    include <omp.h>
#endif

/* One thread's scratch memory, cut into parts. */
struct sparse_scratch {
    const struct cpu_product *product;
    float *q;      /* [heads][width] */
    float *weight; /* [heads] */
    float *line;   /* [width] */
    float *turned; /* [width][CPU_TILE] */
    float *s;      /* [heads][CPU_TILE] */
    float sums[CPU_TILE];
    int64_t slot[CPU_TILE]; /* of the tile's columns */
};

static int64_t round_up(int64_t n)
{
    return (n + 15) / 16 * 16;
}

static int64_t scratch_floats(const struct indexer_sparse *d)
{
    const int64_t width = d->q.width;

    return round_up(d->heads * width) + round_up(d->heads) + round_up(width) + width * CPU_TILE +
           d->heads * CPU_TILE;
}

void *cpu_sparse_scratch(const struct cpu_sparse *c)
{
    return aligned_alloc(64, (size_t)c->threads * (size_t)scratch_floats(&c->d) * sizeof(float));
}

static void scratch_cut(const struct indexer_sparse *d, float *memory, struct sparse_scratch *t)
{
    const int64_t width = d->q.width;

    t->q = memory;
    t->weight = t->q + round_up(d->heads * width);
    t->line = t->weight + round_up(d->heads);
    t->turned = t->line + round_up(width);
    t->s = t->turned + width * CPU_TILE;
}

static void load_row(const struct indexer_sparse *d, struct sparse_scratch *t, int64_t row)
{
    for (int64_t h = 0; h < d->heads; h++) {
        const int64_t at = row * d->heads + h;

        cpu_rows_load(&d->q, at, t->q + h * d->q.width);
        t->weight[h] =
            d->attention ? d->lse[at] : dsa_of_bf16(((const uint16_t *)d->w)[at]) * d->scale;
    }
}

/* The raw scores of a tile's slots to the row of out. */
static void run_tile(const struct indexer_sparse *d, struct sparse_scratch *t, int64_t nr,
                     float *out)
{
    const struct cpu_matrix q = {t->q, d->q.width, 1}, k = {t->turned, 0, CPU_TILE};

    for (int64_t j = nr; j < CPU_TILE; j++)
        for (int64_t i = 0; i < d->k.width; i++)
            t->turned[i * CPU_TILE + j] = 0;
    t->product->run(d->heads, CPU_TILE, d->q.width, q, k, t->s, CPU_TILE, 0);
    memset(t->sums, 0, sizeof(t->sums));
    for (int64_t h = 0; h < d->heads; h++) {
        if (d->attention)
            cpu_add_exp(t->s + h * CPU_TILE, d->scale, t->weight[h], t->sums);
        else
            cpu_add_relu(t->s + h * CPU_TILE, t->weight[h], t->sums);
    }
    for (int64_t j = 0; j < nr; j++)
        out[t->slot[j]] = t->sums[j];
}

/* Divides by the sum. Inactive slots hold NaN until here, and get 0. */
static void normalise(const struct indexer_sparse *d, float *out)
{
    float top = -INFINITY;
    double sum = 0;

    for (int64_t j = 0; j < d->slots.slots; j++)
        top = out[j] > top ? out[j] : top;
    for (int64_t j = 0; j < d->slots.slots; j++) {
        if (isnan(out[j]))
            continue;
        if (!d->attention)
            out[j] = dsa_exp2((out[j] - top) * (float)DSA_LOG2E);
        sum += (double)out[j];
    }
    if (d->attention && sum < 1e-12)
        sum = 1e-12;
    for (int64_t j = 0; j < d->slots.slots; j++)
        out[j] = isnan(out[j]) ? 0 : (float)((double)out[j] / sum);
}

static void run_row(const struct indexer_sparse *d, struct sparse_scratch *t, int64_t row)
{
    const struct indexer_place place = indexer_padded_place(d->seqlen_q, d->seqlen_k, row);
    const int64_t length = indexer_slots_length(&d->slots, row);
    float *out = d->out + row * d->slots.slots;
    int64_t nr = 0, active = 0;

    for (int64_t j = 0; j < d->slots.slots; j++)
        out[j] = NAN;
    for (int64_t j = 0; j < length; j++) {
        const int64_t key = indexer_slots_key(&d->slots, &place, row, j);

        if (key < 0)
            continue;
        if (active++ == 0)
            load_row(d, t, row);
        t->slot[nr] = j;
        cpu_rows_turn(&d->k, key, nr++, t->line, t->turned);
        if (nr == CPU_TILE) {
            run_tile(d, t, nr, out);
            nr = 0;
        }
    }
    if (nr > 0)
        run_tile(d, t, nr, out);
    normalise(d, out);
}

void cpu_sparse_run(const struct cpu_sparse *c, void *scratch)
{
    const struct indexer_sparse *d = &c->d;

#if defined(_OPENMP)
#    pragma omp parallel num_threads(c->threads)
#endif
    {
#if defined(_OPENMP)
        const int64_t thread = omp_get_thread_num();
#else
        const int64_t thread = 0;
#endif
        struct sparse_scratch t;

        t.product = c->product;
        scratch_cut(d, (float *)scratch + thread * scratch_floats(d), &t);
#if defined(_OPENMP)
#    pragma omp for schedule(dynamic, 4)
#endif
        for (int64_t row = 0; row < d->rows; row++)
            run_row(d, &t, row);
    }
}
