/* vector.h - the hooks of sage_quant_q/vector and sage_quant_kv/vector; their rows stand in
 * vector_row.c. */
#ifndef SAGE_QUANT_VECTOR_H
#define SAGE_QUANT_VECTOR_H

#include "quant_call.h"

#ifdef __cplusplus
extern "C" {
#endif

int quant_q_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                        void **plan, struct sab_message *msg);
int quant_q_vector_launch(void *plan, void *stream, struct sab_message *msg);
int quant_kv_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                         void **plan, struct sab_message *msg);
int quant_kv_vector_launch(void *plan, void *stream, struct sab_message *msg);
void quant_vector_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
