/*
 * wgmma_add.cuh - dsa_bwd/wgmma: how a tile of dKV is added to global memory, in two forms.
 */
#ifndef DSA_BWD_WGMMA_ADD_CUH
#define DSA_BWD_WGMMA_ADD_CUH

#include "accumulator.cuh"
#include "wgmma_load.cuh"

namespace dsa_bwd
{

struct float_adder {
    using sums = float_sums;

    __device__ __forceinline__ bool begin(const dsa_bwd_wgmma_args &)
    {
        return true;
    }
    __device__ __forceinline__ void add(float *to, float x0, float x1, float x2, float x3)
    {
        add_vector(to, x0, x1, x2, x3);
    }
    __device__ __forceinline__ void end(const dsa_bwd_wgmma_args &) const
    {
    }
};

struct integer_adder {
    using sums = integer_sums;
    float unit, most;

    /* False where this pass is not needed. */
    __device__ __forceinline__ bool begin(const dsa_bwd_wgmma_args &args)
    {
        if (args.second_pass && !args.fixed.second_pass())
            return false;
        unit = ldexpf(1.0f, args.fixed.shift(args.second_pass));
        most = 0.0f;
        return true;
    }
    __device__ __forceinline__ void add_one(unsigned long long *to, float x)
    {
        most = fmaxf(most, fabsf(x));
        asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;"
                     :
                     : "l"(to), "l"(__float2ll_rn(x * unit))
                     : "memory");
    }
    __device__ __forceinline__ void add(unsigned long long *to, float x0, float x1, float x2,
                                        float x3)
    {
        add_one(to, x0);
        add_one(to + 4, x1);
        add_one(to + 8, x2);
        add_one(to + 12, x3);
    }
    /* All lanes of a warp. */
    __device__ __forceinline__ void end(const dsa_bwd_wgmma_args &args) const
    {
        const uint32_t bits = __reduce_max_sync(0xffffffffu, __float_as_uint(most));

        if ((threadIdx.x & 31) == 0 && bits && !args.second_pass)
            atomicMax(&args.fixed.facts->added, bits);
    }
};

/* Where a lane adds: rows lane / 4 and that + 8 of its warp. */
template <class ADDER, int D> struct key_rows {
    using element = typename ADDER::sums::element;
    element *to[2];
    bool active[2];

    /* Lane i holds the id of row i % 16, -1 for none. */
    __device__ __forceinline__ void find(const dsa_bwd_wgmma_args &args, int32_t id, uint32_t lane)
    {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int32_t row = __shfl_sync(0xffffffffu, id, static_cast<int>(lane / 4) + 8 * r);
            active[r] = row >= 0;
            to[r] = static_cast<element *>(args.accumulator) +
                    static_cast<int64_t>(max(row, 0)) * D + ADDER::sums::OF_LANE * (lane % 4);
        }
    }
    /* `sum` of products of NR columns from `column` on. */
    template <int NR>
    __device__ __forceinline__ void add(ADDER &adder, const float (&sum)[NR / 2], int column) const
    {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            if (!active[r])
                continue;
#pragma unroll
            for (int j = 0; j < NR / 16; j++)
                adder.add(to[r] + column + 16 * j, sum[8 * j + 2 * r], sum[8 * j + 2 * r + 1],
                          sum[8 * j + 4 + 2 * r], sum[8 * j + 5 + 2 * r]);
        }
    }
};

} // namespace dsa_bwd

#endif
