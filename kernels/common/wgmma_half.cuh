/*
 * wgmma_half.cuh - warpgroup-wide products of 16-bit operands (sm_90a): d = a b (+ d) with fp32
 * accumulators, a 64 x 16 from shared memory (SS) or registers (RS), b 16 x n from shared memory,
 * n = 8, 16, 32, 64, 128 or 256 by the number of accumulators, n / 2 a thread. What guards the
 * registers, and the layout of accumulators, stand in wgmma.cuh.
 *
 * A left operand in registers, with g = lane / 4, t = lane % 4, rows 16w.. of warp w, two
 * consecutive k in a register, lower k lower:
 *   a[0] row g, k 2t..    a[1] row g+8, k 2t..    a[2] row g, k 8+2t..    a[3] row g+8, k 8+2t..
 * Accumulators d[8j..8j+7] of n, packed in pairs, are such an operand for k = 16j..16j+15.
 *
 * Tiles in shared memory are 128 bytes (64 elements) wide with the 128-byte swizzle, a row every
 * 128 bytes, at a multiple of 1024. One tile serves both majors:
 *   rows are m or n, columns are k (K_MAJOR): wgmma_along_k(); 16 further k are 32 bytes on; more
 *   than 64 k go on in another tile.
 *   rows are k, columns are m or n (MN_MAJOR): wgmma_across_k(); 16 further k are 2048 bytes on;
 *   columns from 64 on lie in tiles `tile_bytes` apart.
 */
#ifndef SAB_WGMMA_HALF_CUH
#define SAB_WGMMA_HALF_CUH

#include <type_traits>

#include "half_types.cuh"
#include "wgmma.cuh"

