/*
 * vector.cu - the host side of indexer_topk/vector: the first form of a call that the device holds.
 */
#include "vector.h"

#include <cstdlib>
#include <cuda_runtime.h>

#include "cuda_check.h"
#include "vector_args.h"
#include "vector_call.h"

struct vector_plan {
    struct topk_args args;
    struct topk_form form;
    const void *kernel;
    unsigned blocks;
};

static const void *kernel_of(int32_t dtype, const struct topk_form *form)
{
    const struct topk_kernels *kernels = dtype == SAB_FP16   ? &topk_kernels_fp16
                                         : dtype == SAB_BF16 ? &topk_kernels_bf16
                                                             : &topk_kernels_f32;

    return reinterpret_cast<const void *>(form->cluster == 1           ? kernels->alone
                                          : form->threads == TOPK_WIDE ? kernels->wide
                                                                       : kernels->narrow);
}

static void take_form(struct vector_plan *p, const struct topk_form *form)
{
    p->form = *form;
    p->kernel = kernel_of(p->args.c.dtype, form);
    p->args.cluster = form->cluster;
    p->args.buffer_bytes = form->buffer_bytes;
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
    config->blockDim = dim3(p->form.threads);
    config->dynamicSmemBytes = p->form.shared_bytes;
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

    if (prepare(p, shared_most) != cudaSuccess)
        return false;
    p->blocks = p->form.cluster;
    fill_config(&config, &attribute, p);
    return cudaOccupancyMaxActiveClusters(&clusters, p->kernel, &config) == cudaSuccess &&
           clusters >= p->args.c.rows;
}

static cudaError_t choose(struct vector_plan *p, const struct sab_problem *problem)
{
    struct cudaFuncAttributes attributes;
    struct topk_form forms[TOPK_FORMS];
    int most = 0, i = 0;
    cudaError_t error =
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, problem->device);

    if (error != cudaSuccess)
        return error;
    const int nr = topk_forms(&p->args.c, problem->multiprocessors, most, forms);
    take_form(p, &forms[0]);
    while (i + 1 < nr && !fits(p, most))
        take_form(p, &forms[++i]);
    (void)cudaGetLastError(); /* of clusters that the device does not have */
    if (i + 1 == nr)
        error = prepare(p, most);
    p->blocks = (unsigned)p->args.c.rows * p->form.cluster; /* clusters are for few rows */
    return error == cudaSuccess ? cudaFuncGetAttributes(&attributes, p->kernel) : error;
}

int indexer_topk_vector_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct indexer_topk_call call;

    return indexer_topk_vector_call_init(&call, problem, SAB_VALIDATE_METADATA, msg);
}

int indexer_topk_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                             void **plan, struct sab_message *msg)
{
    struct vector_plan made = {};
    int status = indexer_topk_vector_call_init(&made.args.c, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status =
            sab_cuda_check(choose(&made, problem), "load the kernel of indexer_topk/vector", msg);
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
