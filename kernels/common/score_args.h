/*
 * score_args.h - what the fast kernels of the score operators have in common on the host: widths,
 * tiles, and the weights of the heads.
 */
#ifndef SAB_SCORE_ARGS_H
#define SAB_SCORE_ARGS_H

#include <stdint.h>

enum {
    SCORE_SEGMENT = 64,          /* columns of a row that are loaded together, 128 bytes */
    SCORE_KEYS = 64,             /* of a tile of wgmma */
    SCORE_SEGMENT_BYTES = 8192,  /* of a tile */
    SCORE_WGMMA_THREADS = 384,   /* two groups that compute, one that loads */
    SCORE_WGMMA_SHARED = 232448, /* bytes that a block may have */
    SCORE_MMA_THREADS = 256,
    SCORE_MMA_KEYS = 16,       /* that a warp multiplies at once */
    SCORE_MMA_PAIRS = 64,      /* most (query, head) pairs of an item of mma */
    SCORE_MMA_SHARED = 101376, /* bytes that a block of sm_120 may have */
};

/* One of the two, [rows,heads]. */
struct score_heads {
    const uint16_t *w; /* bf16, of the indexer */
    const float *lse;  /* of attention */
};

#endif
