/*
 * wgmma_pair_kernel.cuh - indexer_bwd_dense/wgmma (sm_90a): two neighbouring query rows a block, a
 * warpgroup each, since they see the same keys. The walk is that of rows_kernel.cuh, but a tile of
 * keys is loaded once for both, and its dK is summed over the heads of both before it is added to
 * global memory:
 *     x^T, a^T, dW, dQ^T    a warpgroup those of its row; a^T goes to shared memory
 *     dK = a^T Q            over 2 N heads, a warpgroup has 64 of the columns
 * Where the two rows belong to different batches they are served one after the other, the other
 * warpgroup then has a row without entries.
 *
 * Limits, in clocks of a multiprocessor for two rows and 64 keys, N = 64 (6.29 MFLOP):
 *   reductions     2040   32 KiB at 16 bytes a clock (3.6 TB/s)
 *   tensor         1536   256 for each of x and dQ of a row, 512 for dK
 *   shared memory  2100   x and dQ 1024, dK 512, keys 128, a 128, staging 128 written, 128 read
 * The chain of a tile is x (600), weights (250), dK (600) and dQ (500) with the additions beside
 * it, two barriers: 2300, and there is one block a multiprocessor. Predicted: 400 to 550 TFLOPS.
 */
#ifndef INDEXER_BWD_WGMMA_PAIR_KERNEL_CUH
#define INDEXER_BWD_WGMMA_PAIR_KERNEL_CUH

#include "wgmma_kernel.cuh"

namespace indexer_bwd
{

constexpr int PAIR_THREADS = 2 * INDEXER_BWD_ROWS_THREADS;

/* Q, a, weights and facts are one behind the other, a row each. */
template <int N> struct pair_layout {
    static constexpr uint32_t ROW_Q = 2 * layout<N>::HEAD_CHUNK;
    static constexpr uint32_t Q = 0;                   /* at the end, dQ */
    static constexpr uint32_t K = Q + 2 * ROW_Q;       /* two stages */
    static constexpr uint32_t A = K + 4 * CHUNK_BYTES; /* at the end, parts of dW */
    static constexpr uint32_t ADD = A + 2 * CHUNK_BYTES;
    static constexpr uint32_t WEIGHTS = ADD + 2 * WARPS * ADD_WARP;
    static constexpr uint32_t FACTS = WEIGHTS + 2 * 4 * N;
    static constexpr uint32_t LANDED = FACTS + 2 * WARPS * static_cast<uint32_t>(sizeof(row_facts));
    static constexpr uint32_t BYTES =
        LANDED + 2 * 8; /* a barrier a stage of K, see rows_kernel.cuh */
    static_assert(BYTES <= 227 * 1024);

    /* Tiles are counted over all rows of the block. */
    __device__ static __forceinline__ uint32_t k_of(uint32_t count)
    {
        return K + 2 * CHUNK_BYTES * (count % 2);
    }
};

template <int N> struct pair_group {
    using where = pair_layout<N>;
    using products = wgmma_products<N>;

    const indexer_bwd_rows_args &args;
    uint8_t *shared;
    uint32_t base;        /* of shared memory */
    uint32_t group, warp; /* the row of the pair; of the group */
    row_entries<false> row;
    int32_t first_k, end; /* of the keys of the longer row */
    uint32_t before;      /* tiles of earlier rows */

    __device__ __forceinline__ uint64_t *landed(uint32_t count) const
    {
        return reinterpret_cast<uint64_t *>(shared + where::LANDED) + count % 2;
    }
    __device__ __forceinline__ void await_keys(int32_t tile) const
    {
        const uint32_t count = before + static_cast<uint32_t>(tile);

        sab::barrier_wait(landed(count), count / 2 % 2);
    }

    __device__ __forceinline__ int32_t tiles() const
    {
        return (end + INDEXER_BWD_ROWS_KEYS - 1) / INDEXER_BWD_ROWS_KEYS;
    }
    __device__ __forceinline__ int32_t entry_of(int32_t tile, uint32_t lane) const
    {
        return INDEXER_BWD_ROWS_KEYS * tile + static_cast<int32_t>(16 * warp + lane % 16);
    }

    /* Both groups: 8 keys a warp, as copies on their way. */
    __device__ __forceinline__ void gather(int32_t tile, uint32_t lane) const
    {
        const uint32_t piece = lane % 8, first = 32 * group + 8 * warp + lane / 8;
        const int32_t j = INDEXER_BWD_ROWS_KEYS * tile + static_cast<int32_t>(first);
        const uint8_t *from = reinterpret_cast<const uint8_t *>(args.c.k) +
                              (static_cast<int64_t>(first_k) + j) * ROW_BYTES + 16 * piece;
        const uint32_t count = before + static_cast<uint32_t>(tile);
        const uint32_t to = base + where::k_of(count);

#pragma unroll
        for (int i = 0; i < 2; i++) {
            const uint32_t at = to + sab::swizzled_piece(first + 4 * i, piece);
            const bool active = j + 4 * i < end;
            sab::copy_piece(at, from + 4 * i * ROW_BYTES, active);
            sab::copy_piece(at + CHUNK_BYTES, from + 4 * i * ROW_BYTES + 128, active);
        }
        sab::arrive_when_copied(landed(count));
    }

    /* Columns 64 group.. of dK = a^T Q over the heads of both rows. */
    __device__ __forceinline__ void multiply_keys(float (&dk)[32]) const
    {
        sab::wgmma_fence();
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const uint32_t a = base + where::A + CHUNK_BYTES * r;
            const uint32_t q = base + where::Q + where::ROW_Q * r + layout<N>::HEAD_CHUNK * group;
#pragma unroll
            for (int b = 0; b < N / 16; b++)
                sab::wgmma_ss<sab::bf16, sab::K_MAJOR, sab::MN_MAJOR>(
                    dk, sab::wgmma_along_k(a) + 32 * b,
                    sab::wgmma_across_k(q, layout<N>::HEAD_CHUNK) + 2048 * b, r + b > 0);
        }
        sab::wgmma_commit();
    }

