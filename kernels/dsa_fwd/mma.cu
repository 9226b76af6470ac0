/*
 * mma.cu - the host side of dsa_fwd/mma: limits, and the kernel of a call's type, width and heads.
 */
#include "mma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "mma_args.h"

struct mma_plan {
    struct dsa_fwd_mma_args args;
    const struct dsa_fwd_mma_form *form;
    unsigned blocks; /* 0: nothing to write */
};

static const struct dsa_fwd_mma_form *choose_form(const struct dsa_fwd_call *c)
{
    const struct dsa_fwd_mma_form *forms =
        (c->fp16 ? dsa_fwd_mma_fp16 : dsa_fwd_mma_bf16)[c->width > DSA_VALUE_WIDTH];

    return &forms[c->heads > forms[0].heads];
}

static int64_t head_blocks(const struct dsa_fwd_call *c)
{
    const int32_t heads = choose_form(c)->heads;

    return (c->heads + heads - 1) / heads;
}

static int init_call(struct dsa_fwd_call *call, const struct sab_problem *problem, unsigned flags,
                     struct sab_message *msg)
{
    int status = dsa_fwd_call_init(call, problem, flags, msg);

    if (status == SAB_OK)
        status = dsa_fwd_call_check_arch(problem, DSA_FWD_MMA_TARGETS, msg);
    return status == SAB_OK
               ? dsa_fwd_call_check_limits(call, choose_form(call)->heads, DSA_MMA_THREADS, msg)
               : status;
}

int dsa_fwd_mma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct dsa_fwd_call call;

    return init_call(&call, problem, SAB_VALIDATE_METADATA, msg);
}

int dsa_fwd_mma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                     void **plan, struct sab_message *msg)
{
    struct dsa_fwd_call call;
    int status = init_call(&call, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    const struct dsa_fwd_mma_form *form = choose_form(&call);
    status = sab_cuda_check(sab_cuda_load((const void *)form->kernel, form->shared_bytes),
                            "load the kernel of dsa_fwd/mma", msg);
    if (status != SAB_OK)
        return status;
    struct mma_plan *p = (struct mma_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->args.c = call;
    p->args.head_blocks = (int32_t)head_blocks(&call);
    p->form = form;
    p->blocks = (unsigned)(call.rows * p->args.head_blocks);
    *plan = p;
    return SAB_OK;
}

int dsa_fwd_mma_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct mma_plan *p = (const struct mma_plan *)plan;

    if (p->blocks == 0)
        return SAB_OK;
    p->form->kernel<<<p->blocks, DSA_MMA_THREADS, (size_t)p->form->shared_bytes,
                      static_cast<cudaStream_t>(stream)>>>(p->args);
    return sab_cuda_check(cudaGetLastError(), "launch dsa_fwd/mma", msg);
}

void dsa_fwd_mma_free(void *plan)
{
    free(plan);
}
