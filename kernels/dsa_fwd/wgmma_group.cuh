/*
 * wgmma_group.cuh - what one computing group of dsa_fwd/wgmma has at hand: its place in the ring of
 * segments, products, the release of what was read, and the exchange with the other group.
 */
#ifndef DSA_FWD_WGMMA_GROUP_CUH
#define DSA_FWD_WGMMA_GROUP_CUH

#include "gather.cuh"
#include "stage.cuh"
#include "wgmma_args.h"
#include "wgmma_math.cuh"
#include "wgmma_ring.cuh"

namespace dsa
{

template <class T, int WIDTH> struct group {
    using s = shape<WIDTH>;
    using place = ring_place<shape<WIDTH>>;
    using q_part = uint32_t[s::Q_IN_REGISTERS + 1][4][4];

    const dsa_fwd_wgmma_args &args;
    wgmma_shared<WIDTH> *shared;
    uint32_t side, warp, lane; /* 0 or 1: which half of the columns; warp of the group */
    uint32_t tile;             /* next to be told of */
    uint32_t items;            /* done */
    place own;                 /* of this group's next tile */
    bool prefix_open;          /* the prefix of this item may go on */

    __device__ __forceinline__ tile_info next_info()
    {
        sab::barrier_wait(&shared->info[tile % s::INFOS], tile / s::INFOS % 2);
        const tile_info info = shared->infos[tile % s::INFOS];
        tile++;
        return info;
    }

    /* What this group knows of row r's prefix: the sum over a quad, and its reference. */
    __device__ __forceinline__ void put_prefix(int r, float sum, float m) const
    {
        if (lane % 4 != 0)
            return;
        row_result *result = &shared->results[items % 2][side][16 * warp + 8 * r + lane / 4];
        result->prefix_sum = sum;
        result->prefix_maximum = m;
    }

    /* Scores += Q K^T over segments FROM..TO-1, a group of products for each. */
    template <int FROM, int TO>
    __device__ __forceinline__ void multiply_qk(float (&scores)[32], const place &at,
                                                const q_part &q)
    {
        const sab::wgmma_matrix q_tile = sab::wgmma_along_k(sab::shared_address(shared->q));
        const sab::wgmma_matrix k_tile = sab::wgmma_along_k(sab::shared_address(shared->ring));

#pragma unroll
        for (int i = FROM; i < TO; i++) {
            sab::barrier_wait(&shared->full[at.at(i)], at.parity_at(i));
            sab::fence_async_reads();
            sab::wgmma_fence();
            const sab::wgmma_matrix k_part = k_tile + at.at(i) * DSA_WGMMA_SEGMENT_BYTES;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (i < s::Q_IN_REGISTERS)
                    sab::wgmma_rs<T, sab::K_MAJOR>(scores, q[i][k], k_part + 32 * k, i + k > 0);
                else
                    sab::wgmma_ss<T, sab::K_MAJOR, sab::K_MAJOR>(
                        scores,
                        q_tile + ((i - s::Q_IN_REGISTERS) * DSA_WGMMA_SEGMENT_BYTES + 32 * k),
                        k_part + 32 * k, i + k > 0);
            }
            sab::wgmma_commit();
        }
    }

    /* O += P V of this group's columns, a group of products for each segment. */
    __device__ __forceinline__ void multiply_pv(float (&o)[4][32], uint32_t (&p)[4][4],
                                                const place &at)
    {
        const sab::wgmma_matrix v_tile =
            sab::wgmma_across_k(sab::shared_address(shared->ring), DSA_WGMMA_SEGMENT_BYTES);

        hold(o);
#pragma unroll
        for (int k = 0; k < 4; k++)
            sab::wgmma_hold(p[k]);
        sab::wgmma_fence();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const sab::wgmma_matrix v_part =
                v_tile + at.at(s::EXTRA + 2 * i + side) * DSA_WGMMA_SEGMENT_BYTES;
#pragma unroll
            for (int k = 0; k < 4; k++)
                sab::wgmma_rs<T, sab::MN_MAJOR>(o[i], p[k], v_part + 2048 * k, true);
            sab::wgmma_commit();
        }
    }

    /* 0, known only when all that was issued before is on its way: the assembler moves arithmetic
     * between the parts of a product that is issued before it, and the tensor cores wait for that;
     * it does not where the arithmetic needs this 0. The last segment of V of the tile at `at`
     * that this group reads was awaited, and is not free before the products are done. */
    __device__ __forceinline__ float zero_behind(const place &at) const
    {
        float zero;

        asm volatile("{\n\t"
                     ".reg .pred p;\n\t"
                     "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.f32 %0, 0f00000000, 0f7FC00000, p;\n\t"
                     "}"
                     : "=f"(zero)
                     : "r"(sab::shared_address(&shared->full[at.at(s::SEGMENTS - 2 + side)])),
                       "r"(at.parity_at(s::SEGMENTS - 2 + side))
                     : "memory");
        return zero;
    }

    static __device__ __forceinline__ void hold(float (&o)[4][32])
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
            sab::wgmma_hold(o[i]);
    }

    __device__ __forceinline__ void release(uint32_t slot)
    {
        if (lane == 0)
            (void)cuda::ptx::mbarrier_arrive(&shared->empty[slot]);
    }
    /* This group's columns of a tile, as their products finish. LATER groups of products were
     * closed behind them. */
    template <int LATER>
    __device__ __forceinline__ void release_v(float (&o)[4][32], const place &at)
    {
        sab::wgmma_wait<LATER + 3>();
        release(at.at(s::EXTRA + side));
        sab::wgmma_wait<LATER + 2>();
        release(at.at(s::EXTRA + 2 + side));
        sab::wgmma_wait<LATER + 1>();
        release(at.at(s::EXTRA + 4 + side));
        sab::wgmma_wait<LATER>();
        release(at.at(s::EXTRA + 6 + side));
        hold(o);
    }

    /* P and the reference of a tile, to the same thread of the other group, and from it. Warps of a
     * pair meet at a barrier for each direction. */
    __device__ __forceinline__ void send(const uint32_t (&p)[4][4], const row_state &state)
    {
        const uint32_t t = threadIdx.x % 128;

#pragma unroll
        for (int k = 0; k < 4; k++)
            shared->p[k][t] = make_uint4(p[k][0], p[k][1], p[k][2], p[k][3]);
        shared->maxima[t] = make_float2(state.m[0], state.m[1]);
        asm volatile("bar.arrive %0, 64;" : : "r"(1 + 4 * side + warp) : "memory");
    }
    __device__ __forceinline__ void receive(uint32_t (&p)[4][4], float (&m)[2])
    {
        const uint32_t t = threadIdx.x % 128;

        asm volatile("bar.sync %0, 64;" : : "r"(1 + 4 * (side ^ 1) + warp) : "memory");
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const uint4 x = shared->p[k][t];
            p[k][0] = x.x;
            p[k][1] = x.y;
            p[k][2] = x.z;
            p[k][3] = x.w;
        }
        const float2 x = shared->maxima[t];
        m[0] = x.x;
        m[1] = x.y;
    }

    /* Head of the lane's first row. */
    __device__ __forceinline__ int64_t first_head(int32_t item) const
    {
        return static_cast<int64_t>(item % args.head_tiles) * DSA_WGMMA_HEADS + 16 * warp +
               lane / 4;
    }
};

} // namespace dsa

#endif
