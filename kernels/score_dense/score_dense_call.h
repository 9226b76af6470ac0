/*
 * score_dense_call.h - one validated call of score_dense_indexer or score_dense_attention
 * (contracts/indexer.md, section 4). Shared by the CPU and the GPU kernels.
 */
#ifndef SCORE_DENSE_CALL_H
#define SCORE_DENSE_CALL_H

#include "dense_scores.h"
#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Holds the problem against the contract (flags: enum sab_validate_flags; device: where the kernel
 * runs) and fills `dense`. Pointers are NULL where the problem carries no data. Returns SAB_OK,
 * SAB_INVALID or SAB_UNSUPPORTED with a message. */
int score_dense_call_init(struct indexer_dense *dense, const struct sab_problem *problem,
                          int attention, enum sab_device device, unsigned flags,
                          struct sab_message *msg);

/* The operator's name, and keys of all batches or segments of a validated problem. */
const char *score_dense_call_op(int attention);
int64_t score_dense_call_keys(const struct sab_problem *problem, int attention);

/* SAB_UNSUPPORTED with the reason where the device's capability is not in the exact list. */
int score_dense_call_check_arch(const struct sab_problem *problem, const char *targets,
                                struct sab_message *msg);

#ifdef __cplusplus
}
#endif
#endif
