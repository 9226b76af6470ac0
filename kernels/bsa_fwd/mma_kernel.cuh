/*
 * mma_kernel.cuh - block-sparse attention of one 64-query tile by warp-wide products.
 *
 * A block of four warps serves one query tile of one head, from the last slot of its list to the
 * first; a warp owns 16 query rows. Q, K and V pass through one ring of three stages, asked for by
 * one lane of warp 0: what was read last makes room for what is needed in one fold's time.
 *
 * Limits, in clocks of an H200 multiprocessor for 64 queries x 64 keys: tensor 765 (2743 operations
 * a clock), shared memory 1024 (each warp reads all of K and V: 128 KiB), L2 feed 800. Predicted
 * there: 330 to 380 TFLOPS; on sm_120a the tensor cores (2048 clocks) are the limit.
 */
#ifndef BSA_MMA_KERNEL_CUH
#define BSA_MMA_KERNEL_CUH

#include "gather.cuh"
#include "mma_args.h"
#include "mma_half.cuh"
#include "rows.cuh"
#include "softmax.cuh"
#include "stage.cuh"

namespace bsa
{

/* A key block to fold: the number of its last valid token, which holds block and valid count in one
 * register. -1: there is none. */
struct fold {
    int32_t last;

    __device__ __forceinline__ bool exists() const
    {
        return last >= 0;
    }
    __device__ __forceinline__ int32_t first_token() const
    {
        return last & -BSA_BLOCK;
    }
    __device__ __forceinline__ int32_t valid() const
    {
        return (last & (BSA_BLOCK - 1)) + 1;
    }
};

/* Read anew where it is needed, so that what follows from it occupies no register in between. */
__device__ __forceinline__ int32_t my_tile()
{
    int32_t block;

    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    return block;
}

/* The next fold of a row, of which `left` slots have not been looked at. */
__device__ __forceinline__ fold take_fold(const bsa_rows &args, row &r, int32_t &left)
{
    while (left > 0) {
        const int32_t block = r.block(args, --left);

        if (args.reading.sizes_mode != 0)
            r.sizes = row::sizes_of(args, my_tile());
        const int32_t valid = r.valid(args, block);
        if (valid > 0)
            return {BSA_BLOCK * block + valid - 1};
    }
    return {-1};
}

/* A stage of the ring and the parity of its barriers' current use. */
struct mma_place {
    uint32_t stage, parity;