    /* A tile whose keys are here. `next` was loaded of the following one, which becomes the tile:
     * `g` is G of the lane's entry. */
    __device__ __forceinline__ void work_tile(int32_t tile, float &g, entry &next, float sum,
                                              float (&dw)[N / 4], float (&dq)[2][N / 2]) const
    {
        const uint32_t lane = fresh_lane();
        const uint32_t k = base + where::k_of(before + static_cast<uint32_t>(tile));
        const uint32_t a_tile = base + where::A + CHUNK_BYTES * group;
        const float2 *weights =
            reinterpret_cast<const float2 *>(shared + where::WEIGHTS + 4 * N * group);

        {
            uint32_t a[N / 16][4];
            float x[N / 2];
            products::scores(x, base + where::Q + where::ROW_Q * group, k, warp, lane);
            gather(tile + 1, lane);
            products::template wait<0>(x);
            weigh<N>(x, g, weights, dw, a, lane);
            publish_a<N>(a_tile, a, warp, lane);
        }
        __syncthreads();
        float dk[32];
        multiply_keys(dk);
        products::queries(dq, a_tile, k, warp, lane);
        g = row.gradient(next, sum);
        next = row.load(entry_of(tile + 2, lane));
        products::template wait<1>(dk);
        const int32_t j = entry_of(tile, lane);
        add_keys(args.sums, shared + where::ADD + ADD_WARP * (WARPS * group + warp), dk,
                 j < end ? first_k + j : -1, group, lane);
        products::template wait<0>(dk);
        products::hold(dq[0]);
        products::hold(dq[1]);
    }

