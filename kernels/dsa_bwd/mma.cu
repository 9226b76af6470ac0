/*
 * mma.cu - the hooks of dsa_bwd/mma: limits, and the three activities of a call: the accumulator is
 * cleared, added to, and turned into dkv.
 */
#include "mma.h"

#include <cuda_runtime.h>
#include <math.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "dsa_bwd_call.h"
#include "finish.h"
#include "mma_forms.h"

struct mma_plan {
    struct dsa_bwd_mma_args args;
    dsa_bwd::finish_args last;
    const struct dsa_bwd_mma_form *form;
    void (*finish)(const dsa_bwd::finish_args);
    unsigned blocks, finish_blocks;
    uint64_t clear_bytes;
};

static int init(struct dsa_bwd_call *call, const struct sab_problem *problem, unsigned flags,
                struct sab_message *msg)
{
    int status = dsa_bwd_call_init(call, problem, flags, msg);

    if (status == SAB_OK)
        status = dsa_bwd_call_check_arch(problem, msg);
    if (status == SAB_OK && call->deterministic)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "deterministic: this kernel adds up dkv by atomics, in no fixed order");
    return status == SAB_OK
               ? dsa_bwd_call_check_limits(call, DSA_BWD_MMA_HEADS, DSA_BWD_MMA_KEYS, msg)
               : status;
}

int dsa_bwd_mma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct dsa_bwd_call call;

    return init(&call, problem, SAB_VALIDATE_METADATA, msg);
}

static uint64_t workspace_bytes(const struct dsa_bwd_call *call)
{
    return dsa_bwd_stats_bytes(call) + dsa_bwd_accumulator_bytes(call, 1);
}

int dsa_bwd_mma_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                               struct sab_message *msg)
{
    struct dsa_bwd_call call;
    int status = init(&call, problem, SAB_VALIDATE_METADATA, msg);

    *bytes = status == SAB_OK ? workspace_bytes(&call) : 0;
    return status;
}

static void fill_args(struct dsa_bwd_mma_args *args, const struct dsa_bwd_call *call,
                      uint8_t *workspace)
{
    const double log2_e = 1.4426950408889634;
    const float gain = dsa_bwd_gain(call);

    args->q = (const uint8_t *)call->q;
    args->kv = (const uint8_t *)call->kv;
    args->out = (const uint8_t *)call->out;
    args->dout = (const uint8_t *)call->dout;
    args->dq = (uint8_t *)call->dq;
    args->lse = call->lse;
    args->sink = call->sink;
    args->ids = call->topk_idxs;
    args->lengths = call->topk_length;
    args->sink_terms = (float *)workspace;
    args->accumulator = (float *)(workspace + dsa_bwd_stats_bytes(call));
    args->keys = (int32_t)call->keys;
    args->heads = (int32_t)call->heads;
    args->slots = (int32_t)call->slots;
    args->head_blocks = (int32_t)((call->heads - 1) / DSA_BWD_MMA_HEADS + 1);
    args->scale = call->scale;
    args->scale_log2 = (float)(call->scale * log2_e);
    args->gain_log2 = log2f(gain);
    args->gain_inverse = 1.0f / gain;
}

static int load(const struct mma_plan *p, struct sab_message *msg)
{
    cudaFuncAttributes attributes;
    cudaError_t error = sab_cuda_load((const void *)p->form->main, (int)p->form->shared_bytes);

    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&attributes, p->finish);
    return sab_cuda_check(error, "load the kernels of dsa_bwd/mma", msg);
}

int dsa_bwd_mma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                     void **plan, struct sab_message *msg)
{
    struct dsa_bwd_call call;
    int status = init(&call, problem, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = sab_validate_workspace(sab_op_find("dsa_bwd"), problem, workspace,
                                        workspace_bytes(&call), DSA_BWD_WORKSPACE_ALIGNMENT,
                                        SAB_DEVICE_CUDA, msg);
    if (status != SAB_OK)
        return status;
    struct mma_plan *p = (struct mma_plan *)calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->form = &(call.fp16 ? dsa_bwd_mma_fp16 : dsa_bwd_mma_bf16)[call.width == 576];
    p->finish = dsa_bwd_finish[0][call.fp16];
    fill_args(&p->args, &call, (uint8_t *)workspace->data);
    p->blocks = (unsigned)(call.queries * p->args.head_blocks);
    p->clear_bytes = (uint64_t)(call.keys * call.width) * sizeof(float);
    p->finish_blocks =
        dsa_bwd_finish_fill(&p->last, &call, p->args.accumulator, p->args.sink_terms);
    status = load(p, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

int dsa_bwd_mma_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct mma_plan *p = (const struct mma_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    cudaError_t error = cudaSuccess;

    if (p->clear_bytes)
        error = cudaMemsetAsync(p->args.accumulator, 0, p->clear_bytes, on);
    if (error == cudaSuccess) {
        if (p->blocks)
            p->form->main<<<p->blocks, DSA_BWD_MMA_THREADS, p->form->shared_bytes, on>>>(p->args);
        p->finish<<<p->finish_blocks, dsa_bwd::FINISH_THREADS, 0, on>>>(p->last);
        error = cudaGetLastError();
    }
    return sab_cuda_check(error, "launch dsa_bwd/mma", msg);
}

void dsa_bwd_mma_free(void *plan)
{
    free(plan);
}
