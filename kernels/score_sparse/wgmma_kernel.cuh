/*
 * wgmma_kernel.cuh - scores of selected columns by warpgroup-wide products (sm_90a).
 *
 * A block is persistent, one on a multiprocessor, and takes query rows in turn. One warpgroup
 * gathers (wgmma_gather.cuh), two compute, tiles of 64 slots in turn: keys are the rows of a
 * product, heads its columns, so that a lane sums over heads in registers. A group's sums over
 * heads lie under the other group's products. Raw scores go to the output; when the row is through,
 * the two groups know its sum (and, for the indexer, its maximum), and divide what lies there. Q of
 * the next row is asked for before that, and the gathering never stops for it.
 *
 * Limits, in clocks of a multiprocessor for a tile of 64 slots and 64 heads (128 heads), by width:
 *                   512           576           128
 *   gather          1700          1910          425         38.5 bytes a clock
 *   shared memory   1536 (2048)   1728 (2304)   384 (512)   64 * 2 * width written, products read
 *                                                           2 + heads / 32 KiB in heads / 2 clocks
 *   tensor          1024 (2048)   1152 (2304)   256 (512)   4096 operations a clock
 *   exp2            256 (512)     256 (512)     256 (512)   16 a clock; none for the indexer
 *   issue           about 250 of 4 a clock, 350 with 128 heads, the other group's beside it
 * and for each row about 2500 to divide, of which the ring hides what it holds: 20 segments of
 * 8 KiB at 64 heads of 512, 4250 clocks of gathering; 10 segments at 128 heads of 576.
 * Predicted at 64 heads, width 512, 2048 slots: 450 to 540 TFLOPS of the 576 to 590 that gathering
 * allows; width 128: 300 to 430, where 220 instructions that a gathering warp issues for a tile
 * count too. Lists of few slots pay more for the end of a row.
 */
#ifndef SCORE_SPARSE_WGMMA_KERNEL_CUH
#define SCORE_SPARSE_WGMMA_KERNEL_CUH

#include "score_math.cuh"
#include "wgmma_gather.cuh"

