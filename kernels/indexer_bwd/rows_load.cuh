/*
 * rows_load.cuh - the shared memory of a block that works on one query row, what fills it, and how
 * results leave it.
 */
#ifndef INDEXER_BWD_ROWS_LOAD_CUH
#define INDEXER_BWD_ROWS_LOAD_CUH

#include "gather.cuh"
#include "half_types.cuh"
#include "rows_entries.cuh"
#include "stage.cuh"
#include "store_matrix.cuh"

namespace indexer_bwd
{

constexpr uint32_t CHUNK_BYTES = 8192; /* 64 keys of 64 columns, swizzled by rows of 128 bytes */
constexpr uint32_t WARPS = INDEXER_BWD_ROWS_THREADS / 32;
constexpr uint32_t ROW_BYTES = 2 * INDEXER_BWD_WIDTH; /* of q and k */

/* Staging rows of a warp: 64 columns of f32 and 32 bytes, so that stores of four rows meet all
 * banks. */
constexpr uint32_t ADD_PITCH = 288, ADD_WARP = 16 * ADD_PITCH;

/* One row of N heads. Q and K are two chunks of 64 columns each. */
template <int N> struct layout {
    static constexpr uint32_t HEAD_CHUNK = 128 * N;
    static constexpr uint32_t Q = 0;
    static constexpr uint32_t K = Q + 2 * HEAD_CHUNK;  /* two stages */
    static constexpr uint32_t DQ = K;                  /* at the end; rows are heads, as in Q */
    static constexpr uint32_t A = K + 4 * CHUNK_BYTES; /* rows are keys, columns heads */
    static constexpr uint32_t DW = A;                  /* at the end: [WARPS][N] f32 */
    static constexpr uint32_t ADD = A + CHUNK_BYTES;
    static constexpr uint32_t WEIGHTS = ADD + WARPS * ADD_WARP; /* [N] f32, times sm_scale */
    static constexpr uint32_t FACTS = WEIGHTS + 4 * N;
    static constexpr uint32_t LANDED = FACTS + WARPS * static_cast<uint32_t>(sizeof(row_facts));
    static constexpr uint32_t BYTES = LANDED + 2 * 8; /* a barrier a stage of K */
    /* three blocks share a multiprocessor with 228 KiB, a KiB of each is the system's */
    static_assert(3 * (BYTES + 1024) <= 228 * 1024);

    __device__ static __forceinline__ uint32_t k_of(int32_t tile)
    {
        return K + 2 * CHUNK_BYTES * (static_cast<uint32_t>(tile) % 2);
    }
};

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

/* A warpgroup: the heads of a row to a tile of two chunks, as copies on their way. */
template <int N>
__device__ __forceinline__ void load_heads(uint32_t tile, const indexer_bwd_call &c, int64_t row,
                                           uint32_t thread)
{
    const uint32_t piece = thread % 16;
    const uint8_t *from = reinterpret_cast<const uint8_t *>(c.q) + row * (N * ROW_BYTES);
    const uint32_t to = tile + layout<N>::HEAD_CHUNK * (piece / 8);

#pragma unroll
    for (uint32_t i = 0; i < N / 8; i++) {
        const uint32_t head = 8 * i + thread / 16;
        sab::copy_piece(to + sab::swizzled_piece(head, piece % 8),
                        from + ROW_BYTES * head + 16 * piece, true);
    }
}

/* A warpgroup: the weights of a row, times sm_scale. */
template <int N>
__device__ __forceinline__ void load_weights(float *to, const indexer_bwd_call &c, int64_t row,
                                             uint32_t thread)
{
    if (thread < N) {
        const uint32_t w = __ldg(c.w + row * N + thread);
        to[thread] = __uint_as_float(w << 16) * c.sm_scale;
    }
}

/* A warp's 16 rows of a tile of keys, as copies on their way. Lanes i and i + 16 hold the key of
 * row i, -1 for a row of zeros. */
__device__ __forceinline__ void gather_rows(uint32_t tile, const indexer_bwd_call &c, int32_t key,
                                            uint32_t warp, uint32_t lane)
{
    const uint32_t sub = lane / 8, piece = lane % 8;
    const uint32_t to = tile + 2048 * warp;
    const uint32_t even = to + sab::swizzled_piece(sub, piece),
                   odd = to + sab::swizzled_piece(4 + sub, piece);

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int32_t of_row = __shfl_sync(0xffffffffu, key, 4 * i + static_cast<int>(sub));
        const uint8_t *from = reinterpret_cast<const uint8_t *>(c.k) +
                              static_cast<int64_t>(max(of_row, 0)) * ROW_BYTES + 16 * piece;
        const uint32_t at = (i % 2 ? odd : even) + 1024 * (i / 2);
        sab::copy_piece(at, from, of_row >= 0);
        sab::copy_piece(at + CHUNK_BYTES, from + 128, of_row >= 0);
    }
}

