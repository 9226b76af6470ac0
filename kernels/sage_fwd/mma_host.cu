/*
 * mma_host.cu - see mma_host.h: limits, tensor maps and the way they take, the kernel of a call's
 * key.
 */
#include "mma_host.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_check.h"
#include "descriptor_call.h"
#include "mma_maps.h"
#include "tensor_map.h"

/* One of the two forms of arguments is the launch's; the other one is not filled. */
struct mma_plan {
    struct sage_mma_by_value by_value;
    struct sage_mma_in_memory in_memory;
    struct sage_mma_workspace maps; /* what the workspace is to hold */
    void *workspace;
    enum sage_descriptor descriptor;
    const struct sage_mma_form *form;
    const void *kernel;
    void *arguments;
    unsigned blocks;
};

/* Rule R2: a missing kernel is an error, never another key. */
static int find_kernel(struct mma_plan *plan, const struct sage_key *key, struct sab_message *msg)
{
    for (int m = 0; m < SAGE_MMA_SIZES_NR; m++) {
        for (int i = 0; i < SAGE_MMA_COUNTS_NR; i++) {
            const struct sage_mma_variant *variant = &plan->form->tables[m][i];
            const struct sage_key *k = &variant->key;

            if (k->block_nums == key->block_nums && k->sizes_mode == key->sizes_mode &&
                k->full_tiles == key->full_tiles && k->nonempty == key->nonempty &&
                k->contiguous == key->contiguous) {
                plan->kernel = plan->descriptor == SAGE_DESCRIPTOR_BY_VALUE
                                   ? reinterpret_cast<const void *>(variant->by_value)
                                   : reinterpret_cast<const void *>(variant->in_memory);
                return SAB_OK;
            }
        }
    }
    return sab_say(msg, SAB_FAILED, "no kernel for key %d%d%d%d%d", key->block_nums,
                   key->sizes_mode, key->full_tiles, key->nonempty, key->contiguous);
}

struct limit {
    const char *what;
    int64_t value;
};

/* TMA coordinates and the slots of a row are 32-bit, and one grid dimension holds every tile. */
static int check_limits(const struct sage_call *call, struct sab_message *msg)
{
    const int64_t most = INT32_MAX;
    const int64_t last_token = most - SAGE_BLOCK;
    const struct limit limits[] = {
        {"batch", call->batch},
        {"heads", call->heads},
        {"capacity of q2k_block_index", call->cap},
    };

    for (const struct limit &l : limits) {
        if (l.value > most)
            return sab_say(msg, SAB_UNSUPPORTED, "%s: at most %lld is served, given %lld", l.what,
                           (long long)most, (long long)l.value);
    }
    if (call->seqlen_q > last_token || call->seqlen_k > last_token)
        return sab_say(
            msg, SAB_UNSUPPORTED,
            "sequence length: at most %lld tokens are served, given %lld queries and %lld "
            "keys",
            (long long)last_token, (long long)call->seqlen_q, (long long)call->seqlen_k);
    if (call->batch > most / call->heads / call->query_tiles)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "grid: at most %lld query tiles are served, given %lld x %lld x %lld",
                       (long long)most, (long long)call->batch, (long long)call->heads,
                       (long long)call->query_tiles);
    return SAB_OK;
}

/* A [B,H,rows,width] tensor of bytes, read in boxes of box_rows x box_width. */
static int encode(CUtensorMap *map, const char *name, const void *base,
                  const struct sage_call *call, int64_t rows, int64_t width, const uint32_t box[2],
                  CUtensorMapSwizzle swizzle, struct sab_message *msg)
{
    struct sab_map_shape shape = {};

    shape.name = name;
    shape.base = const_cast<void *>(base);
    shape.type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    shape.swizzle = swizzle;
    shape.rank = 4;
    const int64_t size[4] = {width, rows, call->heads, call->batch};
    uint64_t bytes = 1;
    for (int i = 0; i < 4; i++) {
        shape.size[i] = (uint64_t)size[i];
        shape.stride_bytes[i] = bytes;
        shape.box[i] = i < 2 ? box[i] : 1;
        bytes *= (uint64_t)size[i];
    }
    return sab_map_encode(map, &shape, msg);
}

static int encode_maps(struct sage_mma_maps *maps, const struct sage_call *call,
                       struct sab_message *msg)
{
    static const uint32_t qk_box[2] = {SAGE_HEAD_DIM, SAGE_BLOCK},
                          v_box[2] = {SAGE_BLOCK, SAGE_HEAD_DIM};
    int status = encode(&maps->q, "q_int8", call->q, call, call->seqlen_q, SAGE_HEAD_DIM, qk_box,
                        CU_TENSOR_MAP_SWIZZLE_128B, msg);

    if (status == SAB_OK)
        status = encode(&maps->k, "k_int8", call->k, call, call->seqlen_k, SAGE_HEAD_DIM, qk_box,
                        CU_TENSOR_MAP_SWIZZLE_128B, msg);
    if (status == SAB_OK)
        status = encode(&maps->v, "v_fp8", call->v, call, SAGE_HEAD_DIM,
                        SAGE_BLOCK * call->key_blocks, v_box, CU_TENSOR_MAP_SWIZZLE_64B, msg);
    return status;
}

