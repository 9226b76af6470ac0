/* mma.h - the hooks of both sparse score operators' mma kernels; their rows stand in
 * mma_row.c. */
#ifndef SCORE_SPARSE_MMA_H
#define SCORE_SPARSE_MMA_H

#include "schema.h"

#define SCORE_SPARSE_MMA_TARGETS "90a;100a;120a"

#ifdef __cplusplus
extern "C" {
#endif

int score_sparse_mma_supports(const struct sab_problem *problem, int attention,
                              struct sab_message *msg);
int score_sparse_mma_plan(const struct sab_problem *problem, int attention, void **plan,
                          struct sab_message *msg);
int score_sparse_mma_launch(void *plan, void *stream, struct sab_message *msg);
void score_sparse_mma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
