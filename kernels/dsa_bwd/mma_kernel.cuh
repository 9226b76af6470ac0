/*
 * mma_kernel.cuh - DSA backward of one query and 32 of its heads by warp-wide products, within the
 * 99 KiB of shared memory that every device of the library has.
 *
 * A block of four warps walks the slots of the query in tiles of 16 keys.
 *     S = Q K^T, dP = dO V^T     32 heads x 16 keys: a warp has 16 x 8 of both, all of D
 *     P, dS                      in the type, to shared memory
 *     dQ += dS K                 32 heads x D, in registers for the whole walk: a warp has columns
 *                                64 j + 16 warp.. of every j
 *     dKV = P^T dO + dS^T Q      16 keys x the same columns, added to global memory as it comes
 * K is free behind dQ, so the next tile's rows arrive while dKV is computed.
 *
 * In clocks of a multiprocessor of an H200 a tile, D = 512: tensor 960 (at 2743 FLOP a clock),
 * shared memory about 2000 (operands of S and dP 1300, of dKV 500), reductions 2090. Two blocks
 * share a multiprocessor there; one fits where shared memory is 100 KiB.
 */
#ifndef DSA_BWD_MMA_KERNEL_CUH
#define DSA_BWD_MMA_KERNEL_CUH

#include "accumulator.cuh"
#include "mma_half.cuh"
#include "mma_load.cuh"

