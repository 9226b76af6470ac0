/*
 * wgmma_kernel.cuh - DSA backward of one query and N = 16, 32 or 64 of its heads by warpgroup-wide
 * products.
 *
 * A block of two warpgroups walks the slots of the query in tiles of 64 keys. Tiles belong to the
 * warpgroups in turn. The owner of a tile gathers its rows of kv, computes
 *     S^T = K Q^T, dP^T = V dO^T    64 keys x N heads, both operands in shared memory
 *     P^T, dS^T                     stay in its registers as left operands; dS^T goes to shared
 *                                   memory as well
 *     dKV = P^T dO + dS^T Q         64 keys x a few columns at a time, added to global memory
 * and both warpgroups compute their half of the columns of
 *     dQ += dS K                    N heads x D, in registers for the whole walk (wgmma_dq.cuh)
 * So while one warpgroup adds its tile to global memory the other one gathers and weighs the next
 * tile. With 64 heads Q, dO and one tile of K take all of shared memory, hence K is free only when
 * both halves of dQ have been multiplied; a warpgroup does its half of the other's tile before its
 * last chunks of dKV are added, or where it would have to wait for its own next tile anyway. With
 * fewer heads there is room for two tiles of K, one a warpgroup, and the gather of a tile waits
 * only for the tile before the last.
 *
 * Limits, in clocks of a multiprocessor a tile, D = 512, N = 64 (20.97 MFLOP):
 *   tensor         5120   1024 each for S, dP, dQ, dV, dK
 *   shared memory  4600   S 1024, dP 1024, dQ 640, dV and dK 512 each, gather 512, dS and others
 *   reductions     8340   128 KiB at 15.7 bytes a clock, with the gather beside them (3.53 TB/s);
 *                         the same for any N, twice that where integers are added
 * The chain from tile to tile is gather (about 2500), S and dP (2048 and more), weights (600), dQ
 * (1024): below 8340, so that the reductions should never wait. 64 x 512 fp32 of dQ are half of all
 * registers: 128 (144 at D = 576) a thread, and 96 (64) for P, dS and two chunks of dKV.
 *
 * One accumulator of dKV takes both of its products, since P carries 1 / softmax_scale (`gain`);
 * the last kernel divides it out. Rows of a warp's tiles are the rows that the same warp gathered,
 * so ids never leave it.
 */
#ifndef DSA_BWD_WGMMA_KERNEL_CUH
#define DSA_BWD_WGMMA_KERNEL_CUH

#include "wgmma_add.cuh"
#include "wgmma_dq.cuh"

