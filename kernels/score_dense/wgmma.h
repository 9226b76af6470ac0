/* wgmma.h - the hooks of both dense score operators' wgmma kernels; their rows stand in
 * wgmma_row.c. */
#ifndef SCORE_DENSE_WGMMA_H
#define SCORE_DENSE_WGMMA_H

#include "schema.h"

#define SCORE_DENSE_WGMMA_TARGETS "90a"

#ifdef __cplusplus
extern "C" {
#endif

int score_dense_wgmma_supports(const struct sab_problem *problem, int attention,
                               struct sab_message *msg);
int score_dense_wgmma_workspace_size(const struct sab_problem *problem, int attention,
                                     uint64_t *bytes, struct sab_message *msg);
int score_dense_wgmma_plan(const struct sab_problem *problem, int attention,
                           const struct sab_buffer *workspace, void **plan,
                           struct sab_message *msg);
int score_dense_wgmma_launch(void *plan, void *stream, struct sab_message *msg);
void score_dense_wgmma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
