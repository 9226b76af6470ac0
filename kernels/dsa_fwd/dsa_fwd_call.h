/*
 * dsa_fwd_call.h - one validated call of dsa_fwd in the terms that a GPU kernel needs
 * (contracts/dsa.md, sections 1 and 2).
 */
#ifndef DSA_FWD_CALL_H
#define DSA_FWD_CALL_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DSA_VALUE_WIDTH = 512 }; /* of a row of kv; the rest is for scores alone */

/* Pointers are NULL where the problem carries no data, and for the absent optional tensors. */
struct dsa_fwd_call {
    const uint16_t *q;      /* [rows,heads,width] bf16 or fp16 */
    const uint16_t *kv;     /* [keys,width] */
    const int32_t *ids;     /* [rows,slots] */
    const float *sink;      /* [heads], or NULL */
    const int32_t *lengths; /* [rows], or NULL */
    uint16_t *out;          /* [rows,heads,512] */
    float *max_logits, *lse;
    float *lse_prefix; /* [rows,heads], or NULL: the contract's lse_indexer */
    int64_t rows, heads, keys, slots;
    int64_t prefix; /* slots of lse_prefix */
    int32_t width;  /* 512 or 576 */
    int32_t fp16;   /* bf16 otherwise */
    float scale;
    float scale_log2; /* scale * log2(e): scores in log2 units */
};

/* Holds the problem against the contract (flags: enum sab_validate_flags) and fills `call`. Returns
 * SAB_OK, SAB_INVALID or SAB_UNSUPPORTED with a message. */
int dsa_fwd_call_init(struct dsa_fwd_call *call, const struct sab_problem *problem, unsigned flags,
                      struct sab_message *msg);

/* SAB_UNSUPPORTED with the reason where the device's capability is not in the exact list. */
int dsa_fwd_call_check_arch(const struct sab_problem *problem, const char *targets,
                            struct sab_message *msg);

/* SAB_UNSUPPORTED where rows of tiles of `tile` heads, or slots and up to `ahead` more, do not fit
 * in 31 bits. */
int dsa_fwd_call_check_limits(const struct dsa_fwd_call *call, int32_t tile, int32_t ahead,
                              struct sab_message *msg);

#ifdef __cplusplus
}
#endif
#endif
