/* wgmma.h - the hooks of dsa_fwd/wgmma; its row stands in wgmma_row.c. */
#ifndef DSA_FWD_WGMMA_H
#define DSA_FWD_WGMMA_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DSA_FWD_WGMMA_TARGETS "90a"

int dsa_fwd_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg);
int dsa_fwd_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg);
int dsa_fwd_wgmma_launch(void *plan, void *stream, struct sab_message *msg);
void dsa_fwd_wgmma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
