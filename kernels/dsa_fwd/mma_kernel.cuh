/*
 * mma_kernel.cuh - DSA attention of one query row and 16 or 32 of its heads by warp-wide products,
 * within the 99 KiB of shared memory that every device of the library has.
 *
 * A block of four warps walks the slots of the row in tiles of 32 keys; the rows of the next tile
 * arrive while one is computed.
 *     S = Q K^T   a warp has a quarter of the columns, of Q in registers for the whole walk; the
 *                 four sums are added in shared memory, so that K is read there once
 *     P           in the type, to shared memory (mma_softmax.cuh)
 *     O += P V    a warp has 128 columns, in registers
 *
 * In clocks of a multiprocessor of an H200 a tile of 32 heads, D = 512: tensor 765 (at 2743 FLOP a
 * clock), gather 850, shared memory 1024. Two blocks share a multiprocessor there; one fits where
 * shared memory is 100 KiB.
 */
#ifndef DSA_FWD_MMA_KERNEL_CUH
#define DSA_FWD_MMA_KERNEL_CUH

#include "mma_half.cuh"
#include "mma_load.cuh"
#include "mma_softmax.cuh"

namespace dsa
{

template <class T, int D, int HEADS> struct mma_block {
    using where = mma_layout<D, HEADS>;
    static constexpr int TILES = HEADS / 16;  /* of 16 heads */
    static constexpr int STEPS = D / 64;      /* of 16 columns of Q of a warp */
    using q_part = uint32_t[STEPS][TILES][4]; /* left operands */
    using values = float[TILES][16][4];       /* by 8 columns */

    const dsa_fwd_call &c;
    uint8_t *shared;
    uint32_t base; /* of shared memory */

    /* Heads that do not exist read as zeros. */
    __device__ __forceinline__ void read_q(q_part &q, const mma_place &at) const
    {
        const uint32_t warp = fresh_thread() / 32, lane = fresh_lane();
#pragma unroll
        for (int i = 0; i < 2 * TILES; i++) {
            const int64_t head = at.first_head + 8 * i + lane / 4;
            const bool present = head < c.heads;
            const uint32_t *from = reinterpret_cast<const uint32_t *>(
                c.q + (at.row * c.heads + (present ? head : 0)) * D + D / 4 * warp +
                2 * (lane % 4));
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                q[k][i / 2][i % 2] = present ? __ldg(from + 8 * k) : 0;
                q[k][i / 2][i % 2 + 2] = present ? __ldg(from + 8 * k + 4) : 0;
            }
        }
    }

    /* The warp's columns of the scores of 32 keys, 16 at a time, to shared memory. */
    __device__ __forceinline__ void multiply_qk(const q_part &q, uint32_t stage) const
    {
        const uint32_t warp = fresh_thread() / 32, lane = fresh_lane();
#pragma unroll
        for (uint32_t half = 0; half < 2; half++) {
            const uint32_t key = 16 * half + lane / 16 * 8 + lane % 8;
            float s[TILES][2][4] = {};
#pragma unroll
            for (uint32_t k = 0; k < STEPS; k++) {
                const uint32_t piece = 2 * STEPS * warp + 2 * k + lane / 8 % 2;
                uint32_t b[4];
                sab::ldmatrix_x4(b, stage + where::CHUNK * (piece / 8) +
                                        sab::swizzled_piece(key, piece % 8));
#pragma unroll
                for (int i = 0; i < TILES; i++) {
                    sab::mma_half<T>(s[i][0], q[k][i], b[0], b[1]);
                    sab::mma_half<T>(s[i][1], q[k][i], b[2], b[3]);
                }
            }
            put_scores(s, half);
        }
    }
    __device__ __forceinline__ void put_scores(const float (&s)[TILES][2][4], uint32_t half) const
    {
        const uint32_t warp = fresh_thread() / 32, lane = fresh_lane();
#pragma unroll
        for (uint32_t i = 0; i < TILES; i++) {
#pragma unroll
            for (uint32_t j = 0; j < 2; j++) {
#pragma unroll
                for (uint32_t r = 0; r < 2; r++)
                    *reinterpret_cast<float2 *>(shared + where::SCORES +
                                                where::SCORE_PITCH *
                                                    (HEADS * warp + 16 * i + 8 * r + lane / 4) +
                                                4 * (16 * half + 8 * j + 2 * (lane % 4))) =
                        make_float2(s[i][j][2 * r], s[i][j][2 * r + 1]);
            }
        }
    }

    __device__ __forceinline__ void multiply_factors(values &o) const
    {
        const uint32_t lane = fresh_lane();
        const float *factors = reinterpret_cast<const float *>(shared + where::FACTORS);

#pragma unroll
        for (uint32_t i = 0; i < 2 * TILES; i++) {
            const float factor = factors[8 * i + lane / 4];
#pragma unroll
            for (int j = 0; j < 16; j++) {
                o[i / 2][j][i % 2 * 2] *= factor;
                o[i / 2][j][i % 2 * 2 + 1] *= factor;
            }
        }
    }