namespace sab
{

enum wgmma_major { K_MAJOR = 0, MN_MAJOR = 1 };

__device__ __forceinline__ wgmma_matrix wgmma_along_k(uint32_t address)
{
    return wgmma_describe(address, 1024, WGMMA_SWIZZLE_128);
}

/* tile_bytes below 2^18; says nothing for 64 columns or fewer. */
__device__ __forceinline__ wgmma_matrix wgmma_across_k(uint32_t address, uint32_t tile_bytes)
{
    return {(address & 0x3ffff) >> 4 | tile_bytes >> 4 << 16,
            1024u >> 4 | static_cast<uint32_t>(WGMMA_SWIZZLE_128) << 30};
}

/* clang-format off */
#define SAB_LIST_4 "%0, %1, %2, %3"
#define SAB_LIST_8 SAB_LIST_4 ", %4, %5, %6, %7"
#define SAB_LIST_16 SAB_LIST_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define SAB_LIST_32 SAB_LIST_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SAB_LIST_64 SAB_LIST_32 \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SAB_LIST_128 SAB_LIST_64 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SAB_SUMS_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SAB_SUMS_8(d, i) SAB_SUMS_4(d, i), SAB_SUMS_4(d, i + 4)
#define SAB_SUMS_16(d, i) SAB_SUMS_8(d, i), SAB_SUMS_8(d, i + 8)
#define SAB_SUMS_32(d, i) SAB_SUMS_16(d, i), SAB_SUMS_16(d, i + 16)
#define SAB_SUMS_64(d, i) SAB_SUMS_32(d, i), SAB_SUMS_32(d, i + 32)
#define SAB_SUMS_128(d, i) SAB_SUMS_64(d, i), SAB_SUMS_64(d, i + 64)

/* The operands behind the accumulators, by number: asm has no names for them. */
#define SAB_SS(n, sums, type, i0, i1, i2, i3, i4, i5, i6)                                          \
    asm volatile("{\n\t"                                                                           \
                 ".reg .pred p;\n\t"                                                               \
                 ".reg .b64 a, b;\n\t"                                                             \
                 "mov.b64 a, {%" #i0 ", %" #i1 "};\n\t"                                            \
                 "mov.b64 b, {%" #i2 ", %" #i3 "};\n\t"                                            \
                 "setp.ne.b32 p, %" #i4 ", 0;\n\t"                                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type " {" SAB_LIST_##sums         \
                 "}, a, b, p, 1, 1, %" #i5 ", %" #i6 ";\n\t"                                       \
                 "}"                                                                               \
                 : SAB_SUMS_##sums(d, 0)                                                           \
                 : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "r"(accumulate ? 1 : 0),      \
                   "n"(A == MN_MAJOR ? 1 : 0), "n"(B == MN_MAJOR ? 1 : 0))

#define SAB_RS(n, sums, type, i0, i1, i2, i3, i4, i5, i6, i7)                                      \
    asm volatile("{\n\t"                                                                           \
                 ".reg .pred p;\n\t"                                                               \
                 ".reg .b64 b;\n\t"                                                                \
                 "mov.b64 b, {%" #i4 ", %" #i5 "};\n\t"                                            \
                 "setp.ne.b32 p, %" #i6 ", 0;\n\t"                                                 \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type " {" SAB_LIST_##sums         \
                 "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, b, p, 1, 1, %" #i7 ";\n\t"          \
                 "}"                                                                               \
                 : SAB_SUMS_##sums(d, 0)                                                           \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(b.high),            \
                   "r"(accumulate ? 1 : 0), "n"(B == MN_MAJOR ? 1 : 0))

/* Both forms for one width: T is bf16 or fp16, A and B are the majors. `accumulate` false drops
 * what d held. */
#define SAB_HALF_PRODUCTS(n, sums, i0, i1, i2, i3, i4, i5, i6, i7)                                 \
    template <class T, wgmma_major A, wgmma_major B>                                               \
    __device__ __forceinline__ void wgmma_ss(float (&d)[sums], wgmma_matrix a, wgmma_matrix b,     \
                                             bool accumulate)                                      \
    {                                                                                              \
        if constexpr (std::is_same_v<T, bf16>)                                                     \
            SAB_SS(n, sums, "bf16.bf16", i0, i1, i2, i3, i4, i5, i6);                              \
        else                                                                                       \
            SAB_SS(n, sums, "f16.f16", i0, i1, i2, i3, i4, i5, i6);                                \
    }                                                                                              \
    template <class T, wgmma_major B>                                                              \
    __device__ __forceinline__ void wgmma_rs(float (&d)[sums], const uint32_t (&a)[4],             \
                                             wgmma_matrix b, bool accumulate)                      \
    {                                                                                              \
        if constexpr (std::is_same_v<T, bf16>)                                                     \
            SAB_RS(n, sums, "bf16.bf16", i0, i1, i2, i3, i4, i5, i6, i7);                          \
        else                                                                                       \
            SAB_RS(n, sums, "f16.f16", i0, i1, i2, i3, i4, i5, i6, i7);                            \
    }

SAB_HALF_PRODUCTS(8, 4, 4, 5, 6, 7, 8, 9, 10, 11)
SAB_HALF_PRODUCTS(16, 8, 8, 9, 10, 11, 12, 13, 14, 15)
SAB_HALF_PRODUCTS(32, 16, 16, 17, 18, 19, 20, 21, 22, 23)
SAB_HALF_PRODUCTS(64, 32, 32, 33, 34, 35, 36, 37, 38, 39)
SAB_HALF_PRODUCTS(128, 64, 64, 65, 66, 67, 68, 69, 70, 71)
SAB_HALF_PRODUCTS(256, 128, 128, 129, 130, 131, 132, 133, 134, 135)

#undef SAB_HALF_PRODUCTS
#undef SAB_RS
#undef SAB_SS
#undef SAB_SUMS_128
#undef SAB_SUMS_64
#undef SAB_SUMS_32
#undef SAB_SUMS_16
#undef SAB_SUMS_8
#undef SAB_SUMS_4
#undef SAB_LIST_128
#undef SAB_LIST_64
#undef SAB_LIST_32
#undef SAB_LIST_16
#undef SAB_LIST_8
#undef SAB_LIST_4
/* clang-format on */

} // namespace sab

#endif
