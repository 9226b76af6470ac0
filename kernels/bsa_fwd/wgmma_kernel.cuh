/*
 * wgmma_kernel.cuh - block-sparse attention by warpgroup-wide products (sm_90a).
 *
 * A block of threads is persistent, one on a multiprocessor. Three warpgroups compute, each a query
 * tile of 64 rows with a list of its own; a warp makes lists (wgmma_list.cuh), a thread loads
 * (wgmma_load.cuh). The three tiles lie beside each other, and a key block that several of them
 * want is loaded once: the tiles of an item share a ring of stages, in which each reads what it
 * wants and passes over the rest. Q, lists, K and V of the next item are there before the last
 * group is done with this one, and no group waits for another one but through the ring.
 *
 * A group multiplies Q K, makes weights, multiplies P V, and waits in between: its 160 registers
 * hold 64 sums, Q, and either scores or weights, but not those of two blocks. The products of the
 * other two groups fill the gaps.
 *
 * Limits, in clocks of a multiprocessor for 64 queries x 64 keys:
 *   tensor          512   4096 operations a clock
 *   exp2            256   16 a clock
 *   issue           220   of each of the four schedulers: 4.5 a score, and the fixed work of a step
 *   shared memory   384   K and V 16 KiB each, read once by each group; Q stays in registers. TMA
 *                         writes up to 256 more
 *   L2 feed         800   32 KiB at 40 bytes a clock; / 3 where all three tiles want the block
 * Two groups would leave the tensor cores idle whenever both make weights. Three in random order
 * keep them at work for 0.86 of the time (closed queueing network of three customers: tensor 512,
 * exp2 256, latencies 380), and share more: with random lists of density d the union of three is (1
 * - (1-d)^3) / 3d of their sum, that of two 1 - d/2. Predicted on an H200, TFLOPS, as the least of
 * 0.86 x tensor rate under power (903) and 0.93 x feed (579 / share), less the ends of items (1200
 * clocks each) and of the grid:
 *   B8 H32 S1024, 15 of 16 blocks   680       B1 H24 S16384, .25    640
 *   B8 H32 S4096, 7 of 64           530                      .5     710
 *   B1 H24 S16384, .1               570                      1      730
 *
 * Nothing here reads a stage of K or V through the generic proxy: the products read it through the
 * async proxy, like TMA writes it, so that a finished product needs no proxy fence before its stage
 * is filled again. Q is read by ldmatrix, and fenced.
 */
#ifndef BSA_WGMMA_KERNEL_CUH
#define BSA_WGMMA_KERNEL_CUH

#include "mma_sync.cuh"
#include "wgmma_list.cuh"
#include "wgmma_load.cuh"
#include "wgmma_math.cuh"

namespace bsa
{

/* An entry of a tile's own list. */
struct own_entry {
    uint32_t entry;

