/*
 * vector_kv.cu - sage_quant_kv/vector: the plan and the launches.
 *
 * Both K and V are needed twice: for the mean and the largest values of a whole head, then for the
 * quotients. So heads are served in groups that fit the L2 together, two launches a group, and the
 * second look finds them there. A head that is too long for that is no better off in a group.
 */
#include <cstdlib>

#include "cuda_check.h"
#include "vector.h"
#include "vector_kv.cuh"

struct vector_plan {
    struct quant_kv_call call;
    int64_t group; /* heads of two launches */
};

/* Heads whose K and V take at most three fifths of the L2, the rest being for what is written. */
static int64_t group_size(const struct quant_kv_call *c, int64_t l2_bytes)
{
    const int64_t most = 65535, heads = c->batch * c->heads;
    const int64_t head_bytes = 4 * c->seqlen * QUANT_DIM, room = l2_bytes / 5 * 3 / head_bytes;
    int64_t group = heads;

    if (room > 0) {
        const int64_t groups = (heads - 1) / room + 1;

        group = (heads - 1) / groups + 1;
    }
    return group < most ? group : most;
}

static int load_kernels(const struct quant_kv_call *c, struct sab_message *msg)
{
    const bool aligned = c->k.aligned && c->v.aligned;
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(
        &attributes, aligned ? sage_quant::sage_quant_kv_vector_statistics<true>
                             : sage_quant::sage_quant_kv_vector_statistics<false>);

    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&attributes,
                                      aligned ? sage_quant::sage_quant_kv_vector_quantise<true>
                                              : sage_quant::sage_quant_kv_vector_quantise<false>);
    return sab_cuda_check(error, "load the kernels of sage_quant_kv/vector", msg);
}

int quant_kv_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                         void **plan, struct sab_message *msg)
{
    struct quant_kv_call call;
    int l2_bytes = 0;
    int status = quant_kv_call_init(&call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = quant_kv_place(&call, problem, workspace, SAB_DEVICE_CUDA, msg);
    if (status == SAB_OK)
        status = load_kernels(&call, msg);
    if (status == SAB_OK)
        status = sab_cuda_check(
            cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, problem->device),
            "size of the L2", msg);
    if (status != SAB_OK)
        return status;
    struct vector_plan *p = (struct vector_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->call = call;
    p->group = group_size(&call, l2_bytes);
    *plan = p;
    return SAB_OK;
}

/* `overlaps`: the launch before it is one of ours, whose end this kernel waits for by itself, so
 * that its blocks can be there when that one ends. */
template <typename kernel_type>
static cudaError_t enqueue(kernel_type kernel, const struct quant_kv_call *c, int64_t parts,
                           int64_t heads, int64_t first, bool overlaps, cudaStream_t stream)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};

    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3((unsigned)parts, (unsigned)heads);
    config.blockDim = dim3(sage_quant::KV_THREADS);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = overlaps ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, *c, first);
}

template <bool ALIGNED>
static cudaError_t enqueue_all(const struct vector_plan *p, cudaStream_t stream)
{
    const struct quant_kv_call *c = &p->call;
    const int64_t heads = c->batch * c->heads;
    cudaError_t error = cudaMemsetAsync(c->count, 0, sizeof(*c->count) * (uint64_t)heads, stream);

    for (int64_t first = 0; first < heads && error == cudaSuccess; first += p->group) {
        const int64_t nr = heads - first < p->group ? heads - first : p->group;

        error = enqueue(sage_quant::sage_quant_kv_vector_statistics<ALIGNED>, c, c->chunks, nr,
                        first, first > 0, stream);
        if (error == cudaSuccess)
            error = enqueue(sage_quant::sage_quant_kv_vector_quantise<ALIGNED>, c, c->blocks, nr,
                            first, true, stream);
    }
    return error;
}

int quant_kv_vector_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct vector_plan *p = (const struct vector_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    const bool aligned = p->call.k.aligned && p->call.v.aligned;

    return sab_cuda_check(aligned ? enqueue_all<true>(p, on) : enqueue_all<false>(p, on),
                          "launch sage_quant_kv/vector", msg);
}
