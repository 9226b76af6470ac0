/*
 * score_sparse_call.h - one validated call of score_sparse_indexer or score_sparse_attention
 * (contracts/indexer.md, section 4). Shared by the CPU and the GPU kernels.
 */
#ifndef SCORE_SPARSE_CALL_H
#define SCORE_SPARSE_CALL_H

#include "sparse_scores.h"
#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Holds the problem against the contract (flags: enum sab_validate_flags; device: where the kernel
 * runs) and fills `sparse`. Pointers are NULL where the problem carries no data. Returns SAB_OK,
 * SAB_INVALID or SAB_UNSUPPORTED with a message. */
int score_sparse_call_init(struct indexer_sparse *sparse, const struct sab_problem *problem,
                           int attention, enum sab_device device, unsigned flags,
                           struct sab_message *msg);

/* SAB_UNSUPPORTED with the reason where the device's capability is not in the exact list. */
int score_sparse_call_check_arch(const struct sab_problem *problem, const char *targets,
                                 struct sab_message *msg);

/* SAB_UNSUPPORTED where rows, slots or columns do not fit the 32-bit numbers of the fast kernels.
 */
int score_sparse_call_check_limits(const struct indexer_sparse *sparse, struct sab_message *msg);

#ifdef __cplusplus
}
#endif
#endif
