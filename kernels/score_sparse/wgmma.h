/* wgmma.h - the hooks of both sparse score operators' wgmma kernels; their rows stand in
 * wgmma_row.c. */
#ifndef SCORE_SPARSE_WGMMA_H
#define SCORE_SPARSE_WGMMA_H

#include "schema.h"

#define SCORE_SPARSE_WGMMA_TARGETS "90a"

#ifdef __cplusplus
extern "C" {
#endif

int score_sparse_wgmma_supports(const struct sab_problem *problem, int attention,
                                struct sab_message *msg);
int score_sparse_wgmma_plan(const struct sab_problem *problem, int attention, void **plan,
                            struct sab_message *msg);
int score_sparse_wgmma_launch(void *plan, void *stream, struct sab_message *msg);
void score_sparse_wgmma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
