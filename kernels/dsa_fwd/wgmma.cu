/*
 * wgmma.cu - the host side of dsa_fwd/wgmma: limits, the tensor map of Q by value, the kernel of a
 * call's type and width.
 */
#include "wgmma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "tensor_map.h"
#include "wgmma_args.h"

struct wgmma_plan {
    struct dsa_fwd_wgmma_args args;
    dsa_fwd_wgmma_fn kernel;
    unsigned blocks; /* 0: nothing to write */
    int shared_bytes;
};

static void choose_kernel(struct wgmma_plan *plan)
{
    const bool wide = plan->args.c.width > DSA_VALUE_WIDTH;

    plan->shared_bytes = wide ? sizeof(dsa::wgmma_shared<576>) : sizeof(dsa::wgmma_shared<512>);
    if (plan->args.c.fp16)
        plan->kernel = wide ? dsa_fwd_wgmma_fp16_576 : dsa_fwd_wgmma_fp16_512;
    else
        plan->kernel = wide ? dsa_fwd_wgmma_bf16_576 : dsa_fwd_wgmma_bf16_512;
}

/* Items, coordinates and slots are 32-bit numbers. */
static int check_limits(const struct dsa_fwd_call *c, struct sab_message *msg)
{
    const int64_t most = INT32_MAX - DSA_WGMMA_LIST;
    const int64_t tiles = (c->heads + DSA_WGMMA_HEADS - 1) / DSA_WGMMA_HEADS;

    if (c->slots > most)
        return sab_say(msg, SAB_UNSUPPORTED, "topk_idxs: at most %lld slots are served, given %lld",
                       (long long)most, (long long)c->slots);
    if (c->heads > most || c->rows > most / tiles)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "q: at most %lld rows of 64 heads are served, given %lld x %lld",
                       (long long)most, (long long)c->rows, (long long)tiles);
    return SAB_OK;
}

static int init_call(struct dsa_fwd_call *call, const struct sab_problem *problem, unsigned flags,
                     struct sab_message *msg)
{
    int status = dsa_fwd_call_init(call, problem, flags, msg);

    if (status == SAB_OK)
        status = dsa_fwd_call_check_arch(problem, DSA_FWD_WGMMA_TARGETS, msg);
    if (status == SAB_OK)
        status = check_limits(call, msg);
    return status;
}

static int encode_q(struct dsa_fwd_wgmma_args *args, struct sab_message *msg)
{
    const struct dsa_fwd_call *c = &args->c;
    struct sab_map_shape shape = {};

    shape.name = "q";
    shape.base = const_cast<uint16_t *>(c->q);
    shape.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    shape.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    shape.rank = 4;
    const int64_t size[4] = {c->width, c->heads, c->rows, 1};
    const uint32_t box[4] = {64, DSA_WGMMA_HEADS, 1, 1};
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
static int load_kernel(const struct wgmma_plan *plan, struct sab_message *msg)
{
    const void *kernel = reinterpret_cast<const void *>(plan->kernel);
    struct cudaFuncAttributes attributes;
    int status = sab_cuda_check(cudaFuncGetAttributes(&attributes, kernel),
                                "load the kernel of dsa_fwd/wgmma", msg);

    if (status == SAB_OK)
        status =
            sab_cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                plan->shared_bytes),
                           "set the shared memory of dsa_fwd/wgmma", msg);
    return status;
}

static int prepare(struct wgmma_plan *plan, int32_t multiprocessors, struct sab_message *msg)
{
    struct dsa_fwd_wgmma_args *args = &plan->args;
    const int64_t tiles = (args->c.heads + DSA_WGMMA_HEADS - 1) / DSA_WGMMA_HEADS;

    args->head_tiles = (int32_t)tiles;
    args->items = (int32_t)(args->c.rows * tiles);
    plan->blocks = (unsigned)(args->items < multiprocessors ? args->items : multiprocessors);
    choose_kernel(plan);
    if (args->items == 0)
        return SAB_OK;
    int status = encode_q(args, msg);
    return status == SAB_OK ? load_kernel(plan, msg) : status;
}

int dsa_fwd_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct dsa_fwd_call call;

    return init_call(&call, problem, SAB_VALIDATE_METADATA, msg);
}

int dsa_fwd_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg)
{
    struct dsa_fwd_call call;
    int status = init_call(&call, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    /* the map asks for 64-byte alignment, calloc promises 16 */
    struct wgmma_plan *p = (struct wgmma_plan *)aligned_alloc(64, (sizeof(*p) + 63) / 64 * 64);
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->args.c = call;
    status = prepare(p, problem->multiprocessors, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

int dsa_fwd_wgmma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct wgmma_plan *p = (struct wgmma_plan *)plan;
    void *arguments[] = {&p->args};

    if (p->blocks == 0)
        return SAB_OK;
    return sab_cuda_check(cudaLaunchKernel(reinterpret_cast<const void *>(p->kernel), p->blocks,
                                           DSA_WGMMA_THREADS, arguments, (size_t)p->shared_bytes,
                                           static_cast<cudaStream_t>(stream)),
                          "launch dsa_fwd/wgmma", msg);
}

void dsa_fwd_wgmma_free(void *plan)
{
    free(plan);
}