static void fill_args(struct sage_mma_args *args, const struct sage_call *call)
{
    args->q_scale = call->q_scale;
    args->k_scale = call->k_scale;
    args->v_scale = call->v_scale;
    args->block_index = call->block_index;
    args->block_nums = call->block_nums;
    args->block_sizes = call->block_sizes;
    args->out = call->out;
    args->cap = call->cap;
    args->seqlen_q = (int32_t)call->seqlen_q;
    args->seqlen_k = (int32_t)call->seqlen_k;
    args->heads = (int32_t)call->heads;
    args->query_tiles = (int32_t)call->query_tiles;
    args->key_blocks = (int32_t)call->key_blocks;
    args->block_sparse_num = (int32_t)call->block_sparse_num;
    args->scale_log2 = call->scale_log2;
}

/* SAB_OK for cudaSuccess, else a message that names the form. */
static int check(cudaError_t error, const char *what, const struct sage_mma_form *form,
                 struct sab_message *msg)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "%s %s", what, form->name);
    return sab_cuda_check(error, text, msg);
}

/* Sets the kernel up and makes the driver load it, so that a first launch can be captured. */
static int load_kernel(const struct mma_plan *plan, struct sab_message *msg)
{
    const void *kernel = plan->kernel;
    const struct sage_mma_form *form = plan->form;
    struct cudaFuncAttributes attributes;
    int status = check(cudaFuncGetAttributes(&attributes, kernel), "load the kernel of", form, msg);

    if (status == SAB_OK)
        status = check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            form->shared_bytes),
                       "set the shared memory of", form, msg);
    if (status == SAB_OK) /* room for three blocks a multiprocessor */
        status = check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                            cudaSharedmemCarveoutMaxShared),
                       "set the shared memory carve-out of", form, msg);
    return status;
}

static int init_call(const struct sage_mma_form *form, struct sage_call *call,
                     const struct sab_problem *problem, unsigned flags, struct sab_message *msg)
{
    int status = sage_call_init(call, problem, flags, msg);

    if (status == SAB_OK)
        status = form->check_arch(problem, msg);
    if (status == SAB_OK)
        status = check_limits(call, msg);
    return status;
}

int sage_mma_form_supports(const struct sage_mma_form *form, const struct sab_problem *problem,
                           struct sab_message *msg)
{
    struct sage_call call;

    return init_call(form, &call, problem, SAB_VALIDATE_METADATA, msg);
}

/* Maps and arguments, in the form that the choice asks for, and the workspace if it has one. */
static int fill_plan(struct mma_plan *p, const struct sage_call *call, int32_t device,
                     struct sab_message *msg)
{
    int status = encode_maps(&p->by_value, call, msg);

    if (status != SAB_OK)
        return status;
    fill_args(&p->by_value, call);
    p->arguments = &p->by_value;
    if (p->descriptor == SAGE_DESCRIPTOR_BY_VALUE)
        return SAB_OK;
    fill_args(&p->in_memory, call);
    p->in_memory.maps = static_cast<const struct sage_mma_maps *>(p->workspace);
    p->arguments = &p->in_memory;
    memset(&p->maps, 0, sizeof(p->maps));
    p->maps.maps = p->by_value;
    return p->descriptor == SAGE_DESCRIPTOR_CACHED
               ? sage_maps_cache(&p->maps, p->workspace, device, msg)
               : sage_maps_load_upload(msg);
}

int sage_mma_form_plan(const struct sage_mma_form *form, const struct sab_problem *problem,
                       const struct sab_buffer *workspace, void **plan, struct sab_message *msg)
{
    enum sage_descriptor descriptor = SAGE_DESCRIPTOR_BY_VALUE;
    struct sage_call call;
    int status = init_call(form, &call, problem, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = sage_descriptor_check(problem, workspace, &descriptor, msg);
    if (status != SAB_OK)
        return status;
    struct mma_plan *p = (struct mma_plan *)sab_map_plan_alloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->form = form;
    p->descriptor = descriptor;
    p->workspace = workspace ? workspace->data : NULL;
    p->blocks = (unsigned)(call.batch * call.heads * call.query_tiles);
    status = find_kernel(p, &call.key, msg);
    if (status == SAB_OK)
        status = load_kernel(p, msg);
    if (status == SAB_OK) /* last: a plan that fails leaves the workspace alone */
        status = fill_plan(p, &call, problem->device, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

int sage_mma_form_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct mma_plan *p = (struct mma_plan *)plan;

    if (p->descriptor == SAGE_DESCRIPTOR_UPLOAD) {
        int status = sage_maps_upload(&p->maps, p->workspace, stream, msg);
        if (status != SAB_OK)
            return status;
    }
    return check(cudaLaunchKernel(p->kernel, p->blocks, p->form->threads, &p->arguments,
                                  p->form->shared_bytes, static_cast<cudaStream_t>(stream)),
                 "launch", p->form, msg);
}

void sage_mma_form_free(void *plan)
{
    free(plan);
}
