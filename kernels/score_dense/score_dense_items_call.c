#include "score_dense_items_call.h"

int score_dense_items_check(const struct indexer_dense *d, int64_t keys, struct sab_message *msg)
{
    const int64_t most = INT32_MAX - (1 << 16);

    if (d->rows > most)
        return sab_say(msg, SAB_UNSUPPORTED, "q: at most %lld rows are served, given %lld",
                       (long long)most, (long long)d->rows);
    if (keys > most || d->columns > most)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "k: at most %lld keys and columns are served, given %lld and %lld",
                       (long long)most, (long long)keys, (long long)d->columns);
    return SAB_OK;
}

static uint64_t aligned(int64_t elements)
{
    const uint64_t unit = SCORE_DENSE_WORKSPACE_ALIGNMENT;

    return ((uint64_t)elements * sizeof(uint16_t) + unit - 1) / unit * unit;
}

uint64_t score_dense_items_bytes_of_q(const struct indexer_dense *d)
{
    return d->q.e4m3 ? aligned(d->rows * d->heads * d->q.width) : 0;
}

uint64_t score_dense_items_bytes(const struct indexer_dense *d, int64_t keys)
{
    return d->q.e4m3 ? score_dense_items_bytes_of_q(d) + aligned(keys * d->kv_heads * d->k.width)
                     : 0;
}

int score_dense_items_heads(const struct indexer_dense *d, int most)
{
    int heads = 16;

    while (heads < most && heads < d->heads / d->kv_heads)
        heads *= 2;
    return heads;
}

/* So that the longest of the workers has the least to do, all items taken to be whole ones; an item
 * costs as much as a unit of columns besides its own. */
static uint32_t choose_splits(const struct indexer_dense *d, uint64_t blocks, uint64_t workers)
{
    const uint64_t units = ((uint64_t)d->columns + SCORE_DENSE_UNIT - 1) / SCORE_DENSE_UNIT;
    uint64_t least = UINT64_MAX;
    uint32_t best = 1;

    for (uint32_t splits = 1; splits <= 64 && splits <= units; splits++) {
        const uint64_t turns = (blocks * splits + workers - 1) / workers;
        const uint64_t cost = turns * ((units + splits - 1) / splits + 1);

        if (cost < least && blocks * splits < INT32_MAX / 2) {
            least = cost;
            best = splits;
        }
    }
    return best;
}

unsigned score_dense_items_init(struct score_dense_items *items, const struct indexer_dense *dense,
                                int heads, int pairs, unsigned workers)
{
    items->d = *dense;
    items->heads.w = dense->w;
    items->heads.lse = dense->lse;
    items->factor = (float)((double)dense->scale * 1.4426950408889634);
    items->group_heads = (uint32_t)heads;
    items->kv_heads = (uint32_t)(dense->heads / dense->kv_heads);
    items->parts = (items->kv_heads + items->group_heads - 1) / items->group_heads;
    items->tokens = (uint32_t)(pairs / heads);
    items->blocks = (uint32_t)((dense->rows + items->tokens - 1) / items->tokens);
    items->splits = choose_splits(dense, items->blocks, workers);
    const int64_t all = (int64_t)items->blocks * items->splits;
    return all < workers ? (unsigned)all : workers;
}
