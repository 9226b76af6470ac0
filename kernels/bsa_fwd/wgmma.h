/* wgmma.h - the hooks of bsa_fwd/wgmma; its row stands in wgmma_row.c. */
#ifndef BSA_FWD_WGMMA_H
#define BSA_FWD_WGMMA_H

#include "sab.h"

#define BSA_FWD_WGMMA_TARGETS "90a"

#ifdef __cplusplus
extern "C" {
#endif

int bsa_fwd_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg);
int bsa_fwd_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg);
int bsa_fwd_wgmma_launch(void *plan, void *stream, struct sab_message *msg);
void bsa_fwd_wgmma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
