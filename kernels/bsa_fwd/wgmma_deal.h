/*
 * wgmma_deal.h - who gets what in bsa_fwd/wgmma: query tiles among blocks of threads, and key
 * blocks of several tiles in a common stream.
 *
 * Pure index arithmetic, compiled for the device and for the host, where a test runs it.
 */
#ifndef BSA_WGMMA_DEAL_H
#define BSA_WGMMA_DEAL_H

#include <stdint.h>

#ifdef __CUDACC__
#    define BSA_INLINE __device__ __forceinline__
#    define BSA_UNROLL _Pragma("unroll")
#else
#    define BSA_INLINE static inline
#    define BSA_UNROLL
#endif

enum {
    BSA_WGMMA_GROUPS = 3, /* that compute: query tiles of an item */
    BSA_WGMMA_STAGES = 5, /* of K and of V */
    BSA_WGMMA_TURNS = 2,  /* barriers that a stage becomes full by, in turn */
    BSA_DEAL_CLASSES = 1 << BSA_WGMMA_GROUPS,
    BSA_DEAL_ALL = BSA_DEAL_CLASSES - 1,
    BSA_DEAL_PAIRS = BSA_DEAL_ALL / 2,
};

/* Query tiles that a block of threads serves together, counted through all heads and batches. */
struct bsa_item {
    int32_t first, nr; /* nr is 0 behind the last item */
};

/* A block takes items of full size in turn with the others, `full_rounds` times. The `rest` behind
 * those is dealt out evenly, so that no block is the last by a whole item. */
BSA_INLINE struct bsa_item bsa_item_of(int32_t full_rounds, int32_t rest, int32_t blocks,
                                       int32_t block, int32_t round)
{
    const int32_t from = block * rest / blocks, to = (block + 1) * rest / blocks;
    struct bsa_item item = {(round * blocks + block) * BSA_WGMMA_GROUPS, BSA_WGMMA_GROUPS};

    if (round >= full_rounds) {
        item.first = full_rounds * blocks * BSA_WGMMA_GROUPS + from;
        item.nr = round == full_rounds ? to - from : 0;
    }
    return item;
}

/*
 * The order of a stream. A key block is of the class of those tiles that want it, a bit for each.
 * Tiles must advance together, or those with much to do wait for stages that those with little
 * hold: first come the blocks that all want, then classes that complete each other are dealt in
 * turn, `pairs` of class i + 1 and the class of the other tiles, then what is `left` of one of the
 * two. Where three tiles want equally many blocks, what is left are three classes of equal length
 * that hold each tile equally often, dealt in turn again.
 *
 * Nor may a tile be far ahead of the loads. Before it waits for the load of an entry, that into the
 * same stage and barrier must have landed, BSA_WGMMA_TURNS * BSA_WGMMA_STAGES entries before: what
 * it waits for is a parity. When a tile has seen an entry land, all up to BSA_WGMMA_STAGES before
 * it were read. So the next one that it wants may be this far away:
 */
enum { BSA_DEAL_FARTHEST = (BSA_WGMMA_TURNS - 1) * BSA_WGMMA_STAGES };
/*
 * Its first one of an item may be the last of as many: Q, which it has seen, is asked for behind
 * all entries of the item before. A tile wants none of the last entries of a chunk only where it
 * wants nothing of later chunks, or has as many blocks in this one as any: then they are two at
 * most. In turn, a tile is passed over by two classes, and by one more where the turns change.
 */
struct bsa_deal {
    uint32_t all_nr;
    uint32_t pairs[BSA_DEAL_PAIRS];
    uint32_t left[BSA_DEAL_PAIRS];
};

/* class_nr: blocks of each class. */
BSA_INLINE void bsa_deal_init(struct bsa_deal *deal, const uint32_t *class_nr)
{
    deal->all_nr = class_nr[BSA_DEAL_ALL];
    BSA_UNROLL
    for (uint32_t i = 0; i < BSA_DEAL_PAIRS; i++) {
        const uint32_t a = class_nr[i + 1], b = class_nr[BSA_DEAL_ALL - i - 1];

        deal->pairs[i] = a < b ? a : b;
        deal->left[i] = a < b ? b - a : a - b;
    }
}

/* Where the k-th block of class `wanted` stands in the stream. */
BSA_INLINE uint32_t bsa_deal_at(const struct bsa_deal *deal, uint32_t wanted, uint32_t k)
{
    const uint32_t upper = wanted > BSA_DEAL_PAIRS;
    const uint32_t pair = (upper ? BSA_DEAL_ALL - wanted : wanted) - 1;
    uint32_t at = deal->all_nr, mine = 0, first = 0;

    if (wanted == BSA_DEAL_ALL)
        return k;
    BSA_UNROLL
    for (uint32_t i = 0; i < BSA_DEAL_PAIRS; i++) {
        if (i == pair) {
            mine = deal->pairs[i];
            first = at;
        }
        at += 2 * deal->pairs[i];
    }
    if (k < mine)
        return first + 2 * k + upper;
    BSA_UNROLL
    for (uint32_t i = 0; i < BSA_DEAL_PAIRS; i++) {
        const uint32_t before = k - mine + (i < pair);

        at += before < deal->left[i] ? before : deal->left[i];
    }
    return at;
}

#endif
