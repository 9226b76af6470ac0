/* reference.h - the hooks of dsa_bwd/reference; its row stands in reference_row.c. */
#ifndef DSA_BWD_REFERENCE_H
#define DSA_BWD_REFERENCE_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

int dsa_bwd_reference_supports(const struct sab_problem *problem, struct sab_message *msg);
int dsa_bwd_reference_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                     struct sab_message *msg);
int dsa_bwd_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                           void **plan, struct sab_message *msg);
int dsa_bwd_reference_launch(void *plan, void *stream, struct sab_message *msg);
void dsa_bwd_reference_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
