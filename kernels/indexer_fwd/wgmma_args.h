/*
 * wgmma_args.h - what one launch of indexer_fwd/wgmma is given, by value, and the shared memory of
 * its block.
 */
#ifndef INDEXER_FWD_WGMMA_ARGS_H
#define INDEXER_FWD_WGMMA_ARGS_H

#include <cuda.h>

#include "mma_items.h"

enum {
    INDEXER_SEGMENT_BYTES = 128, /* of a row, the width of the swizzle */
    INDEXER_WGMMA_THREADS = 384, /* two groups that compute, one that loads and fills */
    INDEXER_WGMMA_FILLING = 96,  /* of the third one */
};

struct indexer_wgmma_args {
    CUtensorMap q; /* u8 or u16 [rows*heads,128], boxes of 256 rows x 128 bytes, swizzled */
    CUtensorMap k; /* the same, boxes of 128 rows */
    struct indexer_items items;
};

typedef void (*indexer_wgmma_fn)(const struct indexer_wgmma_args);

/* One kernel per source file, wgmma_<precision>_<heads>.cu. */
#define INDEXER_WGMMA_KERNELS(X)                                                                   \
    X(fp8, 16) X(fp8, 32) X(fp8, 64) X(bf16, 16) X(bf16, 32) X(bf16, 64)

struct indexer_wgmma_kernel {
    indexer_wgmma_fn kernel;
    int shared_bytes;
};
#define INDEXER_WGMMA_DECLARE(precision, heads)                                                    \
    extern const struct indexer_wgmma_kernel indexer_wgmma_##precision##_##heads;
INDEXER_WGMMA_KERNELS(INDEXER_WGMMA_DECLARE)
#undef INDEXER_WGMMA_DECLARE

#endif
