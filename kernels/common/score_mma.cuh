/*
 * score_mma.cuh - the products of the score operators by warps, for every architecture: 16 keys
 * against the (query, head) pairs of an item, which lie in shared memory.
 *
 * Each of eight warps has a ring of its own, whose places hold 32 columns of its 16 keys: it copies
 * and multiplies without waiting for the other warps. Rows there are 64 bytes; piece c of row r
 * lies at c ^ r / 2 % 4, so that eight rows' pieces are in different banks.
 */
#ifndef SAB_SCORE_MMA_CUH
#define SAB_SCORE_MMA_CUH

#include "gather.cuh"
#include "mma_half.cuh"
#include "score_args.h"
#include "stage.cuh"

namespace sab
{

constexpr int SCORE_MMA_PLACES = 3, SCORE_MMA_WARPS = SCORE_MMA_THREADS / 32;
constexpr int SCORE_MMA_PLACE_BYTES = 64 * SCORE_MMA_KEYS;

template <int WIDTH, int PAIRS> struct score_mma_shared {
    uint8_t q[WIDTH / SCORE_SEGMENT][PAIRS][2 * SCORE_SEGMENT]; /* swizzled as for wgmma */
    uint8_t k[SCORE_MMA_WARPS][SCORE_MMA_PLACES][SCORE_MMA_PLACE_BYTES];
    float weight[PAIRS];
};

/* A lane's two rows of k: lane / 4 and lane / 4 + 8 of a chunk of 16. NULL: zeros. */
struct score_mma_rows {
    const uint16_t *key[2];
};

/* All threads: asks for the pairs' rows of q; row_of(pair) is one or NULL, and that is zeros. */
template <int WIDTH, int PAIRS, class F>
__device__ __forceinline__ void score_mma_load_q(score_mma_shared<WIDTH, PAIRS> &s, const void *q,
                                                 const F &row_of)
{
    constexpr int PIECES = 2 * WIDTH / 16;
    const uint32_t base = shared_address(s.q);

    for (uint32_t i = threadIdx.x; i < PAIRS * PIECES; i += SCORE_MMA_THREADS) {
        const uint32_t pair = i / PIECES, piece = i % PIECES;
        const uint16_t *from = row_of(pair);
        copy_piece(base + piece / 8 * (128 * PAIRS) + swizzled_piece(pair, piece % 8),
                   from ? static_cast<const void *>(from + 8 * piece) : q, from != nullptr);
    }
    copies_commit();
    copies_wait<0>();
}

/* The weights of the lane's columns, from shared memory each time: registers are few. */
template <int WIDTH, int PAIRS>
__device__ __forceinline__ void score_mma_weights(float (&weight)[PAIRS / 4],
                                                  const score_mma_shared<WIDTH, PAIRS> &s)
{
#pragma unroll
    for (int j = 0; j < PAIRS / 8; j++) {
        const float2 pair =
            *reinterpret_cast<const float2 *>(&s.weight[8 * j + 2 * (threadIdx.x % 4)]);
        weight[2 * j] = pair.x;
        weight[2 * j + 1] = pair.y;
    }
}

/* x[j] += the products of 16 keys in `place`, columns 32 * part.., with pairs 8j.. */
template <int PAIRS>
__device__ __forceinline__ void score_mma_multiply(float (&x)[PAIRS / 8][4], uint32_t place,
                                                   uint32_t q, uint32_t part)
{
    const uint32_t lane = threadIdx.x % 32, row = lane % 16;
    const uint32_t segment = q + part / 2 * (128 * PAIRS);

#pragma unroll
    for (uint32_t k = 0; k < 2; k++) { /* 16 columns */
        uint32_t a[4];

        ldmatrix_x4(a, place + 64 * row + 16 * ((2 * k + lane / 16) ^ (row / 2 & 3)));
#pragma unroll
        for (int j = 0; j < PAIRS / 8; j += 2) {
            uint32_t b[4]; /* of 16 pairs */

            ldmatrix_x4(b, segment + swizzled_piece(8 * (j + lane / 16) + lane % 8,
                                                    4 * (part % 2) + 2 * k + lane / 8 % 2));
            mma_half<bf16>(x[j], a, b[0], b[1]);
            mma_half<bf16>(x[j + 1], a, b[2], b[3]);
        }
    }
}

/* One warp: `chunks` chunks of 16 keys. next() gives the rows of one after the other, ahead of
 * their products; put(i, x) takes the products of the i-th. */
template <int WIDTH, int PAIRS, class Next, class Put>
__device__ __forceinline__ void score_mma_stream(score_mma_shared<WIDTH, PAIRS> &s, const void *k,
                                                 uint32_t chunks, Next &&next, Put &&put)
{
    constexpr uint32_t PARTS = WIDTH / 32;
    const uint32_t lane = threadIdx.x % 32, row = lane / 4, piece = lane % 4;
    const uint32_t ring = shared_address(s.k[threadIdx.x / 32]), q = shared_address(s.q);
    const uint32_t to = ring + 64 * row + 16 * (piece ^ (row / 2 & 3)); /* rows + 8 lie alike */
    uint32_t left = chunks * PARTS, part = 0, in = 0, out = 0;
    score_mma_rows rows = {};

    auto ask = [&] {
        if (left > 0) {
            if (part == 0)
                rows = next();
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const uint16_t *from = rows.key[r];
                copy_piece(to + in + 512 * r,
                           from ? static_cast<const void *>(from + 32 * part + 8 * piece) : k,
                           from != nullptr);
            }
            left--;
            part = part + 1 == PARTS ? 0 : part + 1;
        }
        copies_commit();
        in = in + SCORE_MMA_PLACE_BYTES == sizeof(s.k[0]) ? 0 : in + SCORE_MMA_PLACE_BYTES;
    };
#pragma unroll
    for (int i = 0; i < SCORE_MMA_PLACES - 1; i++)
        ask();
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        float x[PAIRS / 8][4] = {};

#pragma unroll 1
        for (uint32_t i = 0; i < PARTS; i++) {
            copies_wait<SCORE_MMA_PLACES - 2>();
            __syncwarp(); /* and nobody reads the place before it any more */
            ask();
            score_mma_multiply<PAIRS>(x, ring + out, q, i);
            out = out + SCORE_MMA_PLACE_BYTES == sizeof(s.k[0]) ? 0 : out + SCORE_MMA_PLACE_BYTES;
        }
        put(chunk, x);
    }
    copies_wait<0>();
    __syncwarp();
}

} // namespace sab

#endif
