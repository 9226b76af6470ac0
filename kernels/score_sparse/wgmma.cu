/*
 * wgmma.cu - the host side of the sparse scores' wgmma kernels: limits, the tensor map of Q by
 * value, the form of a call's width and heads.
 */
#include "wgmma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "score_sparse_call.h"
#include "tensor_map.h"
#include "wgmma_args.h"

struct wgmma_plan {
    struct score_sparse_wgmma_args args;
    const struct score_sparse_wgmma_form *form;
    unsigned blocks;
};

static int init_call(struct indexer_sparse *d, const struct sab_problem *problem, int attention,
                     unsigned flags, struct sab_message *msg)
{
    int status = score_sparse_call_init(d, problem, attention, SAB_DEVICE_CUDA, flags, msg);

    if (status == SAB_OK)
        status = score_sparse_call_check_arch(problem, SCORE_SPARSE_WGMMA_TARGETS, msg);
    return status == SAB_OK ? score_sparse_call_check_limits(d, msg) : status;
}

/* The smallest form that holds the heads. */
static const struct score_sparse_wgmma_form *form_of(const struct indexer_sparse *d)
{
    const struct score_sparse_wgmma_form *forms =
        d->attention ? score_sparse_wgmma_attention : score_sparse_wgmma_indexer;

    for (int i = 0; i < SCORE_SPARSE_WGMMA_FORMS; i++) {
        if (forms[i].width == d->q.width && forms[i].heads >= d->heads)
            return &forms[i];
    }
    return NULL;
}

static int encode_q(struct score_sparse_wgmma_args *args, int heads, struct sab_message *msg)
{
    const struct indexer_sparse *d = &args->d;
    struct sab_map_shape shape = {};

    shape.name = "q";
    shape.base = const_cast<void *>(d->q.data);
    shape.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    shape.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    shape.rank = 4;
    const int64_t size[4] = {d->q.width, d->heads, d->rows, 1};
    const uint32_t box[4] = {SCORE_SEGMENT, (uint32_t)heads, 1, 1};
    uint64_t bytes = sizeof(uint16_t);
    for (int i = 0; i < 4; i++) {
        shape.size[i] = (uint64_t)size[i];
        shape.stride_bytes[i] = bytes;
        shape.box[i] = box[i];
        bytes *= (uint64_t)size[i];
    }
    return sab_map_encode(&args->q, &shape, msg);
}

/* Sets the kernel up and makes the driver load it, so that a first launch can be captured. */
static int prepare(struct wgmma_plan *plan, const struct indexer_sparse *d, int32_t multiprocessors,
                   struct sab_message *msg)
{
    struct score_sparse_wgmma_args *args = &plan->args;

    plan->form = form_of(d);
    if (!plan->form)
        return sab_say(msg, SAB_UNSUPPORTED, "q: no kernel for %lld heads of %lld",
                       (long long)d->heads, (long long)d->q.width);
    args->d = *d;
    args->heads.w = static_cast<const uint16_t *>(d->w);
    args->heads.lse = d->lse;
    args->factor = (float)((double)d->scale * 1.4426950408889634);
    plan->blocks = (unsigned)(d->rows < multiprocessors ? d->rows : multiprocessors);
    int status = encode_q(args, plan->form->heads, msg);
    if (status == SAB_OK)
        status = sab_cuda_check(sab_cuda_load(reinterpret_cast<const void *>(plan->form->kernel),
                                              plan->form->shared_bytes),
                                "load the sparse scores' wgmma kernel", msg);
    return status;
}

int score_sparse_wgmma_supports(const struct sab_problem *problem, int attention,
                                struct sab_message *msg)
{
    struct indexer_sparse d;

    return init_call(&d, problem, attention, SAB_VALIDATE_METADATA, msg);
}

int score_sparse_wgmma_plan(const struct sab_problem *problem, int attention, void **plan,
                            struct sab_message *msg)
{
    struct indexer_sparse d;
    int status = init_call(&d, problem, attention, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status != SAB_OK)
        return status;
    struct wgmma_plan *p = (struct wgmma_plan *)sab_map_plan_alloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    status = prepare(p, &d, problem->multiprocessors, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

int score_sparse_wgmma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct wgmma_plan *p = (struct wgmma_plan *)plan;
    void *arguments[] = {&p->args};

    return sab_cuda_check(cudaLaunchKernel(reinterpret_cast<const void *>(p->form->kernel),
                                           p->blocks, SCORE_WGMMA_THREADS, arguments,
                                           (size_t)p->form->shared_bytes,
                                           static_cast<cudaStream_t>(stream)),
                          "launch the sparse scores' wgmma kernel", msg);
}

void score_sparse_wgmma_free(void *plan)
{
    free(plan);
}
