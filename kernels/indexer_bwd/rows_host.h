/*
 * rows_host.h - the hooks of the kernels with a block of threads a query row, for any engine. A
 * call has two or three activities: the sums of dK are cleared, rows add to them, and where
 * d_index_k is bf16 they are rounded to it.
 */
#ifndef INDEXER_BWD_ROWS_HOST_H
#define INDEXER_BWD_ROWS_HOST_H

#include "rows_args.h"
#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

int indexer_bwd_rows_supports(const struct indexer_bwd_rows_engine *engine,
                              const struct sab_problem *problem, int sparse,
                              struct sab_message *msg);
int indexer_bwd_rows_workspace_size(const struct indexer_bwd_rows_engine *engine,
                                    const struct sab_problem *problem, int sparse, uint64_t *bytes,
                                    struct sab_message *msg);
int indexer_bwd_rows_plan(const struct indexer_bwd_rows_engine *engine,
                          const struct sab_problem *problem, int sparse,
                          const struct sab_buffer *workspace, void **plan, struct sab_message *msg);
int indexer_bwd_rows_launch(void *plan, void *stream, struct sab_message *msg);
void indexer_bwd_rows_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
