/* reference.h - the hooks of both backward operators' reference kernels; their rows stand in
 * reference_row.c. */
#ifndef INDEXER_BWD_REFERENCE_H
#define INDEXER_BWD_REFERENCE_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INDEXER_BWD_REFERENCE_TARGETS "90a;100a;120a"

int indexer_bwd_reference_supports(const struct sab_problem *problem, int sparse,
                                   struct sab_message *msg);
int indexer_bwd_reference_workspace_size(const struct sab_problem *problem, int sparse,
                                         uint64_t *bytes, struct sab_message *msg);
int indexer_bwd_reference_plan(const struct sab_problem *problem, int sparse,
                               const struct sab_buffer *workspace, void **plan,
                               struct sab_message *msg);
int indexer_bwd_reference_launch(void *plan, void *stream, struct sab_message *msg);
void indexer_bwd_reference_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
