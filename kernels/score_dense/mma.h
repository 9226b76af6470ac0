/* mma.h - the hooks of both dense score operators' mma kernels; their rows stand in
 * mma_row.c. */
#ifndef SCORE_DENSE_MMA_H
#define SCORE_DENSE_MMA_H

#include "schema.h"

#define SCORE_DENSE_MMA_TARGETS "90a;100a;120a"

#ifdef __cplusplus
extern "C" {
#endif

int score_dense_mma_supports(const struct sab_problem *problem, int attention,
                             struct sab_message *msg);
int score_dense_mma_workspace_size(const struct sab_problem *problem, int attention,
                                   uint64_t *bytes, struct sab_message *msg);
int score_dense_mma_plan(const struct sab_problem *problem, int attention,
                         const struct sab_buffer *workspace, void **plan, struct sab_message *msg);
int score_dense_mma_launch(void *plan, void *stream, struct sab_message *msg);
void score_dense_mma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