namespace dsa_bwd
{

/* What differs between the widths: columns of dKV at a time, and the chunk behind which the other
 * warpgroup's tile is served. */
template <int D, int N> struct schedule {
    static constexpr int COLUMNS = D == 512 || N < 64 ? 64 : 32;
    static constexpr int CHUNKS = D / COLUMNS;
    static constexpr int SERVE = CHUNKS - 2;

    /* Groups of products issued when chunk c is awaited, and the place of c among them. */
    __host__ __device__ static constexpr int issued(int c)
    {
        return (c + 2 < CHUNKS ? c + 2 : CHUNKS) + (c >= SERVE ? 1 : 0);
    }
    __host__ __device__ static constexpr int place(int c)
    {
        return c + (c >= SERVE + 2 ? 1 : 0);
    }
    __host__ __device__ static constexpr int pending(int c)
    {
        return issued(c) - place(c) - 1;
    }
};

template <class T, int D, int N, class ADDER> struct wgmma_group {
    using where = layout<D, N>;
    using plan = schedule<D, N>;

    const dsa_bwd_wgmma_args &args;
    wgmma_barriers *bar;
    uint32_t base; /* of shared memory */
    uint32_t group, warp, lane;
    id_list list;
    int32_t tiles;
    ADDER adder;
    dq_sums<T, D, N> &dq;

    /* Of row `lane` % 16 of the warp. */
    __device__ __forceinline__ int32_t load_id(int32_t i) const
    {
        const int32_t slot = DSA_BWD_WGMMA_KEYS * i + 16 * static_cast<int32_t>(warp) +
                             static_cast<int32_t>(lane % 16);

        return i < tiles ? list.at(slot) : -1;
    }

    /* Operands at an offset of shared memory whose rows are m or n, and k. Sums of descriptors, not
     * descriptors of sums: one addition each. */
    __device__ __forceinline__ sab::wgmma_matrix along_k(uint32_t offset) const
    {
        return sab::wgmma_along_k(base) + offset;
    }
    __device__ __forceinline__ sab::wgmma_matrix across_k(uint32_t offset) const
    {
        return sab::wgmma_across_k(base, CHUNK_BYTES) + offset;
    }

    __device__ __forceinline__ void multiply_scores(float (&s)[N / 2], float (&dp)[N / 2],
                                                    int32_t i)
    {
        score_part<0>(s, dp, i);
        score_part<1>(s, dp, i);
        score_part<2>(s, dp, i);
        score_part<3>(s, dp, i);
        sab::wgmma_wait<0>();
        sab::wgmma_hold(s);
        sab::wgmma_hold(dp);
    }

    template <int P>
    __device__ __forceinline__ void score_part(float (&s)[N / 2], float (&dp)[N / 2], int32_t i)
    {
        sab::copies_wait<PARTS - 1 - P>();
        sab::fence_async_reads();
        group_barrier(group);
        if (i < 2)
            sab::barrier_wait(&bar->loaded[P], 0);
        sab::wgmma_fence();
#pragma unroll
        for (int c = where::first_chunk(P); c < where::chunks_end(P); c++) {
#pragma unroll
            for (int step = 0; step < 4; step++) {
                const uint32_t at = where::HEAD_CHUNK * c + 32 * step;
                const sab::wgmma_matrix keys =
                    along_k(where::k_of(i) + CHUNK_BYTES * c + 32 * step);
                sab::wgmma_ss<T, sab::K_MAJOR, sab::K_MAJOR>(s, keys, along_k(where::Q + at),
                                                             c + step > 0);
                if (c < V_CHUNKS)
                    sab::wgmma_ss<T, sab::K_MAJOR, sab::K_MAJOR>(
                        dp, keys, along_k(where::DOUT + at), c + step > 0);
            }
        }
        sab::wgmma_commit();
    }

    /* P^T and dS^T in the type, exactly 0 in rows that no active slot names. */
    __device__ __forceinline__ void weigh(const float (&s)[N / 2], const float (&dp)[N / 2],
                                          int32_t id, uint32_t (&p)[N / 16][4],
                                          uint32_t (&ds)[N / 16][4], const uint8_t *shared) const
    {
        const float4 *stats = reinterpret_cast<const float4 *>(shared + where::STATISTICS);
        uint32_t mask[2];

#pragma unroll
        for (int r = 0; r < 2; r++)
            mask[r] =
                __shfl_sync(0xffffffffu, id, static_cast<int>(lane / 4) + 8 * r) < 0 ? 0 : ~0u;
#pragma unroll
        for (int j = 0; j < N / 8; j++) {
            const float4 st = stats[4 * j + lane % 4];
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const int at = 4 * j + 2 * r;
                const float p0 = sab::exp2_approximate(fmaf(s[at], args.scale_log2, st.x));
                const float p1 = sab::exp2_approximate(fmaf(s[at + 1], args.scale_log2, st.z));
                const float ds0 = p0 * fmaf(dp[at], args.scale, st.y);
                const float ds1 = p1 * fmaf(dp[at + 1], args.scale, st.w);
                p[j / 2][2 * (j % 2) + r] = T::pack(p0, p1) & mask[r];
                ds[j / 2][2 * (j % 2) + r] = T::pack(ds0, ds1) & mask[r];
            }
        }
    }

