/*
 * vector.cu - the host side of indexer_topk/vector: how many blocks of which kind serve a row.
 */
#include "vector.h"

#include <algorithm>
#include <cstdlib>
#include <cuda_runtime.h>

#include "cuda_check.h"
#include "vector_args.h"

struct vector_plan {
    struct topk_args args;
    const void *kernel;
    unsigned blocks, threads;
    int shared_bytes;
};

static const struct topk_kernels *kernels_of(int32_t dtype)
{
    switch (dtype) {
    case SAB_FP16:
        return &topk_kernels_fp16;
    case SAB_BF16:
        return &topk_kernels_bf16;
    default:
        return &topk_kernels_f32;
    }
}

/* Bytes of a block's elements: what its share needs where all of it may stay. */
static uint32_t buffer_bytes(int64_t columns, int64_t cluster, uint32_t most)
{
    const int64_t share = (columns / cluster + 128) * (int64_t)sizeof(uint32_t);

    return share < most ? (uint32_t)((share + 15) / 16 * 16) : most;
}

static void choose(struct vector_plan *p, topk_kernel_fn kernel, unsigned threads, uint32_t cluster,
                   uint32_t most)
{
    p->kernel = reinterpret_cast<const void *>(kernel);
    p->threads = threads;
    p->args.cluster = cluster;
    p->args.buffer_bytes = buffer_bytes(p->args.c.columns, cluster, most);
    p->shared_bytes = (int)(TOPK_ROOM + p->args.buffer_bytes);
}

/* Attributes belong to a kernel, not to a plan: they are the same for every plan. Setting them also
 * makes the driver load the kernel, so that a first launch can be captured. */
static cudaError_t prepare(const struct vector_plan *p, int shared_most)
{
    cudaError_t error =
        cudaFuncSetAttribute(p->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_most);

    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(p->kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared);
    if (error == cudaSuccess && p->args.cluster > 8)
        error = cudaFuncSetAttribute(p->kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    return error;
}

static void fill_config(cudaLaunchConfig_t *config, cudaLaunchAttribute *attribute,
                        const struct vector_plan *p)
{
    *config = {};
    config->gridDim = dim3(p->blocks);
    config->blockDim = dim3(p->threads);
    config->dynamicSmemBytes = (size_t)p->shared_bytes;
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = p->args.cluster;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    config->attrs = attribute;
    config->numAttrs = p->args.cluster > 1 ? 1 : 0;
}

/* Whether all rows have their clusters at once; a device that lacks such clusters has none. */
static bool fits(struct vector_plan *p, int shared_most)
{
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attribute;
    int clusters = 0;

    if (p->shared_bytes > shared_most || prepare(p, shared_most) != cudaSuccess)
        return false;
    p->blocks = p->args.cluster;
    fill_config(&config, &attribute, p);
    return cudaOccupancyMaxActiveClusters(&clusters, p->kernel, &config) == cudaSuccess &&
           clusters >= p->args.c.rows;
}

/* The most blocks a row that are on the device at once for all rows, in wide blocks if possible;
 * where there are many rows, or short ones, a narrow block each. */
static cudaError_t choose_kernel(struct vector_plan *p, const struct sab_problem *problem)
{
    const struct topk_kernels *kernels = kernels_of(p->args.c.dtype);
    const int64_t rows = p->args.c.rows, columns = p->args.c.columns;
    bool found = false;
    int most = 0;
    cudaError_t error =
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, problem->device);

    if (error != cudaSuccess)
        return error;
    const uint32_t wide_most = (uint32_t)std::min<int>(TOPK_STAYING, most - TOPK_ROOM);
    for (uint32_t cluster = TOPK_CLUSTER; cluster > 1 && !found; cluster /= 2) {
        if (columns / cluster < TOPK_SHARE || rows > (int64_t)problem->multiprocessors * 4)
            continue;
        choose(p, kernels->wide, TOPK_WIDE, cluster, wide_most);
        found = fits(p, most);
        if (found)
            break;
        choose(p, kernels->narrow, TOPK_NARROW, cluster, TOPK_PASSING);
        found = fits(p, most);
    }
    (void)cudaGetLastError(); /* of clusters that the device does not have */
    if (!found) {
        choose(p, kernels->alone, TOPK_NARROW, 1, TOPK_PASSING);
        error = prepare(p, most);
    }
    p->blocks = (unsigned)rows * p->args.cluster; /* clusters are for few rows */
    struct cudaFuncAttributes attributes;
    return error == cudaSuccess ? cudaFuncGetAttributes(&attributes, p->kernel) : error;
}

static int init_call(struct indexer_topk_call *call, const struct sab_problem *problem,
                     unsigned flags, struct sab_message *msg)
{
    const int status = indexer_topk_call_init(call, problem, SAB_DEVICE_CUDA, flags, msg);

    if (status != SAB_OK)
        return status;
    if (call->rows > INT32_MAX)
        return sab_say(msg, SAB_UNSUPPORTED, "values_in: at most %d rows are served, given %lld",
                       INT32_MAX, (long long)call->rows);
    return indexer_topk_call_check_arch(problem, INDEXER_TOPK_VECTOR_TARGETS, msg);
}

int indexer_topk_vector_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct indexer_topk_call call;

    return init_call(&call, problem, SAB_VALIDATE_METADATA, msg);
}

int indexer_topk_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                             void **plan, struct sab_message *msg)
{
    struct vector_plan made = {};
    int status = init_call(&made.args.c, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = sab_cuda_check(choose_kernel(&made, problem),
                                "load the kernel of indexer_topk/vector", msg);
    if (status != SAB_OK)
        return status;
    struct vector_plan *p = (struct vector_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    *p = made;
    *plan = p;
    return SAB_OK;
}

int indexer_topk_vector_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct vector_plan *p = (struct vector_plan *)plan;
    void *arguments[] = {&p->args};
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attribute;

    fill_config(&config, &attribute, p);
    config.stream = static_cast<cudaStream_t>(stream);
    return sab_cuda_check(cudaLaunchKernelExC(&config, p->kernel, arguments),
                          "launch indexer_topk/vector", msg);
}

void indexer_topk_vector_free(void *plan)
{
    free(plan);
}
