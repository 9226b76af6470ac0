/*
 * wgmma_kernel.cuh - scores of the indexer by warpgroup-wide products (sm_90a), e4m3 and bf16.
 *
 * A block is persistent, one on a multiprocessor. Its items are 256 (query, head) pairs, whose
 * queries stay in shared memory while keys stream by in tiles of 128 (wgmma_load.cuh). Two groups
 * compute, each its 128 pairs, with weights in registers. Of a tile a group makes two products of
 * 64 keys, each under the sums over heads of the one before:
 *
 *     product | low(0) | high(0) | low(1)  | high(1) | low(2)  ...
 *     sums    |        | low(0)  | high(0) | low(1)  | high(1) ...
 *
 * from the first tile of the first item to the last one. The other group's products fill the gaps
 * between two of them: while one is under way, one of the other group waits behind it. Between the
 * end of a product and the next one stand its issue and nothing else: no sums, no awaited barrier
 * (both come before the wait), no fence.
 *
 * Limits, in clocks of a multiprocessor for 128 keys x 256 pairs (fp8, bf16 in brackets):
 *   tensor          1024 (2048)  8192 (4096) operations a clock
 *   issue           820 (850)    a product costs each of 4 warps 128 for relu and weight, and about
 *                                75 for descriptors, sums over lanes, scales, stores and barriers;
 *                                4 products
 *   relu            512          16 lanes a clock and quarter
 *   shared memory   896 (1792)   products read 6 KiB in 64 clocks, TMA writes 16 (32) KiB
 *   L2 feed         416 (832)    16 (32) KiB at 39 bytes a clock
 *   scores          4 x 128 x 4 bytes, nothing
 * Tensor first, with issue slots at 80 % beside it in fp8. Predicted: 1150 to 1400 TFLOPS of 1768
 * in fp8, 680 to 780 of 903 in bf16. Measured at 64 heads: 845 to 1045 on windows, and 469 to 733:
 * in fp8 the sums take longer than the product over them.
 */
#ifndef INDEXER_FWD_WGMMA_KERNEL_CUH
#define INDEXER_FWD_WGMMA_KERNEL_CUH

#include "wgmma_math.cuh"

