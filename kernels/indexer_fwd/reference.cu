/*
 * reference.cu - indexer_fwd by its definition (contracts/indexer.md, section 2): every precision,
 * layout and offset. Judges the fast kernels; nothing is tuned.
 */
#include "reference.h"

#include <stdlib.h>

#include "cuda_check.h"
#include "indexer_fwd_dense_call.h"
#include "reference_dense.cuh"

namespace
{

__global__ void __launch_bounds__(sab::REFERENCE_THREADS, 1)
    reference_kernel(const __grid_constant__ indexer_dense d)
{
    sab::dense_rows(d);
}

} // namespace

struct reference_plan {
    struct indexer_dense dense;
};

static int check(const struct sab_problem *problem, unsigned flags, struct indexer_dense *dense,
                 struct sab_message *msg)
{
    struct indexer_fwd_call call;
    int status = indexer_fwd_call_init(&call, problem, SAB_DEVICE_CUDA, flags, msg);

    if (status == SAB_OK)
        status = indexer_fwd_call_check_arch(problem, INDEXER_FWD_REFERENCE_TARGETS, msg);
    if (status == SAB_OK)
        indexer_fwd_dense(&call, dense);
    return status;
}

int indexer_fwd_reference_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct indexer_dense dense;

    return check(problem, SAB_VALIDATE_METADATA, &dense, msg);
}

int indexer_fwd_reference_plan(const struct sab_problem *problem,
                               const struct sab_buffer *workspace, void **plan,
                               struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct indexer_dense dense;
    int status = check(problem, SAB_VALIDATE_POINTERS, &dense, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, reference_kernel),
                                "load the kernel of indexer_fwd/reference", msg);
    if (status != SAB_OK)
        return status;
    struct reference_plan *p = (struct reference_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->dense = dense;
    *plan = p;
    return SAB_OK;
}

int indexer_fwd_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct reference_plan *p = (const struct reference_plan *)plan;

    reference_kernel<<<sab::reference_blocks(p->dense.rows), sab::REFERENCE_THREADS, 0,
                       static_cast<cudaStream_t>(stream)>>>(p->dense);
    return sab_cuda_check(cudaGetLastError(), "launch indexer_fwd/reference", msg);
}

void indexer_fwd_reference_free(void *plan)
{
    free(plan);
}