/* One thread: `bytes` of f32 in shared memory, added to global memory by the copy engine. */
__device__ __forceinline__ void add_bulk(float *to, uint32_t from, uint32_t bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 :
                 : "l"(to), "r"(from), "r"(bytes)
                 : "memory");
}

/* What this thread has asked for until here is one group. */
__device__ __forceinline__ void adds_commit()
{
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

/* What this thread has asked for has been read from shared memory. */
__device__ __forceinline__ void adds_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
}

/* A warp's 16 keys x 64 columns of dK, from column 64 `chunk` on, laid out as accumulators of
 * wgmma.cuh, by way of its staging rows. Lane i < 16 holds the key of row i, -1: none. */
__device__ __forceinline__ void add_keys(float *sums, uint8_t *rows, const float (&sum)[32],
                                         int32_t key, uint32_t chunk, uint32_t lane)
{
    uint8_t *to = rows + ADD_PITCH * (lane / 4) + 8 * (lane % 4);

    adds_wait_read();
    __syncwarp();
#pragma unroll
    for (uint32_t j = 0; j < 8; j++) {
#pragma unroll
        for (uint32_t r = 0; r < 2; r++)
            *reinterpret_cast<float2 *>(to + 8 * ADD_PITCH * r + 32 * j) =
                make_float2(sum[4 * j + 2 * r], sum[4 * j + 2 * r + 1]);
    }
    sab::fence_async_reads();
    __syncwarp();
    if (lane < 16 && key >= 0)
        add_bulk(sums + static_cast<int64_t>(key) * INDEXER_BWD_WIDTH + 64 * chunk,
                 sab::shared_address(rows) + ADD_PITCH * lane, 256);
    adds_commit();
}

/* A warpgroup: dQ, transposed in the accumulators (rows are columns 64 b + 16 warp.. of block b,
 * columns are heads), by way of a tile of two chunks to global memory. */
template <int N>
__device__ __forceinline__ void store_dq(const indexer_bwd_call &c, int64_t row, uint8_t *tile,
                                         const float (&dq)[2][N / 2], uint32_t group,
                                         uint32_t thread)
{
    const uint32_t base = sab::shared_address(tile), lane = thread % 32, warp = thread / 32;
    constexpr uint32_t CHUNK = layout<N>::HEAD_CHUNK;

#pragma unroll
    for (uint32_t b = 0; b < 2; b++) {
#pragma unroll
        for (uint32_t j = 0; j < N / 8; j += 2) {
            uint32_t packed[4]; /* 8 columns of 8 heads, further columns, then the next heads */
#pragma unroll
            for (uint32_t i = 0; i < 4; i++) {
                const float *d = dq[b] + 4 * (j + i / 2) + 2 * (i % 2);
                packed[i] = sab::bf16::pack(d[0], d[1]);
            }
            sab::stmatrix_x4_across(
                base + CHUNK * b +
                    sab::swizzled_piece(8 * (j + lane / 16) + lane % 8, 2 * warp + lane / 8 % 2),
                packed);
        }
    }
    group_barrier(group);
    const uint32_t piece = thread % 16;
    uint8_t *to = reinterpret_cast<uint8_t *>(c.dq) + row * (N * ROW_BYTES) + 16 * piece;
#pragma unroll
    for (uint32_t i = 0; i < N / 8; i++) {
        const uint32_t head = 8 * i + thread / 16;
        const uint8_t *from = tile + CHUNK * (piece / 8) + sab::swizzled_piece(head, piece % 8);
        *reinterpret_cast<uint4 *>(to + ROW_BYTES * head) = *reinterpret_cast<const uint4 *>(from);
    }
}

/* A warpgroup: dW from the sums of the lanes, which hold heads 8 j + 2 t and the next of their
 * keys, by way of `parts`, [WARPS][N]. */
template <int N>
__device__ __forceinline__ void store_dw(const indexer_bwd_call &c, int64_t row, float *parts,
                                         float (&dw)[N / 4], uint32_t group, uint32_t thread)
{
    const uint32_t lane = thread % 32, warp = thread / 32;

#pragma unroll
    for (uint32_t i = 0; i < N / 4; i++) {
#pragma unroll
        for (int step = 16; step >= 4; step /= 2)
            dw[i] += __shfl_xor_sync(0xffffffffu, dw[i], step);
        if (lane < 4)
            parts[N * warp + 8 * (i / 2) + 2 * lane + i % 2] = dw[i];
    }
    group_barrier(group);
    if (thread < N / 2) {
        float sum[2];
#pragma unroll
        for (uint32_t e = 0; e < 2; e++) {
            const float *of = parts + 2 * thread + e;
            sum[e] = (of[0] + of[N] + (of[2 * N] + of[3 * N])) * c.sm_scale;
        }
        reinterpret_cast<uint32_t *>(c.dw)[row * (N / 2) + thread] =
            sab::bf16::pack(sum[0], sum[1]);
    }
}

} // namespace indexer_bwd

#endif