    __device__ __forceinline__ mma_place next() const
    {
        const bool wraps = stage + 1 == BSA_MMA_STAGES;
        return {wraps ? 0 : stage + 1, wraps ? parity ^ 1 : parity};
    }
};

template <class T> struct mma_tile {
    const bsa_mma_args &args;
    mma_shared *shared;
    uint32_t warp, lane;

    __device__ __forceinline__ uint8_t *stage(const mma_place &at) const
    {
        return shared->ring[at.stage];
    }

    /* One lane: fills a stage again for the next time, once everybody has left it. */
    __device__ __forceinline__ void reload(const mma_place &at, const CUtensorMap *map,
                                           int32_t first) const
    {
        sab::barrier_wait(&shared->empty[at.stage], at.parity);
        sab::load_box(stage(at), &shared->full[at.stage], BSA_MMA_TILE_BYTES, map, 0, first, 0,
                      my_tile() / args.rows.query_tiles / args.rows.group);
    }

    /* One lane: the stages that nobody has used. */
    __device__ __forceinline__ void load_first(const fold &first) const
    {
        const int32_t head = my_tile() / args.rows.query_tiles;
        const int32_t tile = my_tile() % args.rows.query_tiles, kv_head = head / args.rows.group;

        sab::load_box(shared->ring[0], &shared->full[0], BSA_MMA_TILE_BYTES, &args.maps.q, 0,
                      BSA_BLOCK * tile, 0, head);
        sab::load_box(shared->ring[1], &shared->full[1], BSA_MMA_TILE_BYTES, &args.maps.k, 0,
                      first.first_token(), 0, kv_head);
        sab::load_box(shared->ring[2], &shared->full[2], BSA_MMA_TILE_BYTES, &args.maps.v, 0,
                      first.first_token(), 0, kv_head);
    }

    __device__ __forceinline__ void open_stages(const fold &first) const
    {
        if (warp == 0 && sab::elect_one()) {
            for (int i = 0; i < BSA_MMA_STAGES; i++) {
                sab::barrier_init(&shared->full[i], 1);
                sab::barrier_init(&shared->empty[i], BSA_MMA_THREADS / 32);
            }
            sab::barriers_publish();
            load_first(first);
        }
        __syncthreads();
    }

    /* Where matrix lane / 8 of an ldmatrix reads its row lane % 8 in 16 rows x 16 channels: the
     * second matrix is 8 channels on (`along`) or 8 rows down, the third one the other way. */
    __device__ __forceinline__ uint32_t fragments(const mma_place &at, bool along) const
    {
        const uint32_t second = lane / 8 % 2, third = lane / 16;

        return sab::shared_address(stage(at)) +
               sab::swizzled_piece(8 * (along ? third : second) + lane % 8, along ? second : third);
    }
    /* The same 16 * r rows and 16 * c channels on: the swizzle exchanges pieces by XOR. */
    static __device__ __forceinline__ uint32_t move(uint32_t address, int r, int c)
    {
        return (address ^ (c % 4 * 32)) + c / 4 * BSA_MMA_HALF_BYTES + r * 2048;
    }

    __device__ __forceinline__ void take_q(uint32_t (&q)[8][4], const mma_place &at) const
    {
        const uint32_t address = fragments(at, false) + warp * 2048;

        sab::barrier_wait(&shared->full[at.stage], at.parity);
#pragma unroll
        for (int s = 0; s < 8; s++)
            sab::ldmatrix_x4(q[s], move(address, 0, s));
        sab::stage_release(&shared->empty[at.stage], lane);
    }

    __device__ __forceinline__ void multiply_qk(float (&scores)[8][4], const uint32_t (&q)[8][4],
                                                const mma_place &at) const
    {
        const uint32_t address = fragments(at, true);

        sab::barrier_wait(&shared->full[at.stage], at.parity);
#pragma unroll
        for (int s = 0; s < 8; s++) {
#pragma unroll
            for (int pair = 0; pair < 4; pair++) {
                uint32_t b[4];
                sab::ldmatrix_x4(b, move(address, pair, s));
                sab::mma_half<T>(scores[2 * pair], q[s], b[0], b[1]);
                sab::mma_half<T>(scores[2 * pair + 1], q[s], b[2], b[3]);
            }
        }
        sab::stage_release(&shared->empty[at.stage], lane);
    }

    __device__ __forceinline__ void multiply_pv(float (&o)[16][4], const uint32_t (&p)[4][4],
                                                const mma_place &at) const
    {
        const uint32_t address = fragments(at, false);

        sab::barrier_wait(&shared->full[at.stage], at.parity);
#pragma unroll
        for (int s = 0; s < 4; s++) {
#pragma unroll
            for (int pair = 0; pair < 8; pair++) {
                uint32_t b[4];
                sab::ldmatrix_x4_across(b, move(address, s, pair));
                sab::mma_half<T>(o[2 * pair], p[s], b[0], b[1]);
                sab::mma_half<T>(o[2 * pair + 1], p[s], b[2], b[3]);
            }
        }
        sab::stage_release(&shared->empty[at.stage], lane);
    }

    __device__ __forceinline__ void softmax(float (&scores)[8][4], float (&o)[16][4],
                                            row_state &state, uint32_t (&p)[4][4],
                                            int32_t valid) const
    {
        float flat[32], sums[64], factor[2];

#pragma unroll
        for (int i = 0; i < 32; i++)
            flat[i] = scores[i / 4][i % 4];
        if (valid < BSA_BLOCK)
            mask(flat, valid);
        raise(flat, args.scale_log2, state, factor);
        weigh<T>(flat, args.scale_log2, state, p);
#pragma unroll
        for (int i = 0; i < 64; i++)
            sums[i] = o[i / 4][i % 4];
        rescale(sums, factor);
#pragma unroll
        for (int i = 0; i < 64; i++)
            o[i / 4][i % 4] = sums[i];
    }

    /* Folds everything from `now` on, which exists and was asked for. Before K, `at` is where the
     * tile before it lies: Q or V, whose stage takes the next K. */
    __device__ __forceinline__ void fold_row(row &r, int32_t left, fold now, float (&o)[16][4],
                                             row_state &state) const
    {
        mma_place at = {0, 0};
        fold next = take_fold(args.rows, r, left);
        uint32_t q[8][4];

        take_q(q, at);
        while (now.exists()) {
            const mma_place k = at.next(), v = k.next();
            float scores[8][4] = {};
            uint32_t p[4][4];

            multiply_qk(scores, q, k);
            if (warp == 0 && next.exists() && sab::elect_one())
                reload(at, &args.maps.k, next.first_token());
            __syncwarp();
            softmax(scores, o, state, p, now.valid());
            if (warp == 0 && next.exists() && sab::elect_one())
                reload(k, &args.maps.v, next.first_token());
            __syncwarp();
            now = next;
            next = take_fold(args.rows, r, left);
            multiply_pv(o, p, v);
            at = v;
        }
    }

    __device__ __forceinline__ void store(const float (&o)[16][4], const row_state &state) const
    {
        const int32_t head = my_tile() / args.rows.query_tiles;
        const int32_t first =
            BSA_BLOCK * (my_tile() % args.rows.query_tiles) + 16 * static_cast<int32_t>(warp);
        const int64_t row = static_cast<int64_t>(head) * args.seqlen_q + first;
        float flat[64];

#pragma unroll
        for (int i = 0; i < 64; i++)
            flat[i] = o[i / 4][i % 4];
        store_rows<T>(flat, state, args.out + row * BSA_HEAD_DIM,
                      args.lse ? args.lse + row : nullptr, args.seqlen_q - first);
    }
};

template <class T>
__global__ void __launch_bounds__(BSA_MMA_THREADS, 3)
    mma_kernel(const __grid_constant__ bsa_mma_args args)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t lane = threadIdx.x % 32, warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    float o[16][4] = {};
    row_state state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
    row r;

    r.open(args.rows, my_tile());
    int32_t left = r.nr;
    const fold first = take_fold(args.rows, r, left);
    const mma_tile<T> mine = {args, reinterpret_cast<mma_shared *>(memory), warp, lane};
    if (first.exists()) {
        mine.open_stages(first);
        mine.fold_row(r, left, first, o, state);
    }
    mine.store(o, state);
}

} // namespace bsa

#endif
