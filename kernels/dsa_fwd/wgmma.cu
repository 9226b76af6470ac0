/*
 * wgmma.cu - the host side of dsa_fwd/wgmma: limits, the tensor map of Q by value, the kernels of a
 * call's type, width and heads. Tiles of 64 heads come first; a rest of at most 32 heads, or that
 * many heads, is served by the smallest form that holds it, a larger rest by one more tile of 64.
 */
#include "wgmma.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "tensor_map.h"
#include "wgmma_args.h"

/* One launch. */
struct wgmma_part {
    struct dsa_fwd_wgmma_args args;
    const struct dsa_fwd_wgmma_form *form;
    unsigned blocks;
};

struct wgmma_plan {
    struct wgmma_part parts[2];
    int parts_nr; /* 0: nothing to write */
};

static const struct dsa_fwd_wgmma_form *choose_form(const struct dsa_fwd_call *c, int64_t heads)
{
    static const struct dsa_fwd_wgmma_form *const all[2][2] = {
        {&dsa_fwd_wgmma_bf16_512, &dsa_fwd_wgmma_bf16_576},
        {&dsa_fwd_wgmma_fp16_512, &dsa_fwd_wgmma_fp16_576},
    };
    static const struct dsa_fwd_wgmma_form *const few[2][2] = {
        {dsa_fwd_wgmma_few_bf16_512, dsa_fwd_wgmma_few_bf16_576},
        {dsa_fwd_wgmma_few_fp16_512, dsa_fwd_wgmma_few_fp16_576},
    };
    const int wide = c->width > DSA_VALUE_WIDTH;

    for (int i = 0; i < 3; i++) {
        if (heads <= few[c->fp16][wide][i].heads)
            return &few[c->fp16][wide][i];
    }
    return all[c->fp16][wide];
}

static int init_call(struct dsa_fwd_call *call, const struct sab_problem *problem, unsigned flags,
                     struct sab_message *msg)
{
    int status = dsa_fwd_call_init(call, problem, flags, msg);

    if (status == SAB_OK)
        status = dsa_fwd_call_check_arch(problem, DSA_FWD_WGMMA_TARGETS, msg);
    if (status == SAB_OK)
        status = dsa_fwd_call_check_limits(call, DSA_WGMMA_HEADS, DSA_WGMMA_LIST, msg);
    return status;
}

static int encode_q(struct dsa_fwd_wgmma_args *args, int heads, struct sab_message *msg)
{
    const struct dsa_fwd_call *c = &args->c;
    struct sab_map_shape shape = {};

    shape.name = "q";
    shape.base = const_cast<uint16_t *>(c->q);
    shape.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    shape.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    shape.rank = 4;
    const int64_t size[4] = {c->width, c->heads, c->rows, 1};
    const uint32_t box[4] = {64, (uint32_t)heads, 1, 1};
    uint64_t bytes = sizeof(uint16_t);
    for (int i = 0; i < 4; i++) {
        shape.size[i] = (uint64_t)size[i];
        shape.stride_bytes[i] = bytes;
        shape.box[i] = box[i];
        bytes *= (uint64_t)size[i];
    }
    return sab_map_encode(&args->q, &shape, msg);
}

static int load_kernel(const struct dsa_fwd_wgmma_form *form, struct sab_message *msg)
{
    return sab_cuda_check(
        sab_cuda_load(reinterpret_cast<const void *>(form->kernel), form->shared_bytes),
        "load the kernel of dsa_fwd/wgmma", msg);
}

/* Adds the launch that serves heads first..end - 1. */
static int add_part(struct wgmma_plan *plan, const struct dsa_fwd_call *call, int64_t first,
                    int64_t end, int32_t multiprocessors, struct sab_message *msg)
{
    struct wgmma_part *part = &plan->parts[plan->parts_nr];
    struct dsa_fwd_wgmma_args *args = &part->args;

    part->form = choose_form(call, end - first);
    const int64_t tiles = (end - first + part->form->heads - 1) / part->form->heads;
    args->c = *call;
    args->first_head = (int32_t)first;
    args->head_tiles = (int32_t)tiles;
    args->items = (int32_t)(call->rows * tiles);
    part->blocks = (unsigned)(args->items < multiprocessors ? args->items : multiprocessors);
    plan->parts_nr++;
    int status = encode_q(args, part->form->heads, msg);
    return status == SAB_OK ? load_kernel(part->form, msg) : status;
}

static int prepare(struct wgmma_plan *plan, const struct dsa_fwd_call *call,
                   int32_t multiprocessors, struct sab_message *msg)
{
    const int64_t rest = call->heads % DSA_WGMMA_HEADS;
    const int64_t whole = rest <= 32 ? call->heads - rest : call->heads;
    int status = SAB_OK;

    plan->parts_nr = 0;
    if (call->rows == 0)
        return SAB_OK;
    if (whole > 0)
        status = add_part(plan, call, 0, whole, multiprocessors, msg);
    if (status == SAB_OK && whole < call->heads)
        status = add_part(plan, call, whole, call->heads, multiprocessors, msg);
    return status;
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

int dsa_fwd_wgmma_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct wgmma_plan *p = (struct wgmma_plan *)plan;
    int status = SAB_OK;

    for (int i = 0; i < p->parts_nr && status == SAB_OK; i++) {
        struct wgmma_part *part = &p->parts[i];
        void *arguments[] = {&part->args};
        status = sab_cuda_check(cudaLaunchKernel(reinterpret_cast<const void *>(part->form->kernel),
                                                 part->blocks, DSA_WGMMA_THREADS, arguments,
                                                 (size_t)part->form->shared_bytes,
                                                 static_cast<cudaStream_t>(stream)),
                                "launch dsa_fwd/wgmma", msg);
    }
    return status;
}

void dsa_fwd_wgmma_free(void *plan)
{
    free(plan);
}
