/*
 * accumulator.cuh - the two forms of the accumulator of dkv, and the kernel that turns one into dkv
 * and sums up d_sink.
 *
 * A row has D elements like a row of kv, in another order. Of a group of 16 columns, a thread of a
 * tensor core product has two neighbours in each of two blocks of eight: columns 8 b + 2 t + e with
 * b and e 0 or 1 and t = lane % 4.
 */
#ifndef DSA_BWD_ACCUMULATOR_CUH
#define DSA_BWD_ACCUMULATOR_CUH

#include <stdint.h>

#include "fixed_point.cuh"
#include "half_types.cuh"

namespace dsa_bwd
{

constexpr int FINISH_THREADS = 256;
constexpr int SINK_HEADS = 8; /* of a block: a sector of sink_terms */
constexpr int SINK_ROWS = FINISH_THREADS / SINK_HEADS;

__device__ __forceinline__ void add_vector(float *to, float x0, float x1, float x2, float x3)
{
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "f"(x0), "f"(x1), "f"(x2), "f"(x3)
                 : "memory");
}

/* Sixteen columns as pairs of neighbours: pair[b][t] is columns 8 b + 2 t and the next. */
struct column_pairs {
    float2 pair[2][4];
};

/* fp32, added up in no fixed order: the column lies at 4 t + 2 b + e, the four of a thread are one
 * vector. */
struct float_sums {
    using element = float;
    static constexpr uint32_t OF_LANE = 4; /* t = 1 lies so far behind t = 0 */

    static __device__ __forceinline__ column_pairs load(const element *from)
    {
        column_pairs c;

#pragma unroll
        for (int t = 0; t < 4; t++) {
            const float4 x = __ldcs(reinterpret_cast<const float4 *>(from) + t);
            c.pair[0][t] = make_float2(x.x, x.y);
            c.pair[1][t] = make_float2(x.z, x.w);
        }
        return c;
    }
    static __device__ __forceinline__ float factor(const fixed_point &, float gain_inverse)
    {
        return gain_inverse;
    }
};

/* Integers, see fixed_point.cuh: the column lies at 8 b + 4 e + t, four lanes fill a sector. */
struct integer_sums {
    using element = unsigned long long;
    static constexpr uint32_t OF_LANE = 1;

    static __device__ __forceinline__ column_pairs load(const element *from)
    {
        column_pairs c;

#pragma unroll
        for (int i = 0; i < 8; i++) {
            const longlong2 x = __ldcs(reinterpret_cast<const longlong2 *>(from) + i);
            const int b = i / 4, t = i % 2 * 2;
            float2 &first = c.pair[b][t], &second = c.pair[b][t + 1];
            (i / 2 % 2 ? first.y : first.x) = __ll2float_rn(x.x);
            (i / 2 % 2 ? second.y : second.x) = __ll2float_rn(x.y);
        }
        return c;
    }
    static __device__ __forceinline__ float factor(const fixed_point &fixed, float gain_inverse)
    {
        return ldexpf(gain_inverse, -fixed.shift(fixed.second_pass()));
    }
};

struct finish_args {
    const void *accumulator; /* [N,D] */
    uint16_t *dkv;           /* [N,D] */
    int64_t groups;          /* N D / 16 */
    float gain_inverse;      /* the factor of floats */
    fixed_point fixed;       /* that of integers */
    const float *sink_terms; /* [T,H] */
    float *d_sink;           /* [H] */
    int64_t queries, heads;
    unsigned sink_blocks; /* the first ones */
};

/* One group of 16 columns. */
template <class T, class SUMS>
__device__ __forceinline__ void finish_group(const finish_args &a, int64_t group, float factor)
{
    const column_pairs c =
        SUMS::load(static_cast<const typename SUMS::element *>(a.accumulator) + 16 * group);
    uint4 *to = reinterpret_cast<uint4 *>(a.dkv) + 2 * group;
    uint32_t packed[2][4];

#pragma unroll
    for (int b = 0; b < 2; b++) {
#pragma unroll
        for (int t = 0; t < 4; t++)
            packed[b][t] = T::pack(c.pair[b][t].x * factor, c.pair[b][t].y * factor);
        to[b] = make_uint4(packed[b][0], packed[b][1], packed[b][2], packed[b][3]);
    }
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

template <class T, class SUMS>
__global__ void __launch_bounds__(FINISH_THREADS) finish(const __grid_constant__ finish_args a)
{
    if (blockIdx.x < a.sink_blocks) {
        finish_sink(a);
        return;
    }
    const float factor = SUMS::factor(a.fixed, a.gain_inverse);
    const int64_t step = static_cast<int64_t>(gridDim.x - a.sink_blocks) * FINISH_THREADS;
    for (int64_t group =
             static_cast<int64_t>(blockIdx.x - a.sink_blocks) * FINISH_THREADS + threadIdx.x;
         group < a.groups; group += step)
        finish_group<T, SUMS>(a, group, factor);
}

} // namespace dsa_bwd

#endif
