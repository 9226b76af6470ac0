/*
 * wgmma_survey.cuh - the small kernels of the form of dsa_bwd/wgmma that adds integers: what its
 * unit follows from, and the clear between its passes.
 */
#ifndef DSA_BWD_WGMMA_SURVEY_CUH
#define DSA_BWD_WGMMA_SURVEY_CUH

#include "wgmma_load.cuh"

namespace dsa_bwd
{

constexpr int SURVEY_THREADS = 256;

struct survey_args {
    const uint16_t *q, *dout, *kv;
    int64_t q_pieces, dout_pieces, kv_pieces; /* of 8 elements */
    int64_t sums_pieces;                      /* of 16 bytes, of the accumulator */
    int32_t queries;
};

/* Of the pieces of this thread. */
template <class T> __device__ __forceinline__ float largest(const uint16_t *base, int64_t pieces)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * SURVEY_THREADS;
    float most = 0.0f;

#pragma unroll 4
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * SURVEY_THREADS + threadIdx.x; i < pieces;
         i += step) {
        const uint4 piece = __ldg(reinterpret_cast<const uint4 *>(base) + i);
        const uint32_t pairs[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float2 x = T::unpack(pairs[k]);
            most = fmaxf(most, fmaxf(fabsf(x.x), fabsf(x.y)));
        }
    }
    return most;
}

__device__ __forceinline__ void record_most(uint32_t *fact, uint32_t value)
{
    const uint32_t most = __reduce_max_sync(0xffffffffu, value);

    if ((threadIdx.x & 31) == 0 && most)
        atomicMax(fact, most);
}

template <class T>
__global__ void __launch_bounds__(SURVEY_THREADS)
    survey(const __grid_constant__ dsa_bwd_wgmma_args args, const __grid_constant__ survey_args a)
{
    fixed_facts *facts = args.fixed.facts;
    uint32_t count = 0;

    record_most(&facts->q, __float_as_uint(largest<T>(a.q, a.q_pieces)));
    record_most(&facts->dout, __float_as_uint(largest<T>(a.dout, a.dout_pieces)));
    record_most(&facts->kv, __float_as_uint(largest<T>(a.kv, a.kv_pieces)));
    for (int32_t t = static_cast<int32_t>(blockIdx.x); t < a.queries;
         t += static_cast<int32_t>(gridDim.x)) {
        const id_list list(args.ids, args.lengths, args.slots, args.keys, t);
        for (int32_t slot = static_cast<int32_t>(threadIdx.x); slot < list.length;
             slot += SURVEY_THREADS) {
            const int32_t id = list.at(slot);
            if (id >= 0)
                count = max(count, atomicAdd(args.fixed.counts + id, 1) + 1);
        }
    }
    record_most(&facts->count, count);
}

/* The sums, where a second pass will add. */
__global__ void __launch_bounds__(SURVEY_THREADS)
    clear_again(const __grid_constant__ dsa_bwd_wgmma_args args,
                const __grid_constant__ survey_args a)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * SURVEY_THREADS;

    if (!args.fixed.second_pass())
        return;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * SURVEY_THREADS + threadIdx.x;
         i < a.sums_pieces; i += step)
        static_cast<uint4 *>(args.accumulator)[i] = uint4{};
}

} // namespace dsa_bwd

#endif
