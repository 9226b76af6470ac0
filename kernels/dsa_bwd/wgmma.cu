/*
 * wgmma.cu - the hooks of dsa_bwd/wgmma: limits, tensor maps by value, and the activities of a
 * call: the accumulator is cleared, added to, and turned into dkv. Where integers are added, a
 * survey stands in front, and between a conditional clear and second pass (fixed_point.cuh).
 */
#include "wgmma.h"

#include <cuda_runtime.h>
#include <math.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "dsa_bwd_call.h"
#include "finish.h"
#include "tensor_map.h"
#include "wgmma_forms.h"
#include "wgmma_survey.cuh"

struct wgmma_plan {
    struct dsa_bwd_wgmma_args args;
    dsa_bwd::survey_args survey;
    dsa_bwd::finish_args last;
    const struct dsa_bwd_wgmma_form *form;
    uint8_t fp16, integers;
    unsigned blocks, finish_blocks, survey_blocks;
    uint64_t clear_bytes;
};

/* by deterministic, fp16 */
static const struct dsa_bwd_wgmma_form (*const forms[2][2])[2] = {
    {dsa_bwd_wgmma_bf16, dsa_bwd_wgmma_fp16},
    {dsa_bwd_wgmma_bf16_fixed, dsa_bwd_wgmma_fp16_fixed},
};

/* The forms by heads of a block: what is left over of a block costs nothing but products, another
 * block costs as many additions to dkv. */
static int size_of(const struct dsa_bwd_call *call)
{
    return call->heads <= 16 ? 0 : call->heads <= 32 ? 1 : 2;
}

static int64_t block_heads(const struct dsa_bwd_call *call)
{
    return 16 << size_of(call);
}

static int check_device(const struct sab_problem *problem, struct sab_message *msg)
{
    if (problem->arch == 90)
        return SAB_OK;
    return sab_say(msg, SAB_UNSUPPORTED,
                   "device: this kernel exists for compute capability 9.0, the device has %d.%d",
                   problem->arch / 10, problem->arch % 10);
}

static int64_t head_blocks(const struct dsa_bwd_call *call)
{
    return (call->heads - 1) / block_heads(call) + 1;
}

static int check_call(const struct dsa_bwd_call *call, struct sab_message *msg)
{
    const int64_t most = UINT32_MAX; /* what a count of slots holds */

    if (call->deterministic && call->slots && call->queries > most / call->slots)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "topk_idxs: at most %lld slots are served where bits are to be equal, given "
                       "%lld rows of %lld",
                       (long long)most, (long long)call->queries, (long long)call->slots);
    return dsa_bwd_call_check_limits(call, block_heads(call), DSA_BWD_WGMMA_KEYS, msg);
}

static int init(struct dsa_bwd_call *call, const struct sab_problem *problem, unsigned flags,
                struct sab_message *msg)
{
    int status = dsa_bwd_call_init(call, problem, flags, msg);

    if (status == SAB_OK)
        status = check_device(problem, msg);
    return status == SAB_OK ? check_call(call, msg) : status;
}

int dsa_bwd_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct dsa_bwd_call call;

    return init(&call, problem, SAB_VALIDATE_METADATA, msg);
}

static uint64_t workspace_bytes(const struct dsa_bwd_call *call)
{
    return dsa_bwd_stats_bytes(call) + (call->deterministic ? dsa_bwd_fixed_layout(call).bytes
                                                            : dsa_bwd_accumulator_bytes(call, 1));
}

int dsa_bwd_wgmma_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                 struct sab_message *msg)
{
    struct dsa_bwd_call call;
    int status = init(&call, problem, SAB_VALIDATE_METADATA, msg);

    *bytes = status == SAB_OK ? workspace_bytes(&call) : 0;
    return status;
}

/* A [T,H,width] tensor in boxes of a block of heads x 64 columns of one query. */
static int encode(CUtensorMap *map, const char *name, const uint16_t *base,
                  const struct dsa_bwd_call *call, int64_t width, struct sab_message *msg)
{
    struct sab_map_shape shape = {};
    const int64_t size[3] = {width, call->heads, call->queries};
    const uint32_t box[3] = {64, (uint32_t)block_heads(call), 1};
    uint64_t bytes = 2;

    shape.name = name;
    shape.base = const_cast<uint16_t *>(base);
    shape.type = call->fp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    shape.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    shape.rank = 3;
    for (int i = 0; i < 3; i++) {
        shape.size[i] = (uint64_t)size[i];
        shape.stride_bytes[i] = bytes;
        shape.box[i] = box[i];
        bytes *= (uint64_t)size[i];
    }
    return sab_map_encode(map, &shape, msg);
}

static int encode_maps(struct dsa_bwd_wgmma_args *args, const struct dsa_bwd_call *call,
                       struct sab_message *msg)
{
    int status = encode(&args->q, "q", call->q, call, call->width, msg);

    if (status == SAB_OK)
        status = encode(&args->dout, "dout", call->dout, call, DSA_BWD_V, msg);
    if (status == SAB_OK)
        status = encode(&args->dq, "dq", call->dq, call, call->width, msg);
    return status;
}

