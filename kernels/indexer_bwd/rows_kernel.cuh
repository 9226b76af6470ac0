/*
 * rows_kernel.cuh - both backward operators of the indexer, one query row with its N = 16, 32 or 64
 * heads a block of four warps, by tensor core products (contracts/indexer.md, 6.2 and 6.3).
 *
 * The row is walked twice. First all its scores are read, for the sum of g. Then its entries come
 * in tiles of 64, a warp has 16 of them; the next tile's keys are gathered meanwhile:
 *     x^T = K Q^T            64 keys x N heads
 *     a^T, dW                in registers: G is made from the scores as they pass; a^T goes to
 *                            shared memory as well
 *     dK = a^T Q             64 keys x 64 columns at a time, to a staging tile, and from there
 *                            added to global memory by the copy engine, a row of 256 bytes at a
 *                            time: warps wait for a free staging tile, not for the additions
 *     dQ^T += K^T a^T        128 columns x N heads, in registers for the whole walk
 * sm_scale is part of a. Rows of a warp's tiles are the rows that the same warp gathered, so keys
 * and G never leave it. Engines have the products: PRODUCTS is that of wgmma or mma; their results
 * lie in the same registers.
 *
 * Limits, in clocks of a multiprocessor a tile, N = 64 (3.15 MFLOP), by warpgroup-wide products:
 *   reductions     2090   32 KiB at 15.7 bytes a clock, with the gather beside them (3.53 TB/s)
 *   tensor         768    256 each for x, dQ, dK
 *   shared memory  1340   x 256, dQ 256, dK 128, gather 128, a 64, staging 256 written, 256 read
 *   issue          about 600
 * The chain of a tile within a block is x (400), weights (250), dK (200), staging and its 16 orders
 * to the copy engine a warp (600), dK (200), staging again, two barriers: 2500 to 3000. Three
 * blocks share a multiprocessor, which leaves a block 6270 a tile, so that there should always be
 * one with a tile to add. Reductions first: 339 TFLOPS. Predicted: 230 to 290 at 512 entries a row,
 * 180 to 240 at 128, where the start of a row counts (two latencies of global memory, 2500 clocks);
 * with 32 and 16 heads a half and a quarter of that, since a tile of dK costs the same.
 *
 * By mma.sync operands pass through registers: shared memory 2240, tensor 1150, and from 32 heads
 * on two blocks a multiprocessor: 130 to 200.
 */
#ifndef INDEXER_BWD_ROWS_KERNEL_CUH
#define INDEXER_BWD_ROWS_KERNEL_CUH

#include "rows_load.cuh"

namespace indexer_bwd
{

/* a^T in bf16, exactly 0 where a product is not above 0, and dW. `g` is that of row lane % 16 of
 * the warp, `weights` those of the row, times sm_scale. */
template <int N>
__device__ __forceinline__ void weigh(const float (&x)[N / 2], float g, const float2 *weights,
                                      float (&dw)[N / 4], uint32_t (&a)[N / 16][4], uint32_t lane)
{
    float of_row[2];

#pragma unroll
    for (int r = 0; r < 2; r++)
        of_row[r] = __shfl_sync(0xffffffffu, g, static_cast<int>(lane / 4) + 8 * r);
#pragma unroll
    for (int j = 0; j < N / 8; j++) {
        const float2 w = weights[4 * j + lane % 4];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const float x0 = x[4 * j + 2 * r], x1 = x[4 * j + 2 * r + 1];
            a[j / 2][2 * (j % 2) + r] = sab::bf16::pack(x0 > 0.0f ? of_row[r] * w.x : 0.0f,
                                                        x1 > 0.0f ? of_row[r] * w.y : 0.0f);
            dw[2 * j] = x0 > 0.0f ? fmaf(of_row[r], x0, dw[2 * j]) : dw[2 * j];
            dw[2 * j + 1] = x1 > 0.0f ? fmaf(of_row[r], x1, dw[2 * j + 1]) : dw[2 * j + 1];
        }
    }
}

/* To a tile whose rows are keys, 16 of a warp. */
template <int N>
__device__ __forceinline__ void publish_a(uint32_t tile, const uint32_t (&a)[N / 16][4],
                                          uint32_t warp, uint32_t lane)
{
    const uint32_t to =
        tile + 2048 * warp + 1024 * (lane / 8 % 2) + sab::swizzled_piece(lane % 8, lane / 16);

#pragma unroll
    for (uint32_t b = 0; b < N / 16; b++)
        sab::stmatrix_x4(to ^ 32 * b, a[b]);
    sab::fence_async_reads();
}

