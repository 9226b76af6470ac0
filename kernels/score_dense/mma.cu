/*
 * mma.cu - the host side of the dense scores' mma kernels.
 */
#include "mma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "mma_args.h"
#include "score_dense_call.h"
#include "vector_parts.h"

struct mma_plan {
    struct score_dense_items items;
    struct score_dense_parts parts;
    const struct score_dense_mma_form *form;
    unsigned blocks;
};

static int init_call(struct indexer_dense *d, const struct sab_problem *problem, int attention,
                     unsigned flags, struct sab_message *msg)
{
    int status = score_dense_call_init(d, problem, attention, SAB_DEVICE_CUDA, flags, msg);

    if (status == SAB_OK)
        status = score_dense_call_check_arch(problem, SCORE_DENSE_MMA_TARGETS, msg);
    if (status == SAB_OK)
        status = score_dense_items_check(d, score_dense_call_keys(problem, attention), msg);
    return status;
}

static const struct score_dense_mma_form *form_of(const struct indexer_dense *d)
{
    const struct score_dense_mma_form *forms =
        d->attention ? score_dense_mma_attention : score_dense_mma_indexer;
    const int heads = score_dense_items_heads(d, SCORE_MMA_PAIRS);

    for (int i = 0; i < SCORE_DENSE_MMA_FORMS; i++) {
        if (forms[i].width == d->q.width && forms[i].heads == heads)
            return &forms[i];
    }
    return NULL;
}

/* `d` is of bf16 by now. Sets the kernel up and makes the driver load it, so that a first launch
 * can be captured. */
static int prepare(struct mma_plan *plan, const struct indexer_dense *d, int32_t multiprocessors,
                   struct sab_message *msg)
{
    int resident = 0;

    plan->form = form_of(d);
    if (!plan->form)
        return sab_say(msg, SAB_UNSUPPORTED, "q: no kernel for %lld heads of %lld",
                       (long long)d->heads, (long long)d->q.width);
    const void *kernel = reinterpret_cast<const void *>(plan->form->kernel);
    cudaError_t error = sab_cuda_load(kernel, plan->form->shared_bytes);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, SCORE_MMA_THREADS,
                                                              (size_t)plan->form->shared_bytes);
    if (error != cudaSuccess)
        return sab_cuda_check(error, "load the dense scores' mma kernel", msg);
    if (resident < 1)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "device: a block of this kernel needs %d bytes of shared memory",
                       plan->form->shared_bytes);
    plan->blocks = score_dense_items_init(&plan->items, d, plan->form->heads, SCORE_MMA_PAIRS,
                                          (unsigned)(multiprocessors * resident));
    return SAB_OK;
}

int score_dense_mma_supports(const struct sab_problem *problem, int attention,
                             struct sab_message *msg)
{
    struct indexer_dense d;

    return init_call(&d, problem, attention, SAB_VALIDATE_METADATA, msg);
}

int score_dense_mma_workspace_size(const struct sab_problem *problem, int attention,
                                   uint64_t *bytes, struct sab_message *msg)
{
    struct indexer_dense d;
    const int status = init_call(&d, problem, attention, SAB_VALIDATE_METADATA, msg);

    *bytes = status == SAB_OK
                 ? score_dense_items_bytes(&d, score_dense_call_keys(problem, attention))
                 : 0;
    return status;
}

int score_dense_mma_plan(const struct sab_problem *problem, int attention,
                         const struct sab_buffer *workspace, void **plan, struct sab_message *msg)
{
    struct mma_plan made = {};
    struct indexer_dense d;
    int status = init_call(&d, problem, attention, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status != SAB_OK)
        return status;
    const int64_t keys = score_dense_call_keys(problem, attention);
    const uint64_t bytes = score_dense_items_bytes(&d, keys);
    status = sab_validate_workspace(sab_op_find(score_dense_call_op(attention)), problem, workspace,
                                    bytes, SCORE_DENSE_WORKSPACE_ALIGNMENT, SAB_DEVICE_CUDA, msg);
    if (status == SAB_OK)
        status =
            score_dense_parts_init(&made.parts, &d, keys, bytes > 0 ? workspace->data : NULL, msg);
    if (status == SAB_OK)
        status = prepare(&made, &d, problem->multiprocessors, msg);
    if (status != SAB_OK)
        return status;
    struct mma_plan *p = (struct mma_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    *p = made;
    *plan = p;
    return SAB_OK;
}

int score_dense_mma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct mma_plan *p = (struct mma_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    void *arguments[] = {&p->items};
    cudaError_t error = score_dense_parts_before(&p->parts, on);

    if (error == cudaSuccess)
        error = cudaLaunchKernel(reinterpret_cast<const void *>(p->form->kernel), p->blocks,
                                 SCORE_MMA_THREADS, arguments, (size_t)p->form->shared_bytes, on);
    if (error == cudaSuccess)
        error = score_dense_parts_after(&p->parts, on);
    return sab_cuda_check(error, "launch the dense scores' mma kernel", msg);
}

void score_dense_mma_free(void *plan)
{
    free(plan);
}
