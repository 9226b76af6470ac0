/*
 * blocks_cost.c - work of a block-sparse case (sage contract, section 10.1), and the choice of the
 * query tiles that are checked.
 */
#include <stdlib.h>

#include "blocks_model.h"

/* More tiles than this are not sampled, and more values than this are not held as a whole. */
#define SAMPLED_MAX 1024
#define WHOLE_MAX   (INT64_C(1) << 24)

int64_t blocks_tile_rows(const struct blocks_sizes *s, int64_t tile)
{
    const int64_t left = s->seqlen_q - BLOCKS_TILE * tile;

    return left < BLOCKS_TILE ? left : BLOCKS_TILE;
}

/* Valid tokens of all slots of a row: sizes and the tail shorten only the first and last block. */
static int64_t row_tokens(const struct blocks_sizes *s, const struct recipe *rows, int64_t row,
                          int64_t n, int64_t b, int64_t h)
{
    const int64_t end = s->k_blocks - 1;
    int64_t tokens = BLOCKS_TILE * n;
    int first, last;

    recipe_rows_ends(rows, row, &first, &last);
    if (last)
        tokens -=
            BLOCKS_TILE - recipe_block_valid(s->sizes_mode, b, h, end, s->k_blocks, s->seqlen_k);
    if (first && end > 0)
        tokens -=
            BLOCKS_TILE - recipe_block_valid(s->sizes_mode, b, h, 0, s->k_blocks, s->seqlen_k);
    return tokens;
}

/* Indices that are used, counts where they are the truth, and sizes. */
static double metadata_bytes(const struct blocks_sizes *s, double slots)
{
    const double batch = (double)s->batch, heads = (double)s->heads;
    double sizes = 0, counts = 0;

    if (s->sizes_mode > 0)
        sizes = (double)s->k_blocks * (s->sizes_mode > 1 ? batch : 1.0) *
                (s->sizes_mode > 2 ? heads : 1.0);
    if (s->promise == PROMISE_PER_ROW)
        counts = batch * heads * (double)s->q_blocks;
    return 4 * (slots + sizes + counts);
}

void blocks_work(const struct op_case *c, struct blocks_work *w)
{
    struct blocks_sizes s;
    struct recipe rows;

    blocks_sizes(c, &s);
    blocks_rows_recipe(c, &s, &rows);
    *w = (struct blocks_work){.heads = (double)s.batch * (double)s.heads};
    for (int64_t b = 0; b < s.batch; b++)
        for (int64_t h = 0; h < s.heads; h++)
            for (int64_t qb = 0; qb < s.q_blocks; qb++) {
                const int64_t row = (b * s.heads + h) * s.q_blocks + qb;
                const int64_t n = recipe_rows_count(&rows, row);
                const double queries = (double)blocks_tile_rows(&s, qb);

                w->slots += (double)n;
                w->slot_rows += queries * (double)n;
                w->token_rows += queries * (double)row_tokens(&s, &rows, row, n, b, h);
            }
    w->metadata_bytes = metadata_bytes(&s, w->slots);
}

void blocks_cost(const struct op_case *c, double tile_bytes, struct op_cost *cost)
{
    struct blocks_sizes s;
    struct blocks_work w;

    blocks_sizes(c, &s);
    blocks_work(c, &w);
    const double dim = (double)s.dim;
    cost->flops_nominal = 4 * dim * BLOCKS_TILE * w.slot_rows;
    cost->flops_valid = 4 * dim * w.token_rows;
    cost->flops_dense = 4 * w.heads * (double)s.seqlen_q * (double)s.seqlen_k * dim;
    cost->bytes_min = w.metadata_bytes;
    cost->bytes_tiles = tile_bytes * w.slots;
    cost->density = w.slots / (w.heads * (double)s.q_blocks * (double)s.k_blocks);
    cost->use[OP_EXP2].amount = w.token_rows;
    /* The tiles of a head are taken by turns, those of others later. */
    cost->use[OP_FEED] = (struct op_use){cost->bytes_tiles, tile_bytes * (double)s.k_blocks};
}

double blocks_flops(const struct op_case *c)
{
    struct op_cost cost;

    blocks_cost(c, 0, &cost);
    return cost.flops_nominal;
}

int blocks_add_slice(const struct blocks_sizes *s, uint32_t tensor, int64_t width, int64_t head,
                     int64_t tile, struct op_slices *out, struct err *err)
{
    const int64_t first = head * s->seqlen_q + tile * BLOCKS_TILE;
    struct op_slice *item =
        op_slices_add(out, tensor, first * width, blocks_tile_rows(s, tile) * width, err);

    if (!item)
        return -1;
    item->head = head;
    item->tile = tile;
    return 0;
}

static bool has_tile(const struct op_slices *s, int64_t head, int64_t tile)
{
    for (size_t i = 0; i < s->nr; i++)
        if (s->item[i].head == head && s->item[i].tile == tile)
            return true;
    return false;
}

int blocks_slices(const struct op_case *c, double flops, struct op_slices *out,
                  int (*add)(const struct op_case *c, const struct blocks_sizes *s, int64_t head,
                             int64_t tile, struct op_slices *out, struct err *err),
                  struct err *err)
{
    struct blocks_sizes s;
    struct recipe rows;
    double left = flops;
    size_t taken = 0;

    blocks_sizes(c, &s);
    blocks_rows_recipe(c, &s, &rows);
    const int64_t nr = s.batch * s.heads * s.q_blocks;
    out->complete = s.batch * s.heads * s.seqlen_q * s.dim <= WHOLE_MAX && blocks_flops(c) <= flops;
    for (int64_t row = 0; out->complete && row < nr; row++)
        if (add(c, &s, row / s.q_blocks, row % s.q_blocks, out, err) < 0)
            return -1;
    if (out->complete)
        return 0;
    /* The first and the very last tile always (the last one is where rows and tokens end), then
     * seeded ones of any head as long as the budget lasts. */
    for (uint64_t pick = 0; pick < 4 * SAMPLED_MAX && taken < SAMPLED_MAX; pick++) {
        const int64_t row =
            pick == 0   ? 0
            : pick == 1 ? nr - 1
                        : (int64_t)(recipe_hash(recipe_seed(c->seed, SAB_MAX_TENSORS), pick) %
                                    (uint64_t)nr);
        const int64_t head = row / s.q_blocks, tile = row % s.q_blocks;
        const double price = 4.0 * (double)s.dim * BLOCKS_TILE *
                             (double)(blocks_tile_rows(&s, tile) * recipe_rows_count(&rows, row));

        if (has_tile(out, head, tile))
            continue;
        if (pick > 1 && price > left)
            break;
        left -= price;
        taken++;
        if (add(c, &s, head, tile, out, err) < 0)
            return -1;
    }
    return 0;
}