template <class PRODUCTS, int N, bool SPARSE> struct row_block {
    using where = layout<N>;

    const indexer_bwd_rows_args &args;
    uint8_t *shared;
    uint32_t base; /* of shared memory */
    uint32_t warp;
    row_entries<SPARSE> row;

    /* Counts the threads whose copies of a tile of keys are here. A barrier in shared memory, since
     * to wait for groups of copies is to wait for the additions as well. */
    __device__ __forceinline__ uint64_t *landed(int32_t tile) const
    {
        return reinterpret_cast<uint64_t *>(shared + where::LANDED) + tile % 2;
    }
    __device__ __forceinline__ void await_keys(int32_t tile) const
    {
        sab::barrier_wait(landed(tile), static_cast<uint32_t>(tile) / 2 % 2);
    }

    /* Entry of row `lane` % 16 of the warp in a tile. */
    __device__ __forceinline__ entry load_entry(int32_t tile) const
    {
        return row.load(INDEXER_BWD_ROWS_KEYS * tile + static_cast<int32_t>(16 * warp) +
                        static_cast<int32_t>(threadIdx.x % 16));
    }

    /* A lane's entry of the tile, its key and G, and what was loaded of the next tile: here
     * the next one's keys are gathered, and it becomes the tile. */
    struct lane_entries {
        int32_t key;
        float g;
        entry next;
    };

    /* A tile whose keys are here. */
    __device__ __forceinline__ void work_tile(int32_t tile, lane_entries &of, float sum,
                                              float (&dw)[N / 4], float (&dq)[2][N / 2]) const
    {
        const uint32_t k = base + where::k_of(tile);
        const uint32_t lane = fresh_lane();
        uint8_t *staging = shared + where::ADD + ADD_WARP * warp;
        uint32_t a[N / 16][4];
        float dk[32];

        {
            float x[N / 2];
            PRODUCTS::scores(x, base + where::Q, k, warp, lane);
            gather_rows(base + where::k_of(tile + 1), args.c, of.next.key, warp, lane);
            sab::arrive_when_copied(landed(tile + 1));
            PRODUCTS::template wait<0>(x);
            weigh<N>(x, of.g, reinterpret_cast<const float2 *>(shared + where::WEIGHTS), dw, a,
                     lane);
        }
        PRODUCTS::keys(dk, a, base + where::Q, lane);
        publish_a<N>(base + where::A, a, warp, lane);
        __syncthreads();
        PRODUCTS::queries(dq, base + where::A, k, warp, lane);
        PRODUCTS::template wait<1>(dk);
        add_keys(args.sums, staging, dk, of.key, 0, lane);
        PRODUCTS::keys(dk, a, base + where::Q + where::HEAD_CHUNK, lane);
        const int32_t key = of.key;
        of = {of.next.key, row.gradient(of.next, sum), load_entry(tile + 2)};
        PRODUCTS::template wait<0>(dk);
        PRODUCTS::hold(dq[0]);
        PRODUCTS::hold(dq[1]);
        PRODUCTS::hold(a);
        add_keys(args.sums, staging, dk, key, 1, lane);
    }

    /* The keys of tile 0, of which `first` is the lane's entry, are on their way. */
    __device__ __forceinline__ void walk(const entry &first, const row_facts &facts,
                                         float (&dw)[N / 4], float (&dq)[2][N / 2]) const
    {
        const int32_t tiles = (facts.last + INDEXER_BWD_ROWS_KEYS) / INDEXER_BWD_ROWS_KEYS;
        lane_entries of = {first.key, row.gradient(first, facts.sum), load_entry(1)};

#pragma unroll 1
        for (int32_t tile = 0; tile < tiles; tile++) {
            /* all keys of the tile are here, and nobody needs those of the tile before, or its a */
            await_keys(tile);
            sab::fence_async_reads();
            __syncthreads();
            work_tile(tile, of, facts.sum, dw, dq);
        }
        await_keys(tiles);
        __syncthreads();
    }
};

template <class PRODUCTS, int N, bool SPARSE>
__device__ __forceinline__ void run_row(const indexer_bwd_rows_args &args, uint8_t *shared)
{
    using where = layout<N>;
    const uint32_t base = sab::shared_address(shared);
    /* the last rows of the dense form are the longest ones, they come first */
    const uint32_t at = SPARSE ? blockIdx.x : gridDim.x - 1 - blockIdx.x;
    const uint32_t thread = threadIdx.x;
    const row_entries<SPARSE> row(args.c, at);
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t warp = __shfl_sync(0xffffffffu, thread / 32, 0), lane = thread % 32;
    const row_block<PRODUCTS, N, SPARSE> me = {args, shared, base, warp, row};
    row_facts *facts = reinterpret_cast<row_facts *>(shared + where::FACTS);
    float dw[N / 4] = {}, dq[2][N / 2] = {};

    if (thread < 2) {
        sab::barrier_init(me.landed(static_cast<int32_t>(thread)), INDEXER_BWD_ROWS_THREADS);
        sab::barriers_publish();
    }
    const entry first = me.load_entry(0);
    __syncthreads();
    load_heads<N>(base + where::Q, args.c, at, thread);
    load_weights<N>(reinterpret_cast<float *>(shared + where::WEIGHTS), args.c, at, thread);
    gather_rows(base + where::k_of(0), args.c, first.key, warp, lane);
    sab::arrive_when_copied(me.landed(0));
    survey_row(row, facts, thread);
    __syncthreads();
    PRODUCTS::hold(dq[0]); /* zeros of their own */
    PRODUCTS::hold(dq[1]);
    me.walk(first, join_facts(facts), dw, dq);
    store_dq<N>(args.c, at, shared + where::DQ, dq, 0, thread);
    store_dw<N>(args.c, at, reinterpret_cast<float *>(shared + where::DW), dw, 0, thread);
    adds_wait_read();
}

} // namespace indexer_bwd

#endif
