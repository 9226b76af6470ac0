/* mma.h - the hooks of indexer_fwd/mma; its row stands in mma_row.c. */
#ifndef INDEXER_FWD_MMA_H
#define INDEXER_FWD_MMA_H

#include "schema.h"

#define INDEXER_FWD_MMA_TARGETS "90a;100a;120a"

#ifdef __cplusplus
extern "C" {
#endif

int indexer_fwd_mma_supports(const struct sab_problem *problem, struct sab_message *msg);
int indexer_fwd_mma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                         void **plan, struct sab_message *msg);
int indexer_fwd_mma_launch(void *plan, void *stream, struct sab_message *msg);
void indexer_fwd_mma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