    __device__ __forceinline__ int32_t valid() const
    {
        return static_cast<int32_t>(entry & 63) + 1;
    }
    __device__ __forceinline__ ring_place place() const
    {
        return place_of(entry >> 6);
    }
};

/* Read anew where it is needed: between two products there is no register left to keep it in. */
__device__ __forceinline__ uint32_t thread()
{
    uint32_t x;

    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}
__device__ __forceinline__ uint32_t my_warp()
{
    return __shfl_sync(ALL_LANES, thread() / 32, 0);
}

template <class T> struct attender {
    const bsa_wgmma_args &args;
    wgmma_shared *shared;

    static __device__ __forceinline__ void arrive(uint64_t *barrier)
    {
        if (sab::elect_one())
            (void)cuda::ptx::mbarrier_arrive(barrier);
    }

    /* By shuffle, so that the compiler knows that it is uniform. */
    static __device__ __forceinline__ own_entry read_entry(const uint16_t *own)
    {
        return {__shfl_sync(ALL_LANES, static_cast<uint32_t>(*own), 0)};
    }

    /* Scores of a block. */
    __device__ __forceinline__ void score(float (&scores)[32], const q_operand &q,
                                          const ring_place &at) const
    {
        sab::barrier_wait(&shared->k_full[at.full], at.parity);
        multiply_qk<T>(scores, q, sab::shared_address(shared->k[at.stage]));
        sab::wgmma_wait<0>();
        sab::wgmma_hold(scores);
        arrive(&shared->k_empty[at.stage]);
    }

    /* From scores to the sum of weighted values. */
    __device__ __forceinline__ void fold(float (&scores)[32], float (&o)[64], row_state &state,
                                         const own_entry &e) const
    {
        const ring_place at = e.place();
        float factor[2];
        uint32_t p[4][4];

        if (e.valid() < BSA_BLOCK)
            mask(scores, e.valid());
        raise(scores, args.scale_log2, state, factor);
        weigh<T>(scores, args.scale_log2, state, p);
        rescale(o, factor);
        sab::barrier_wait(&shared->v_full[at.full], at.parity);
        multiply_pv<T>(o, p, sab::shared_address(shared->v[at.stage]));
        sab::wgmma_wait<0>();
        sab::wgmma_hold(o);
        arrive(&shared->v_empty[at.stage]);
    }

    /* All that this tile wants of a chunk. */
    __device__ __forceinline__ void fold_list(const wgmma_list &list, const q_operand &q,
                                              float (&o)[64], row_state &state) const
    {
        const uint32_t group = my_warp() / 4;
        const uint16_t *own = list.own[group];

        for (uint32_t left = __shfl_sync(ALL_LANES, list.own_nr[group], 0); left != 0; left--) {
            const own_entry now = read_entry(own++);
            float scores[32];

            score(scores, q, now.place());
            fold(scores, o, state, now);
        }
    }

    __device__ __forceinline__ void read_q(q_operand &q, uint32_t group, int32_t round) const
    {
        const uint32_t tile = sab::shared_address(shared->q[group]);
        const uint32_t row = thread() % 128 / 32 * 16 + thread() % 16, piece = thread() % 32 / 16;

        sab::barrier_wait(&shared->q_full[group], round % 2);
#pragma unroll
        for (int i = 0; i < 8; i++)
            sab::ldmatrix_x4(q[i], tile + i / 4 * BSA_WGMMA_HALF_BYTES +
                                       sab::swizzled_piece(row, i % 4 * 2 + piece));
        sab::stage_release(&shared->q_empty[group], thread() % 32);
    }

    /* The chunks of an item; a tile that it has not got wants nothing of them. */
    __device__ __forceinline__ void fold_chunks(const q_operand &q, float (&o)[64],
                                                row_state &state) const
    {
        bool last;

        do {
            const uint32_t chunk = shared->progress[my_warp()].chunks;
            const wgmma_list &list = shared->lists[chunk % 2];

            sab::barrier_wait(&shared->list_full[chunk % 2], chunk / 2 % 2);
            fold_list(list, q, o, state);
            const uint32_t done = shared->progress[my_warp()].chunks;
            last = __shfl_sync(ALL_LANES, shared->lists[done % 2].last, 0) != 0;
            sab::warp_arrive(&shared->list_empty[done % 2]);
            __syncwarp();
            shared->progress[my_warp()].chunks = done + 1;
            __syncwarp();
        } while (!last);
    }

    __device__ __forceinline__ void store(const float (&o)[64], const row_state &state,
                                          int32_t tile) const
    {
        const int32_t head = tile / args.rows.query_tiles;
        const int32_t first =
            BSA_BLOCK * (tile % args.rows.query_tiles) + 16 * static_cast<int32_t>(my_warp() % 4);
        const int64_t row = static_cast<int64_t>(head) * args.seqlen_q + first;

        store_rows<T>(o, state, args.out + row * BSA_HEAD_DIM, args.lse ? args.lse + row : nullptr,
                      args.seqlen_q - first);
    }

    /* The next item; false behind the last one. */
    __device__ __forceinline__ bool serve_item() const
    {
        const int32_t round = shared->progress[my_warp()].rounds;
        const bsa_item tiles = item_of(args, round);
        float o[64] = {};
        row_state state = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
        q_operand q = {};

        if (tiles.nr == 0)
            return false;
        if (static_cast<int32_t>(my_warp() / 4) < tiles.nr)
            read_q(q, my_warp() / 4, round);
        fold_chunks(q, o, state);
        const int32_t done = shared->progress[my_warp()].rounds;
        const bsa_item served = item_of(args, done);
        const int32_t group = static_cast<int32_t>(my_warp() / 4);
        if (group < served.nr)
            store(o, state, served.first + group);
        __syncwarp();
        shared->progress[my_warp()].rounds = done + 1;
        __syncwarp();
        return true;
    }

    __device__ __forceinline__ void serve() const
    {
        shared->progress[my_warp()] = {0, 0};
        __syncwarp();
        while (serve_item()) {
        }
    }
};

/* One thread. */
__device__ __forceinline__ void open_barriers(wgmma_shared *shared)
{
    constexpr uint32_t readers = 4 * BSA_WGMMA_GROUPS; /* warps */

    for (int i = 0; i < BSA_WGMMA_TURNS * BSA_WGMMA_STAGES; i++) {
        sab::barrier_init(&shared->k_full[i], 1);
        sab::barrier_init(&shared->v_full[i], 1);
    }
    for (int i = 0; i < BSA_WGMMA_STAGES; i++) {
        sab::barrier_init(&shared->k_empty[i], readers);
        sab::barrier_init(&shared->v_empty[i], readers);
    }
    for (int i = 0; i < BSA_WGMMA_GROUPS; i++) {
        sab::barrier_init(&shared->q_full[i], 1);
        sab::barrier_init(&shared->q_empty[i], 4);
    }
    for (int i = 0; i < 2; i++) {
        sab::barrier_init(&shared->list_full[i], sab::WARP_LANES);
        sab::barrier_init(&shared->list_empty[i], sab::WARP_LANES * readers + 1);
    }
    sab::barriers_publish();
}

template <class T>
__global__ void __launch_bounds__(BSA_WGMMA_THREADS, 1)
    wgmma_kernel(const __grid_constant__ bsa_wgmma_args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t memory[];
    wgmma_shared *shared = reinterpret_cast<wgmma_shared *>(memory);
    /* by shuffle, so that the compiler knows that it is uniform */
    const uint32_t lane = threadIdx.x % 32, warp = __shfl_sync(ALL_LANES, threadIdx.x / 32, 0);

    if (threadIdx.x == 0)
        open_barriers(shared);
    __syncthreads();
    if (warp >= 4 * BSA_WGMMA_GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
        if (warp == 4 * BSA_WGMMA_GROUPS) {
            if (sab::elect_one()) {
                sab::map_prefetch(&args.maps.k);
                sab::map_prefetch(&args.maps.v);
                loader{args, shared, 0, 0, 0}.serve();
            }
        } else if (warp == 4 * BSA_WGMMA_GROUPS + 1) {
            lister{args, shared, lane, 0, 0}.serve();
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
        attender<T>{args, shared}.serve();
    }
#endif
}

} // namespace bsa

#endif
