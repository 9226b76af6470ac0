/*
 * cuda_check.h - CUDA errors as statuses: a kernel library prints nothing and never exits.
 */
#ifndef SAB_CUDA_CHECK_H
#define SAB_CUDA_CHECK_H

#include <cuda_runtime_api.h>

#include "schema.h"

/* SAB_OK for cudaSuccess, else SAB_FAILED with "<what>: <name> (<description>)" in `msg`. The error
 * is also taken off the runtime's last-error slot, so that the next launch is not blamed for it. */
static inline int sab_cuda_check(cudaError_t error, const char *what, struct sab_message *msg)
{
    if (error == cudaSuccess)
        return SAB_OK;
    (void)cudaGetLastError();
    return sab_say(msg, SAB_FAILED, "%s: %s (%s)", what, cudaGetErrorName(error),
                   cudaGetErrorString(error));
}

/* Makes the driver load a kernel, which cannot happen in a capture, and lets a block have so much
 * shared memory at launch: plans do this, so that a first launch can be captured. */
static inline cudaError_t sab_cuda_load(const void *kernel, int shared_bytes)
{
    struct cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);

    return error == cudaSuccess
               ? cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      shared_bytes)
               : error;
}

#endif
