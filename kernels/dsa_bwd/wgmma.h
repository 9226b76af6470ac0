/* wgmma.h - the hooks of dsa_bwd/wgmma; its row stands in wgmma_row.c. */
#ifndef DSA_BWD_WGMMA_H
#define DSA_BWD_WGMMA_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

int dsa_bwd_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg);
int dsa_bwd_wgmma_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                 struct sab_message *msg);
int dsa_bwd_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg);
int dsa_bwd_wgmma_launch(void *plan, void *stream, struct sab_message *msg);
void dsa_bwd_wgmma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
