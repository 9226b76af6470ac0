/*
 * sage_cost.c - work and traffic of sage_fwd (sage contract, section 10.1), the choice of what is
 * checked, and the bars (section 9.4).
 */
#include "sage_model.h"

#include <math.h>
#include <stdlib.h>

/* More slices than this are not sampled, and more values than this are not held as a whole. */
#define SAMPLED_MAX 1024
#define WHOLE_MAX   (INT64_C(1) << 24)

/*
 * The contract relaxes the bar of a query tile with fewer than 16 rows. The same few rows may be
 * all of a head or of the tensor; the bars for those were set on more rows and refuse a right
 * kernel there (one row, rounded as declared: 3.7e-2 in a head, 3.6e-2 in the tensor, over 200
 * seeds). So the short tile's bar holds for every group that short, and its cosine, 1 - x^2/2.
 */
#define SHORT_RELATIVE 5e-2
#define SHORT_COSINE   0.99875

struct sage_work {
    const struct op_case *c;
    struct sage_sizes s;
    struct recipe rows;
};

static void work_init(struct sage_work *w, const struct op_case *c)
{
    w->c = c;
    sage_sizes(c, &w->s);
    sage_rows_recipe(c, &w->s, &w->rows);
}

static int64_t tile_rows(const struct sage_sizes *s, int64_t qb)
{
    const int64_t left = s->seqlen_q - SAGE_TILE * qb;

    return left < SAGE_TILE ? left : SAGE_TILE;
}

/* Valid tokens of all slots of a row: sizes and the tail shorten only the first and last block. */
static int64_t row_tokens(const struct sage_work *w, int64_t row, int64_t n, int64_t b, int64_t h)
{
    const struct sage_sizes *s = &w->s;
    const int64_t end = s->k_blocks - 1;
    int64_t tokens = SAGE_TILE * n;
    int first, last;

    recipe_rows_ends(&w->rows, row, &first, &last);
    if (last)
        tokens -=
            SAGE_TILE - recipe_block_valid(s->sizes_mode, b, h, end, s->k_blocks, s->seqlen_k);
    if (first && end > 0)
        tokens -= SAGE_TILE - recipe_block_valid(s->sizes_mode, b, h, 0, s->k_blocks, s->seqlen_k);
    return tokens;
}

int sage_cost(const struct op_case *c, struct op_cost *cost, struct err *err)
{
    double slots = 0, slot_rows = 0, token_rows = 0, heads, dim, sizes = 0;
    struct sage_work w;

    (void)err;
    work_init(&w, c);
    for (int64_t b = 0; b < w.s.batch; b++)
        for (int64_t h = 0; h < w.s.heads; h++)
            for (int64_t qb = 0; qb < w.s.q_blocks; qb++) {
                const int64_t row = (b * w.s.heads + h) * w.s.q_blocks + qb;
                const int64_t n = recipe_rows_count(&w.rows, row);
                const double rows = (double)tile_rows(&w.s, qb);

                slots += (double)n;
                slot_rows += rows * (double)n;
                token_rows += rows * (double)row_tokens(&w, row, n, b, h);
            }
    heads = (double)w.s.batch * (double)w.s.heads;
    dim = (double)w.s.dim;
    if (w.s.sizes_mode > 0)
        sizes = (double)w.s.k_blocks * (w.s.sizes_mode > 1 ? (double)w.s.batch : 1.0) *
                (w.s.sizes_mode > 2 ? (double)w.s.heads : 1.0);
    cost->flops_nominal = 4 * dim * SAGE_TILE * slot_rows;
    cost->flops_valid = 4 * dim * token_rows;
    cost->flops_dense = 4 * heads * (double)w.s.seqlen_q * (double)w.s.seqlen_k * dim;
    cost->bytes_min = heads * ((double)w.s.seqlen_q * dim * 3 + (double)w.s.seqlen_k * dim +
                               dim * (double)w.s.k_padded) +
                      4 * heads * ((double)(w.s.q_scales + w.s.k_blocks) + dim) + 4 * slots +
                      4 * sizes;
    if (w.s.promise == PROMISE_PER_ROW)
        cost->bytes_min += 4 * heads * (double)w.s.q_blocks;
    cost->bytes_tiles = 2 * SAGE_TILE * dim * slots;
    cost->density = slots / (heads * (double)w.s.q_blocks * (double)w.s.k_blocks);
    return 0;
}

double sage_oracle_flops(const struct op_case *c)
{
    struct op_cost cost;

    return sage_cost(c, &cost, NULL) < 0 ? 0 : cost.flops_nominal;
}

static int add_tile(const struct sage_work *w, struct op_slices *out, int64_t row, struct err *err)
{
    const int64_t qb = row % w->s.q_blocks, head = row / w->s.q_blocks;
    struct op_slice *item =
        op_slices_add(out, SAB_T_sage_fwd_out, (head * w->s.seqlen_q + qb * SAGE_TILE) * w->s.dim,
                      tile_rows(&w->s, qb) * w->s.dim, err);

    if (!item)
        return -1;
    item->head = head;
    item->tile = qb;
    return 0;
}

