/*
 * wgmma.cu - the host side of indexer_fwd/wgmma: tensor maps by value, the kernel of a call.
 */
#include "wgmma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "tensor_map.h"
#include "vector_lse.h"
#include "wgmma_args.h"

struct wgmma_plan {
    struct indexer_wgmma_args args;
    const struct indexer_wgmma_kernel *kernel;
    unsigned blocks;
};

static const struct indexer_wgmma_kernel *kernel_of(const struct indexer_fwd_call *c)
{
    const bool fp8 = c->precision == INDEXER_FP8;

    switch (c->heads) {
    case 16:
        return fp8 ? &indexer_wgmma_fp8_16 : &indexer_wgmma_bf16_16;
    case 32:
        return fp8 ? &indexer_wgmma_fp8_32 : &indexer_wgmma_bf16_32;
    default:
        return fp8 ? &indexer_wgmma_fp8_64 : &indexer_wgmma_bf16_64;
    }
}

/* Rows of 128 channels. */
static int encode_rows(CUtensorMap *map, const char *name, const void *base, int64_t rows,
                       uint32_t box, const struct indexer_fwd_call *c, struct sab_message *msg)
{
    const bool fp8 = c->precision == INDEXER_FP8;
    const uint64_t bytes = fp8 ? 1 : 2;
    struct sab_map_shape shape = {};

    shape.name = name;
    shape.base = const_cast<void *>(base);
    shape.type = fp8 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_UINT16;
    shape.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    shape.rank = 4;
    const uint64_t size[4] = {INDEXER_WIDTH, (uint64_t)rows, 1, 1};
    const uint32_t boxes[4] = {(uint32_t)(INDEXER_SEGMENT_BYTES / bytes), box, 1, 1};
    uint64_t stride = bytes;
    for (int i = 0; i < 4; i++) {
        shape.size[i] = size[i];
        shape.stride_bytes[i] = stride;
        shape.box[i] = boxes[i];
        stride *= size[i];
    }
    return sab_map_encode(map, &shape, msg);
}

static int prepare(struct wgmma_plan *plan, struct sab_message *msg)
{
    struct indexer_wgmma_args *args = &plan->args;
    const struct indexer_fwd_call *c = &args->items.c;
    int status = encode_rows(&args->q, "q", c->q, c->rows * c->heads, INDEXER_COLUMNS, c, msg);

    if (status == SAB_OK)
        status = encode_rows(&args->k, "k", c->k, c->keys, INDEXER_KEYS, c, msg);
    if (status != SAB_OK)
        return status;
    plan->kernel = kernel_of(c);
    status = sab_cuda_check(sab_cuda_load(reinterpret_cast<const void *>(plan->kernel->kernel),
                                          plan->kernel->shared_bytes),
                            "load the kernel of indexer_fwd/wgmma", msg);
    if (status == SAB_OK && c->with_lse)
        status = sab_cuda_check(indexer_lse_prepare(), "load the kernel of lse", msg);
    return status;
}

int indexer_fwd_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct indexer_fwd_call call;

    return indexer_wgmma_call_init(&call, problem, SAB_VALIDATE_METADATA, msg);
}

int indexer_fwd_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                           void **plan, struct sab_message *msg)
{
    struct indexer_fwd_call call;
    int status = indexer_wgmma_call_init(&call, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    struct wgmma_plan *p = (struct wgmma_plan *)sab_map_plan_alloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    *p = {};
    p->blocks = indexer_items_init(&p->args.items, &call, (unsigned)problem->multiprocessors);
    status = prepare(p, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

int indexer_fwd_wgmma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct wgmma_plan *p = (struct wgmma_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    void *arguments[] = {&p->args};
    int status = sab_cuda_check(cudaLaunchKernel(reinterpret_cast<const void *>(p->kernel->kernel),
                                                 p->blocks, INDEXER_WGMMA_THREADS, arguments,
                                                 (size_t)p->kernel->shared_bytes, on),
                                "launch indexer_fwd/wgmma", msg);

    if (status == SAB_OK)
        status = sab_cuda_check(indexer_lse_launch(&p->args.items.c, on), "launch lse", msg);
    return status;
}

void indexer_fwd_wgmma_free(void *plan)
{
    free(plan);
}
