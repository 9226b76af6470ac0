/*
 * wgmma.cu - the host side of bsa_fwd/wgmma: arguments by value, the kernel of a call's type, and
 * how query tiles are dealt to multiprocessors.
 */
#include "wgmma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "wgmma_args.h"
#include "tensor_map.h"

struct wgmma_plan {
    struct bsa_wgmma_args args;
    bsa_wgmma_fn kernel;
    unsigned blocks;
};

static int init_call(struct bsa_call *call, const struct sab_problem *problem, unsigned flags,
                     struct sab_message *msg)
{
    int status = bsa_call_init(call, problem, flags, msg);

    if (status == SAB_OK)
        status = bsa_call_check_arch(problem, BSA_FWD_WGMMA_TARGETS, msg);
    if (status == SAB_OK)
        status = bsa_rows_check_limits(call, msg);
    return status;
}

/* See bsa_item_of(). */
static void deal_tiles(struct wgmma_plan *plan, int64_t tiles, int32_t multiprocessors)
{
    struct bsa_wgmma_args *args = &plan->args;
    const int64_t blocks = tiles < multiprocessors ? tiles : multiprocessors;
    const int64_t round = blocks * BSA_WGMMA_GROUPS;

    args->full_rounds = (int32_t)(tiles / round);
    args->rest = (int32_t)(tiles % round);
    plan->blocks = (unsigned)blocks;
}

static int prepare(struct wgmma_plan *plan, const struct bsa_call *call, int32_t multiprocessors,
                   struct sab_message *msg)
{
    struct bsa_wgmma_args *args = &plan->args;
    int status = bsa_rows_init(&args->rows, call, msg);

    if (status == SAB_OK)
        status = bsa_maps_encode(&args->maps, call, msg);
    if (status != SAB_OK)
        return status;
    args->out = call->out;
    args->lse = call->lse;
    args->seqlen_q = (int32_t)call->seqlen_q;
    args->scale_log2 = call->scale_log2;
    deal_tiles(plan, call->batch * call->heads * call->query_tiles, multiprocessors);
    plan->kernel = call->key.fp16 ? bsa_wgmma_fp16 : bsa_wgmma_bf16;
    return bsa_load_kernel(reinterpret_cast<const void *>(plan->kernel), sizeof(bsa::wgmma_shared),
                           "bsa_fwd/wgmma", msg);
}

int bsa_fwd_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct bsa_call call;

    return init_call(&call, problem, SAB_VALIDATE_METADATA, msg);
}

int bsa_fwd_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg)
{
    struct bsa_call call;
    int status = init_call(&call, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    struct wgmma_plan *p = (struct wgmma_plan *)sab_map_plan_alloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    status = prepare(p, &call, problem->multiprocessors, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

int bsa_fwd_wgmma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct wgmma_plan *p = (struct wgmma_plan *)plan;
    void *arguments[] = {&p->args};

    return sab_cuda_check(cudaLaunchKernel(reinterpret_cast<const void *>(p->kernel), p->blocks,
                                           BSA_WGMMA_THREADS, arguments, sizeof(bsa::wgmma_shared),
                                           static_cast<cudaStream_t>(stream)),
                          "launch bsa_fwd/wgmma", msg);
}

void bsa_fwd_wgmma_free(void *plan)
{
    free(plan);
}
