/*
 * mma.cu - the host side of indexer_fwd/mma.
 */
#include "mma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "mma_args.h"
#include "vector_lse.h"

struct mma_plan {
    struct indexer_items items;
    const void *kernel;
    unsigned blocks;
};

static const void *kernel_of(const struct indexer_fwd_call *c)
{
    const struct indexer_mma_kernels *kernels = c->precision == INDEXER_BF16  ? &indexer_mma_bf16
                                                : c->precision == INDEXER_FP8 ? &indexer_mma_fp8
                                                                              : &indexer_mma_mxfp8;
    const indexer_mma_fn kernel = c->heads == 16   ? kernels->heads_16
                                  : c->heads == 32 ? kernels->heads_32
                                                   : kernels->heads_64;

    return reinterpret_cast<const void *>(kernel);
}

/* Also makes the driver load the kernels, so that a first launch can be captured. */
static int prepare(struct mma_plan *plan, const struct indexer_fwd_call *call,
                   int32_t multiprocessors, struct sab_message *msg)
{
    int resident = 0;
    cudaError_t error;

    plan->kernel = kernel_of(call);
    error = sab_cuda_load(plan->kernel, INDEXER_MMA_SHARED_BYTES);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &resident, plan->kernel, INDEXER_MMA_THREADS, INDEXER_MMA_SHARED_BYTES);
    if (error == cudaSuccess && call->with_lse)
        error = indexer_lse_prepare();
    if (error != cudaSuccess)
        return sab_cuda_check(error, "load the kernels of indexer_fwd/mma", msg);
    if (resident < 1)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "device: a block of this kernel needs %d bytes of shared memory",
                       INDEXER_MMA_SHARED_BYTES);
    plan->blocks = indexer_items_init(&plan->items, call, (unsigned)(multiprocessors * resident));
    return SAB_OK;
}

int indexer_fwd_mma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct indexer_fwd_call call;

    return indexer_mma_call_init(&call, problem, SAB_VALIDATE_METADATA, msg);
}

int indexer_fwd_mma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                         void **plan, struct sab_message *msg)
{
    struct mma_plan made = {};
    struct indexer_fwd_call call;
    int status = indexer_mma_call_init(&call, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = prepare(&made, &call, problem->multiprocessors, msg);
    if (status != SAB_OK)
        return status;
    struct mma_plan *p = (struct mma_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    *p = made;
    *plan = p;
    return SAB_OK;
}

int indexer_fwd_mma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct mma_plan *p = (struct mma_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    void *arguments[] = {&p->items};
    int status = sab_cuda_check(cudaLaunchKernel(p->kernel, p->blocks, INDEXER_MMA_THREADS,
                                                 arguments, INDEXER_MMA_SHARED_BYTES, on),
                                "launch indexer_fwd/mma", msg);

    if (status == SAB_OK)
        status = sab_cuda_check(indexer_lse_launch(&p->items.c, on), "launch lse", msg);
    return status;
}

void indexer_fwd_mma_free(void *plan)
{
    free(plan);
}