static void fill_args(struct dsa_bwd_wgmma_args *args, const struct dsa_bwd_call *call,
                      uint8_t *workspace)
{
    const double log2_e = 1.4426950408889634;
    const float gain = dsa_bwd_gain(call);

    args->kv = (const uint8_t *)call->kv;
    args->out = (const uint8_t *)call->out;
    args->lse = call->lse;
    args->sink = call->sink;
    args->ids = call->topk_idxs;
    args->lengths = call->topk_length;
    args->sink_terms = (float *)workspace;
    args->accumulator = workspace + dsa_bwd_stats_bytes(call);
    args->keys = (int32_t)call->keys;
    args->heads = (int32_t)call->heads;
    args->slots = (int32_t)call->slots;
    args->head_blocks = (int32_t)head_blocks(call);
    args->scale = call->scale;
    args->scale_log2 = (float)(call->scale * log2_e);
    args->gain_log2 = log2f(gain);
    args->gain_inverse = 1.0f / gain;
}

static void fill_fixed(struct wgmma_plan *p, const struct dsa_bwd_call *call, int multiprocessors)
{
    const struct dsa_bwd_fixed_layout at = dsa_bwd_fixed_layout(call);
    uint8_t *sums = (uint8_t *)p->args.accumulator;
    const int64_t rows = call->queries * call->heads;

    p->args.fixed.facts = (dsa_bwd::fixed_facts *)(sums + at.facts);
    p->args.fixed.counts = (uint32_t *)(sums + at.counts);
    p->args.fixed.softmax_scale = call->scale;
    p->args.fixed.gain = dsa_bwd_gain(call);
    p->args.fixed.heads = fminf((float)call->heads, (float)block_heads(call));
    p->args.fixed.head_blocks = (uint32_t)head_blocks(call);
    p->clear_bytes = at.bytes;
    p->survey.q = call->q;
    p->survey.dout = call->dout;
    p->survey.kv = call->kv;
    p->survey.q_pieces = rows * call->width / 8;
    p->survey.dout_pieces = rows * DSA_BWD_V / 8;
    p->survey.kv_pieces = call->keys * call->width / 8;
    p->survey.queries = (int32_t)call->queries;
    p->survey.sums_pieces = (int64_t)(at.counts / 16);
    p->survey_blocks = 8u * (unsigned)(multiprocessors > 0 ? multiprocessors : 1);
}

/* by fp16 */
static void (*const survey_forms[2])(const struct dsa_bwd_wgmma_args,
                                     const dsa_bwd::survey_args) = {dsa_bwd::survey<sab::bf16>,
                                                                    dsa_bwd::survey<sab::fp16>};

static int load(const struct wgmma_plan *p, struct sab_message *msg)
{
    const void *const kernels[] = {(const void *)dsa_bwd_finish[p->integers][p->fp16],
                                   (const void *)survey_forms[p->fp16],
                                   (const void *)dsa_bwd::clear_again};
    cudaError_t error = sab_cuda_load((const void *)p->form->main, (int)p->form->shared_bytes);

    for (const void *kernel : kernels) {
        cudaFuncAttributes attributes;
        if (error == cudaSuccess)
            error = cudaFuncGetAttributes(&attributes, kernel);
    }
    return sab_cuda_check(error, "load the kernels of dsa_bwd/wgmma", msg);
}

int dsa_bwd_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
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
    struct wgmma_plan *p = (struct wgmma_plan *)sab_map_plan_alloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    *p = {};
    p->fp16 = call.fp16;
    p->integers = call.deterministic;
    p->form = &forms[call.deterministic][call.fp16][size_of(&call)][call.width == 576];
    p->blocks = (unsigned)(call.queries * head_blocks(&call));
    p->clear_bytes = (uint64_t)(call.keys * call.width) * sizeof(float);
    fill_args(&p->args, &call, (uint8_t *)workspace->data);
    if (call.deterministic)
        fill_fixed(p, &call, problem->multiprocessors);
    p->finish_blocks =
        dsa_bwd_finish_fill(&p->last, &call, p->args.accumulator, p->args.sink_terms);
    p->last.fixed = p->args.fixed;
    status = load(p, msg);
    if (status == SAB_OK && p->blocks)
        status = encode_maps(&p->args, &call, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

/* The pass of products and additions. */
static void launch_main(const struct wgmma_plan *p, uint8_t second_pass, cudaStream_t on)
{
    struct dsa_bwd_wgmma_args args = p->args;

    args.second_pass = second_pass;
    if (p->blocks)
        p->form->main<<<p->blocks, DSA_BWD_WGMMA_THREADS, p->form->shared_bytes, on>>>(args);
}

int dsa_bwd_wgmma_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct wgmma_plan *p = (const struct wgmma_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    cudaError_t error = cudaSuccess;

    if (p->clear_bytes)
        error = cudaMemsetAsync(p->args.accumulator, 0, p->clear_bytes, on);
    if (error == cudaSuccess) {
        if (p->integers)
            survey_forms[p->fp16]<<<p->survey_blocks, dsa_bwd::SURVEY_THREADS, 0, on>>>(p->args,
                                                                                        p->survey);
        launch_main(p, 0, on);
        if (p->integers) {
            dsa_bwd::clear_again<<<p->survey_blocks, dsa_bwd::SURVEY_THREADS, 0, on>>>(p->args,
                                                                                       p->survey);
            launch_main(p, 1, on);
        }
        dsa_bwd_finish[p->integers][p->fp16]<<<p->finish_blocks, dsa_bwd::FINISH_THREADS, 0, on>>>(
            p->last);
        error = cudaGetLastError();
    }
    return sab_cuda_check(error, "launch dsa_bwd/wgmma", msg);
}

void dsa_bwd_wgmma_free(void *plan)
{
    free(plan);
}
