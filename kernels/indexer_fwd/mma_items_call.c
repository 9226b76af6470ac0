#include "mma_items.h"

#include "mma.h"
#include "wgmma.h"

static int check_sizes(const struct indexer_fwd_call *c, struct sab_message *msg)
{
    const int64_t most = INT32_MAX - 2 * INDEXER_COLUMNS;

    if (c->rows > most / c->heads)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "q: at most %lld rows of %d heads are served, given %lld",
                       (long long)(most / c->heads), c->heads, (long long)c->rows);
    if (c->keys > most || c->columns > most)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "k: at most %lld keys and columns are served, given %lld and %lld",
                       (long long)most, (long long)c->keys, (long long)c->columns);
    return SAB_OK;
}

int indexer_mma_call_init(struct indexer_fwd_call *call, const struct sab_problem *problem,
                          unsigned flags, struct sab_message *msg)
{
    int status = indexer_fwd_call_init(call, problem, SAB_DEVICE_CUDA, flags, msg);

    if (status == SAB_OK)
        status = indexer_fwd_call_check_arch(problem, INDEXER_FWD_MMA_TARGETS, msg);
    return status == SAB_OK ? check_sizes(call, msg) : status;
}

int indexer_wgmma_call_init(struct indexer_fwd_call *call, const struct sab_problem *problem,
                            unsigned flags, struct sab_message *msg)
{
    int status = indexer_fwd_call_init(call, problem, SAB_DEVICE_CUDA, flags, msg);

    if (status == SAB_OK)
        status = indexer_fwd_call_check_arch(problem, INDEXER_FWD_WGMMA_TARGETS, msg);
    if (status == SAB_OK)
        status = check_sizes(call, msg);
    if (status == SAB_OK && call->precision == INDEXER_MXFP8)
        status = sab_say(msg, SAB_UNSUPPORTED,
                         "precision: this kernel serves bf16 and fp8, given mxfp8");
    return status;
}

/* So that the longest of the workers has the least to do, all items taken to be whole ones; an item
 * costs 3/4 of a tile besides its own. Items beyond whole turns are dealt out by keys. */
static uint32_t choose_splits(const struct indexer_fwd_call *c, uint64_t blocks, uint64_t workers)
{
    const uint64_t tiles = ((uint64_t)c->columns + INDEXER_KEYS - 1) / INDEXER_KEYS;
    uint64_t least = UINT64_MAX;
    uint32_t best = 1;

    for (uint32_t splits = 1; splits <= 64 && splits <= tiles; splits++) {
        const uint64_t items = blocks * splits;
        const uint64_t deal = items > workers ? workers : items > 0 ? items : 1;
        const uint64_t left = items % deal, of = splits * deal;
        const uint64_t cost = items / deal * (4 * ((tiles + splits - 1) / splits) + 3) +
                              (left ? 4 * ((tiles * left + of - 1) / of) + 2 * 3 : 0);

        if (cost < least && blocks * splits < INT32_MAX) {
            least = cost;
            best = splits;
        }
    }
    return best;
}

unsigned indexer_items_init(struct indexer_items *items, const struct indexer_fwd_call *call,
                            unsigned workers)
{
    items->c = *call;
    items->tokens = (uint32_t)(INDEXER_COLUMNS / call->heads);
    items->blocks = (uint32_t)((call->rows + items->tokens - 1) / items->tokens);
    items->splits = choose_splits(call, items->blocks, workers > 0 ? workers : 1);
    items->strip = !call->packed && call->seqlen_q % items->tokens == 0
                       ? (uint32_t)(call->seqlen_q / items->tokens)
                       : items->blocks;
    const int64_t all = (int64_t)items->blocks * items->splits;
    return all < workers || workers == 0 ? (unsigned)all : workers;
}
