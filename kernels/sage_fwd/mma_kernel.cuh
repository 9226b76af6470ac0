/*
 * mma_kernel.cuh - Sage attention of one 64-query tile by warp-wide 8-bit products.
 *
 * A block of four warps serves one (batch, head, query tile); a warp owns 16 query rows. K and V
 * blocks arrive by TMA in two stages each, asked for by one lane of warp 0 a fold ahead; stage s of
 * K or V holds the folds i with i % 2 = s.
 */
#ifndef SAGE_MMA_KERNEL_CUH
#define SAGE_MMA_KERNEL_CUH

#include "mma_keys.h"
#include "mma_maps.cuh"
#include "mma_math.cuh"
#include "mma_place.cuh"
#include "mma_walk.cuh"
#include "stage.cuh"

namespace sage
{

struct barriers {
    uint64_t q_full;
    uint64_t k_full[2], v_full[2];
    uint64_t k_empty[2], v_empty[2];
};
static_assert(sizeof(barriers) <= SAGE_MMA_SHARED_BYTES - SAGE_MMA_BARRIERS_AT);

/* What one elected lane of warp 0 asks TMA for. */
struct loader {
    const sage_mma_maps &maps;
    uint8_t *shared;
    barriers *bar;
    place at;

    __device__ __forceinline__ void q() const
    {
        sab::load_box(shared + SAGE_MMA_V_AT + SAGE_MMA_TILE_BYTES, &bar->q_full,
                      SAGE_MMA_TILE_BYTES, &maps.q, 0, SAGE_BLOCK * at.tile, at.head, at.batch);
    }
    __device__ __forceinline__ void k(uint32_t stage, const fold &f) const
    {
        sab::load_box(shared + SAGE_MMA_K_AT + stage * SAGE_MMA_TILE_BYTES, &bar->k_full[stage],
                      SAGE_MMA_TILE_BYTES, &maps.k, 0, f.first_token(), at.head, at.batch);
    }
    __device__ __forceinline__ void v(uint32_t stage, const fold &f) const
    {
        sab::load_box(shared + SAGE_MMA_V_AT + stage * SAGE_MMA_TILE_BYTES, &bar->v_full[stage],
                      SAGE_MMA_TILE_BYTES, &maps.v, f.first_token(), 0, at.head, at.batch);
    }
};

/* Initialises the barriers and asks for Q and the first block. */
template <class Args>
__device__ __forceinline__ void open_stages(const Args &args, const loader &load, const fold &first,
                                            uint32_t warp)
{
    if (warp == 0 && sab::elect_one()) {
        barriers *bar = load.bar;

        sab::barrier_init(&bar->q_full, 1);
#pragma unroll
        for (int stage = 0; stage < 2; stage++) {
            sab::barrier_init(&bar->k_full[stage], 1);
            sab::barrier_init(&bar->v_full[stage], 1);
            sab::barrier_init(&bar->k_empty[stage], SAGE_MMA_THREADS / 32);
            sab::barrier_init(&bar->v_empty[stage], SAGE_MMA_THREADS / 32);
        }
        sab::barriers_publish();
        acquire_maps(args);
        load.q();
        load.k(0, first);
        load.v(0, first);
    }
    __syncthreads();
}

/* Q of the warp's rows, for the whole row of blocks. It arrives in the second stage of V, which is
 * released here for the first time. */
__device__ __forceinline__ void take_q(uint32_t (&q)[4][4], const loader &load, uint32_t warp,
                                       uint32_t lane)
{
    const uint32_t tile = sab::shared_address(load.shared) + SAGE_MMA_V_AT + SAGE_MMA_TILE_BYTES;

    sab::barrier_wait(&load.bar->q_full, 0);
#pragma unroll
    for (int step = 0; step < 4; step++)
        sab::ldmatrix_x4(q[step], tile + sage_mma_q_address(lane, warp, step));
    sab::stage_release(&load.bar->v_empty[1], lane);
}

/*
 * Folds every block of the row into o and state. `now` is the first fold, which exists and has been
 * asked for. At fold i, K of fold i + 1 is asked for before the products, V after the softmax: by
 * then the other warps have mostly left the stages that they overwrite, those of fold i - 1.
 *
 * Parities, counting from 0: fold i uses its `full` barriers for the (i / 2)-th time. The release
 * of K by fold i - 1 is number (i - 1) / 2 of its barrier; at i = 0 it is the phase before the
 * first, which counts as complete. That of V is number i / 2, since Q was released there before.
 */
template <class Key>
__device__ __forceinline__ void fold_row(const sage_mma_args &args, const loader &load,
                                         walk<Key> &slots, fold now, float q_scale, uint32_t warp,
                                         uint32_t lane, float (&o)[16][4], softmax &state)
{
    const uint32_t base = sab::shared_address(load.shared);
    const uint32_t k_address = base + SAGE_MMA_K_AT + sage_mma_k_address(lane);
    const uint32_t v_address = base + SAGE_MMA_V_AT + sage_mma_v_address(lane);
    const float *k_scales = args.k_scale + static_cast<int64_t>(load.at.bh) * args.key_blocks;
    barriers *bar = load.bar;
    fold next = slots.take(args);
    uint32_t q[4][4];

    take_q(q, load, warp, lane);
    for (uint32_t i = 0; now.exists(); i++) {
        const uint32_t stage = i & 1, parity = i >> 1 & 1;
        const float k_scale = __ldg(k_scales + now.block());
        float x[8][4], factor[2];
        uint32_t p[2][4];

        if (warp == 0 && next.exists() && sab::elect_one()) {
            sab::barrier_wait(&bar->k_empty[stage ^ 1], (i - 1) >> 1 & 1);
            load.k(stage ^ 1, next);
        }
        __syncwarp();
        sab::barrier_wait(&bar->k_full[stage], parity);
        multiply_qk(x, q, k_address + stage * SAGE_MMA_TILE_BYTES);
        sab::stage_release(&bar->k_empty[stage], lane);
        if (!Key::full_tiles && now.valid() < SAGE_BLOCK)
            mask_columns(x, now.valid(), lane);
        fold_scores(x, q_scale, k_scale, state, factor, p);
        rescale(o, factor);
        if (warp == 0 && next.exists() && sab::elect_one()) {
            sab::barrier_wait(&bar->v_empty[stage ^ 1], parity);
            load.v(stage ^ 1, next);
        }
        __syncwarp();
        now = next;
        next = slots.take(args);
        sab::barrier_wait(&bar->v_full[stage], parity);
        multiply_pv(o, p, v_address + stage * SAGE_MMA_TILE_BYTES);
        sab::stage_release(&bar->v_empty[stage], lane);
    }
}

template <class Key, class Args>
__global__ void __launch_bounds__(SAGE_MMA_THREADS, 3) mma_kernel(const __grid_constant__ Args args)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t lane = threadIdx.x & 31, warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
    const place at(args);

