/* wgmma.h - the hooks of sage_fwd/wgmma; its row stands in wgmma_row.c. */
#ifndef SAGE_WGMMA_H
#define SAGE_WGMMA_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

int sage_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg);
int sage_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg);
int sage_wgmma_launch(void *plan, void *stream, struct sab_message *msg);
void sage_wgmma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
