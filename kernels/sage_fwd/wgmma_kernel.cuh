/*
 * wgmma_kernel.cuh - Sage attention of one 64-query tile by warpgroup-wide 8-bit products.
 *
 * A block of one warpgroup serves one (batch, head, query tile), two key blocks a step; three such
 * blocks live on a multiprocessor and hide each other's latencies: while one computes exponentials
 * the others multiply. K and V arrive by TMA in two stages each, asked for by
 * one lane of a warp, another one from step to step.
 *
 * Limits, in clocks of a multiprocessor for 64 queries x 64 keys (4096 scores):
 *   tensor          256   128 for QK, 128 for PV, 8192 operations a clock
 *   exp2            256   16 a clock
 *   shared memory   290   TMA writes 128, V 64, K 64, Q 32 (which is read once for two blocks)
 *   issue           280   a score costs 1/2 max, 1 conversion, 1 FMA, 1 exp2, 1 add, 1/2 pack and 1
 *                         FMA of promotion: 192; the rest is the fixed work of a step
 *   L2 feed         400   16 KiB at 39 to 41 bytes a clock
 * All but the last are level, so what counts is that they overlap.
 *
 * Two blocks a step halve the promotions, the barriers and the reductions over a row. The tensor
 * cores keep about 13 bits of mantissa while they add up P V; 128 keys, four of their steps, are
 * the most that they add before the sum goes over to true fp32 (contract, section 13). The running
 * maximum is taken over both blocks of a step: the attribute rescale says lazy_pairs.
 *
 * Nothing here reads a stage of K, V or Q through the generic proxy: the products read it through
 * the async proxy, like TMA writes it, so that a finished product needs no proxy fence before its
 * stage is filled again.
 */
#ifndef SAGE_WGMMA_KERNEL_CUH
#define SAGE_WGMMA_KERNEL_CUH

#include "mma_maps.cuh"
#include "stage.cuh"
#include "wgmma_keys.h"
#include "wgmma_list.cuh"
#include "wgmma_math.cuh"

namespace sage
{

/* Step i uses stage i % 2 of K and of V, and awaits their barriers with parity i / 2 % 2. `step` is
 * released once a step, by each warp, when its scores are there: then K of this step and V of the
 * one before have been read. */
struct wgmma_barriers {
    uint64_t q_full;
    uint64_t k_full[2], v_full[2];
    uint64_t step;
    int32_t head, batch; /* for the loader */
    uint32_t counts[SAGE_WGMMA_THREADS / 32];
    float q_scale[2]; /* of 32 rows each */
};
static_assert(sizeof(wgmma_barriers) <= SAGE_WGMMA_SHARED_BYTES - SAGE_WGMMA_BARRIERS_AT);

/* What one elected lane asks TMA for. Boxes of a step lie behind each other. */
struct wgmma_loader {
    const sage_mma_maps &maps;
    uint8_t *shared;
    wgmma_barriers *bar;
    const fold_list *list;

    __device__ __forceinline__ void q(const place &at) const
    {
        bar->head = at.head;
        bar->batch = at.batch;
        sab::load_box(shared + SAGE_WGMMA_Q_AT, &bar->q_full, SAGE_WGMMA_TILE_BYTES, &maps.q, 0,
                      SAGE_BLOCK * at.tile, at.head, at.batch);
    }
    /* K and V of the first steps, into stages that nobody uses. */
    __device__ __forceinline__ void first(uint32_t made) const
    {
        k(0, made);
        v(0, made);
        k(1, made);
    }
    /* K or V of step i, as far as it exists among the `made` folds. */
    __device__ __forceinline__ void k(uint32_t i, uint32_t made) const
    {
        load<false>(shared + SAGE_WGMMA_K_AT, bar->k_full, i, made);
    }
    __device__ __forceinline__ void v(uint32_t i, uint32_t made) const
    {
        load<true>(shared + SAGE_WGMMA_V_AT, bar->v_full, i, made);
    }