    if constexpr (Key::always_empty) {
        store_zeros(at.out(args), at.rows(args));
    } else {
        const loader load = {maps_of(args), shared,
                             reinterpret_cast<barriers *>(shared + SAGE_MMA_BARRIERS_AT), at};
        walk<Key> slots(args, at.batch, at.bh, at.tile);
        const fold first = slots.template take<true>(args);
        float o[16][4] = {};
        softmax state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};

        if (!first.exists()) {
            store_zeros(at.out(args), at.rows(args));
            return;
        }
        open_stages(args, load, first, warp);
        /* one scale for 32 rows: two warps */
        const int64_t scales = static_cast<int64_t>(at.bh) * (4 * ((args.query_tiles + 1) / 2));
        const float q_scale =
            __ldg(args.q_scale + scales + 2 * at.tile + warp / 2) * args.scale_log2;
        fold_row(args, load, slots, first, q_scale, warp, lane, o, state);
        __syncthreads(); /* the stages of K turn into the warps' result tiles */
        const place end(args);
        store_rows(o, state, args.v_scale + static_cast<int64_t>(end.bh) * SAGE_HEAD_DIM,
                   shared + warp * 16 * 256, end.out(args) + warp * 16 * SAGE_HEAD_DIM,
                   end.rows(args) - static_cast<int>(warp) * 16, lane);
    }
}

} // namespace sage

/* Defines the table of one source file. */
#define SAGE_MMA_VARIANT(N, M, F, U, C)                                                            \
    {{N, M, F, U, C},                                                                              \
     sage::mma_kernel<sage::key<N, M, F, U, C>, sage_mma_by_value>,                                \
     sage::mma_kernel<sage::key<N, M, F, U, C>, sage_mma_in_memory>},
#define SAGE_MMA_DEFINE(name, M, F)                                                                \
    const struct sage_mma_variant sage_mma_##name[SAGE_MMA_COUNTS_NR] = {                          \
        SAGE_MMA_COUNTS(SAGE_MMA_VARIANT, M, F)};

#endif
