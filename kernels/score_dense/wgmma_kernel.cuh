/*
 * wgmma_kernel.cuh - scores of all visible columns by warpgroup-wide products (sm_90a).
 *
 * A block is persistent, one on a multiprocessor. Its items are 128 (query, head) pairs, whose
 * queries stay in shared memory while keys stream by in tiles of 64 (wgmma_load.cuh). Two groups
 * compute, tiles in turn: keys are the rows of a product, so that a lane sums over heads in
 * registers, under the other group's products. Where heads come in several groups, one is served
 * after the other and adds to what the same thread wrote before. Sums of rows are made from the
 * finished matrix (vector_parts.cu).
 *
 * Limits, in clocks of a multiprocessor for 64 keys x 128 pairs, by width:
 *                   128    512    576
 *   tensor          512    2048   2304   4096 operations a clock
 *   shared memory   512    2048   2304   products read 6 KiB in 64 clocks, TMA writes 128 * width
 *   L2 feed         420    1680   1890   39 bytes a clock
 *   exp2            512    512    512    16 a clock; none for the indexer
 *   issue           about 450 of 4 a clock
 * At width 128 tensor, shared memory and exp2 are level: predicted 450 to 600 TFLOPS of 903 for the
 * indexer, 350 to 450 for attention; 600 to 720 at 512 and 576. The sums read the matrix once more,
 * 4 bytes a score: a tenth of that time at 64 heads of 128.
 */
#ifndef SCORE_DENSE_WGMMA_KERNEL_CUH
#define SCORE_DENSE_WGMMA_KERNEL_CUH

#include "wgmma_load.cuh"

namespace score_dense
{

/* One of the two computing groups. */
template <int WIDTH, int HEADS, bool ATTENTION> struct scorer {
    using shape = sab::score_shape<WIDTH, SCORE_DENSE_PAIRS>;
    static constexpr int TOKENS = SCORE_DENSE_PAIRS / HEADS;
    static constexpr int NR = sab::SCORE_SUMS<TOKENS>; /* queries of a lane */

    const score_dense_wgmma_args &args;
    wgmma_shared<shape> &s;
    uint32_t side, key, upper; /* group; the lane's key of a tile; which half of the queries */
    sab::score_walk<shape::Q_SLOTS> q;
    sab::score_walk<shape::RING> ring;
    float weight[SCORE_DENSE_PAIRS / 4];
    float *row[NR];    /* of the output, at the lane's key */
    int32_t limit[NR]; /* of those, counted from the lane's key; columns too */
    int32_t columns[NR];
    bool adds;

    __device__ __forceinline__ void take_item(const item_note &note)
    {
        const indexer_dense &d = args.items.d;
        const uint32_t first = TOKENS > 1 ? NR * upper : 0;

#pragma unroll
        for (int j = 0; j < SCORE_DENSE_PAIRS / 8; j++) {
            const float2 pair =
                *reinterpret_cast<const float2 *>(&s.weight[q.at][8 * j + 2 * (threadIdx.x % 4)]);
            weight[2 * j] = pair.x;
            weight[2 * j + 1] = pair.y;
        }
#pragma unroll
        for (int i = 0; i < NR; i++) {
            const int32_t end = note.limit[first + i];
            /* a single query is on both halves: the lower one writes */
            const bool mine = end >= 0 && (TOKENS > 1 || upper == 0);
            row[i] = d.out + static_cast<int64_t>(note.first_row + first + i) * d.stride + key;
            limit[i] = end - static_cast<int32_t>(key);
            columns[i] = mine ? static_cast<int32_t>(d.columns) - static_cast<int32_t>(key) : 0;
        }
        adds = note.adds;
    }

    __device__ __forceinline__ void put(const float (&sums)[NR], uint32_t tile) const
    {
        const int32_t from = static_cast<int32_t>(tile * SCORE_KEYS);

#pragma unroll
        for (int i = 0; i < NR; i++) {
            if (from >= columns[i])
                continue;
            float score = ATTENTION ? sums[i] : sums[i] * args.items.d.scale;
            if (from >= limit[i])
                score = -INFINITY;
            else if (adds)
                score += row[i][from];
            row[i][from] = score;
        }
    }

    __device__ __forceinline__ void run_all()
    {
        for (;;) {
            sab::barrier_wait(&s.noted[q.at], q.parity);
            sab::barrier_wait(&s.tiles.q_full[q.at], q.parity);
            const item_note &note = s.note[q.at];
            const uint32_t from = note.from, to = note.to;

            if (from == to)
                return;
            take_item(note);
            for (uint32_t tile = from; tile < to; tile++) {
                float x[SCORE_DENSE_PAIRS / 2], sums[NR];

                if ((tile - from) % 2 != side) {
                    ring.advance(shape::SEGMENTS);
                    continue;
                }
                sab::score_multiply(x, s.tiles, q.at, ring);
                sab::score_sums<TOKENS, ATTENTION>(sums, x, weight, args.items.factor);
                put(sums, tile);
            }
            cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
            sab::warp_arrive(&s.q_empty[q.at]);
            q.advance();
        }
    }
};

template <int WIDTH, int HEADS, bool ATTENTION>
__global__ void __launch_bounds__(SCORE_WGMMA_THREADS, 1)
    wgmma_kernel(const __grid_constant__ score_dense_wgmma_args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using shape = sab::score_shape<WIDTH, SCORE_DENSE_PAIRS>;
    extern __shared__ __align__(1024) uint8_t memory[];
    wgmma_shared<shape> &s = *reinterpret_cast<wgmma_shared<shape> *>(memory);
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t lane = threadIdx.x % 32, warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);

    if (threadIdx.x == 0)
        open_barriers(s);
    __syncthreads();
    if (warp >= 8) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
        if (warp == 8)
            loader<shape, HEADS, ATTENTION>{args, s, lane}.run_all();
        else
            for_runs(args.items, [&](const row_run &run, uint32_t split) {
                fill_run<SCORE_KEYS>(args.items, run, split, threadIdx.x - 9 * 32, 3 * 32);
            });
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
        const uint32_t key = 16 * (warp % 4) + lane / 4 + 8 * (lane % 2);
        scorer<WIDTH, HEADS, ATTENTION>{args, s, warp / 4, key, lane / 2 % 2}.run_all();
    }
#endif
}

template <int WIDTH, int HEADS, bool ATTENTION> constexpr score_dense_wgmma_form wgmma_form()
{
    using shared = wgmma_shared<sab::score_shape<WIDTH, SCORE_DENSE_PAIRS>>;
    static_assert(sizeof(shared) <= SCORE_WGMMA_SHARED);
    return {wgmma_kernel<WIDTH, HEADS, ATTENTION>, HEADS, WIDTH,
            static_cast<int32_t>(sizeof(shared))};
}

} // namespace score_dense

/* Defines the forms of one source file. */
#define SCORE_DENSE_WGMMA_WIDTH(width, attention)                                                  \
    score_dense::wgmma_form<width, 16, attention>(),                                               \
        score_dense::wgmma_form<width, 32, attention>(),                                           \
        score_dense::wgmma_form<width, 64, attention>(),                                           \
        score_dense::wgmma_form<width, 128, attention>()
#define SCORE_DENSE_WGMMA_DEFINE(name, attention)                                                  \
    const struct score_dense_wgmma_form name[SCORE_DENSE_WGMMA_FORMS] = {                          \
        SCORE_DENSE_WGMMA_WIDTH(128, attention), SCORE_DENSE_WGMMA_WIDTH(512, attention),          \
        SCORE_DENSE_WGMMA_WIDTH(576, attention)};

#endif
