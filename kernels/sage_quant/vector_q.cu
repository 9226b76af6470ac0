/*
 * vector_q.cu - sage_quant_q/vector: a block of 128 threads serves the 32 rows that share a scale.
 * A thread holds four times eight channels in registers between the maximum and the quotients, so
 * that every query is read once.
 */
#include <cstdlib>

#include "cuda_check.h"
#include "quant_device.cuh"
#include "vector.h"

namespace sage_quant
{

constexpr int Q_THREADS = 128, Q_LOADS = QUANT_GROUP * QUANT_DIM / 8 / Q_THREADS;
constexpr int Q_ROWS = Q_THREADS / 16; /* rows of one load of the block */

__device__ __forceinline__ uint2 quantise8(const uint4 &x, float scale, float reciprocal)
{
    const uint32_t word[4] = {x.x, x.y, x.z, x.w};
    uint32_t n[8];

    for (int i = 0; i < 4; i++) {
        n[2 * i] = round_int8(quotient_bf16(bf16_low(word[i]), scale, reciprocal));
        n[2 * i + 1] = round_int8(quotient_bf16(bf16_high(word[i]), scale, reciprocal));
    }
    return make_uint2(low_bytes(n[0], n[1], n[2], n[3]), low_bytes(n[4], n[5], n[6], n[7]));
}

/* Largest bits of |x| over the block, of every thread's `pair`. */
__device__ __forceinline__ uint32_t block_largest(uint32_t pair, uint32_t *shared)
{
    const uint32_t mine = max(pair & 0xffffu, pair >> 16);
    const uint32_t warp = __reduce_max_sync(0xffffffffu, mine);

    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = warp;
    __syncthreads();
    uint32_t all = shared[0];
    for (int i = 1; i < Q_THREADS / 32; i++)
        all = max(all, shared[i]);
    __syncthreads(); /* before the next group writes */
    return all;
}

template <bool ALIGNED>
__device__ __forceinline__ void serve_group(const quant_q_call &c, int64_t b, int64_t h,
                                            int64_t group, uint32_t *shared)
{
    const int column = threadIdx.x % 16 * 8, row = threadIdx.x / 16;
    const int64_t first = group * QUANT_GROUP, bh = b * c.heads + h;
    uint4 x[Q_LOADS];
    uint32_t largest = 0;

#pragma unroll
    for (int i = 0; i < Q_LOADS; i++) {
        const int64_t r = first + row + i * Q_ROWS;

        x[i] = make_uint4(0, 0, 0, 0);
        if (r < c.seqlen)
            x[i] = load8<ALIGNED, READ_ONCE>(rows_of(c.q, b, h, r) + column);
    }
#pragma unroll
    for (int i = 0; i < Q_LOADS; i++)
        largest = largest2(largest2(largest2(largest2(largest, x[i].x), x[i].y), x[i].z), x[i].w);
    const float scale = scale_of(bf16_low(block_largest(largest, shared)), QUANT_INT8);
    const float reciprocal = __frcp_rn(scale);
    if (threadIdx.x == 0)
        c.q_scale[bh * c.groups + group] = scale;
#pragma unroll
    for (int i = 0; i < Q_LOADS; i++) {
        const int64_t r = first + row + i * Q_ROWS;

        if (r < c.seqlen)
            *reinterpret_cast<uint2 *>(c.q_int8 + (bh * c.seqlen + r) * QUANT_DIM + column) =
                quantise8(x[i], scale, reciprocal);
    }
}

template <bool ALIGNED>
__global__ void __launch_bounds__(Q_THREADS)
    sage_quant_q_vector_kernel(const __grid_constant__ quant_q_call c)
{
    __shared__ uint32_t shared[Q_THREADS / 32];

    for (int64_t b = blockIdx.z; b < c.batch; b += gridDim.z)
        for (int64_t h = blockIdx.y; h < c.heads; h += gridDim.y)
            serve_group<ALIGNED>(c, b, h, blockIdx.x, shared);
}

} // namespace sage_quant

int quant_q_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                        void **plan, struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct quant_q_call call;
    int status = quant_q_call_init(&call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = sab_cuda_check(
            cudaFuncGetAttributes(&attributes, call.q.aligned
                                                   ? sage_quant::sage_quant_q_vector_kernel<true>
                                                   : sage_quant::sage_quant_q_vector_kernel<false>),
            "load the kernel of sage_quant_q/vector", msg);
    if (status != SAB_OK)
        return status;
    struct quant_q_call *p = (struct quant_q_call *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    *p = call;
    *plan = p;
    return SAB_OK;
}

int quant_q_vector_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct quant_q_call *c = (const struct quant_q_call *)plan;
    const int64_t most = 65535;
    const dim3 grid((unsigned)c->groups, (unsigned)(c->heads < most ? c->heads : most),
                    (unsigned)(c->batch < most ? c->batch : most));
    const cudaStream_t on = static_cast<cudaStream_t>(stream);

    if (c->q.aligned)
        sage_quant::sage_quant_q_vector_kernel<true><<<grid, sage_quant::Q_THREADS, 0, on>>>(*c);
    else
        sage_quant::sage_quant_q_vector_kernel<false><<<grid, sage_quant::Q_THREADS, 0, on>>>(*c);
    return sab_cuda_check(cudaGetLastError(), "launch sage_quant_q/vector", msg);
}

void quant_vector_free(void *plan)
{
    free(plan);
}
