/*
 * vector_args.h - what the kernels of indexer_topk/vector are called with, and how a block's shared
 * memory is cut.
 */
#ifndef INDEXER_TOPK_VECTOR_ARGS_H
#define INDEXER_TOPK_VECTOR_ARGS_H

#include "indexer_topk_call.h"

enum {
    TOPK_BINS = 2048,          /* of a histogram: 11 bits a pass */
    TOPK_NARROW = 256,         /* threads of a block */
    TOPK_BLOCKS = 3,           /* of a multiprocessor that the compiler has to leave room for; on an
                                  H200 four fit */
    TOPK_WIDE = 512,           /* where rows are few */
    TOPK_CLUSTER = 16,         /* most blocks of a row; more than 8 are not portable */
    TOPK_SHARE = 2048,         /* a block has at least so many columns, where a row has several */
    TOPK_SAMPLE = 4096,        /* most elements that a row's threshold rests on */
    TOPK_ROOM = 12544,         /* bytes of histograms and the like before a block's elements */
    TOPK_PASSING = 43 * 1024,  /* bytes of elements of a narrow block: with them four fit */
    TOPK_GATHERED = 64 * 1024, /* the same of a wide block: two fit; what passes of a whole row */
};

struct topk_args {
    struct indexer_topk_call c;
    uint32_t cluster;      /* blocks of a row */
    uint32_t buffer_bytes; /* of elements of a block */
};

typedef void (*topk_kernel_fn)(struct topk_args args);

/* The kernels of a type: narrow without clusters, narrow, wide. */
struct topk_kernels {
    topk_kernel_fn alone, narrow, wide;
};
extern const struct topk_kernels topk_kernels_f32, topk_kernels_fp16, topk_kernels_bf16;

#endif
