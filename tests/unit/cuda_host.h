/*
 * cuda_host.h - runs device code on the host: the words of CUDA as C++, and blocks of threads that
 * take turns. What is emulated: __syncthreads(), warp-wide shuffles, votes and sums of all 32
 * lanes, barriers of a cluster, atomics on shared memory. Warps run in random order and for random
 * times, so that code that lacks a barrier goes wrong sooner or later; a barrier that not all reach
 * ends the run. Everything is of one thread of the host: build it without sanitizers, which do not
 * follow changes of the stack.
 *
 * Include it before the device code, whose asm must be replaced.
 */
#ifndef TEST_CUDA_HOST_H
#define TEST_CUDA_HOST_H

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <ucontext.h>
#include <vector>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __shared__
#define __align__(n)
#define __launch_bounds__(...)
#define __grid_constant__

using std::max;
using std::min;

struct uint2 {
    uint32_t x, y;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
inline uint2 make_uint2(uint32_t x, uint32_t y)
{
    return {x, y};
}
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
}
inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

struct host_index {
    uint32_t x;
};
inline host_index threadIdx, blockIdx, blockDim, gridDim;

/* ---- threads that take turns ---- */

enum { HOST_STACK = 32 << 10 };

struct host_barrier {
    unsigned want, have, turn;
};

struct host_warp {
    host_barrier barrier = {32, 0, 0};
    uint32_t said[2][32]; /* by turns */
};

struct host_block {
    std::vector<uint8_t> memory;
    uint8_t *shared;
    host_barrier barrier;
    int votes[2];
    std::vector<host_warp> warps;
};

struct host_thread {
    ucontext_t first;
    std::jmp_buf now;
    std::unique_ptr<uint8_t[]> stack;
    bool started, done;
    uint32_t thread, rank;
    const unsigned *turn; /* waits while this is `seen` */
    unsigned seen;
};

struct host_grid {
    std::function<void(uint8_t *shared)> body;
    std::vector<host_block> blocks;   /* of one cluster */
    std::vector<host_thread> threads; /* `nr` are in use */
    size_t nr;
    host_barrier barrier; /* of the cluster */
    uint32_t first_block;
    host_thread *current;
    std::jmp_buf scheduler;
};
inline host_grid host;

inline host_block &host_own_block()
{
    return host.blocks[host.current->rank];
}

inline host_warp &host_own_warp()
{
    return host_own_block().warps[host.current->thread / 32];
}

inline void host_yield()
{
    if (_setjmp(host.current->now) == 0)
        _longjmp(host.scheduler, 1);
}

/* Returns the number of the turn. */
inline unsigned host_wait(host_barrier &b)
{
    const unsigned turn = b.turn;

    if (++b.have == b.want) {
        b.have = 0;
        b.turn++;
        return turn;
    }
    host.current->turn = &b.turn;
    host.current->seen = turn;
    host_yield();
    host.current->turn = nullptr;
    return turn;
}

inline void host_enter()
{
    host.body(host_own_block().shared);
    host.current->done = true;
    _longjmp(host.scheduler, 1);
}

inline void host_resume(host_thread &t)
{
    host.current = &t;
    threadIdx.x = t.thread;
    blockIdx.x = host.first_block + t.rank;
    if (_setjmp(host.scheduler) != 0)
        return;
    if (t.started)
        _longjmp(t.now, 1);
    t.started = true;
    setcontext(&t.first);
}

inline void host_open(uint32_t threads, uint32_t cluster, size_t shared_bytes)
{
    host.blocks.resize(cluster);
    host.nr = (size_t)threads * cluster;
    host.threads.resize(max(host.threads.size(), host.nr));
    host.barrier = {threads * cluster, 0, 0};
    for (host_block &b : host.blocks) {
        b.memory.assign(shared_bytes + 1024, 0xa5);
        b.shared = b.memory.data() + 1024 - (uintptr_t)b.memory.data() % 1024;
        b.barrier = {threads, 0, 0};
        b.warps.assign(threads / 32, host_warp());
    }
    for (size_t i = 0; i < host.nr; i++) {
        host_thread &t = host.threads[i];

        if (!t.stack)
            t.stack.reset(new uint8_t[HOST_STACK]);
        t.started = t.done = false;
        t.turn = nullptr;
        t.thread = (uint32_t)(i % threads);
        t.rank = (uint32_t)(i / threads);
        getcontext(&t.first);
        t.first.uc_stack.ss_sp = t.stack.get();
        t.first.uc_stack.ss_size = HOST_STACK;
        t.first.uc_link = nullptr;
        makecontext(&t.first, host_enter, 0);
    }
}

