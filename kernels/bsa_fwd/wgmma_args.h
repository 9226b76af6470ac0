/*
 * wgmma_args.h - what one launch of bsa_fwd/wgmma is given, by value, and the shared memory of its
 * block.
 */
#ifndef BSA_WGMMA_ARGS_H
#define BSA_WGMMA_ARGS_H

#include "mma_maps.h"
#include "rows_call.h"
#include "wgmma_deal.h"

enum {
    BSA_WGMMA_THREADS = 128 * (BSA_WGMMA_GROUPS + 1),
    BSA_WGMMA_HALF_BYTES = 8192, /* 64 rows of 64 channels */
    BSA_WGMMA_TILE_BYTES = 2 * BSA_WGMMA_HALF_BYTES,
    BSA_WGMMA_PLACES = 2 * BSA_WGMMA_TURNS * BSA_WGMMA_STAGES,
    BSA_WGMMA_CHUNK = 256,   /* blocks of a tile that are listed together */
    BSA_WGMMA_WINDOW = 4096, /* key blocks among which tiles of an item find the same one */
};

struct bsa_wgmma_args {
    struct bsa_maps maps;
    struct bsa_rows rows;
    uint16_t *out;
    float *lse; /* or NULL */
    int32_t seqlen_q;
    int32_t full_rounds, rest; /* of bsa_item_of() */
    float scale_log2;
};

typedef void (*bsa_wgmma_fn)(const struct bsa_wgmma_args);

/* wgmma_<type>.cu */
extern const bsa_wgmma_fn bsa_wgmma_bf16, bsa_wgmma_fp16;

#ifdef __cplusplus

namespace bsa
{

/* Facts of a row that the lister keeps at hand while it makes the list of an item. */
struct listed_row {
    const int32_t *slots, *sizes;
    int32_t nr, start, kv_head;
    uint32_t mates;    /* tiles of the item with the same kv head, a bit each */
    int32_t from;      /* the next slot to look at */
    uint32_t taken;    /* blocks in this chunk */
    uint32_t extra_nr; /* of them those that no other tile is asked to share */
};

/*
 * What an item's tiles fold, chunk by chunk. The stream is the order in which K and V are loaded:
 * an entry holds a key block and, from bit BSA_WGMMA_WANT on, a bit for each tile that wants it. A
 * tile's own entries are those that it wants, in the same order, as: valid tokens - 1 in 6 bits,
 * then the place in the ring, 0 to BSA_WGMMA_PLACES - 1, whose upper half is the second parity.
 */
constexpr int WANT = 28;
struct wgmma_list {
    uint32_t stream[BSA_WGMMA_GROUPS * BSA_WGMMA_CHUNK];
    uint16_t own[BSA_WGMMA_GROUPS][BSA_WGMMA_CHUNK];
    int32_t kv_head[BSA_WGMMA_GROUPS];
    uint32_t own_nr[BSA_WGMMA_GROUPS];
    uint32_t stream_nr;
    uint32_t last; /* chunk of its item */
};

struct wgmma_shared {
    uint8_t k[BSA_WGMMA_STAGES][BSA_WGMMA_TILE_BYTES];
    uint8_t v[BSA_WGMMA_STAGES][BSA_WGMMA_TILE_BYTES];
    uint8_t q[BSA_WGMMA_GROUPS][BSA_WGMMA_TILE_BYTES];
    wgmma_list lists[2];
    /* the lister's own */
    int32_t extras[BSA_WGMMA_GROUPS][BSA_WGMMA_CHUNK];
    uint32_t bits[BSA_WGMMA_GROUPS][BSA_WGMMA_WINDOW / 32];
    listed_row rows[BSA_WGMMA_GROUPS];
    uint32_t class_nr[BSA_DEAL_CLASSES];
    /* of the computing warps, each its own */
    struct {
        int32_t rounds;
        uint32_t chunks;
    } progress[4 * BSA_WGMMA_GROUPS];
    /* A stage is empty when each of the warps that read it has arrived; for tiles that do not want
     * it the loader arrives. It is full by BSA_WGMMA_TURNS barriers in turn: a tile does not wait
     * for what it does not want, so with one barrier it might take the load before the last, of the
     * same parity, for the one that it waits for (wgmma_deal.h). */
    uint64_t k_full[BSA_WGMMA_TURNS * BSA_WGMMA_STAGES], k_empty[BSA_WGMMA_STAGES];
    uint64_t v_full[BSA_WGMMA_TURNS * BSA_WGMMA_STAGES], v_empty[BSA_WGMMA_STAGES];
    uint64_t q_full[BSA_WGMMA_GROUPS], q_empty[BSA_WGMMA_GROUPS];
    uint64_t list_full[2], list_empty[2];
};
static_assert(sizeof(wgmma_shared) <= 232448);

} // namespace bsa

#endif
#endif
