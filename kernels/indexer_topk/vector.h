/* vector.h - the hooks of indexer_topk/vector; its row stands in vector_row.c. */
#ifndef INDEXER_TOPK_VECTOR_H
#define INDEXER_TOPK_VECTOR_H

#include "schema.h"

#define INDEXER_TOPK_VECTOR_TARGETS "90a;100a;120a"

#ifdef __cplusplus
extern "C" {
#endif

int indexer_topk_vector_supports(const struct sab_problem *problem, struct sab_message *msg);
int indexer_topk_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                             void **plan, struct sab_message *msg);
int indexer_topk_vector_launch(void *plan, void *stream, struct sab_message *msg);
void indexer_topk_vector_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
