/*
 * sage_call.h - one validated call of sage_fwd in the terms that a GPU kernel needs, and the keys
 * that its specialisations go by (contracts/sage.md, sections 4 and 6).
 */
#ifndef SAGE_CALL_H
#define SAGE_CALL_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SAGE_HEAD_DIM = 128,
    SAGE_BLOCK = 64, /* queries of a tile, keys of a block */
};

/* The specialisation key, derived from the call and never passed in. */
struct sage_key {
    uint8_t block_nums; /* N: a count per row is read */
    uint8_t sizes_mode; /* M: rank of block_sizes, 0 where it is absent */
    uint8_t full_tiles; /* F: every key block holds 64 tokens */
    uint8_t nonempty;   /* U: every row uses the same count, above 0 */
    uint8_t contiguous; /* C: slots step by one modulo the key blocks */
};

/* Pointers are NULL where the problem carries no data, and for the absent optional tensors. */
struct sage_call {
    const int8_t *q, *k;        /* [B,H,Sq,128], [B,H,Sk,128] */
    const uint8_t *v;           /* e4m3 [B,H,128,64*Kb], tokens permuted in groups of 16 */
    const float *q_scale;       /* [B,H,4*ceil(Sq/128)] */
    const float *k_scale;       /* [B,H,Kb] */
    const float *v_scale;       /* [B,H,128] */
    const int32_t *block_index; /* [B,H,Qb,cap] */
    const int32_t *block_nums;  /* [B,H,Qb] */
    const int32_t *block_sizes; /* [Kb], [B,Kb] or [B,H,Kb] by key.sizes_mode */
    uint16_t *out;              /* bf16 [B,H,Sq,128] */
    int64_t batch, heads, seqlen_q, seqlen_k, cap;
    int64_t query_tiles, key_blocks; /* Qb, Kb */
    int64_t block_sparse_num;
    float scale_log2; /* softmax_scale * log2(e): scores are in log2 units from there on */
    struct sage_key key;
};

/* Holds the problem against the contract (flags: enum sab_validate_flags) and fills `call`. Returns
 * SAB_OK, SAB_INVALID or SAB_UNSUPPORTED with a message. */
int sage_call_init(struct sage_call *call, const struct sab_problem *problem, unsigned flags,
                   struct sab_message *msg);

/* SAB_UNSUPPORTED with the reason where the device is none that these kernels are built for. */
int sage_call_check_arch(const struct sab_problem *problem, struct sab_message *msg);

#ifdef __cplusplus
}
#endif
#endif
