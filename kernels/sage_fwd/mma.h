/* mma.h - the hooks of sage_fwd/mma; its row stands in mma_row.c. */
#ifndef SAGE_MMA_H
#define SAGE_MMA_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

int sage_mma_supports(const struct sab_problem *problem, struct sab_message *msg);
int sage_mma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                  void **plan, struct sab_message *msg);
int sage_mma_launch(void *plan, void *stream, struct sab_message *msg);
void sage_mma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
