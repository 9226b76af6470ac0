/*
 * null_cuda.h - the hooks of null/cuda that need the CUDA runtime.
 */
#ifndef SAB_NULL_CUDA_H
#define SAB_NULL_CUDA_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Loads the module, so that a first launch can be captured. The plan is NULL. */
int null_cuda_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                   void **plan, struct sab_message *msg);
/* One empty kernel. */
int null_cuda_launch(void *plan, void *stream, struct sab_message *msg);

#ifdef __cplusplus
}
#endif

#endif
