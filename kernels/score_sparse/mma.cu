/*
 * mma.cu - the host side of the sparse scores' mma kernels.
 */
#include "mma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "mma_args.h"
#include "score_sparse_call.h"

struct mma_plan {
    struct score_sparse_mma_args args;
    const struct score_sparse_mma_form *form;
    unsigned blocks;
};

static int init_call(struct indexer_sparse *d, const struct sab_problem *problem, int attention,
                     unsigned flags, struct sab_message *msg)
{
    int status = score_sparse_call_init(d, problem, attention, SAB_DEVICE_CUDA, flags, msg);

    if (status == SAB_OK)
        status = score_sparse_call_check_arch(problem, SCORE_SPARSE_MMA_TARGETS, msg);
    return status == SAB_OK ? score_sparse_call_check_limits(d, msg) : status;
}

/* The smallest form that holds the heads, or the largest. */
static const struct score_sparse_mma_form *form_of(const struct indexer_sparse *d)
{
    const struct score_sparse_mma_form *forms =
        d->attention ? score_sparse_mma_attention : score_sparse_mma_indexer;
    const int64_t most = SCORE_MMA_PAIRS, heads = d->heads < most ? d->heads : most;

    for (int i = 0; i < SCORE_SPARSE_MMA_FORMS; i++) {
        if (forms[i].width == d->q.width && forms[i].heads >= heads)
            return &forms[i];
    }
    return NULL;
}

static int load_kernel(struct mma_plan *plan, int32_t multiprocessors, struct sab_message *msg)
{
    const void *kernel = reinterpret_cast<const void *>(plan->form->kernel);
    const int64_t rows = plan->args.d.rows;
    int resident = 0;
    cudaError_t error = sab_cuda_load(kernel, plan->form->shared_bytes);

    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, SCORE_MMA_THREADS,
                                                              (size_t)plan->form->shared_bytes);
    if (error != cudaSuccess)
        return sab_cuda_check(error, "load the sparse scores' mma kernel", msg);
    if (resident < 1)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "device: a block of this kernel needs %d bytes of shared memory",
                       plan->form->shared_bytes);
    const int64_t workers = (int64_t)multiprocessors * resident;
    plan->blocks = (unsigned)(rows < workers ? rows : workers);
    return SAB_OK;
}

static int prepare(struct mma_plan *plan, const struct indexer_sparse *d, int32_t multiprocessors,
                   struct sab_message *msg)
{
    struct score_sparse_mma_args *args = &plan->args;

    plan->form = form_of(d);
    if (!plan->form)
        return sab_say(msg, SAB_UNSUPPORTED, "q: no kernel for %lld heads of %lld",
                       (long long)d->heads, (long long)d->q.width);
    args->d = *d;
    args->heads.w = static_cast<const uint16_t *>(d->w);
    args->heads.lse = d->lse;
    args->factor = (float)((double)d->scale * 1.4426950408889634);
    args->parts = (int32_t)((d->heads + plan->form->heads - 1) / plan->form->heads);
    return load_kernel(plan, multiprocessors, msg);
}

int score_sparse_mma_supports(const struct sab_problem *problem, int attention,
                              struct sab_message *msg)
{
    struct indexer_sparse d;

    return init_call(&d, problem, attention, SAB_VALIDATE_METADATA, msg);
}

int score_sparse_mma_plan(const struct sab_problem *problem, int attention, void **plan,
                          struct sab_message *msg)
{
    struct mma_plan made = {};
    struct indexer_sparse d;
    int status = init_call(&d, problem, attention, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
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

int score_sparse_mma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct mma_plan *p = (struct mma_plan *)plan;
    void *arguments[] = {&p->args};

    return sab_cuda_check(cudaLaunchKernel(reinterpret_cast<const void *>(p->form->kernel),
                                           p->blocks, SCORE_MMA_THREADS, arguments,
                                           (size_t)p->form->shared_bytes,
                                           static_cast<cudaStream_t>(stream)),
                          "launch the sparse scores' mma kernel", msg);
}

void score_sparse_mma_free(void *plan)
{
    free(plan);
}
