/*
 * mma.cu - the host side of bsa_fwd/mma: arguments by value, the kernel of a call's type.
 */
#include "mma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "mma_args.h"
#include "tensor_map.h"

struct mma_plan {
    struct bsa_mma_args args;
    bsa_mma_fn kernel;
    unsigned blocks;
};

static int init_call(struct bsa_call *call, const struct sab_problem *problem, unsigned flags,
                     struct sab_message *msg)
{
    int status = bsa_call_init(call, problem, flags, msg);

    if (status == SAB_OK)
        status = bsa_call_check_arch(problem, BSA_FWD_MMA_TARGETS, msg);
    if (status == SAB_OK)
        status = bsa_rows_check_limits(call, msg);
    return status;
}

static int prepare(struct mma_plan *plan, const struct bsa_call *call, struct sab_message *msg)
{
    struct bsa_mma_args *args = &plan->args;
    int status = bsa_rows_init(&args->rows, call, msg);

    if (status == SAB_OK)
        status = bsa_maps_encode(&args->maps, call, msg);
    if (status != SAB_OK)
        return status;
    args->out = call->out;
    args->lse = call->lse;
    args->seqlen_q = (int32_t)call->seqlen_q;
    args->scale_log2 = call->scale_log2;
    plan->blocks = (unsigned)(call->batch * call->heads * call->query_tiles);
    plan->kernel = call->key.fp16 ? bsa_mma_fp16 : bsa_mma_bf16;
    return bsa_load_kernel(reinterpret_cast<const void *>(plan->kernel), sizeof(bsa::mma_shared),
                           "bsa_fwd/mma", msg);
}

int bsa_fwd_mma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct bsa_call call;

    return init_call(&call, problem, SAB_VALIDATE_METADATA, msg);
}

int bsa_fwd_mma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                     void **plan, struct sab_message *msg)
{
    struct bsa_call call;
    int status = init_call(&call, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    struct mma_plan *p = (struct mma_plan *)sab_map_plan_alloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    status = prepare(p, &call, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

int bsa_fwd_mma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct mma_plan *p = (struct mma_plan *)plan;
    void *arguments[] = {&p->args};

    return sab_cuda_check(cudaLaunchKernel(reinterpret_cast<const void *>(p->kernel), p->blocks,
                                           BSA_MMA_THREADS, arguments, sizeof(bsa::mma_shared),
                                           static_cast<cudaStream_t>(stream)),
                          "launch bsa_fwd/mma", msg);
}

void bsa_fwd_mma_free(void *plan)
{
    free(plan);
}
