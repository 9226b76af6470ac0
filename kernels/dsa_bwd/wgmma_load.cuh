/*
 * wgmma_load.cuh - dsa_bwd/wgmma: the shared memory of a block, and what fills it.
 */
#ifndef DSA_BWD_WGMMA_LOAD_CUH
#define DSA_BWD_WGMMA_LOAD_CUH

#include "dsa_bwd_call.h"
#include "gather.cuh"
#include "id_list.cuh"
#include "stage.cuh"
#include "statistics.cuh"
#include "wgmma_args.h"
#include "wgmma_half.cuh"

namespace dsa_bwd
{

constexpr uint32_t CHUNK_BYTES = 8192; /* 64 rows of 64 columns, swizzled */
constexpr int V_CHUNKS = DSA_BWD_V / 64;
constexpr int PARTS = 4; /* in which rows are loaded: chunks 2p and 2p + 1, and the tail with 3 */
constexpr int WARPS = 4; /* of a warpgroup */

/* All are used with parity `use % 2`, uses counted from 0. */
struct wgmma_barriers {
    uint64_t loaded[PARTS]; /* q and dout, by TMA */
    uint64_t statistics;    /* 4 warps */
    uint64_t tail;          /* all lanes of a group: its part of the tail of dq is there */
    /* once a tile, by its stage */
    uint64_t ds_full[2]; /* 4 warps of the owner of the tile */
    uint64_t k_free[2];  /* 8 warps: the products of dq are done */
    int32_t last[2 * WARPS];
};

/* N heads. Of 32 heads or fewer, two tiles are under way at a time: rows of dS are 64 columns wide,
 * a half for each. */
template <int D, int N> struct layout {
    static constexpr int CHUNKS = D / 64;
    static constexpr int STAGES = N == 64 ? 1 : 2;
    static constexpr uint32_t HEAD_CHUNK = 128 * N;
    static constexpr uint32_t K_BYTES = CHUNKS * CHUNK_BYTES;
    static constexpr uint32_t Q = 0;
    static constexpr uint32_t DOUT = Q + CHUNKS * HEAD_CHUNK;
    static constexpr uint32_t K = DOUT + V_CHUNKS * HEAD_CHUNK; /* at the end, dq */
    static constexpr uint32_t DS = K + STAGES * K_BYTES;        /* rows are keys, columns heads */
    static constexpr uint32_t STATISTICS = DS + CHUNK_BYTES;
    static constexpr uint32_t BARRIERS =
        STATISTICS + N * static_cast<uint32_t>(sizeof(head_statistics));
    static constexpr uint32_t BYTES = BARRIERS + static_cast<uint32_t>(sizeof(wgmma_barriers));
    static_assert(BYTES <= 227 * 1024);

    __host__ __device__ static constexpr uint32_t stage_of(int32_t i)
    {
        return static_cast<uint32_t>(i) % STAGES;
    }
    __host__ __device__ static constexpr uint32_t parity_of(int32_t i)
    {
        return static_cast<uint32_t>(i) / STAGES % 2;
    }
    __host__ __device__ static constexpr uint32_t k_of(int32_t i)
    {
        return K + K_BYTES * stage_of(i);
    }
    __host__ __device__ static constexpr uint32_t ds_of(int32_t i)
    {
        return DS + 64 * stage_of(i);
    }
    /* Chunks of part p of a row of q or kv. */
    __host__ __device__ static constexpr int first_chunk(int p)
    {
        return 2 * p;
    }
    __host__ __device__ static constexpr int chunks_end(int p)
    {
        return p == PARTS - 1 ? CHUNKS : 2 * p + 2;
    }
};

/* The (query, heads) of a block. */
struct block_place {
    int32_t query, first_head;