namespace dsa_bwd
{

template <class T, int D> struct mma_block {
    using where = mma_layout<D>;
    static constexpr int GROUPS = D / 64; /* of 16 columns of a warp */

    const dsa_bwd_mma_args &args;
    uint32_t base; /* of shared memory */
    uint32_t warp, lane;
    float (&dq)[GROUPS][2][2][4]; /* by 16 heads, 8 columns */

    /* Lane's row of a 16 x 16 operand whose rows are m (or k, across): rows 0-7 and 8-15 of columns
     * 0-7, then the same of columns 8-15, columns from 16 `warp` on. */
    __device__ __forceinline__ uint32_t square(uint32_t tile, uint32_t piece) const
    {
        return tile + sab::swizzled_piece(lane % 16, piece + lane / 16);
    }

    /* Rows 16 (warp / 2).. of heads, 8 (warp % 2).. of keys. */
    __device__ __forceinline__ void multiply_scores(float (&s)[2][4], float (&dp)[2][4]) const
    {
        const uint32_t heads = 2048 * (warp / 2);
        const uint32_t key = 8 * (warp % 2) + lane % 8;

#pragma unroll
        for (uint32_t c = 0; c < where::CHUNKS; c++) {
#pragma unroll
            for (uint32_t half = 0; half < 2; half++) {
                uint32_t k[4], a[4];
                sab::ldmatrix_x4(k, base + where::K + where::K_CHUNK * c +
                                        sab::swizzled_piece(key, 4 * half + lane / 8));
#pragma unroll
                for (uint32_t step = 0; step < 2; step++) {
                    const uint32_t piece = 4 * half + 2 * step;
                    const uint32_t at = base + heads + where::Q_CHUNK * c;
                    sab::ldmatrix_x4(a, square(at + where::Q, piece));
                    sab::mma_half<T>(s[step], a, k[2 * step], k[2 * step + 1]);
                    if (c < DSA_BWD_V / 64) {
                        sab::ldmatrix_x4(a, square(at + where::DOUT, piece));
                        sab::mma_half<T>(dp[step], a, k[2 * step], k[2 * step + 1]);
                    }
                }
            }
        }
    }

    /* P and dS of those, in the type, exactly 0 where no active slot names the key. */
    __device__ __forceinline__ void weigh(const float (&s)[2][4], const float (&dp)[2][4],
                                          uint8_t *shared, const int32_t *ids) const
    {
        const head_statistics *stats =
            reinterpret_cast<const head_statistics *>(shared + where::STATISTICS);
        const uint32_t key = 8 * (warp % 2) + 2 * (lane % 4);
        const uint32_t mask = (ids[key] < 0 ? 0 : 0xffffu) | (ids[key + 1] < 0 ? 0 : 0xffff0000u);

#pragma unroll
        for (uint32_t r = 0; r < 2; r++) {
            const uint32_t head = 16 * (warp / 2) + 8 * r + lane / 4;
            const head_statistics st = stats[head];
            float p[2], ds[2];
#pragma unroll
            for (uint32_t e = 0; e < 2; e++) {
                const uint32_t i = 2 * r + e;
                p[e] = sab::exp2_approximate(fmaf(s[0][i] + s[1][i], args.scale_log2, st.folded));
                ds[e] = p[e] * fmaf(dp[0][i] + dp[1][i], args.scale, st.delta);
            }
            uint8_t *row = shared + where::P + where::WEIGHTS_PITCH * head + 2 * key;
            *reinterpret_cast<uint32_t *>(row) = T::pack(p[0], p[1]) & mask;
            *reinterpret_cast<uint32_t *>(row + where::DS - where::P) =
                T::pack(ds[0], ds[1]) & mask;
        }
    }

    /* Lane's row of a 16 x 16 part of P or dS. */
    __device__ __forceinline__ uint32_t weights_row(uint32_t tile, uint32_t row,
                                                    uint32_t half) const
    {
        return base + tile + where::WEIGHTS_PITCH * row + 16 * half;
    }

    __device__ __forceinline__ void multiply_dq()
    {
        uint32_t ds[2][4], k[4];

#pragma unroll
        for (uint32_t m = 0; m < 2; m++)
            sab::ldmatrix_x4(ds[m], weights_row(where::DS, 16 * m + lane % 16, lane / 16));
#pragma unroll
        for (uint32_t j = 0; j < GROUPS; j++) {
            sab::ldmatrix_x4_across(k, square(base + where::K + where::K_CHUNK * j, 2 * warp));
#pragma unroll
            for (uint32_t m = 0; m < 2; m++) {
                sab::mma_half<T>(dq[j][m][0], ds[m], k[0], k[1]);
                sab::mma_half<T>(dq[j][m][1], ds[m], k[2], k[3]);
            }
        }
    }

    /* P^T and dS^T of 16 keys and twice 16 heads, as left operands: the matrix of heads 8-15 and
     * keys 0-7 is the third. */
    struct left_weights {
        uint32_t p[2][4], ds[2][4];
    };
    __device__ __forceinline__ void load_left(left_weights &w) const
    {
#pragma unroll
        for (uint32_t m = 0; m < 2; m++) {
            const uint32_t head = 16 * m + lane % 8 + lane / 16 * 8, half = lane / 8 % 2;
            sab::ldmatrix_x4_across(w.p[m], weights_row(where::P, head, half));
            sab::ldmatrix_x4_across(w.ds[m], weights_row(where::DS, head, half));
        }
    }

    __device__ __forceinline__ void multiply_dkv(const left_weights &w, const int32_t *ids) const
    {
        float *to[2];
        bool active[2];

#pragma unroll
        for (uint32_t r = 0; r < 2; r++) {
            const int32_t row = ids[lane / 4 + 8 * r];
            active[r] = row >= 0;
            to[r] = args.accumulator + static_cast<int64_t>(max(row, 0)) * D + 16 * warp +
                    float_sums::OF_LANE * (lane % 4);
        }
#pragma unroll
        for (uint32_t j = 0; j < GROUPS; j++) {
            float sum[2][4] = {};
#pragma unroll
            for (uint32_t m = 0; m < 2; m++) {
                const uint32_t at = base + where::Q_CHUNK * j + 2048 * m;
                uint32_t b[4];
                if (j < DSA_BWD_V / 64) {
                    sab::ldmatrix_x4_across(b, square(at + where::DOUT, 2 * warp));
                    sab::mma_half<T>(sum[0], w.p[m], b[0], b[1]);
                    sab::mma_half<T>(sum[1], w.p[m], b[2], b[3]);
                }
                sab::ldmatrix_x4_across(b, square(at + where::Q, 2 * warp));
                sab::mma_half<T>(sum[0], w.ds[m], b[0], b[1]);
                sab::mma_half<T>(sum[1], w.ds[m], b[2], b[3]);
            }
#pragma unroll
            for (uint32_t r = 0; r < 2; r++) {
                if (active[r])
                    add_vector(to[r] + 64 * j, sum[0][2 * r], sum[0][2 * r + 1], sum[1][2 * r],
                               sum[1][2 * r + 1]);
            }
        }
    }

    /* The rows of the first tile are on their way. */
    __device__ __forceinline__ void walk(uint8_t *shared, const id_list &list, int32_t tiles)
    {
        int32_t *ids = reinterpret_cast<int32_t *>(shared + where::IDS);

#pragma unroll 1
        for (int32_t i = 0; i < tiles; i++) {
            const int32_t *now = ids + i % 2 * DSA_BWD_MMA_KEYS;
            left_weights w;

            sab::copies_wait<0>();
            __syncthreads();
            {
                float s[2][4] = {}, dp[2][4] = {};
                multiply_scores(s, dp);
                weigh(s, dp, shared, now);
            }
            __syncthreads();
            load_left(w);
            multiply_dq();
            __syncthreads();
            if (i + 1 < tiles)
                gather_tile<D>(base, args.kv, list, i + 1, ids + (i + 1) % 2 * DSA_BWD_MMA_KEYS);
            multiply_dkv(w, now);
        }
    }

    __device__ __forceinline__ void store_dq(const mma_place &at) const
    {
#pragma unroll
        for (uint32_t m = 0; m < 2; m++) {
#pragma unroll
            for (uint32_t r = 0; r < 2; r++) {
                const int32_t head =
                    at.first_head + static_cast<int32_t>(16 * m + 8 * r + lane / 4);
                if (head >= args.heads)
                    continue;
                uint8_t *row =
                    args.dq + (static_cast<int64_t>(at.query) * args.heads + head) * (2 * D);
                store_row(reinterpret_cast<uint32_t *>(row), m, r);
            }
        }
    }
    __device__ __forceinline__ void store_row(uint32_t *row, uint32_t m, uint32_t r) const
    {
#pragma unroll
        for (uint32_t j = 0; j < GROUPS; j++) {
#pragma unroll
            for (uint32_t b = 0; b < 2; b++) {
                const float *d = dq[j][m][b] + 2 * r;
                row[32 * j + 8 * warp + 4 * b + lane % 4] =
                    T::pack(d[0] * args.gain_inverse, d[1] * args.gain_inverse);
            }
        }
    }
};

template <class T, int D>
__global__ void __launch_bounds__(DSA_BWD_MMA_THREADS, 2)
    mma_kernel(const __grid_constant__ dsa_bwd_mma_args args)
{
    using where = mma_layout<D>;
    extern __shared__ __align__(1024) uint8_t shared[];
    int32_t *ids = reinterpret_cast<int32_t *>(shared + where::IDS);
    int32_t *last = reinterpret_cast<int32_t *>(shared + where::LAST);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const mma_place at(args);
    const id_list list(args.ids, args.lengths, args.slots, args.keys, at.query);
    float dq[D / 64][2][2][4] = {};
    mma_block<T, D> me = {args, sab::shared_address(shared), warp, lane, dq};

    load_heads<D>(me.base, args, at);
    gather_tile<D>(me.base, args.kv, list, 0, ids);
    list.find_last<DSA_BWD_MMA_THREADS>(last);
    take_statistics<T, D>(args, shared, at, warp, lane);
    __syncthreads();
    me.walk(shared, list, count_tiles(last, DSA_BWD_MMA_THREADS / 32, DSA_BWD_MMA_KEYS));
    sab::copies_wait<0>();
    me.store_dq(at);
}

} // namespace dsa_bwd

#endif