    /* Up to the wait for one tile more than there are. */
    __device__ __forceinline__ void walk(const entry &first, float sum, float (&dw)[N / 4],
                                         float (&dq)[2][N / 2]) const
    {
        const int32_t nr = tiles();
        float g = row.gradient(first, sum);
        entry next = row.load(entry_of(1, fresh_lane()));

#pragma unroll 1
        for (int32_t tile = 0; tile < nr; tile++) {
            /* all keys of the tile are here, and nobody needs those of the tile before, or an a */
            await_keys(tile);
            sab::fence_async_reads();
            __syncthreads();
            work_tile(tile, g, next, sum, dw, dq);
        }
        await_keys(nr);
        __syncthreads();
    }
};

/* All threads: the row `at` of each group, where it is `mine`; else only the keys of the other
 * one's row are of interest. They lie in the batch of row `lead`. `tiles` have been counted before,
 * and are after. */
template <int N>
__device__ __forceinline__ void run_pair(const indexer_bwd_rows_args &args, uint8_t *shared,
                                         uint32_t group, uint32_t warp, uint32_t at, bool mine,
                                         uint32_t lead, uint32_t &tiles)
{
    using where = pair_layout<N>;
    using products = wgmma_products<N>;
    const uint32_t base = sab::shared_address(shared), thread = threadIdx.x % 128;
    float *weights = reinterpret_cast<float *>(shared + where::WEIGHTS) + N * group;
    row_facts *facts = reinterpret_cast<row_facts *>(shared + where::FACTS);
    row_entries<false> row(args.c, at);
    float dw[N / 4] = {}, dq[2][N / 2] = {};

    row.length = mine ? row.length : 0;
    load_heads<N>(base + where::Q + where::ROW_Q * group, args.c, at, thread);
    load_weights<N>(weights, args.c, at, thread);
    survey_row(row, facts + WARPS * group, thread);
    __syncthreads();
    const row_facts all[2] = {join_facts(facts), join_facts(facts + WARPS)};
    const pair_group<N> me = {args,
                              shared,
                              base,
                              group,
                              warp,
                              row,
                              static_cast<int32_t>(place_of(args.c, lead).first_k),
                              max(all[0].last, all[1].last) + 1,
                              tiles};
    tiles += static_cast<uint32_t>(me.tiles()) + 1;
    me.gather(0, thread % 32);
    const entry first = row.load(me.entry_of(0, thread % 32));
    products::hold(dq[0]); /* zeros of their own */
    products::hold(dq[1]);
    me.walk(first, group ? all[1].sum : all[0].sum, dw, dq);
    if (mine) {
        store_dq<N>(args.c, at, shared + where::Q + where::ROW_Q * group, dq, group, thread);
        store_dw<N>(args.c, at, reinterpret_cast<float *>(shared + where::A + CHUNK_BYTES * group),
                    dw, group, thread);
    }
    adds_wait_read();
}

template <int N>
__global__ void __launch_bounds__(PAIR_THREADS, 1)
    wgmma_pairs(const __grid_constant__ indexer_bwd_rows_args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t rows = static_cast<uint32_t>(args.c.rows);
    /* the last rows are the longest ones, they come first */
    const uint32_t first = 2 * (gridDim.x - 1 - blockIdx.x);
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t of_block = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    const uint32_t group = of_block / WARPS, at = min(first + group, rows - 1);
    const bool two = first + 1 < rows;
    const bool together = two && place_of(args.c, first).batch == place_of(args.c, first + 1).batch;

    uint32_t tiles = 0;

    if (threadIdx.x < 2) {
        sab::barrier_init(reinterpret_cast<uint64_t *>(shared + pair_layout<N>::LANDED) +
                              threadIdx.x,
                          PAIR_THREADS);
        sab::barriers_publish();
    }
#    pragma unroll 1
    for (uint32_t pass = 0; pass < (two && !together ? 2 : 1); pass++) {
        __syncthreads();
        run_pair<N>(args, shared, group, of_block % WARPS, at,
                    first + group < rows && (together || group == pass), first + pass, tiles);
    }
#endif
}

template <int N> constexpr indexer_bwd_rows_form wgmma_pair_form()
{
    return {wgmma_pairs<N>, pair_layout<N>::BYTES, PAIR_THREADS, 2};
}

} // namespace indexer_bwd

#endif
