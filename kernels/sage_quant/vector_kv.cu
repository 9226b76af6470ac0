/*
 * vector_kv.cu - sage_quant_kv/vector: one launch where K and V can stay on the chip between their
 * two looks (vector_kv_ring.cuh), else three passes.
 */
#include <cstdlib>

#include "cuda_check.h"
#include "vector.h"
#include "vector_kv_passes.cuh"
#include "vector_kv_resident.cuh"

struct vector_plan {
    struct quant_kv_call call;
    unsigned blocks; /* of the resident kernel; 0: three passes */
    uint32_t lag;
    uint64_t workspace_bytes;
    bool aligned;
};

static const void *resident_kernel(bool aligned)
{
    return aligned
               ? reinterpret_cast<const void *>(sage_quant::sage_quant_kv_vector_resident<true>)
               : reinterpret_cast<const void *>(sage_quant::sage_quant_kv_vector_resident<false>);
}

/* Blocks of 64 tokens are numbered in 32 bits, those of K and of V apart. */
static int check_limits(const struct quant_kv_call *c, struct sab_message *msg)
{
    const int64_t most = INT32_MAX / 2;

    if (c->batch > most / c->heads / c->blocks)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "k: at most %lld blocks of 64 tokens are served, given %lld x %lld x %lld",
                       (long long)most, (long long)c->batch, (long long)c->heads,
                       (long long)c->blocks);
    return SAB_OK;
}

/* Sets `blocks` where the device has the shared memory, and the steps that a head needs are few. */
static cudaError_t plan_resident(struct vector_plan *p, const struct sab_problem *problem)
{
    const int bytes = sage_quant::KV_GROUPS * (int)sizeof(sage_quant::kv_group);
    const int64_t groups = (int64_t)problem->multiprocessors * sage_quant::KV_GROUPS;
    int most = 0, cooperative = 0;
    cudaError_t error =
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, problem->device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, problem->device);
    if (error != cudaSuccess || most < bytes || !cooperative ||
        p->call.blocks > sage_quant::KV_MOST_LAG * groups)
        return error;
    p->blocks = (unsigned)problem->multiprocessors;
    /* a head of many blocks takes longer to be brought together; a shorter lag loads ahead further
     */
    p->lag = sage_quant::KV_MOST_LAG - (2 * p->call.blocks <= groups);
    return sab_cuda_load(resident_kernel(p->aligned), bytes);
}

/* Makes the driver load the kernels of the three passes, so that a first launch can be captured. */
static cudaError_t plan_passes(const struct vector_plan *p)
{
    const void *kernels[] = {
        p->aligned
            ? reinterpret_cast<const void *>(sage_quant::sage_quant_kv_vector_statistics<true>)
            : reinterpret_cast<const void *>(sage_quant::sage_quant_kv_vector_statistics<false>),
        reinterpret_cast<const void *>(sage_quant::sage_quant_kv_vector_heads),
        p->aligned
            ? reinterpret_cast<const void *>(sage_quant::sage_quant_kv_vector_quotients<true>)
            : reinterpret_cast<const void *>(sage_quant::sage_quant_kv_vector_quotients<false>),
    };
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaSuccess;

    for (const void *kernel : kernels)
        if (error == cudaSuccess)
            error = cudaFuncGetAttributes(&attributes, kernel);
    return error;
}

int quant_kv_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                         void **plan, struct sab_message *msg)
{
    struct vector_plan made = {};
    int status =
        quant_kv_call_init(&made.call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = quant_kv_place(&made.call, problem, workspace, SAB_DEVICE_CUDA, msg);
    if (status == SAB_OK)
        status = check_limits(&made.call, msg);
    if (status != SAB_OK)
        return status;
    made.aligned = made.call.k.aligned && made.call.v.aligned;
    made.workspace_bytes = quant_kv_workspace(&made.call);
    cudaError_t error = plan_resident(&made, problem);
    if (error == cudaSuccess && !made.blocks)
        error = plan_passes(&made);
    status = sab_cuda_check(error, "load the kernels of sage_quant_kv/vector", msg);
    if (status != SAB_OK)
        return status;
    struct vector_plan *p = (struct vector_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    *p = made;
    *plan = p;
    return SAB_OK;
}

static cudaError_t launch_resident(struct vector_plan *p, cudaStream_t stream)
{
    uint64_t vectors = p->workspace_bytes / sizeof(uint4);
    void *arguments[] = {&p->call, &p->lag, &vectors};

    return cudaLaunchCooperativeKernel(
        resident_kernel(p->aligned), p->blocks, sage_quant::KV_RING_THREADS, arguments,
        sage_quant::KV_GROUPS * sizeof(sage_quant::kv_group), stream);
}

template <bool ALIGNED>
static cudaError_t launch_passes(const struct vector_plan *p, cudaStream_t stream)
{
    const unsigned heads = (unsigned)(p->call.batch * p->call.heads);
    const unsigned blocks = heads * (unsigned)p->call.blocks;

    sage_quant::sage_quant_kv_vector_statistics<ALIGNED>
        <<<blocks, sage_quant::KV_PASS_THREADS, 0, stream>>>(p->call);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    sage_quant::sage_quant_kv_vector_heads<<<heads, 2 * sage_quant::KV_PASS_THREADS, 0, stream>>>(
        p->call);
    error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    sage_quant::sage_quant_kv_vector_quotients<ALIGNED>
        <<<blocks, sage_quant::KV_PASS_THREADS, 0, stream>>>(p->call);
    return cudaGetLastError();
}

int quant_kv_vector_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct vector_plan *p = (struct vector_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    cudaError_t error;

    if (p->blocks)
        error = launch_resident(p, on);
    else
        error = p->aligned ? launch_passes<true>(p, on) : launch_passes<false>(p, on);
    return sab_cuda_check(error, "launch sage_quant_kv/vector", msg);
}
