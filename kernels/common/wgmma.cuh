/*
 * wgmma.cuh - warpgroup-wide products of 8-bit operands (sm_90a), and what guards their registers.
 *
 * Accumulators of m64nNk32 (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk32"): warp w of
 * the warpgroup owns rows 16w..16w+15; with g = lane / 4, t = lane % 4, d[4j + e] is row g + 8 *
 * (e / 2), column 8j + 2t + e % 2. A left operand in registers has the layout of mma_sync.cuh.
 *
 * Products run asynchronously. Between the issue and the wait nothing may touch their registers,
 * so a wait is followed by wgmma_hold() of the accumulators that it completes: the compiler sees
 * no other tie between the two.
 */
#ifndef SAB_WGMMA_CUH
#define SAB_WGMMA_CUH

#include <stdint.h>

namespace sab
{

enum wgmma_swizzle { WGMMA_SWIZZLE_128 = 1, WGMMA_SWIZZLE_64 = 2 };

/* Descriptor of a matrix in shared memory whose k runs fastest, in two halves: only the lower one
 * moves from product to product, and 32-bit sums are half of 64-bit ones. */
struct wgmma_matrix {
    uint32_t low, high;

    /* The same `bytes` further on, a multiple of 16. */
    __device__ __forceinline__ wgmma_matrix operator+(uint32_t bytes) const
    {
        return {low + bytes / 16, high};
    }
};

/* The rows are as wide as the swizzle, and 8 of them lie `group_bytes` after the 8 before. The tile
 * begins at a multiple of 1024. */
__device__ __forceinline__ wgmma_matrix wgmma_describe(uint32_t address, uint32_t group_bytes,
                                                       wgmma_swizzle swizzle)
{
    return {(address & 0x3ffff) >> 4 | 1u << 16, group_bytes >> 4 | static_cast<uint32_t>(swizzle)
                                                                        << 30};
}

/* Registers written so far are seen by the products that follow. */
__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

/* Closes a group of products. */
__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}

/* Waits until at most PENDING of the latest groups are unfinished. */
template <int PENDING> __device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(PENDING) : "memory");
}

/* What is read of `d` is read behind this point, what is written before it is written. */
template <int N> __device__ __forceinline__ void wgmma_hold(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i]) : : "memory");
}
template <class T, int N> __device__ __forceinline__ void wgmma_hold(T (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+r"(d[i]) : : "memory");
}

#define SAB_OPERANDS_4(c, d, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define SAB_OPERANDS_16(c, d, i)                                                                   \
    SAB_OPERANDS_4(c, d, i), SAB_OPERANDS_4(c, d, i + 4), SAB_OPERANDS_4(c, d, i + 8),             \
        SAB_OPERANDS_4(c, d, i + 12)
#define SAB_OPERANDS_32(c, d, i) SAB_OPERANDS_16(c, d, i), SAB_OPERANDS_16(c, d, i + 16)

/* d = a * b + (ACCUMULATE ? d : 0), exact in 32 bits; a is 64 x 32, b 128 x 32, both in shared
 * memory. */
template <bool ACCUMULATE>
__device__ __forceinline__ void wgmma_s8_n128(int32_t (&d)[64], wgmma_matrix a, wgmma_matrix b)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 ".reg .b64 a, b;\n\t"
                 "mov.b64 a, {%64, %65};\n\t"
                 "mov.b64 b, {%66, %67};\n\t"
                 "setp.ne.b32 p, %68, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, a, b, p;\n\t"
                 "}"
                 : SAB_OPERANDS_32("+r", d, 0), SAB_OPERANDS_32("+r", d, 32)
                 : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "n"(ACCUMULATE ? 1 : 0));
}

/* d = a * b + (ACCUMULATE ? d : 0), exact in 32 bits; a is 64 x 32, b 64 x 32, both in shared
 * memory. */
template <bool ACCUMULATE>
__device__ __forceinline__ void wgmma_s8_n64(int32_t (&d)[32], wgmma_matrix a, wgmma_matrix b)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 ".reg .b64 a, b;\n\t"
                 "mov.b64 a, {%32, %33};\n\t"
                 "mov.b64 b, {%34, %35};\n\t"
                 "setp.ne.b32 p, %36, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                 "}, a, b, p;\n\t"
                 "}"
                 : SAB_OPERANDS_32("+r", d, 0)
                 : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "n"(ACCUMULATE ? 1 : 0));
}

/* d = a * b + (ACCUMULATE ? d : 0), fp32 registers but about 13 bits of mantissa on the way; a is
 * 64 x 32 in registers, b 64 x 32 in shared memory. */
template <bool ACCUMULATE>
__device__ __forceinline__ void wgmma_e4m3_n64(float (&d)[32], const uint32_t (&a)[4],
                                               wgmma_matrix b)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 ".reg .b64 b;\n\t"
                 "mov.b64 b, {%36, %37};\n\t"
                 "setp.ne.b32 p, %38, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                 "}, {%32, %33, %34, %35}, b, p, 1, 1;\n\t"
                 "}"
                 : SAB_OPERANDS_32("+f", d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(b.high),
                   "n"(ACCUMULATE ? 1 : 0));
}

/* d = a * b + (ACCUMULATE ? d : 0), as wgmma_e4m3_n64; a is 64 x 32, b 128 x 32, both in shared
 * memory. */
template <bool ACCUMULATE>
__device__ __forceinline__ void wgmma_e4m3_ss_n128(float (&d)[64], wgmma_matrix a, wgmma_matrix b)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 ".reg .b64 a, b;\n\t"
                 "mov.b64 a, {%64, %65};\n\t"
                 "mov.b64 b, {%66, %67};\n\t"
                 "setp.ne.b32 p, %68, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, a, b, p, 1, 1;\n\t"
                 "}"
                 : SAB_OPERANDS_32("+f", d, 0), SAB_OPERANDS_32("+f", d, 32)
                 : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "n"(ACCUMULATE ? 1 : 0));
}

#undef SAB_OPERANDS_32
#undef SAB_OPERANDS_16
#undef SAB_OPERANDS_4

} // namespace sab

#endif
