/*
 * mma_load.cuh - rows of q and k as 16-bit numbers in shared memory: 256 bytes a row, whose 16-byte
 * chunk c of row r lies at c ^ r % 8, so that eight rows' chunks are in different banks.
 */
#ifndef INDEXER_FWD_MMA_LOAD_CUH
#define INDEXER_FWD_MMA_LOAD_CUH

#include "half_types.cuh"
#include "mma_args.h"
#include "mma_items.cuh"
#include "stage.cuh"

namespace indexer
{

constexpr uint32_t MMA_CHUNKS = 16; /* of 8 channels, of a row */
constexpr uint32_t MMA_ROW_BYTES = 16 * MMA_CHUNKS;
constexpr uint32_t MMA_KEYS = 64; /* of a stage */

struct mma_shared {
    uint8_t q[INDEXER_COLUMNS][MMA_ROW_BYTES];
    uint8_t k[2][MMA_KEYS][MMA_ROW_BYTES];
    float weight[INDEXER_COLUMNS];
    int32_t limit[INDEXER_TOKENS]; /* columns that a row sees; below 0: not a row of this run */
};
static_assert(sizeof(mma_shared) <= INDEXER_MMA_SHARED_BYTES);

__device__ __forceinline__ uint32_t chunk_at(uint32_t row, uint32_t chunk)
{
    return row * MMA_ROW_BYTES + 16 * (chunk ^ (row & 7));
}

/* 2^(byte - 127) */
__device__ __forceinline__ float e8m0(uint32_t byte)
{
    return byte == 0 ? __uint_as_float(0x00400000u) : __uint_as_float(byte << 23);
}

/* What a chunk is in memory, `raw`, and in shared memory, and whether a key has a factor of its own
 * behind the products. A row's scales are one (fp8) or one of 32 channels (mxfp8). */
struct mma_bf16 {
    using number = sab::bf16;
    static constexpr bool SCALED = false;
    struct raw {
        uint4 eight;
    };
    static __device__ __forceinline__ raw ask(const void *rows, const void *, int64_t row,
                                              uint32_t chunk)
    {
        return {__ldg(static_cast<const uint4 *>(rows) + row * MMA_CHUNKS + chunk)};
    }
    static __device__ __forceinline__ uint4 numbers(const raw &x)
    {
        return x.eight;
    }
    template <int ROWS> struct pieces;
};

struct mma_fp8 {
    using number = sab::fp16;
    static constexpr bool SCALED = true;
    struct raw {
        uint2 eight;
    };
    static __device__ __forceinline__ raw ask(const void *rows, const void *, int64_t row,
                                              uint32_t chunk)
    {
        return {__ldg(static_cast<const uint2 *>(rows) + row * MMA_CHUNKS + chunk)};
    }
    static __device__ __forceinline__ uint4 numbers(const raw &x)
    {
        return make_uint4(sab::fp16::of_e4m3(x.eight.x), sab::fp16::of_e4m3(x.eight.x >> 16),
                          sab::fp16::of_e4m3(x.eight.y), sab::fp16::of_e4m3(x.eight.y >> 16));
    }
    template <int ROWS> struct pieces;
};

struct mma_mxfp8 {
    using number = sab::bf16;
    static constexpr bool SCALED = false;
    struct raw {
        uint2 eight;
        uint32_t scale;
    };
    static __device__ __forceinline__ raw ask(const void *rows, const void *scales, int64_t row,
                                              uint32_t chunk)
    {
        return {__ldg(static_cast<const uint2 *>(rows) + row * MMA_CHUNKS + chunk),
                __ldg(static_cast<const uint8_t *>(scales) + row * INDEXER_MX_SCALES +
                      chunk / (INDEXER_MX_GROUP / 8))};
    }
    static __device__ __forceinline__ uint32_t scaled(uint32_t pair, float scale)
    {
        const float2 two = sab::fp16::unpack(sab::fp16::of_e4m3(pair));
        return sab::bf16::pack(two.x * scale, two.y * scale);
    }
    static __device__ __forceinline__ uint4 numbers(const raw &x)
    {
        const float scale = e8m0(x.scale);
        return make_uint4(scaled(x.eight.x, scale), scaled(x.eight.x >> 16, scale),
                          scaled(x.eight.y, scale), scaled(x.eight.y >> 16, scale));
    }
    template <int ROWS> struct pieces;
};

/* A thread's chunks of ROWS rows, on their way to shared memory. Rows that do not exist are 0. */
template <class P, int ROWS> struct row_pieces {
    static constexpr int NR = ROWS * MMA_CHUNKS / INDEXER_MMA_THREADS;

    typename P::raw raw[NR];

    static __device__ __forceinline__ uint32_t row_of(int i)
    {
        return (threadIdx.x + i * INDEXER_MMA_THREADS) / MMA_CHUNKS;
    }
    __device__ __forceinline__ void ask(const void *rows, const void *scales, int64_t first,
                                        int64_t end)
    {
#pragma unroll
        for (int i = 0; i < NR; i++) {
            raw[i] = {};
            if (first + row_of(i) < end)
                raw[i] = P::ask(rows, scales, first + row_of(i), threadIdx.x % MMA_CHUNKS);
        }
    }
    __device__ __forceinline__ void put(uint8_t (*to)[MMA_ROW_BYTES]) const
    {
#pragma unroll
        for (int i = 0; i < NR; i++)
            *reinterpret_cast<uint4 *>(&to[0][0] + chunk_at(row_of(i), threadIdx.x % MMA_CHUNKS)) =
                P::numbers(raw[i]);
    }
};
template <int ROWS> struct mma_bf16::pieces : row_pieces<mma_bf16, ROWS> {
};
template <int ROWS> struct mma_fp8::pieces : row_pieces<mma_fp8, ROWS> {
};
template <int ROWS> struct mma_mxfp8::pieces : row_pieces<mma_mxfp8, ROWS> {
};

/* The 256 (query, head) pairs of an item, and what its rows of a run see. */
template <class P, int HEADS>
__device__ __forceinline__ void load_queries(const indexer_fwd_call &c, mma_shared &s,
                                             const row_run &run, uint32_t first_row)
{
    constexpr int part = 64; /* rows at once */

#pragma unroll 1
    for (int i = 0; i < INDEXER_COLUMNS; i += part) {
        typename P::template pieces<part> rows;

        rows.ask(c.q, c.q_scale, static_cast<int64_t>(first_row) * HEADS + i, c.rows * HEADS);
        rows.put(s.q + i);
    }
    for (uint32_t i = threadIdx.x; i < INDEXER_COLUMNS; i += INDEXER_MMA_THREADS)
        s.weight[i] = weight_at<HEADS>(c, first_row + i / HEADS, i % HEADS);
    if (threadIdx.x < INDEXER_COLUMNS / HEADS)
        s.limit[threadIdx.x] = limit_at(c, run, first_row + threadIdx.x);
}

} // namespace indexer

#endif
