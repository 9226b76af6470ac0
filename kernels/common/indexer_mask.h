/*
 * indexer_mask.h - what a row of the indexer's operators sees (contracts/indexer.md, section 1,
 * rule 1), and where a row of a packed problem lies.
 */
#ifndef SAB_INDEXER_MASK_H
#define SAB_INDEXER_MASK_H

#include <stdint.h>

#include "host_device.h"

/* Columns that row `q` of a batch sees: k < clamp(floor((offset + q + 1)/ratio), 0, keys). Sums are
 * 64-bit; a negative sum gives 0 whichever way it is rounded. */
SAB_HOST_DEVICE int64_t indexer_limit(int64_t offset, int64_t q, int64_t ratio, int64_t keys)
{
    const int64_t tokens = offset + q + 1;
    const int64_t limit = tokens > 0 ? tokens / ratio : 0;

    return limit < keys ? limit : keys;
}

/* One query row's batch: its first row of q and of k, its sizes, and the row's place in it. */
struct indexer_place {
    int64_t batch, q; /* row of the batch */
    int64_t first_k, keys;
};

/* The segment of packed row `row`: the last one that begins at or before it and is not empty.
 * cu_q and cu_k hold batch + 1 entries that begin with 0 and do not fall. */
SAB_HOST_DEVICE struct indexer_place indexer_packed_place(const int32_t *cu_q, const int32_t *cu_k,
                                                          int64_t batch, int64_t row)
{
    struct indexer_place place;
    int64_t low = 0, high = batch; /* cu_q[low] <= row < cu_q[high] */

    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;

        if (cu_q[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    place.batch = low;
    place.q = row - cu_q[low];
    place.first_k = cu_k[low];
    place.keys = (int64_t)cu_k[low + 1] - cu_k[low];
    return place;
}

/* The same where batches lie one behind the other, seqlen_q rows and seqlen_k columns each. */
SAB_HOST_DEVICE struct indexer_place indexer_padded_place(int64_t seqlen_q, int64_t seqlen_k,
                                                          int64_t row)
{
    struct indexer_place place;

    place.batch = row / seqlen_q;
    place.q = row % seqlen_q;
    place.first_k = place.batch * seqlen_k;
    place.keys = seqlen_k;
    return place;
}

#endif
