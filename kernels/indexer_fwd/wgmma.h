/* wgmma.h - the hooks of indexer_fwd/wgmma; its row stands in wgmma_row.c. */
#ifndef INDEXER_FWD_WGMMA_H
#define INDEXER_FWD_WGMMA_H

#include "schema.h"

#define INDEXER_FWD_WGMMA_TARGETS "90a"

#ifdef __cplusplus
extern "C" {
#endif

int indexer_fwd_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg);
int indexer_fwd_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                           void **plan, struct sab_message *msg);
int indexer_fwd_wgmma_launch(void *plan, void *stream, struct sab_message *msg);
void indexer_fwd_wgmma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
