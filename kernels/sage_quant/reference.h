/* reference.h - the hooks of sage_quant_q/reference and sage_quant_kv/reference; their rows stand
 * in reference_row.c. */
#ifndef SAGE_QUANT_REFERENCE_H
#define SAGE_QUANT_REFERENCE_H

#include "quant_call.h"

#ifdef __cplusplus
extern "C" {
#endif

int quant_q_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                           void **plan, struct sab_message *msg);
int quant_q_reference_launch(void *plan, void *stream, struct sab_message *msg);
int quant_kv_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                            void **plan, struct sab_message *msg);
int quant_kv_reference_launch(void *plan, void *stream, struct sab_message *msg);
void quant_reference_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
