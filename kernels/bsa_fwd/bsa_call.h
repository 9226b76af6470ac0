/*
 * bsa_call.h - one validated call of bsa_fwd in the terms that a GPU kernel needs, and the keys
 * that its specialisations go by (contracts/bsa.md, sections 2 and 4).
 */
#ifndef BSA_CALL_H
#define BSA_CALL_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BSA_HEAD_DIM = 128,
    BSA_BLOCK = 64, /* queries of a tile, keys of a block */
};

/* The specialisation key, derived from the call and never passed in. The first five are those of
 * struct sage_key and obey the same rules: 25 combinations of them are legal. */
struct bsa_key {
    uint8_t block_nums; /* N: a count per row is read */
    uint8_t sizes_mode; /* M: rank of block_sizes, 0 where it is absent */
    uint8_t full_tiles; /* F: every key block holds 64 tokens */
    uint8_t nonempty;   /* U: every row uses the same count, above 0 */
    uint8_t contiguous; /* C: slots step by one modulo the key blocks */
    uint8_t fp16;       /* bf16 otherwise */
    uint8_t lse;        /* lse is written */
};

/* Pointers are NULL where the problem carries no data, and for the absent optional tensors. */
struct bsa_call {
    const uint16_t *q;          /* [B,H,Sq,128], bf16 or fp16 */
    const uint16_t *k, *v;      /* [B,Hkv,Sk,128], the same type */
    const int32_t *block_index; /* [B,H,Qb,cap] */
    const int32_t *block_nums;  /* [B,H,Qb] */
    const int32_t *block_sizes; /* [Kb], [B,Kb] or [B,H,Kb] by key.sizes_mode */
    uint16_t *out;              /* [B,H,Sq,128], the same type */
    float *lse;                 /* [B,H,Sq] */
    int64_t batch, heads, kv_heads, seqlen_q, seqlen_k, cap;
    int64_t group;                   /* query heads that share a key/value head: heads / kv_heads */
    int64_t query_tiles, key_blocks; /* Qb, Kb */
    int64_t block_sparse_num;
    float scale_log2; /* softmax_scale * log2(e): scores are in log2 units from there on */
    struct bsa_key key;
};

/* Holds the problem against the contract (flags: enum sab_validate_flags) and fills `call`. Returns
 * SAB_OK, SAB_INVALID or SAB_UNSUPPORTED with a message. */
int bsa_call_init(struct bsa_call *call, const struct sab_problem *problem, unsigned flags,
                  struct sab_message *msg);

/* SAB_UNSUPPORTED with the reason where the device's capability is not in the exact list. */
int bsa_call_check_arch(const struct sab_problem *problem, const char *targets,
                        struct sab_message *msg);

#ifdef __cplusplus
}
#endif
#endif