    __device__ __forceinline__ void publish_ds(const uint32_t (&ds)[N / 16][4], int32_t i)
    {
#pragma unroll
        for (uint32_t b = 0; b < N / 16; b++)
            store_matrices(matrix_row(base + where::DS, 4 * where::stage_of(i) + 2 * b, warp, lane),
                           ds[b]);
        sab::fence_async_reads();
        __syncwarp();
        if (lane == 0)
            (void)cuda::ptx::mbarrier_arrive(&bar->ds_full[where::stage_of(i)]);
    }

    /* This warpgroup's half of dQ += dS K of tile i, as one group of products. */
    __device__ __forceinline__ void multiply_dq(int32_t i)
    {
        sab::barrier_wait(&bar->ds_full[where::stage_of(i)], where::parity_of(i));
        sab::wgmma_fence();
        dq.multiply(base, group, i);
        sab::wgmma_commit();
    }
    /* Behind the wait for those products. */
    __device__ __forceinline__ void release_k(int32_t i)
    {
        if (lane == 0)
            (void)cuda::ptx::mbarrier_arrive(&bar->k_free[where::stage_of(i)]);
    }

    __device__ __forceinline__ void await_k(int32_t i)
    {
        sab::barrier_wait(&bar->k_free[where::stage_of(i)], where::parity_of(i));
    }

    /* Columns COLUMNS c.. of P^T dO + dS^T Q, as one group of products. */
    __device__ __forceinline__ void multiply_dkv(float (&sum)[plan::COLUMNS / 2], int c,
                                                 const uint32_t (&p)[N / 16][4],
                                                 const uint32_t (&ds)[N / 16][4])
    {
        const uint32_t column = static_cast<uint32_t>(plan::COLUMNS * c);
        const uint32_t at = column / 64 * where::HEAD_CHUNK + 2 * (column % 64);
        const bool values = column < DSA_BWD_V;

        sab::wgmma_fence();
        if (values) {
#pragma unroll
            for (int b = 0; b < N / 16; b++)
                sab::wgmma_rs<T, sab::MN_MAJOR>(sum, p[b], across_k(where::DOUT + at + 2048 * b),
                                                b > 0);
        }
#pragma unroll
        for (int b = 0; b < N / 16; b++)
            sab::wgmma_rs<T, sab::MN_MAJOR>(sum, ds[b], across_k(where::Q + at + 2048 * b),
                                            values || b > 0);
        sab::wgmma_commit();
    }

    /* Chunk C and those behind it; `sums` are used in turn. In between, tile i + 1. */
    template <int C>
    __device__ __forceinline__ void
    dkv_steps(float (&sums)[2][plan::COLUMNS / 2], int32_t i, const uint32_t (&p)[N / 16][4],
              const uint32_t (&ds)[N / 16][4], const key_rows<ADDER, D> &rows)
    {
        if constexpr (C < plan::CHUNKS) {
            if constexpr (C + 1 < plan::CHUNKS)
                multiply_dkv(sums[(C + 1) % 2], C + 1, p, ds);
            if constexpr (C == plan::SERVE) {
                if (i + 1 < tiles)
                    multiply_dq(i + 1);
                else
                    sab::wgmma_commit();
            }
            sab::wgmma_wait<plan::pending(C)>();
            sab::wgmma_hold(sums[C % 2]);
            rows.template add<plan::COLUMNS>(adder, sums[C % 2], plan::COLUMNS * C);
            dkv_steps<C + 1>(sums, i, p, ds, rows);
        }
    }

