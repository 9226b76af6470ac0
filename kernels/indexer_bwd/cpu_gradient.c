/*
 * cpu_gradient.c - two passes (contracts/indexer.md, section 6). The first has a row a thread: G,
 * and with it dW and dQ. The second has a range of keys a thread, which walks over all rows of the
 * batch in order: nobody else adds to its keys, so neither the number of threads nor their order
 * changes a bit.
 */
#include "cpu_gradient.h"

#include <stdbool.h>
#include <stdlib.h>
#if defined(_OPENMP)
#    include <omp.h>
#endif

#include "cpu_rows.h"

#define WIDTH INDEXER_BWD_WIDTH
#define HEADS INDEXER_BWD_HEADS

struct bwd_tile {
    _Alignas(64) float q[HEADS][WIDTH];
    float rows[CPU_TILE][WIDTH]; /* gathered keys */
    float turned[WIDTH][CPU_TILE];
    float s[HEADS][CPU_TILE]; /* products, then a */
    float dq[HEADS][WIDTH];
    float dk[CPU_TILE][WIDTH];
    float w[HEADS], g[CPU_TILE];
    double dw[HEADS];
    int64_t key[CPU_TILE];
    int64_t nr;
};

void *cpu_bwd_scratch(const struct cpu_bwd *b)
{
    return aligned_alloc(64, (size_t)b->threads * sizeof(struct bwd_tile));
}

/* ---- stage 1: G of a row ---- */

struct teacher {
    double t, p;
    bool counts; /* p is not too small for a gradient of its own */
};

static struct teacher teacher_at(const struct indexer_bwd_call *c, int64_t row, int64_t j)
{
    const int64_t at = row * c->columns + j;
    struct teacher x;

    if (c->sparse) {
        x.t = (double)c->target[at];
        x.p = (double)c->predict[at];
        x.counts = c->predict[at] >= INDEXER_BWD_TINY;
    } else {
        const double log_p = (double)c->index_raw[at] - (double)c->index_lse[row];

        x.t = (double)c->attn_raw[at] / ((double)c->attn_l1norm[row] + (double)INDEXER_BWD_L1_EPS);
        x.p = exp(log_p);
        x.counts = log_p >= (double)INDEXER_BWD_LOG_TINY;
    }
    if (x.t < (double)INDEXER_BWD_TINY)
        x.t = (double)INDEXER_BWD_TINY;
    return x;
}

/* Entries that are not active get 0. */
static void row_gradient(const struct cpu_bwd *b, const struct indexer_place *place, int64_t row)
{
    const struct indexer_bwd_call *c = &b->call;
    const double factor = (double)c->grad_scale * (double)c->grad_loss[0];
    const bool off = !c->sparse && !isfinite(c->index_lse[row]);
    const int64_t length = off ? 0 : indexer_bwd_length(c, place, row);
    float *g = b->gradient + row * c->columns;
    double sum = 0;

    for (int64_t j = 0; j < length; j++) {
        const bool active = indexer_bwd_key(c, place, row, j) >= 0;

        if (active) {
            const struct teacher x = teacher_at(c, row, j);

            sum += x.counts ? -x.t * factor : 0;
        }
    }
    for (int64_t j = 0; j < c->columns; j++) {
        g[j] = 0;
        if (j < length && indexer_bwd_key(c, place, row, j) >= 0) {
            const struct teacher x = teacher_at(c, row, j);

            g[j] = (float)((x.counts ? -x.t * factor : 0) - x.p * sum);
        }
    }
}

/* ---- stage 2 ---- */

static void load_query(const struct indexer_bwd_call *c, struct bwd_tile *t, int64_t row)
{
    dsa_load(t->q[0], c->q + row * c->heads * WIDTH, c->heads * WIDTH, 0);
    dsa_load(t->w, c->w + row * c->heads, c->heads, 0);
}

static void take_key(const struct indexer_bwd_call *c, struct bwd_tile *t, int64_t key, float g)
{
    float *row = t->rows[t->nr];

    dsa_load(row, c->k + key * WIDTH, WIDTH, 0);
    for (int64_t d = 0; d < WIDTH; d++)
        t->turned[d][t->nr] = row[d];
    t->key[t->nr] = key;
    t->g[t->nr++] = g;
}

/* a of the tile, and what it adds to dW. Relu has no gradient at exactly 0. */
static void tile_products(const struct cpu_bwd *b, struct bwd_tile *t)
{
    const struct indexer_bwd_call *c = &b->call;

    for (int64_t d = 0; d < WIDTH; d++)
        for (int64_t j = t->nr; j < CPU_TILE; j++)
            t->turned[d][j] = 0;
    b->product->run(c->heads, CPU_TILE, WIDTH, (struct cpu_matrix){t->q[0], WIDTH, 1},
                    (struct cpu_matrix){t->turned[0], 0, CPU_TILE}, t->s[0], CPU_TILE, 0);
    for (int64_t h = 0; h < c->heads; h++) {
        float sum = 0;

        for (int64_t j = 0; j < t->nr; j++) {
            const float r = t->s[h][j] * c->sm_scale;

            sum += r > 0 ? t->g[j] * r : 0;
            t->s[h][j] = r > 0 ? t->g[j] * t->w[h] : 0;
        }
        t->dw[h] += (double)sum;
    }
}

