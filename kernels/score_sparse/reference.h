/* reference.h - the hooks of both sparse score operators' reference kernels; their rows stand in
 * reference_row.c. */
#ifndef SCORE_SPARSE_REFERENCE_H
#define SCORE_SPARSE_REFERENCE_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCORE_SPARSE_REFERENCE_TARGETS "90a;100a;120a"

int score_sparse_reference_supports(const struct sab_problem *problem, int attention,
                                    struct sab_message *msg);
int score_sparse_reference_plan(const struct sab_problem *problem, int attention, void **plan,
                                struct sab_message *msg);
int score_sparse_reference_launch(void *plan, void *stream, struct sab_message *msg);
void score_sparse_reference_free(void *plan);

#ifdef __cplusplus
}
#endif
#endif
