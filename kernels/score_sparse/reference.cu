/*
 * reference.cu - score_sparse_indexer and score_sparse_attention by their definition
 * (contracts/indexer.md, section 4). Judges the fast kernels; nothing is tuned.
 */
#include "reference.h"

#include <stdlib.h>

#include "cuda_check.h"
#include "reference_sparse.cuh"
#include "score_sparse_call.h"

namespace
{

__global__ void __launch_bounds__(sab::REFERENCE_THREADS, 1)
    reference_kernel(const __grid_constant__ indexer_sparse d)
{
    sab::sparse_rows(d);
}

int check(const struct sab_problem *problem, int attention, unsigned flags,
          struct indexer_sparse *sparse, struct sab_message *msg)
{
    const int status =
        score_sparse_call_init(sparse, problem, attention, SAB_DEVICE_CUDA, flags, msg);

    return status == SAB_OK
               ? score_sparse_call_check_arch(problem, SCORE_SPARSE_REFERENCE_TARGETS, msg)
               : status;
}

} // namespace

struct reference_plan {
    struct indexer_sparse sparse;
};

int score_sparse_reference_supports(const struct sab_problem *problem, int attention,
                                    struct sab_message *msg)
{
    struct indexer_sparse sparse;

    return check(problem, attention, SAB_VALIDATE_METADATA, &sparse, msg);
}

int score_sparse_reference_plan(const struct sab_problem *problem, int attention, void **plan,
                                struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct indexer_sparse sparse;
    int status = check(problem, attention, SAB_VALIDATE_POINTERS, &sparse, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, reference_kernel),
                                "load the reference kernel of the sparse scores", msg);
    if (status != SAB_OK)
        return status;
    struct reference_plan *p = (struct reference_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->sparse = sparse;
    *plan = p;
    return SAB_OK;
}

int score_sparse_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct reference_plan *p = (const struct reference_plan *)plan;

    reference_kernel<<<sab::reference_blocks(p->sparse.rows), sab::REFERENCE_THREADS, 0,
                       static_cast<cudaStream_t>(stream)>>>(p->sparse);
    return sab_cuda_check(cudaGetLastError(), "launch the reference kernel of the sparse scores",
                          msg);
}

void score_sparse_reference_free(void *plan)
{
    free(plan);
}
