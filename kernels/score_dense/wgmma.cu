/*
 * wgmma.cu - the host side of the dense scores' wgmma kernels: limits, tensor maps by value, the
 * form of a call's width and heads.
 */
#include "wgmma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "score_dense_call.h"
#include "tensor_map.h"
#include "vector_parts.h"
#include "wgmma_args.h"

struct wgmma_plan {
    struct score_dense_wgmma_args args;
    struct score_dense_parts parts;
    const struct score_dense_wgmma_form *form;
    unsigned blocks;
};

static int init_call(struct indexer_dense *d, const struct sab_problem *problem, int attention,
                     unsigned flags, struct sab_message *msg)
{
    int status = score_dense_call_init(d, problem, attention, SAB_DEVICE_CUDA, flags, msg);

    if (status == SAB_OK)
        status = score_dense_call_check_arch(problem, SCORE_DENSE_WGMMA_TARGETS, msg);
    if (status == SAB_OK)
        status = score_dense_items_check(d, score_dense_call_keys(problem, attention), msg);
    return status;
}

static const struct score_dense_wgmma_form *form_of(const struct indexer_dense *d)
{
    const struct score_dense_wgmma_form *forms =
        d->attention ? score_dense_wgmma_attention : score_dense_wgmma_indexer;

    for (int i = 0; i < SCORE_DENSE_WGMMA_FORMS; i++) {
        if (forms[i].width == d->q.width && forms[i].heads >= d->heads / d->kv_heads)
            return &forms[i];
    }
    return NULL;
}

/* A tensor [rows,heads,width], boxes of box_rows x box_heads x a segment. */
static int encode(CUtensorMap *map, const char *name, const struct indexer_matrix *m, int64_t rows,
                  int64_t heads, int box_rows, int box_heads, struct sab_message *msg)
{
    struct sab_map_shape shape = {};

    shape.name = name;
    shape.base = const_cast<void *>(m->data);
    shape.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    shape.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    shape.rank = 4;
    const int64_t size[4] = {m->width, heads, rows, 1};
    const int box[4] = {SCORE_SEGMENT, box_heads, box_rows, 1};
    uint64_t bytes = sizeof(uint16_t);
    for (int i = 0; i < 4; i++) {
        shape.size[i] = (uint64_t)size[i];
        shape.stride_bytes[i] = bytes;
        shape.box[i] = (uint32_t)box[i];
        bytes *= (uint64_t)size[i];
    }
    return sab_map_encode(map, &shape, msg);
}

/* `d` is of bf16 by now. Sets the kernel up and makes the driver load it, so that a first launch
 * can be captured. */
static int prepare(struct wgmma_plan *plan, const struct indexer_dense *d, int64_t keys,
                   int32_t multiprocessors, struct sab_message *msg)
{
    struct score_dense_wgmma_args *args = &plan->args;

    plan->form = form_of(d);
    if (!plan->form)
        return sab_say(msg, SAB_UNSUPPORTED, "q: no kernel for %lld heads of %lld",
                       (long long)d->heads, (long long)d->q.width);
    const int heads = plan->form->heads;
    plan->blocks = score_dense_items_init(&args->items, d, heads, SCORE_DENSE_PAIRS,
                                          (unsigned)multiprocessors);
    int status =
        encode(&args->q, "q", &d->q, d->rows, d->heads, SCORE_DENSE_PAIRS / heads, heads, msg);
    if (status == SAB_OK)
        status = encode(&args->k, "k", &d->k, keys, d->kv_heads, SCORE_KEYS, 1, msg);
    if (status == SAB_OK)
        status = sab_cuda_check(sab_cuda_load(reinterpret_cast<const void *>(plan->form->kernel),
                                              plan->form->shared_bytes),
                                "load the dense scores' wgmma kernel", msg);
    return status;
}

int score_dense_wgmma_supports(const struct sab_problem *problem, int attention,
                               struct sab_message *msg)
{
    struct indexer_dense d;

    return init_call(&d, problem, attention, SAB_VALIDATE_METADATA, msg);
}

int score_dense_wgmma_workspace_size(const struct sab_problem *problem, int attention,
                                     uint64_t *bytes, struct sab_message *msg)
{
    struct indexer_dense d;
    const int status = init_call(&d, problem, attention, SAB_VALIDATE_METADATA, msg);

    *bytes = status == SAB_OK
                 ? score_dense_items_bytes(&d, score_dense_call_keys(problem, attention))
                 : 0;
    return status;
}

int score_dense_wgmma_plan(const struct sab_problem *problem, int attention,
                           const struct sab_buffer *workspace, void **plan, struct sab_message *msg)
{
    struct indexer_dense d;
    int status = init_call(&d, problem, attention, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status != SAB_OK)
        return status;
    const int64_t keys = score_dense_call_keys(problem, attention);
    const uint64_t bytes = score_dense_items_bytes(&d, keys);
    status = sab_validate_workspace(sab_op_find(score_dense_call_op(attention)), problem, workspace,
                                    bytes, SCORE_DENSE_WORKSPACE_ALIGNMENT, SAB_DEVICE_CUDA, msg);
    if (status != SAB_OK)
        return status;
    struct wgmma_plan *p = (struct wgmma_plan *)sab_map_plan_alloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    status = score_dense_parts_init(&p->parts, &d, keys, bytes > 0 ? workspace->data : NULL, msg);
    if (status == SAB_OK)
        status = prepare(p, &d, keys, problem->multiprocessors, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

int score_dense_wgmma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct wgmma_plan *p = (struct wgmma_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    void *arguments[] = {&p->args};
    cudaError_t error = score_dense_parts_before(&p->parts, on);

    if (error == cudaSuccess)
        error = cudaLaunchKernel(reinterpret_cast<const void *>(p->form->kernel), p->blocks,
                                 SCORE_WGMMA_THREADS, arguments, (size_t)p->form->shared_bytes, on);
    if (error == cudaSuccess)
        error = score_dense_parts_after(&p->parts, on);
    return sab_cuda_check(error, "launch the dense scores' wgmma kernel", msg);
}

void score_dense_wgmma_free(void *plan)
{
    free(plan);
}