static bool has_tile(const struct op_slices *s, int64_t head, int64_t tile)
{
    for (size_t i = 0; i < s->nr; i++)
        if (s->item[i].head == head && s->item[i].tile == tile)
            return true;
    return false;
}

static double tile_flops(const struct sage_work *w, int64_t row)
{
    return 4.0 * (double)w->s.dim * SAGE_TILE *
           (double)(tile_rows(&w->s, row % w->s.q_blocks) * recipe_rows_count(&w->rows, row));
}

int sage_slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    struct sage_work w;
    double left = flops;
    int64_t rows, values;

    work_init(&w, c);
    rows = w.s.batch * w.s.heads * w.s.q_blocks;
    values = w.s.batch * w.s.heads * w.s.seqlen_q * w.s.dim;
    out->complete = values <= WHOLE_MAX && sage_oracle_flops(c) <= flops;
    for (int64_t row = 0; out->complete && row < rows; row++)
        if (add_tile(&w, out, row, err) < 0)
            return -1;
    if (out->complete)
        return 0;
    /* The first and the very last tile always (the last one is where rows and tokens end), then
     * seeded ones of any head as long as the budget lasts. */
    for (uint64_t pick = 0; pick < 4 * SAMPLED_MAX && out->nr < SAMPLED_MAX; pick++) {
        const int64_t row =
            pick == 0   ? 0
            : pick == 1 ? rows - 1
                        : (int64_t)(recipe_hash(recipe_seed(c->seed, SAB_MAX_TENSORS), pick) %
                                    (uint64_t)rows);
        const double price = tile_flops(&w, row);

        if (has_tile(out, row / w.s.q_blocks, row % w.s.q_blocks))
            continue;
        if (pick > 1 && price > left)
            break;
        left -= price;
        if (add_tile(&w, out, row, err) < 0)
            return -1;
    }
    return 0;
}

static void put(struct bar *bars, size_t *nr, enum bar_kind kind, enum bar_level level, double a,
                double b)
{
    bars[(*nr)++] = (struct bar){SAB_T_sage_fwd_out, kind, level, a, b};
}

size_t sage_bars(const struct op_case *c, bool sampled, struct bar bars[OP_MAX_BARS])
{
    struct sage_sizes s;
    bool many;
    size_t nr = 0;

    sage_sizes(c, &s);
    many = !sampled && s.batch * s.heads * s.seqlen_q >= 10000;
    put(bars, &nr, BAR_ZERO, BAR_WHOLE, 0, 1);
    put(bars, &nr, BAR_ELEMENT, BAR_WHOLE, 1e-2, 1e-2);
    put(bars, &nr, BAR_COSINE, BAR_WHOLE, many ? 0.9997 : 0.9996, SHORT_COSINE);
    put(bars, &nr, BAR_REL_L2, BAR_WHOLE, many ? 2.5e-2 : 2.7e-2, SHORT_RELATIVE);
    put(bars, &nr, BAR_REL_L1, BAR_WHOLE, many ? 2.5e-2 : 2.7e-2, SHORT_RELATIVE);
    /* A sampled head may be known by one short tile, which the bars of a head do not allow for. */
    if (!sampled) {
        put(bars, &nr, BAR_COSINE, BAR_HEAD, 0.9994, SHORT_COSINE);
        put(bars, &nr, BAR_REL_L2, BAR_HEAD, 3.5e-2, SHORT_RELATIVE);
        put(bars, &nr, BAR_REL_L1, BAR_HEAD, 3.5e-2, SHORT_RELATIVE);
    }
    put(bars, &nr, BAR_REL_L2, BAR_TILE, 4e-2, SHORT_RELATIVE);
    put(bars, &nr, BAR_EMULATED, BAR_WHOLE, 3e-3, 0);
    return nr;
}

/* Behind a quantiser of N(0,1) V is six times as wide as the data of section 9.2, 0.25*N(0,1) times
 * U*0.75+0.25, whose standard deviation is 0.165; and so is what an element may be off. Rounding P
 * of such data gives a relative L2 of 2.4e-2 to 2.5e-2 over a whole tensor: of the two bars there,
 * that for few rows holds for many too. */
size_t sage_bars_fed(const struct op_case *c, bool sampled, struct bar bars[OP_MAX_BARS])
{
    const size_t nr = sage_bars(c, sampled, bars);

    for (size_t i = 0; i < nr; i++) {
        if (bars[i].kind == BAR_ELEMENT)
            bars[i].a *= 6;
        if (bars[i].level == BAR_WHOLE && bars[i].kind == BAR_COSINE)
            bars[i].a = 0.9996;
        if (bars[i].level == BAR_WHOLE &&
            (bars[i].kind == BAR_REL_L2 || bars[i].kind == BAR_REL_L1))
            bars[i].a = 2.7e-2;
    }
    return nr;
}
