/*
 * vector.cu - copy/vector: what a kernel that only moves bytes reaches. Other kernels that are
 * bound by memory are held against it.
 */
#include "vector.h"

#include <cstdlib>
#include <cuda_runtime.h>

#include "cuda_check.h"

namespace
{

constexpr int THREADS = 256, LOADS = 8;
constexpr int64_t TILE = THREADS * LOADS; /* words of a block */

struct copy_plan {
    const uint4 *from;
    uint4 *to;
    int64_t bytes;
};

__global__ void __launch_bounds__(THREADS)
    copy_vector_kernel(const uint4 *__restrict__ from, uint4 *__restrict__ to, int64_t bytes)
{
    const int64_t words = bytes / 16, first = blockIdx.x * TILE + threadIdx.x;
    uint4 word[LOADS];

#pragma unroll
    for (int i = 0; i < LOADS; i++)
        if (first + i * THREADS < words)
            word[i] = __ldcs(from + first + i * THREADS);
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        if (first + i * THREADS < words)
            __stcs(to + first + i * THREADS, word[i]);
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < bytes % 16) {
        const int64_t at = words * 16 + threadIdx.x;

        reinterpret_cast<uint8_t *>(to)[at] = reinterpret_cast<const uint8_t *>(from)[at];
    }
}

int64_t blocks_of(int64_t bytes)
{
    return (bytes - 1) / 16 / TILE + 1;
}

int check(const struct sab_problem *problem, unsigned flags, struct sab_message *msg)
{
    const int status = sab_validate(sab_op_find("copy"), problem, SAB_DEVICE_CUDA, flags, msg);

    if (status != SAB_OK)
        return status;
    const int64_t bytes = problem->tensors[SAB_T_copy_src].shape[0];
    if (blocks_of(bytes) > INT32_MAX)
        return sab_say(msg, SAB_UNSUPPORTED, "src: at most %lld bytes are served, given %lld",
                       (long long)(INT32_MAX * TILE * 16), (long long)bytes);
    return SAB_OK;
}

} // namespace

int copy_vector_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return check(problem, SAB_VALIDATE_METADATA, msg);
}

int copy_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                     void **plan, struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    int status = check(problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, copy_vector_kernel),
                                "load the kernel of copy/vector", msg);
    if (status != SAB_OK)
        return status;
    struct copy_plan *p = (struct copy_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->from = (const uint4 *)problem->tensors[SAB_T_copy_src].data;
    p->to = (uint4 *)problem->tensors[SAB_T_copy_dst].data;
    p->bytes = problem->tensors[SAB_T_copy_src].shape[0];
    *plan = p;
    return SAB_OK;
}

int copy_vector_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct copy_plan *p = (const struct copy_plan *)plan;

    copy_vector_kernel<<<(unsigned)blocks_of(p->bytes), THREADS, 0,
                         static_cast<cudaStream_t>(stream)>>>(p->from, p->to, p->bytes);
    return sab_cuda_check(cudaGetLastError(), "launch copy/vector", msg);
}

void copy_vector_free(void *plan)
{
    free(plan);
}
