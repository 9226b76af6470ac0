/*
 * reference.cu - score_dense_indexer and score_dense_attention by their definition
 * (contracts/indexer.md, section 4). Judges the fast kernels; nothing is tuned.
 */
#include "reference.h"

#include <stdlib.h>

#include "cuda_check.h"
#include "reference_dense.cuh"
#include "score_dense_call.h"

namespace
{

__global__ void __launch_bounds__(sab::REFERENCE_THREADS, 1)
    reference_kernel(const __grid_constant__ indexer_dense d)
{
    sab::dense_rows(d);
}

int check(const struct sab_problem *problem, int attention, unsigned flags,
          struct indexer_dense *dense, struct sab_message *msg)
{
    const int status =
        score_dense_call_init(dense, problem, attention, SAB_DEVICE_CUDA, flags, msg);

    return status == SAB_OK
               ? score_dense_call_check_arch(problem, SCORE_DENSE_REFERENCE_TARGETS, msg)
               : status;
}

} // namespace

struct reference_plan {
    struct indexer_dense dense;
};

int score_dense_reference_supports(const struct sab_problem *problem, int attention,
                                   struct sab_message *msg)
{
    struct indexer_dense dense;

    return check(problem, attention, SAB_VALIDATE_METADATA, &dense, msg);
}

int score_dense_reference_plan(const struct sab_problem *problem, int attention, void **plan,
                               struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct indexer_dense dense;
    int status = check(problem, attention, SAB_VALIDATE_POINTERS, &dense, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, reference_kernel),
                                "load the reference kernel of the dense scores", msg);
    if (status != SAB_OK)
        return status;
    struct reference_plan *p = (struct reference_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->dense = dense;
    *plan = p;
    return SAB_OK;
}

int score_dense_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct reference_plan *p = (const struct reference_plan *)plan;

    reference_kernel<<<sab::reference_blocks(p->dense.rows), sab::REFERENCE_THREADS, 0,
                       static_cast<cudaStream_t>(stream)>>>(p->dense);
    return sab_cuda_check(cudaGetLastError(), "launch the reference kernel of the dense scores",
                          msg);
}

void score_dense_reference_free(void *plan)
{
    free(plan);
}
