/* reference.h - the hooks of sage_fwd/reference; its row stands in reference_row.c. */
#ifndef SAGE_REFERENCE_H
#define SAGE_REFERENCE_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

int sage_reference_supports(const struct sab_problem *problem, struct sab_message *msg);
int sage_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                        void **plan, struct sab_message *msg);
int sage_reference_launch(void *plan, void *stream, struct sab_message *msg);
void sage_reference_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