static void add_queries(const struct cpu_bwd *b, struct bwd_tile *t)
{
    tile_products(b, t);
    b->product->run(b->call.heads, WIDTH, t->nr, (struct cpu_matrix){t->s[0], CPU_TILE, 1},
                    (struct cpu_matrix){t->rows[0], 0, WIDTH}, t->dq[0], WIDTH, 1);
    t->nr = 0;
}

static void add_keys(const struct cpu_bwd *b, struct bwd_tile *t)
{
    tile_products(b, t);
    b->product->run(t->nr, WIDTH, b->call.heads, (struct cpu_matrix){t->s[0], 1, CPU_TILE},
                    (struct cpu_matrix){t->q[0], 0, WIDTH}, t->dk[0], WIDTH, 0);
    for (int64_t j = 0; j < t->nr; j++)
        for (int64_t d = 0; d < WIDTH; d++)
            b->dk[t->key[j] * WIDTH + d] += t->dk[j][d];
    t->nr = 0;
}

static void run_row(const struct cpu_bwd *b, struct bwd_tile *t, int64_t row)
{
    const struct indexer_bwd_call *c = &b->call;
    const struct indexer_place place = indexer_bwd_place(c, row);
    const float *g = b->gradient + row * c->columns;
    const int64_t length = indexer_bwd_length(c, &place, row);

    row_gradient(b, &place, row);
    load_query(c, t, row);
    memset(t->dq, 0, sizeof(t->dq));
    memset(t->dw, 0, sizeof(t->dw));
    for (int64_t j = 0; j < length; j++) {
        if (g[j] == 0)
            continue;
        take_key(c, t, indexer_bwd_key(c, &place, row, j), g[j]);
        if (t->nr == CPU_TILE)
            add_queries(b, t);
    }
    if (t->nr > 0)
        add_queries(b, t);
    dsa_store(c->dq + row * c->heads * WIDTH, t->dq[0], c->sm_scale, c->heads * WIDTH, 0);
    for (int64_t h = 0; h < c->heads; h++)
        c->dw[row * c->heads + h] = dsa_to_bf16((float)t->dw[h]);
}

/* What one row adds to the keys [first, end). */
static void add_row(const struct cpu_bwd *b, struct bwd_tile *t, int64_t row, int64_t first,
                    int64_t end)
{
    const struct indexer_bwd_call *c = &b->call;
    const struct indexer_place place = indexer_bwd_place(c, row);
    const float *g = b->gradient + row * c->columns;
    const int64_t length = indexer_bwd_length(c, &place, row);
    const int64_t from = c->sparse ? 0 : first - place.first_k;
    const int64_t to = !c->sparse && end - place.first_k < length ? end - place.first_k : length;
    bool loaded = false;

    for (int64_t j = from; j < to; j++) {
        int64_t key;

        if (g[j] == 0)
            continue;
        key = indexer_bwd_key(c, &place, row, j);
        if (key < first || key >= end)
            continue;
        if (!loaded)
            load_query(c, t, row);
        loaded = true;
        take_key(c, t, key, g[j]);
        if (t->nr == CPU_TILE)
            add_keys(b, t);
    }
    if (t->nr > 0)
        add_keys(b, t);
}

/* Ranges of keys of a batch: of slots there are few in a narrow one. */
static int64_t parts_of(const struct indexer_bwd_call *c)
{
    const int64_t parts = (c->sparse ? c->columns : c->seqlen_k) / 32;

    return parts < 4 ? 4 : parts < 64 ? parts : 64;
}

static void run_keys(const struct cpu_bwd *b, struct bwd_tile *t, int64_t batch, int64_t part)
{
    const struct indexer_bwd_call *c = &b->call;
    const struct indexer_bwd_batch s = indexer_bwd_bounds(c, batch);
    const int64_t keys = s.end_k - s.first_k, parts = parts_of(c);
    const int64_t first = s.first_k + keys * part / parts;
    const int64_t end = s.first_k + keys * (part + 1) / parts;

    if (first == end)
        return;
    for (int64_t row = s.first_q; row < s.end_q; row++)
        add_row(b, t, row, first, end);
    if (c->dk_f32)
        for (int64_t i = first * WIDTH; i < end * WIDTH; i++)
            b->dk[i] *= c->sm_scale;
    else
        dsa_store((uint16_t *)c->dk + first * WIDTH, b->dk + first * WIDTH, c->sm_scale,
                  (end - first) * WIDTH, 0);
}

void cpu_bwd_run(const struct cpu_bwd *b, void *scratch)
{
    const struct indexer_bwd_call *c = &b->call;
    const int64_t parts = parts_of(c);

    memset(b->dk, 0, (size_t)(c->keys * WIDTH) * sizeof(*b->dk));
    if (!c->dk_f32)
        memset(c->dk, 0, (size_t)(c->keys * WIDTH) * sizeof(uint16_t));
#if defined(_OPENMP)
#    pragma omp parallel num_threads(b->threads)
#endif
    {
#if defined(_OPENMP)
        struct bwd_tile *t = (struct bwd_tile *)scratch + omp_get_thread_num();
#else
        struct bwd_tile *t = scratch;
#endif
        t->nr = 0;
#if defined(_OPENMP)
#    pragma omp for schedule(dynamic, 4)
#endif
        for (int64_t row = 0; row < c->rows; row++)
            run_row(b, t, row);
#if defined(_OPENMP)
#    pragma omp for schedule(dynamic)
#endif
        for (int64_t i = 0; i < c->batch * parts; i++)
            run_keys(b, t, i / parts, i % parts);
    }
}
