/* reference.h - the hooks of bsa_fwd/reference; its row stands in reference_row.c. */
#ifndef BSA_REFERENCE_H
#define BSA_REFERENCE_H

#include "sab.h"

#define BSA_REFERENCE_TARGETS "90a;100a;120a"

#ifdef __cplusplus
extern "C" {
#endif

int bsa_reference_supports(const struct sab_problem *problem, struct sab_message *msg);
int bsa_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg);
int bsa_reference_launch(void *plan, void *stream, struct sab_message *msg);
void bsa_reference_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