    __device__ __forceinline__ void multiply_pv(values &o, uint32_t stage) const
    {
        const uint32_t warp = fresh_thread() / 32, lane = fresh_lane();
#pragma unroll
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t p[TILES][4], v[4];
#pragma unroll
            for (uint32_t i = 0; i < TILES; i++)
                sab::ldmatrix_x4(p[i], base + where::WEIGHTS +
                                           where::WEIGHT_PITCH * (16 * i + lane % 16) + 32 * k +
                                           16 * (lane / 16));
#pragma unroll
            for (uint32_t j = 0; j < 8; j++) {
                sab::ldmatrix_x4_across(
                    v, stage + where::CHUNK * (2 * warp + j / 4) +
                           sab::swizzled_piece(16 * k + lane % 16, 2 * (j % 4) + lane / 16));
#pragma unroll
                for (int i = 0; i < TILES; i++) {
                    sab::mma_half<T>(o[i][2 * j], p[i], v[0], v[1]);
                    sab::mma_half<T>(o[i][2 * j + 1], p[i], v[2], v[3]);
                }
            }
        }
    }

    /* Whether a reference moves. */
    __device__ __forceinline__ bool fold_softmax(int32_t i) const
    {
        const int32_t *ids = reinterpret_cast<const int32_t *>(shared + where::IDS);
        mma_softmax<T, D, HEADS> softmax;

        softmax.take_up(shared);
        const bool moves = softmax.fold(shared, c, DSA_MMA_KEYS * i, ids + i % 2 * DSA_MMA_KEYS);
        softmax.put_down(shared);
        return moves;
    }

    /* The rows of the first tile are on their way. */
    __device__ __forceinline__ void walk(values &o, const q_part &q, int32_t tiles)
    {
#pragma unroll 1
        for (int32_t i = 0; i < tiles; i++) {
            const uint32_t stage = base + where::K + where::STAGE * (static_cast<uint32_t>(i) % 2);

            sab::copies_wait<0>();
            __syncthreads(); /* the tile is there, and the one before was read */
            if (i + 1 < tiles)
                gather_tile<D, HEADS>(base, shared, c,
                                      *reinterpret_cast<const mma_slots *>(shared + where::SLOTS),
                                      i + 1);
            multiply_qk(q, stage);
            __syncthreads();
            if (__syncthreads_or(fold_softmax(i)))
                multiply_factors(o);
            multiply_pv(o, stage);
        }
    }

    /* Eight columns a store, a quad of lanes writes 64 bytes of a row. The addend makes +0 of -0
     * where an infinite sink leaves nothing. */
    __device__ __forceinline__ void write_out(const values &o, const mma_place &at) const
    {
        const uint32_t warp = fresh_thread() / 32, lane = fresh_lane();
        const float *factors = reinterpret_cast<const float *>(shared + where::FACTORS);

#pragma unroll
        for (uint32_t i = 0; i < 2 * TILES; i++) {
            const float factor = factors[8 * i + lane / 4];
            const int64_t head = at.first_head + 8 * i + lane / 4;
            uint4 *out = reinterpret_cast<uint4 *>(
                             c.out + (at.row * c.heads + head) * DSA_VALUE_WIDTH + 128 * warp) +
                         lane % 4;
#pragma unroll
            for (int j = 0; j < 16; j += 4) {
                uint32_t x[4];
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const float *from = &o[i / 2][j + e][i % 2 * 2];
                    x[e] = T::pack(fmaf(from[0], factor, 0.0f), fmaf(from[1], factor, 0.0f));
                }
                quad_transpose(x);
                if (head < c.heads)
                    __stcs(out + j, make_uint4(x[0], x[1], x[2], x[3]));
            }
        }
    }
};

template <class T, int D, int HEADS>
__global__ void __launch_bounds__(DSA_MMA_THREADS, 2)
    mma_kernel(const __grid_constant__ dsa_fwd_mma_args args)
{
    using where = mma_layout<D, HEADS>;
    extern __shared__ __align__(1024) uint8_t shared[];
    int32_t *last = reinterpret_cast<int32_t *>(shared + where::LAST);
    const dsa_fwd_call &c = args.c;
    const mma_slots slots(c, mma_place(args, HEADS).row);
    using block = mma_block<T, D, HEADS>;
    block me = {c, shared, sab::shared_address(shared)};
    typename block::q_part q;
    typename block::values o = {};

    gather_tile<D, HEADS>(me.base, shared, c, slots, 0);
    me.read_q(q, mma_place(args, HEADS));
    slots.find_last(last);
    if (threadIdx.x == 0)
        *reinterpret_cast<mma_slots *>(shared + where::SLOTS) = slots;
    mma_softmax<T, D, HEADS>().put_down(shared);
    __syncthreads();
    me.walk(o, q, mma_tiles(last));
    sab::copies_wait<0>();
    __syncthreads();
    const mma_place at(args, HEADS);
    mma_softmax<T, D, HEADS> softmax;
    softmax.take_up(shared);
    softmax.conclude(shared, c, at);
    __syncthreads();
    me.write_out(o, at);
}

template <class T, int D, int HEADS> constexpr dsa_fwd_mma_form mma_form()
{
    return {mma_kernel<T, D, HEADS>, HEADS, mma_layout<D, HEADS>::BYTES};
}

} // namespace dsa

#endif
