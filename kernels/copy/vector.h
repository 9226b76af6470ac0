/* vector.h - the hooks of copy/vector; its row stands in vector_row.c. */
#ifndef COPY_VECTOR_H
#define COPY_VECTOR_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

int copy_vector_supports(const struct sab_problem *problem, struct sab_message *msg);
int copy_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                     void **plan, struct sab_message *msg);
int copy_vector_launch(void *plan, void *stream, struct sab_message *msg);
void copy_vector_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
