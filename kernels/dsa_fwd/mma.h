/* mma.h - the hooks of dsa_fwd/mma; its row stands in mma_row.c. */
#ifndef DSA_FWD_MMA_H
#define DSA_FWD_MMA_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DSA_FWD_MMA_TARGETS "90a;100a;120a"

int dsa_fwd_mma_supports(const struct sab_problem *problem, struct sab_message *msg);
int dsa_fwd_mma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                     void **plan, struct sab_message *msg);
int dsa_fwd_mma_launch(void *plan, void *stream, struct sab_message *msg);
void dsa_fwd_mma_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
