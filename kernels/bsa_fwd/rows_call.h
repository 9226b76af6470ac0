/*
 * rows_call.h - the lists of key blocks as a kernel of bsa_fwd is given them, and the explicit
 * table that takes the 25 keys of contracts/bsa.md section 4 to the few ways in which these kernels
 * read a list: a list is looked up ahead of the products, so that no flag of the key is worth code
 * of its own.
 */
#ifndef BSA_ROWS_CALL_H
#define BSA_ROWS_CALL_H

#include "bsa_call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the list of a row is read. */
struct bsa_reading {
    uint8_t counted;    /* its length stands in block_nums, else it is block_sparse_num */
    uint8_t sizes_mode; /* declared tokens: 0 none, else the rank of block_sizes */
    uint8_t contiguous; /* its blocks follow from the last slot alone */
};

/* By value among the arguments of a launch. */
struct bsa_rows {
    const int32_t *block_index; /* [B,H,Qb,cap] */
    const int32_t *block_nums;  /* [B,H,Qb], where reading.counted */
    const int32_t *block_sizes; /* by reading.sizes_mode */
    int64_t cap;
    int32_t seqlen_k, key_blocks, block_sparse_num;
    int32_t query_tiles, heads, group; /* query heads, and how many of them share a kv head */
    struct bsa_reading reading;
};

/* Rule R2 of contracts/sage.md: SAB_FAILED for a key that is not in the table, never another one.
 */
int bsa_rows_init(struct bsa_rows *rows, const struct bsa_call *call, struct sab_message *msg);

/* SAB_UNSUPPORTED where numbers of the call do not fit the 32 bits that these kernels count in:
 * tokens, heads, slots, and query tiles in all. */
int bsa_rows_check_limits(const struct bsa_call *call, struct sab_message *msg);

#ifdef __cplusplus
}
#endif
#endif