    __device__ __forceinline__ block_place(const dsa_bwd_wgmma_args &args, int32_t heads)
        : query(static_cast<int32_t>(blockIdx.x / static_cast<uint32_t>(args.head_blocks))),
          first_head(static_cast<int32_t>(blockIdx.x % static_cast<uint32_t>(args.head_blocks)) *
                     heads)
    {
    }
};

__device__ __forceinline__ void store_matrices(uint32_t address, const uint32_t (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

/* The same of transposed matrices: what a lane has of row g goes to rows 2t and 2t+1. */
__device__ __forceinline__ void store_matrices_across(uint32_t address, const uint32_t (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

/* Where a lane stores its row of four 8x8 matrices of a tile: rows 0-7 and 8-15 of the warp, piece,
 * which is even, then the same of piece + 1. */
__device__ __forceinline__ uint32_t matrix_row(uint32_t tile, uint32_t piece, uint32_t warp,
                                               uint32_t lane)
{
    return (tile + 2048 * warp + 1024 * (lane / 8 % 2) + sab::swizzled_piece(lane % 8, lane / 16)) ^
           16 * piece;
}

/* The lane, read anew: addresses that follow from it are then not kept from tile to tile. */
__device__ __forceinline__ uint32_t fresh_lane()
{
    uint32_t lane;

    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

/* All threads of a warpgroup. */
__device__ __forceinline__ void group_barrier(uint32_t group)
{
    asm volatile("bar.sync %0, 128;" : : "r"(group + 1) : "memory");
}

/* One thread: a chunk of a [T,H,width] tensor. */
__device__ __forceinline__ void ask_chunk(uint8_t *to, uint64_t *barrier, const CUtensorMap *map,
                                          int32_t column, const block_place &at)
{
    const int32_t x[3] = {column, at.first_head, at.query};

    cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, to, map, x,
                                    barrier);
}
__device__ __forceinline__ void put_chunk(const CUtensorMap *map, const uint8_t *from,
                                          int32_t column, const block_place &at)
{
    const int32_t x[3] = {column, at.first_head, at.query};

    cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_global, cuda::ptx::space_shared, map, x, from);
}

/* One thread: opens the barriers and asks for q and dout. */
template <int D, int N>
__device__ __forceinline__ void open_block(const dsa_bwd_wgmma_args &args, uint8_t *shared,
                                           wgmma_barriers *bar, const block_place &at)
{
    using where = layout<D, N>;

    for (int p = 0; p < PARTS; p++)
        sab::barrier_init(&bar->loaded[p], 1);
    sab::barrier_init(&bar->statistics, WARPS);
    sab::barrier_init(&bar->tail, WARPS * sab::WARP_LANES);
    for (int i = 0; i < where::STAGES; i++) {
        sab::barrier_init(&bar->ds_full[i], WARPS);
        sab::barrier_init(&bar->k_free[i], 2 * WARPS);
    }
    sab::barriers_publish();
    for (int p = 0; p < PARTS; p++) {
        const int first = where::first_chunk(p), end = where::chunks_end(p);
        sab::expect_boxes(&bar->loaded[p],
                          where::HEAD_CHUNK * static_cast<uint32_t>(end - first + 2));
        for (int c = first; c < end; c++)
            ask_chunk(shared + where::Q + c * where::HEAD_CHUNK, &bar->loaded[p], &args.q, 64 * c,
                      at);
        for (int c = first; c < first + 2; c++)
            ask_chunk(shared + where::DOUT + c * where::HEAD_CHUNK, &bar->loaded[p], &args.dout,
                      64 * c, at);
    }
}

/* A warp's 16 rows of a tile of kv, in PARTS groups of copies. Lanes i and i + 16 hold the id of
 * row i, -1 for a row of zeros. */
template <int D>
__device__ __forceinline__ void gather_rows(uint32_t tile, const uint8_t *kv, int32_t id,
                                            uint32_t warp, uint32_t lane)
{
    const uint32_t sub = lane / 8, piece = lane % 8;
    const uint32_t to = tile + 2048 * warp;
    const uint32_t even = to + sab::swizzled_piece(sub, piece),
                   odd = to + sab::swizzled_piece(4 + sub, piece);
    const uint8_t *from[4];
    bool active[4];

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int32_t row = __shfl_sync(0xffffffffu, id, 4 * i + static_cast<int>(sub));
        active[i] = row >= 0;
        from[i] = kv + static_cast<int64_t>(max(row, 0)) * (2 * D) + 16 * piece;
    }
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
#pragma unroll
        for (int c = layout<D, 64>::first_chunk(p); c < layout<D, 64>::chunks_end(p); c++) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                sab::copy_piece((i % 2 ? odd : even) + 1024 * (i / 2) + CHUNK_BYTES * c,
                                from[i] + 128 * c, active[i]);
        }
        sab::copies_commit();
    }
}

/* Half of <out, dout> over the columns of a lane: 8 at `column`, of one head of N. */
template <class T, int N>
__device__ __forceinline__ float dot8(const uint4 &out, const uint8_t *dout_tile, uint32_t head,
                                      uint32_t column)
{
    const uint4 dout = *reinterpret_cast<const uint4 *>(dout_tile + column / 64 * (128 * N) +
                                                        sab::swizzled_piece(head, column / 8 % 8));
    const uint32_t a[4] = {out.x, out.y, out.z, out.w}, b[4] = {dout.x, dout.y, dout.z, dout.w};
    float sum = 0.0f;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 x = T::unpack(a[i]), y = T::unpack(b[i]);
        sum = fmaf(x.x, y.x, fmaf(x.y, y.y, sum));
    }
    return sum;
}