namespace indexer
{

/* One of the two computing groups. */
template <class P, int HEADS> struct scorer {
    static constexpr int NR = 64 / HEADS; /* queries of a lane */

    const indexer_wgmma_args &args;
    wgmma_shared<P> &s;
    uint32_t side, key; /* group; the lane's key among 64 */
    uint32_t first_key; /* of the item, the lane's among 64 added */
    ring_turn<2> q;
    ring_turn<P::STAGES> k;
    float weight[32];
    float *row[NR];    /* of scores, at the lane's key */
    int32_t limit[NR]; /* of those, counted from the lane's key */
    int32_t columns[NR];

    /* The item in place q: its weights, and where its results go. */
    __device__ __forceinline__ void take_item()
    {
        const item_note &note = s.note[q.at];
        const uint32_t t = threadIdx.x % 4;
        const uint32_t first = 2 * NR * side + NR * (t / 2);

        first_key = note.first_key + key;
#pragma unroll
        for (int j = 0; j < 16; j++) {
            const float2 pair =
                *reinterpret_cast<const float2 *>(&s.weight[q.at][128 * side + 8 * j + 2 * t]);
            weight[2 * j] = pair.x;
            weight[2 * j + 1] = pair.y;
        }
#pragma unroll
        for (int i = 0; i < NR; i++) {
            const int32_t end = note.limit[first + i];
            row[i] = args.items.c.scores + (note.first_row + first + i) * args.items.c.stride + key;
            limit[i] = end - static_cast<int32_t>(key);
            columns[i] = end < 0 ? 0 : static_cast<int32_t>(args.items.c.columns - key);
        }
    }

    /* Returns 0, for the sums that follow. */
    __device__ __forceinline__ float multiply(float (&acc)[64], uint32_t half) const
    {
        multiply_async<P>(acc,
                          sab::shared_address(s.k[k.at][0]) + half * 64 * INDEXER_SEGMENT_BYTES,
                          sab::shared_address(s.q[q.at][0]) + side * 128 * INDEXER_SEGMENT_BYTES);
        return zero_behind(&s.k_full[k.at], k.parity);
    }

    /* Scales of the lane's key in either half of a tile, read by the lane that needs them, so that
     * products alone read a stage: what else reads it needs a fence of proxies before the stage is
     * given back, and that fence waits for stores under way while no product is. */
    __device__ __forceinline__ void ask_scales(float (&scale)[2], uint32_t from) const
    {
        const float *of = static_cast<const float *>(args.items.c.k_scale);

#pragma unroll
        for (uint32_t half = 0; half < 2; half++)
            scale[half] = P::SCALED ? __ldg(of + min(first_key + from + 64 * half,
                                                     static_cast<uint32_t>(args.items.c.keys) - 1))
                                    : 1.0f;
    }

    /* All of this warp's products from the stage are complete. */
    __device__ __forceinline__ void give_back(uint32_t at, uint32_t lane)
    {
        if (lane == 0)
            (void)cuda::ptx::mbarrier_arrive(&s.k_empty[at]);
    }

    /* The 64 keys from `from` on. */
    __device__ __forceinline__ void put(const float (&acc)[64], uint32_t from, float factor,
                                        float zero) const
    {
        float sums[NR];

        sum_heads<HEADS>(sums, acc, weight, zero);
#pragma unroll
        for (int i = 0; i < NR; i++) {
            const int32_t at = static_cast<int32_t>(from);
            if (at < columns[i])
                row[i][from] = at < limit[i] ? sums[i] * factor : -INFINITY;
        }
    }

    __device__ __forceinline__ void run_all()
    {
        const uint32_t lane = threadIdx.x % 32;
        float low[64], high[64], scale[2];

        sab::barrier_wait(&s.noted[0], 0);
        sab::barrier_wait(&s.q_full[0], 0);
        uint32_t tile = s.note[0].from, to = s.note[0].to;
        if (tile == to)
            return;
        take_item();
        ask_scales(scale, tile * INDEXER_KEYS);
        sab::barrier_wait(&s.k_full[0], 0);
        (void)multiply(low, 0);
        sab::wgmma_wait<0>();
        sab::wgmma_hold(low);
        for (;;) {
            const uint32_t from = tile * INDEXER_KEYS, done = k.at, item = q.at;

            float zero = multiply(high, 1);
            const float factor = args.items.c.factor * scale[1];
            put(low, from, args.items.c.factor * scale[0], zero);
            /* all that the next product waits for stands before the wait for this one */
            const bool last = ++tile == to;
            if (last) {
                q.advance();
                sab::barrier_wait(&s.noted[q.at], q.parity);
                sab::barrier_wait(&s.q_full[q.at], q.parity);
                tile = s.note[q.at].from;
                to = s.note[q.at].to;
                first_key = s.note[q.at].first_key + key;
            }
            const bool more = tile != to;
            k.advance();
            if (more) {
                ask_scales(scale, tile * INDEXER_KEYS);
                sab::barrier_wait(&s.k_full[k.at], k.parity);
            }
            sab::wgmma_wait<0>();
            sab::wgmma_hold(high);
            if (!more) { /* no more items */
                put(high, from + 64, factor, 0.0f);
                return;
            }
            zero = multiply(low, 0);
            give_back(done, lane);
            put(high, from + 64, factor, zero);
            if (last) {
                sab::warp_arrive(&s.q_empty[item]);
                take_item();
            }
            sab::wgmma_wait<0>();
            sab::wgmma_hold(low);
        }
    }
};

template <class P> __device__ __forceinline__ void open_barriers(wgmma_shared<P> &s)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        sab::barrier_init(&s.noted[i], sab::WARP_LANES);
        sab::barrier_init(&s.q_full[i], 1);
        sab::barrier_init(&s.q_empty[i], 8 * sab::WARP_LANES); /* computing warps */
    }
#pragma unroll
    for (int i = 0; i < P::STAGES; i++) {
        sab::barrier_init(&s.k_full[i], 1);
        sab::barrier_init(&s.k_empty[i], 8);
    }
    sab::barriers_publish();
}

template <class P, int HEADS>
__global__ void __launch_bounds__(INDEXER_WGMMA_THREADS, 1)
    indexer_fwd_wgmma(const __grid_constant__ indexer_wgmma_args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t shared[];
    wgmma_shared<P> &s = *reinterpret_cast<wgmma_shared<P> *>(shared);
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0), lane = threadIdx.x % 32;

    if (threadIdx.x == 0)
        open_barriers(s);
    __syncthreads();
    if (warp >= 8) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (warp == 8)
            loader<P, HEADS>{args, s, {}, {}, lane}.run_all();
        else
            for_runs(args.items, [&](const row_run &run, const key_share &share) {
                fill_run(args.items, run, share, threadIdx.x - 9 * 32, INDEXER_WGMMA_FILLING);
            });
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const uint32_t key = 16 * (warp % 4) + lane / 4 + 8 * (lane % 2);
        scorer<P, HEADS> group = {args, s, warp / 4, key};

        group.run_all();
    }
#endif
}

} // namespace indexer

/* Defines the kernel of one source file. */
#define INDEXER_WGMMA_DEFINE(precision, heads)                                                     \
    const struct indexer_wgmma_kernel indexer_wgmma_##precision##_##heads = {                      \
        indexer::indexer_fwd_wgmma<indexer::precision, heads>,                                     \
        sizeof(indexer::wgmma_shared<indexer::precision>)};

#endif
