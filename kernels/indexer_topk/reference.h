/* reference.h - the hooks of indexer_topk/reference; its row stands in reference_row.c. */
#ifndef INDEXER_TOPK_REFERENCE_H
#define INDEXER_TOPK_REFERENCE_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INDEXER_TOPK_REFERENCE_TARGETS "90a;100a;120a"

int indexer_topk_reference_supports(const struct sab_problem *problem, struct sab_message *msg);
int indexer_topk_reference_plan(const struct sab_problem *problem,
                                const struct sab_buffer *workspace, void **plan,
                                struct sab_message *msg);
int indexer_topk_reference_launch(void *plan, void *stream, struct sab_message *msg);
void indexer_topk_reference_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