  private:
    template <bool V>
    __device__ __forceinline__ void load(uint8_t *stages, uint64_t *full, uint32_t i,
                                         uint32_t made) const
    {
        uint8_t *stage = stages + i % 2 * SAGE_WGMMA_STAGE_BYTES;
        const bool pair = 2 * i + 1 < made;

        if (2 * i >= made)
            return;
        sab::expect_boxes(full + i % 2, SAGE_WGMMA_TILE_BYTES << pair);
        box<V>(stage, full + i % 2, list->at(2 * i));
        if (pair)
            box<V>(stage + SAGE_WGMMA_TILE_BYTES, full + i % 2, list->at(2 * i + 1));
    }
    template <bool V>
    __device__ __forceinline__ void box(uint8_t *to, uint64_t *full, const fold &f) const
    {
        if constexpr (V)
            sab::ask_box(to, full, &maps.v, f.first_token(), 0, bar->head, bar->batch);
        else
            sab::ask_box(to, full, &maps.k, 0, f.first_token(), bar->head, bar->batch);
    }
};

/* One warpgroup's row of blocks. */
template <class Key> struct wgmma_row {
    const sage_mma_args &args;
    wgmma_loader load;
    fold_list *list;
    list_state known;
    uint32_t base;     /* of shared memory */
    float (&o)[2][32]; /* channels 0..63, 64..127 */
    softmax &state;

    /* All threads: makes the folds below `until` known, as far as there are any. */
    __device__ __forceinline__ void know(uint32_t until)
    {
        while (known.made < until && known.left > 0)
            extend_list<Key>(args, list, load.bar->counts, known, [] {});
    }

    /* The same at the start of the row: asks for the first K and V meanwhile. */
    __device__ __forceinline__ void know_first(uint32_t until, uint32_t warp)
    {
        while (known.made < until && known.left > 0)
            extend_list<Key>(args, list, load.bar->counts, known, [&] {
                if ((known.made >= until || known.left <= 0) && warp == 0 && sab::elect_one())
                    load.first(known.made);
                __syncwarp();
            });
    }

    template <int NR>
    __device__ __forceinline__ void multiply_qk(int32_t (&scores)[32 * NR], uint32_t i)
    {
        sab::barrier_wait(&load.bar->k_full[i % 2], i / 2 % 2);
        multiply_qk_async<NR>(scores, base + SAGE_WGMMA_Q_AT,
                              base + SAGE_WGMMA_K_AT + i % 2 * SAGE_WGMMA_STAGE_BYTES);
        sab::wgmma_wait<0>();
        sab::wgmma_hold(scores);
    }

    /* Steps 1 to 8 of the contract for step i. */
    template <int NR>
    __device__ __forceinline__ void softmax_step(int32_t (&scores)[32 * NR], uint32_t i,
                                                 float (&factor)[2], uint32_t (&p)[NR][2][4])
    {
        step<NR> now;
        bool full = true;

#pragma unroll
        for (int b = 0; b < NR; b++) {
            now.valid[b] = Key::full_tiles ? SAGE_BLOCK : list->at(2 * i + b).valid();
            /* A product that underflows to 0 would turn a masked -inf into NaN. */
            now.a[b] = fmaxf(load.bar->q_scale[threadIdx.x / 64] * list->scale(2 * i + b),
                             1.17549435e-38f);
            full = full && now.valid[b] == SAGE_BLOCK;
        }
        weigh_step<NR>(scores, now, Key::full_tiles || full, state, factor, p);
    }

    /* Steps 7 and 9. The first half of the channels is added while the second one is multiplied. */
    template <int NR>
    __device__ __forceinline__ void add_pv(uint32_t (&p)[NR][2][4], const float (&factor)[2],
                                           uint32_t i)
    {
        const uint32_t v = base + SAGE_WGMMA_V_AT + i % 2 * SAGE_WGMMA_STAGE_BYTES;
        float part[2][32];

        sab::barrier_wait(&load.bar->v_full[i % 2], i / 2 % 2);
#pragma unroll
        for (int b = 0; b < 2 * NR; b++)
            sab::wgmma_hold(p[b / 2][b % 2]);
        sab::wgmma_fence();
        multiply_pv_async<NR>(part[0], p, v);
        multiply_pv_async<NR>(part[1], p, v + SAGE_WGMMA_TILE_BYTES / 2);
        sab::wgmma_wait<1>();
        sab::wgmma_hold(part[0]);
        promote(o[0], part[0], factor);
        sab::wgmma_wait<0>();
        sab::wgmma_hold(part[1]);
        promote(o[1], part[1], factor);
    }

    /* Every warp: the scores of step i are there. One warp asks for K of step i + 2, one
     * for V of i + 1: others from step to step, so that none of them falls behind.
     */
    __device__ __forceinline__ void turn_stages(uint32_t i, uint32_t warp)
    {
        if (sab::elect_one()) {
            (void)cuda::ptx::mbarrier_arrive(&load.bar->step);
            if (warp == 2 * i % 4) {
                sab::barrier_wait(&load.bar->step, i % 2);
                load.k(i + 2, known.made);
            } else if (warp == (2 * i + 1) % 4) {
                sab::barrier_wait(&load.bar->step, i % 2);
                load.v(i + 1, known.made);
            }
        }
        __syncwarp();
    }

    /* The whole pairs. Returns the number of steps. */
    __device__ __forceinline__ uint32_t fold_pairs(uint32_t warp)
    {
        uint32_t i = 0;
        int32_t scores[64];

        if (known.made < 2)
            return 0;
        multiply_qk<2>(scores, 0);
        for (;;) {
            float factor[2];
            uint32_t p[2][2][4];

            know(2 * i + 6);
            turn_stages(i, warp);
            softmax_step<2>(scores, i, factor, p);
            add_pv<2>(p, factor, i);
            i++;
            if (known.made < 2 * i + 2)
                return i;
            multiply_qk<2>(scores, i);
        }
    }

    /* The last block of an odd number. Nothing is left to ask for, or V alone. */
    __device__ __forceinline__ void fold_single(uint32_t i)
    {
        int32_t scores[32];
        float factor[2];
        uint32_t p[1][2][4];

        multiply_qk<1>(scores, i);
        softmax_step<1>(scores, i, factor, p);
        add_pv<1>(p, factor, i);
    }
};

/* One thread, which may ask for loads at once; the others see the barriers behind a
 * __syncthreads(). */
__device__ __forceinline__ void open_barriers(wgmma_barriers *bar)
{
    sab::barrier_init(&bar->q_full, 1);
#pragma unroll
    for (int stage = 0; stage < 2; stage++) {
        sab::barrier_init(&bar->k_full[stage], 1);
        sab::barrier_init(&bar->v_full[stage], 1);
    }
    sab::barrier_init(&bar->step, SAGE_WGMMA_THREADS / 32);
    sab::barriers_publish();
}

/* Everything behind the test for an empty kernel. */
template <class Key, class Args>
__device__ __forceinline__ void serve_tile(const Args &args, uint8_t *shared)
{
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t lane = threadIdx.x & 31, warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
    const place at(args);
    wgmma_barriers *bar = reinterpret_cast<wgmma_barriers *>(shared + SAGE_WGMMA_BARRIERS_AT);
    fold_list *list = reinterpret_cast<fold_list *>(shared + SAGE_WGMMA_LIST_AT);
    float o[2][32] = {};
    softmax state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
    const int64_t scales = static_cast<int64_t>(at.bh) * (4 * ((args.query_tiles + 1) / 2));
    const wgmma_loader load = {maps_of(args), shared, bar, list};

    /* What the end of the row reads, and the maps, are fetched under the first reads; the query
     * tile is asked for before the list is known. */
    if (warp == 1 && sab::elect_one())
        prefetch_maps(args);
    if (warp == 2 && lane < 4)
        sab::prefetch_l2(args.v_scale + static_cast<int64_t>(at.bh) * SAGE_HEAD_DIM + 32 * lane);
    if (warp == 0 && sab::elect_one()) {
        open_barriers(bar);
        acquire_maps(args);
        load.q(at);
    }
    __syncwarp();
    float q_scale = 0.0f;
    if (threadIdx.x < 2)
        q_scale = __ldg(args.q_scale + scales + 2 * at.tile + threadIdx.x) * args.scale_log2;
    const int slots = __shfl_sync(0xffffffffu, walk<Key>(args, at.batch, at.bh, at.tile).left, 0);
    wgmma_row<Key> row = {args, load, list, {0, slots}, sab::shared_address(shared), o, state};
    row.know_first(4, warp);
    if (row.known.made == 0) {
        store_zeros(at.out(args), at.rows(args));
        if (warp == 0 && sab::elect_one()) /* shared memory must not be given away under a load */
            sab::barrier_wait(&bar->q_full, 0);
        return;
    }
    if (threadIdx.x < 2)
        bar->q_scale[threadIdx.x] = q_scale;
    __syncthreads();
    sab::barrier_wait(&bar->q_full, 0);
    const uint32_t steps = row.fold_pairs(warp);
    if (row.known.made > 2 * steps)
        row.fold_single(steps);
    __syncthreads(); /* the stages of K turn into the warps' result tiles */
    const place end(args);
    float whole[16][4];
#pragma unroll
    for (int i = 0; i < 64; i++)
        whole[i / 4][i % 4] = o[i / 32][i % 32];
    store_rows(whole, state, args.v_scale + static_cast<int64_t>(end.bh) * SAGE_HEAD_DIM,
               shared + warp * 16 * 256, end.out(args) + warp * 16 * SAGE_HEAD_DIM,
               end.rows(args) - static_cast<int>(warp) * 16, lane);
}

template <class Key, class Args>
__global__ void __launch_bounds__(SAGE_WGMMA_THREADS, SAGE_WGMMA_BLOCKS)
    wgmma_kernel(const __grid_constant__ Args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t shared[];

    if constexpr (Key::always_empty) {
        const place at(args);
        store_zeros(at.out(args), at.rows(args));
    } else {
        serve_tile<Key>(args, shared);
    }
#endif
}

} // namespace sage

/* Defines the table of one source file. */
#define SAGE_WGMMA_VARIANT(N, M, F, U, C)                                                          \
    {{N, M, F, U, C},                                                                              \
     sage::wgmma_kernel<sage::key<N, M, F, U, C>, sage_mma_by_value>,                              \
     sage::wgmma_kernel<sage::key<N, M, F, U, C>, sage_mma_in_memory>},
#define SAGE_WGMMA_DEFINE(name, M, F)                                                              \
    const struct sage_mma_variant sage_wgmma_##name[SAGE_MMA_COUNTS_NR] = {                        \
        SAGE_MMA_COUNTS(SAGE_WGMMA_VARIANT, M, F)};

#endif