/* Threads of a warp that could go on, once each. */
inline bool host_turn(size_t warp)
{
    bool any = false;

    for (size_t lane = 0; lane < 32; lane++) {
        host_thread &t = host.threads[32 * warp + lane];

        if (t.done || (t.turn && *t.turn == t.seen))
            continue;
        host_resume(t);
        any = true;
    }
    return any;
}

/* One cluster of blocks, to its end. False where threads wait for others that never come. */
inline bool host_run_cluster(std::mt19937 &random)
{
    std::vector<size_t> order(host.nr / 32);

    for (size_t i = 0; i < order.size(); i++)
        order[i] = i;
    for (bool any = true; any;) {
        any = false;
        std::shuffle(order.begin(), order.end(), random);
        for (size_t warp : order)
            for (unsigned n = 1 + random() % 6; n > 0 && host_turn(warp); n--)
                any = true;
    }
    for (size_t i = 0; i < host.nr; i++)
        if (!host.threads[i].done)
            return false;
    return true;
}

/* `blocks` blocks in clusters of `cluster`, one cluster after the other. body(shared) is what
 * a thread does; `shared` is a multiple of 1024, filled with 0xa5. */
inline bool host_launch(uint32_t blocks, uint32_t threads, uint32_t cluster, size_t shared_bytes,
                        unsigned seed, const std::function<void(uint8_t *)> &body)
{
    std::mt19937 random(seed);

    host.body = body;
    gridDim.x = blocks;
    blockDim.x = threads;
    for (host.first_block = 0; host.first_block < blocks; host.first_block += cluster) {
        host_open(threads, cluster, shared_bytes);
        if (!host_run_cluster(random))
            return false;
    }
    return true;
}

/* The place in the shared memory of block `rank` of the cluster that `mine` has in this one's. */
template <class T> const T *host_peer(const T *mine, uint32_t rank)
{
    const uint8_t *at = reinterpret_cast<const uint8_t *>(mine);

    return reinterpret_cast<const T *>(host.blocks[rank].shared + (at - host_own_block().shared));
}

/* ---- the words of CUDA ---- */

inline void __syncthreads()
{
    host_wait(host_own_block().barrier);
}

inline int __syncthreads_or(int yes)
{
    host_block &b = host_own_block();
    int &votes = b.votes[b.barrier.turn % 2];

    if (b.barrier.have == 0)
        votes = 0;
    votes |= yes != 0;
    return b.votes[host_wait(b.barrier) % 2];
}

/* What all lanes say, in order. Lanes that are a turn ahead write elsewhere. */
inline const uint32_t *host_say(uint32_t x)
{
    host_warp &w = host_own_warp();
    const unsigned turn = w.barrier.turn % 2;

    w.said[turn][host.current->thread % 32] = x;
    host_wait(w.barrier);
    return w.said[turn];
}

inline uint32_t __shfl_sync(uint32_t, uint32_t x, int lane)
{
    return host_say(x)[lane];
}
inline uint32_t __shfl_up_sync(uint32_t, uint32_t x, int by)
{
    const uint32_t lane = host.current->thread % 32;
    const uint32_t *said = host_say(x);

    return lane >= (uint32_t)by ? said[lane - by] : x;
}
inline uint32_t __ballot_sync(uint32_t, bool yes)
{
    const uint32_t *said = host_say(yes);
    uint32_t all = 0;

    for (int i = 0; i < 32; i++)
        all |= said[i] << i;
    return all;
}
template <class F> inline uint32_t host_fold(uint32_t x, const F &f)
{
    const uint32_t *said = host_say(x);
    uint32_t all = said[0];

    for (int i = 1; i < 32; i++)
        all = f(all, said[i]);
    return all;
}
inline uint32_t __reduce_add_sync(uint32_t, uint32_t x)
{
    return host_fold(x, [](uint32_t a, uint32_t b) { return a + b; });
}
inline uint32_t __reduce_min_sync(uint32_t, uint32_t x)
{
    return host_fold(x, [](uint32_t a, uint32_t b) { return min(a, b); });
}
inline uint32_t __reduce_max_sync(uint32_t, uint32_t x)
{
    return host_fold(x, [](uint32_t a, uint32_t b) { return max(a, b); });
}

inline uint32_t atomicAdd(uint32_t *to, uint32_t x)
{
    const uint32_t old = *to;

    *to += x;
    return old;
}
inline uint32_t atomicMin(uint32_t *to, uint32_t x)
{
    const uint32_t old = *to;

    *to = min(old, x);
    return old;
}
inline uint32_t atomicMax(uint32_t *to, uint32_t x)
{
    const uint32_t old = *to;

    *to = max(old, x);
    return old;
}

inline int __popc(uint32_t x)
{
    return __builtin_popcount(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
inline float __uint_as_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}
inline uint32_t __float_as_uint(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

#endif