namespace score_sparse
{

/* One of the two computing groups. */
template <int WIDTH, int HEADS, bool ATTENTION> struct scorer {
    using shape = sab::score_shape<WIDTH, HEADS>;

    const score_sparse_wgmma_args &args;
    wgmma_shared<shape> &s;
    uint32_t side, warp, lane; /* group, warp of it */
    sab::score_walk<shape::RING> ring;
    sab::score_walk<wgmma_shared<shape>::NOTES> note;
    uint32_t tiles = 0, first = 0; /* told of; parity of those when the row began */
    uint32_t rows = 0;             /* done */
    row_sum<ATTENTION> sum;        /* of this lane's slots */
    float weight[HEADS / 4];

    __device__ __forceinline__ tile_note next_note()
    {
        sab::barrier_wait(&s.note_full[note.at], note.parity);
        const tile_note got = s.notes[note.at];
        sab::warp_arrive(&s.note_free[note.at]);
        note.advance();
        return got;
    }

    __device__ __forceinline__ void take_weights(int64_t row)
    {
        const int32_t heads = static_cast<int32_t>(args.d.heads);

#pragma unroll
        for (int i = 0; i < HEADS / 4; i++) {
            const int32_t head = 8 * (i / 2) + 2 * static_cast<int32_t>(lane % 4) + i % 2;
            weight[i] = ATTENTION ? -INFINITY : 0.0f;
            if (head < heads && row < args.d.rows)
                weight[i] = sab::score_weight<ATTENTION>(args.heads, row * heads + head);
        }
    }

    /* One warp: Q of a row, if it exists, into its slot. */
    __device__ __forceinline__ void ask_q(int64_t row, uint32_t slot)
    {
        if (row < args.d.rows && sab::elect_one()) {
            uint64_t *full = &s.tiles.q_full[slot];

            sab::expect_boxes(full, shape::Q_BYTES);
#pragma unroll
            for (int i = 0; i < shape::SEGMENTS; i++)
                sab::ask_box(s.tiles.q[slot][i], full, &args.q, SCORE_SEGMENT * i, 0,
                             static_cast<int>(row), 0);
        }
        __syncwarp();
    }
    __device__ __forceinline__ uint32_t q_slot() const
    {
        return rows % shape::Q_SLOTS;
    }
    __device__ __forceinline__ void await_q()
    {
        sab::barrier_wait(&s.tiles.q_full[q_slot()], rows / shape::Q_SLOTS % 2);
    }

    /* Lanes of t < 2 each have a slot of the tile, the others the same ones. */
    __device__ __forceinline__ void put(float score, const tile_note &what)
    {
        const uint32_t slot = 16 * warp + lane / 4 + 8 * (lane & 1);

        if (lane & 2 || !(what.active >> slot & 1))
            return;
        if (!ATTENTION)
            score *= args.factor;
        sum.add(score);
        args.d.out[what.item * args.d.slots.slots + SCORE_KEYS * static_cast<int64_t>(what.tile) +
                   slot] = score;
    }

    __device__ __forceinline__ void score_tile(const tile_note &what)
    {
        float x[HEADS / 2], sums[1];

        await_q();
        sab::score_multiply(x, s.tiles, q_slot(), ring);
        sab::score_sums<1, ATTENTION>(sums, x, weight, args.factor);
        put(sums[0], what);
    }

    /* Of all lanes of both groups, on each of them. Rows do not depend on each other: sums go by
     * the order of the row's own tiles. */
    __device__ __forceinline__ void share_sums()
    {
        float2 *results = s.results[rows % 2];

        sum.add_lanes();
        if (lane == 0)
            results[4 * (side ^ first) + warp] = sum.get();
        asm volatile("bar.sync 1, 256;" : : : "memory");
        sum.take(results);
    }

    __device__ __forceinline__ void end_row(int64_t item)
    {
        await_q(); /* also where no tile needed it: a barrier must not fall two turns behind */
        share_sums();
        if (side == 0 && warp == 0)
            ask_q(item + static_cast<int64_t>(shape::Q_SLOTS) * gridDim.x, q_slot());
        take_weights(item + gridDim.x);
        divide<ATTENTION>(args.d, item, sum);
        sum = {};
        first = tiles % 2;
        rows++;
    }

    __device__ __forceinline__ void serve()
    {
        if (side == 0 && warp == 0) {
#pragma unroll
            for (uint32_t i = 0; i < shape::Q_SLOTS; i++)
                ask_q(blockIdx.x + static_cast<int64_t>(i) * gridDim.x, i);
        }
        take_weights(blockIdx.x);
        for (;;) {
            const tile_note what = next_note();

            if (what.tile == ALL_ENDS)
                return;
            if (what.tile == ROW_ENDS) {
                end_row(what.item);
                continue;
            }
            if (tiles % 2 == side)
                score_tile(what);
            else
                ring.advance(shape::SEGMENTS);
            tiles++;
        }
    }
};

template <int WIDTH, int HEADS, bool ATTENTION>
__global__ void __launch_bounds__(SCORE_WGMMA_THREADS, 1)
    wgmma_kernel(const __grid_constant__ score_sparse_wgmma_args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using shape = sab::score_shape<WIDTH, HEADS>;
    extern __shared__ __align__(1024) uint8_t memory[];
    wgmma_shared<shape> &s = *reinterpret_cast<wgmma_shared<shape> *>(memory);
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t lane = threadIdx.x % 32, warp = __shfl_sync(ALL_LANES, threadIdx.x / 32, 0);

    if (threadIdx.x == 0)
        open_barriers(s);
    __syncthreads();
    if (warp >= 8) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
        gatherer<shape>{args, s, warp - 8, lane, sab::policy_keep()}.serve();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
        scorer<WIDTH, HEADS, ATTENTION>{args, s, warp / 4, warp % 4, lane}.serve();
    }
#endif
}

template <int WIDTH, int HEADS, bool ATTENTION> constexpr score_sparse_wgmma_form wgmma_form()
{
    using shared = wgmma_shared<sab::score_shape<WIDTH, HEADS>>;
    static_assert(sizeof(shared) <= SCORE_WGMMA_SHARED);
    return {wgmma_kernel<WIDTH, HEADS, ATTENTION>, HEADS, WIDTH,
            static_cast<int32_t>(sizeof(shared))};
}

} // namespace score_sparse

/* Defines the forms of one source file. */
#define SCORE_SPARSE_WGMMA_WIDTH(width, attention)                                                 \
    score_sparse::wgmma_form<width, 16, attention>(),                                              \
        score_sparse::wgmma_form<width, 32, attention>(),                                          \
        score_sparse::wgmma_form<width, 64, attention>(),                                          \
        score_sparse::wgmma_form<width, 128, attention>()
#define SCORE_SPARSE_WGMMA_DEFINE(name, attention)                                                 \
    const struct score_sparse_wgmma_form name[SCORE_SPARSE_WGMMA_FORMS] = {                        \
        SCORE_SPARSE_WGMMA_WIDTH(128, attention), SCORE_SPARSE_WGMMA_WIDTH(512, attention),        \
        SCORE_SPARSE_WGMMA_WIDTH(576, attention)};

#endif
