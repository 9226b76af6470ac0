/*
 * wgmma_args.h - the shared memory of a block of sage_fwd/wgmma. Its arguments and tensor maps are
 * those of sage_fwd/mma.
 */
#ifndef SAGE_WGMMA_ARGS_H
#define SAGE_WGMMA_ARGS_H

#include "mma_args.h"

/* In bytes. A stage holds a pair of key blocks, K one behind the other, V likewise; the stages of K
 * hold the result at the end. Three blocks of threads fit the 228 KiB of a multiprocessor, 1 KiB of
 * which each of them loses. */
enum {
    SAGE_WGMMA_TILE_BYTES = 8192,
    SAGE_WGMMA_STAGE_BYTES = 2 * SAGE_WGMMA_TILE_BYTES,
    SAGE_WGMMA_K_AT = 0,
    SAGE_WGMMA_V_AT = 2 * SAGE_WGMMA_STAGE_BYTES,
    SAGE_WGMMA_Q_AT = 4 * SAGE_WGMMA_STAGE_BYTES,
    SAGE_WGMMA_LIST_AT = SAGE_WGMMA_Q_AT + SAGE_WGMMA_TILE_BYTES,
    SAGE_WGMMA_LIST_NR = 256, /* key blocks known ahead */
    SAGE_WGMMA_BARRIERS_AT = SAGE_WGMMA_LIST_AT + 8 * SAGE_WGMMA_LIST_NR,
    SAGE_WGMMA_SHARED_BYTES = SAGE_WGMMA_BARRIERS_AT + 128,
    SAGE_WGMMA_THREADS = 128,
    SAGE_WGMMA_BLOCKS = 3, /* of a multiprocessor */
};

#endif