    /* Tile i, from the gather to dKV, and dQ of tile i + 1. `id` is that of tile i. */
    __device__ __forceinline__ void own_tile(int32_t i, int32_t &id, const uint8_t *shared)
    {
        uint32_t p[N / 16][4], ds[N / 16][4];
        key_rows<ADDER, D> rows;

        lane = fresh_lane();
        if (i >= where::STAGES)
            await_k(i - where::STAGES);
        gather_rows<D>(base + where::k_of(i), args.kv, id, warp, lane);
        {
            float s[N / 2], dp[N / 2];
            multiply_scores(s, dp, i);
            if (i < 2)
                sab::barrier_wait(&bar->statistics, 0);
            weigh(s, dp, id, p, ds, shared);
        }
        publish_ds(ds, i);
        rows.find(args, id, lane);
        id = load_id(i + 2);
        float sums[2][plan::COLUMNS / 2];
        multiply_dq(i);
        multiply_dkv(sums[0], 0, p, ds);
        sab::wgmma_wait<1>();
        dq.hold();
        release_k(i);
        dkv_steps<0>(sums, i, p, ds, rows);
        sab::wgmma_wait<0>();
        dq.hold();
#pragma unroll
        for (int b = 0; b < N / 16; b++) {
            sab::wgmma_hold(p[b]);
            sab::wgmma_hold(ds[b]);
        }
        if (i + 1 < tiles)
            release_k(i + 1);
    }

    /* All tiles. */
    __device__ __forceinline__ void walk(const uint8_t *shared)
    {
        int32_t id = load_id(static_cast<int32_t>(group));

        dq.hold(); /* zeros of their own */
        if (group == 1 && tiles > 0) {
            multiply_dq(0);
            sab::wgmma_wait<0>();
            dq.hold();
            release_k(0);
        }
#pragma unroll 1
        for (int32_t i = static_cast<int32_t>(group); i < tiles; i += 2)
            own_tile(i, id, shared);
#pragma unroll
        for (int32_t s = 0; s < where::STAGES; s++) {
            if (tiles > s)
                await_k(tiles - 1 - s);
        }
    }

    /* dQ into the place of K, and from there to global memory. */
    __device__ __forceinline__ void store_dq(uint8_t *shared, const block_place &at)
    {
        dq.put_down(shared, group, warp, lane, args.gain_inverse);
        sab::fence_async_reads();
        __syncthreads();
        if (warp != 0 || !sab::elect_one())
            return;
        for (int c = 4 * static_cast<int>(group); c < where::CHUNKS; c++) {
            if (c < 4 * static_cast<int>(group) + 4 || group == 1)
                put_chunk(&args.dq, shared + where::K + c * where::HEAD_CHUNK, 64 * c, at);
        }
        cuda::ptx::cp_async_bulk_commit_group();
        cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
    }
};

template <class T, int D, int N, class ADDER>
__global__ void __launch_bounds__(DSA_BWD_WGMMA_THREADS, 1)
    wgmma_kernel(const __grid_constant__ dsa_bwd_wgmma_args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t shared[];
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0), lane = threadIdx.x & 31;
    const block_place at(args, N);
    wgmma_barriers *bar = reinterpret_cast<wgmma_barriers *>(shared + layout<D, N>::BARRIERS);
    const id_list list(args.ids, args.lengths, args.slots, args.keys, at.query);
    dq_sums<T, D, N> dq;
    ADDER adder;

    if (!adder.begin(args))
        return;
    dq.clear();
    if (warp == 0 && sab::elect_one())
        open_block<D, N>(args, shared, bar, at);
    __syncwarp();
    list.find_last<DSA_BWD_WGMMA_THREADS>(bar->last);
    __syncthreads();
    wgmma_group<T, D, N, ADDER> me = {args,
                                      bar,
                                      sab::shared_address(shared),
                                      warp / WARPS,
                                      warp % WARPS,
                                      lane,
                                      list,
                                      count_tiles(bar->last, 2 * WARPS, DSA_BWD_WGMMA_KEYS),
                                      adder,
                                      dq};
    if (me.group == 1)
        take_statistics<T, D, N>(args, shared, bar, at, me.warp, lane);
    me.walk(shared);
    me.adder.end(args);
    me.store_dq(shared, at);
#endif
}

} // namespace dsa_bwd

#endif
