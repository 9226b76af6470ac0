/*
 * wgmma_kernel.cuh - indexer_bwd_sparse/wgmma (sm_90a): the products of rows_kernel.cuh by a
 * warpgroup, asynchronously. The dense operator's kernel takes two rows at a time
 * (wgmma_pair_kernel.cuh).
 */
#ifndef INDEXER_BWD_WGMMA_KERNEL_CUH
#define INDEXER_BWD_WGMMA_KERNEL_CUH

#include "rows_kernel.cuh"
#include "wgmma_half.cuh"

namespace indexer_bwd
{

/* Each call closes one group of products. `k`, `q` and `a` are shared addresses of tiles. */
template <int N> struct wgmma_products {
    using where = layout<N>;

    /* x^T = K Q^T: rows of both run along the channels. */
    static __device__ __forceinline__ void scores(float (&x)[N / 2], uint32_t q, uint32_t k,
                                                  uint32_t, uint32_t)
    {
        sab::wgmma_fence();
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint32_t chunk = i / 4, at = 32 * (i % 4);
            sab::wgmma_ss<sab::bf16, sab::K_MAJOR, sab::K_MAJOR>(
                x, sab::wgmma_along_k(k) + (CHUNK_BYTES * chunk + at),
                sab::wgmma_along_k(q) + (where::HEAD_CHUNK * chunk + at), i > 0);
        }
        sab::wgmma_commit();
    }

    /* 64 columns of dK = a^T Q, `q` the chunk of them: rows of Q are heads, across which it sums.
     */
    static __device__ __forceinline__ void keys(float (&dk)[32], const uint32_t (&a)[N / 16][4],
                                                uint32_t q, uint32_t)
    {
        sab::wgmma_fence();
#pragma unroll
        for (int b = 0; b < N / 16; b++)
            sab::wgmma_rs<sab::bf16, sab::MN_MAJOR>(
                dk, a[b], sab::wgmma_across_k(q, where::HEAD_CHUNK) + 2048 * b, b > 0);
        sab::wgmma_commit();
    }

    /* dQ^T += K^T a^T: rows of both are keys, across which it sums. */
    static __device__ __forceinline__ void queries(float (&dq)[2][N / 2], uint32_t a, uint32_t k,
                                                   uint32_t, uint32_t)
    {
        sab::wgmma_fence();
#pragma unroll
        for (int step = 0; step < 4; step++) {
#pragma unroll
            for (int b = 0; b < 2; b++)
                sab::wgmma_ss<sab::bf16, sab::MN_MAJOR, sab::MN_MAJOR>(
                    dq[b], sab::wgmma_across_k(k, CHUNK_BYTES) + (CHUNK_BYTES * b + 2048 * step),
                    sab::wgmma_across_k(a, CHUNK_BYTES) + 2048 * step, true);
        }
        sab::wgmma_commit();
    }

    /* Until at most PENDING of the latest groups are unfinished; `d` belongs to a finished one. */
    template <int PENDING, int NR> static __device__ __forceinline__ void wait(float (&d)[NR])
    {
        sab::wgmma_wait<PENDING>();
        sab::wgmma_hold(d);
    }
    template <int NR> static __device__ __forceinline__ void hold(float (&d)[NR])
    {
        sab::wgmma_hold(d);
    }
    static __device__ __forceinline__ void hold(uint32_t (&a)[N / 16][4])
    {
#pragma unroll
        for (int b = 0; b < N / 16; b++)
            sab::wgmma_hold(a[b]);
    }
};

template <int N, bool SPARSE>
__global__ void __launch_bounds__(INDEXER_BWD_ROWS_THREADS, 3)
    wgmma_rows(const __grid_constant__ indexer_bwd_rows_args args)
{
    /* The instructions exist on sm_90a alone; elsewhere the kernel is empty and never chosen. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t shared[];

    run_row<wgmma_products<N>, N, SPARSE>(args, shared);
#endif
}

template <int N, bool SPARSE> constexpr indexer_bwd_rows_form wgmma_form()
{
    return {wgmma_rows<N, SPARSE>, layout<N>::BYTES, INDEXER_BWD_ROWS_THREADS, 1};
}

} // namespace indexer_bwd

#endif
