/*
 * vector_rows.cu - plans and launches the kernels with a block of threads a query row or two, and
 * the kernel that rounds the sums of dK.
 */
#include <cuda_runtime.h>
#include <stdlib.h>

#include "convert.cuh"
#include "cuda_check.h"
#include "rows_host.h"

namespace
{

constexpr int ROUND_THREADS = 256;

/* 8 sums a thread; `pieces` of 8. */
__global__ void __launch_bounds__(ROUND_THREADS)
    round_sums(const float4 *__restrict__ sums, uint4 *__restrict__ to, int64_t pieces)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * ROUND_THREADS;

    for (int64_t i = static_cast<int64_t>(blockIdx.x) * ROUND_THREADS + threadIdx.x; i < pieces;
         i += step) {
        const float4 a = __ldcs(sums + 2 * i), b = __ldcs(sums + 2 * i + 1);
        to[i] = make_uint4(sab::bf16x2(a.x, a.y), sab::bf16x2(a.z, a.w), sab::bf16x2(b.x, b.y),
                           sab::bf16x2(b.z, b.w));
    }
}

struct rows_plan {
    struct indexer_bwd_rows_args args;
    const struct indexer_bwd_rows_form *form;
    uint64_t clear_bytes;
    int64_t pieces; /* 0: the sums are the output */
    unsigned blocks, round_blocks;
};

const struct indexer_bwd_rows_form *form_of(const struct indexer_bwd_rows_engine *engine,
                                            const struct indexer_bwd_call *call)
{
    const int size = call->heads == 16 ? 0 : call->heads == 32 ? 1 : 2;

    return &(call->sparse ? engine->sparse : engine->dense)[size];
}

/* Also makes the driver load the kernels, so that a first launch can be captured. */
int load(const struct rows_plan *p, struct sab_message *msg)
{
    cudaFuncAttributes attributes;
    cudaError_t error = sab_cuda_load((const void *)p->form->kernel, (int)p->form->shared_bytes);

    /* as many blocks a multiprocessor as there is room for */
    if (error == cudaSuccess)
        error =
            cudaFuncSetAttribute(p->form->kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&attributes, round_sums);
    return sab_cuda_check(error, "load the kernels of the indexer's backward", msg);
}

} // namespace

int indexer_bwd_rows_supports(const struct indexer_bwd_rows_engine *engine,
                              const struct sab_problem *problem, int sparse,
                              struct sab_message *msg)
{
    struct indexer_bwd_call call;

    return indexer_bwd_rows_init(&call, problem, sparse, engine->targets, SAB_VALIDATE_METADATA,
                                 msg);
}

int indexer_bwd_rows_workspace_size(const struct indexer_bwd_rows_engine *engine,
                                    const struct sab_problem *problem, int sparse, uint64_t *bytes,
                                    struct sab_message *msg)
{
    struct indexer_bwd_call call;
    const int status =
        indexer_bwd_rows_init(&call, problem, sparse, engine->targets, SAB_VALIDATE_METADATA, msg);

    *bytes = status == SAB_OK ? indexer_bwd_rows_workspace_bytes(&call) : 0;
    return status;
}

int indexer_bwd_rows_plan(const struct indexer_bwd_rows_engine *engine,
                          const struct sab_problem *problem, int sparse,
                          const struct sab_buffer *workspace, void **plan, struct sab_message *msg)
{
    const char *op = sparse ? "indexer_bwd_sparse" : "indexer_bwd_dense";
    struct indexer_bwd_call call;
    int status =
        indexer_bwd_rows_init(&call, problem, sparse, engine->targets, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = sab_validate_workspace(sab_op_find(op), problem, workspace,
                                        indexer_bwd_rows_workspace_bytes(&call),
                                        INDEXER_BWD_ROWS_ALIGNMENT, SAB_DEVICE_CUDA, msg);
    if (status != SAB_OK)
        return status;
    struct rows_plan *p = (struct rows_plan *)calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->args.c = call;
    p->args.sums = (float *)(call.dk_f32 ? call.dk : workspace->data);
    p->form = form_of(engine, &call);
    p->blocks = (unsigned)((call.rows + p->form->rows - 1) / p->form->rows);
    p->clear_bytes = (uint64_t)call.keys * INDEXER_BWD_WIDTH * sizeof(float);
    p->pieces = call.dk_f32 ? 0 : call.keys * INDEXER_BWD_WIDTH / 8;
    const int64_t blocks = (p->pieces + ROUND_THREADS - 1) / ROUND_THREADS;
    p->round_blocks = (unsigned)(blocks < 65536 ? blocks : 65536);
    status = load(p, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *plan = p;
    return SAB_OK;
}

int indexer_bwd_rows_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct rows_plan *p = (const struct rows_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    cudaError_t error = cudaSuccess;

    if (p->clear_bytes)
        error = cudaMemsetAsync(p->args.sums, 0, p->clear_bytes, on);
    if (error == cudaSuccess) {
        if (p->blocks)
            p->form->kernel<<<p->blocks, p->form->threads, p->form->shared_bytes, on>>>(p->args);
        if (p->pieces)
            round_sums<<<p->round_blocks, ROUND_THREADS, 0, on>>>(
                reinterpret_cast<const float4 *>(p->args.sums), static_cast<uint4 *>(p->args.c.dk),
                p->pieces);
        error = cudaGetLastError();
    }
    return sab_cuda_check(error, "launch the kernels of the indexer's backward", msg);
}

void indexer_bwd_rows_free(void *plan)
{
    free(plan);
}