/* A warpgroup: statistics of the heads of the block, and their terms of d_sink. Heads come
 * in batches of at most 8. */
template <class T, int D, int N>
__device__ __forceinline__ void take_statistics(const dsa_bwd_wgmma_args &args, uint8_t *shared,
                                                wgmma_barriers *bar, const block_place &at,
                                                uint32_t warp, uint32_t lane)
{
    constexpr uint32_t HEADS = N / WARPS, BATCH = HEADS < 8 ? HEADS : 8; /* of a warp */
    const uint8_t *dout = shared + layout<D, N>::DOUT;
    const int64_t row = static_cast<int64_t>(at.query) * args.heads + at.first_head;
    float delta = 0.0f;

#pragma unroll 1
    for (uint32_t batch = 0; batch < HEADS; batch += BATCH) {
        uint4 out[BATCH][2];
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++) {
            const uint32_t h = HEADS * warp + batch + i;
            const bool present = at.first_head + static_cast<int32_t>(h) < args.heads;
            const uint4 *from =
                reinterpret_cast<const uint4 *>(args.out + (row + h) * (2 * DSA_BWD_V)) + lane;
            out[i][0] = present ? __ldcs(from) : uint4{};
            out[i][1] = present ? __ldcs(from + 32) : uint4{};
        }
        for (int p = 0; p < PARTS && batch == 0; p++)
            sab::barrier_wait(&bar->loaded[p], 0);
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++) {
            const uint32_t h = HEADS * warp + batch + i;
            float sum = dot8<T, N>(out[i][0], dout, h, 8 * lane) +
                        dot8<T, N>(out[i][1], dout, h, 256 + 8 * lane);
#pragma unroll
            for (int step = 16; step > 0; step /= 2)
                sum += __shfl_xor_sync(0xffffffffu, sum, step);
            delta = lane == batch + i ? sum : delta;
        }
    }
    const uint32_t h = HEADS * warp + lane;
    if (lane < HEADS) {
        head_statistics s = {-INFINITY, 0.0f};
        if (at.first_head + static_cast<int32_t>(h) < args.heads) {
            s = weigh_head(__ldg(args.lse + row + h), __ldg(args.sink + at.first_head + h), delta,
                           args.gain_log2, args.scale, args.sink_terms + row + h);
        }
        reinterpret_cast<head_statistics *>(shared + layout<D, N>::STATISTICS)[h] = s;
    }
    __syncwarp();
    if (lane == 0)
        (void)cuda::ptx::mbarrier_arrive(&bar->statistics);
}

} // namespace dsa_bwd

#endif
