/*
 * accumulator.cuh - the fp32 accumulator of dkv, and the kernel that turns it into dkv and sums up
 * d_sink.
 *
 * A row has D floats like a row of kv, in another order: within each group of 16 columns, column
 * 8 b + 2 t + e lies at 4 t + 2 b + e. So the four accumulators of a thread of a tensor core
 * product, two neighbours in each of two blocks of eight, are one vector.
 */
#ifndef DSA_BWD_ACCUMULATOR_CUH
#define DSA_BWD_ACCUMULATOR_CUH

#include <stdint.h>

#include "half_types.cuh"

namespace dsa_bwd
{

constexpr int FINISH_THREADS = 256;
constexpr int SINK_HEADS = 8; /* of a block: a sector of sink_terms */
constexpr int SINK_ROWS = FINISH_THREADS / SINK_HEADS;

__device__ __forceinline__ void add_vector(float *to, float x, float y, float z, float w)
{
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "f"(x), "f"(y), "f"(z), "f"(w)
                 : "memory");
}

struct finish_args {
    const float *accumulator; /* [N,D] */
    uint16_t *dkv;            /* [N,D] */
    int64_t groups;           /* N D / 16 */
    float factor;             /* of the accumulator */
    const float *sink_terms;  /* [T,H] */
    float *d_sink;            /* [H] */
    int64_t queries, heads;
    unsigned sink_blocks; /* the first ones */
};

/* One group of 16 columns. */
template <class T> __device__ __forceinline__ void finish_group(const finish_args &a, int64_t group)
{
    const float4 *from = reinterpret_cast<const float4 *>(a.accumulator) + 4 * group;
    uint4 *to = reinterpret_cast<uint4 *>(a.dkv) + 2 * group;
    float4 x[4];
    uint32_t low[4], high[4];

#pragma unroll
    for (int t = 0; t < 4; t++)
        x[t] = __ldcs(from + t);
#pragma unroll
    for (int t = 0; t < 4; t++) {
        low[t] = T::pack(x[t].x * a.factor, x[t].y * a.factor);
        high[t] = T::pack(x[t].z * a.factor, x[t].w * a.factor);
    }
    to[0] = make_uint4(low[0], low[1], low[2], low[3]);
    to[1] = make_uint4(high[0], high[1], high[2], high[3]);
}

/* d_sink of 8 heads, in a fixed order. */
__device__ __forceinline__ void finish_sink(const finish_args &a)
{
    __shared__ double parts[SINK_ROWS][SINK_HEADS];
    const int column = threadIdx.x % SINK_HEADS, row = threadIdx.x / SINK_HEADS;
    const int64_t h = static_cast<int64_t>(blockIdx.x) * SINK_HEADS + column;
    double sum = 0.0;

    if (h < a.heads) {
#pragma unroll 8
        for (int64_t t = row; t < a.queries; t += SINK_ROWS)
            sum += static_cast<double>(__ldg(a.sink_terms + t * a.heads + h));
    }
    parts[row][column] = sum;
    __syncthreads();
    if (row == 0 && h < a.heads) {
        double whole = 0.0;
        for (int i = 0; i < SINK_ROWS; i++)
            whole += parts[i][column];
        a.d_sink[h] = static_cast<float>(0.0 - whole);
    }
}

template <class T>
__global__ void __launch_bounds__(FINISH_THREADS) finish(const __grid_constant__ finish_args a)
{
    if (blockIdx.x < a.sink_blocks) {
        finish_sink(a);
        return;
    }
    const int64_t step = static_cast<int64_t>(gridDim.x - a.sink_blocks) * FINISH_THREADS;
    for (int64_t group =
             static_cast<int64_t>(blockIdx.x - a.sink_blocks) * FINISH_THREADS + threadIdx.x;
         group < a.groups; group += step)
        finish_group<T>(a, group);
}

} // namespace dsa_bwd

#endif
