/*
 * cuda_host_tensor.h - on top of cuda_host.h: barriers in shared memory, boxes that TMA brings,
 * products of warps and of warpgroups. In the place of stage.cuh, half_types.cuh, mma_half.cuh and
 * wgmma_half.cuh. Products are whole when they are issued, boxes come late.
 */
#ifndef TEST_CUDA_HOST_TENSOR_H
#define TEST_CUDA_HOST_TENSOR_H

#include <cmath>

#include "cuda.h"
#include "cuda_host.h"
#include "numfmt.h"

#define SAB_STAGE_CUH
#define SAB_HALF_TYPES_CUH
#define SAB_MMA_HALF_CUH
#define SAB_WGMMA_HALF_CUH

inline void __syncwarp()
{
    host_wait(host_own_warp().barrier);
}
inline float __shfl_xor_sync(uint32_t, float x, int by)
{
    return __uint_as_float(host_say(__float_as_uint(x))[host.current->thread % 32 ^ (uint32_t)by]);
}
template <class T> inline T __ldg(const T *from)
{
    return *from;
}

/* Eight bytes, as the device's. A phase ends when all have arrived and all bytes have come. */
struct host_mbarrier {
    unsigned turn;
    uint32_t want : 9, left : 9;
    int32_t pieces : 14; /* of 16 bytes, to come */
};
static_assert(sizeof(host_mbarrier) == sizeof(uint64_t));

inline void host_settle(host_mbarrier &b)
{
    if (b.left > 0 || b.pieces != 0)
        return;
    b.left = b.want;
    b.turn++;
}

namespace cuda
{
namespace ptx
{

inline int mbarrier_arrive(uint64_t *at)
{
    host_mbarrier &b = *reinterpret_cast<host_mbarrier *>(at);

    b.left--;
    host_settle(b);
    return 0;
}

} // namespace ptx
} // namespace cuda

namespace sab
{

inline uint32_t shared_address(const void *at)
{
    return (uint32_t)(static_cast<const uint8_t *>(at) - host_own_block().shared);
}

/* ---- stages ---- */

inline void barrier_init(uint64_t *at, uint32_t arrivals)
{
    *reinterpret_cast<host_mbarrier *>(at) = {0, arrivals & 511, arrivals & 511, 0};
}
inline void barriers_publish()
{
}
inline bool elect_one()
{
    return host.current->thread % 32 == 0;
}
inline void barrier_wait(uint64_t *at, uint32_t parity)
{
    host_mbarrier &b = *reinterpret_cast<host_mbarrier *>(at);

    while ((b.turn & 1) == parity) {
        host.current->turn = &b.turn;
        host.current->seen = b.turn;
        host_yield();
        host.current->turn = nullptr;
    }
}
inline void expect_boxes(uint64_t *at, uint32_t bytes)
{
    host_mbarrier &b = *reinterpret_cast<host_mbarrier *>(at);

    b.pieces += (int32_t)bytes / 16;
    (void)cuda::ptx::mbarrier_arrive(at);
}

/* Where the 128-byte swizzle has a byte: bits 4 to 6 of its address are xored with bits 7 to 9. */
inline uint8_t *swizzled(uint32_t address)
{
    return host_own_block().shared + (address ^ ((address >> 7 & 7) << 4));
}

inline void ask_box(uint8_t *to, uint64_t *full, const void *map, int x0, int x1, int, int)
{
    const CUtensorMap &m = *static_cast<const CUtensorMap *>(map);
    const uint8_t *base = static_cast<const uint8_t *>(m.base);
    host_mbarrier &b = *reinterpret_cast<host_mbarrier *>(full);

    for (int late = x1 % 3; late > 0; late--)
        host_yield();
    for (int row = 0; row < m.box; row++)
        for (int i = 0; i < 128; i++)
            *swizzled(shared_address(to) + (uint32_t)(128 * row + i)) =
                x1 + row < m.rows ? base[((int64_t)(x1 + row) * 128 + x0) * m.element_bytes + i]
                                  : 0;
    b.pieces -= 8 * m.box;
    host_settle(b);
}
constexpr uint32_t WARP_LANES = 32;
inline void warp_arrive(uint64_t *barrier)
{
    (void)cuda::ptx::mbarrier_arrive(barrier);
}
inline void stage_release(uint64_t *empty, uint32_t lane)
{
    __syncwarp();
    if (lane == 0)
        (void)cuda::ptx::mbarrier_arrive(empty);
}

/* ---- formats ---- */

template <int32_t DTYPE> struct host_format {
    static float one(uint32_t bits)
    {
        return DTYPE == SAB_BF16 ? __uint_as_float(bits << 16)
                                 : (float)numfmt_decode(DTYPE, bits & 0xffff);
    }
    static float2 unpack(uint32_t pair)
    {
        return {one(pair & 0xffff), one(pair >> 16)};
    }
    static uint32_t pack(float x, float y)
    {
        return numfmt_encode(DTYPE, x) | numfmt_encode(DTYPE, y) << 16;
    }
    static uint32_t of_e4m3(uint32_t pair)
    {
        return pack((float)numfmt_decode(SAB_E4M3, pair & 255),
                    (float)numfmt_decode(SAB_E4M3, pair >> 8 & 255));
    }
};
using bf16 = host_format<SAB_BF16>;
using fp16 = host_format<SAB_FP16>;

/* ---- products of a warp: m16n8k16, fragments as in mma_half.cuh ---- */

inline void ldmatrix_x4(uint32_t (&r)[4], uint32_t address)
{
    const uint32_t lane = host.current->thread % 32;
    const uint32_t *row = host_say(address);

    for (uint32_t i = 0; i < 4; i++)
        memcpy(&r[i], host_own_block().shared + row[8 * i + lane / 4] + 4 * (lane % 4), 4);
}

/* Element k of row (of a) or column (of b) `line`, from registers that all lanes say. */
template <class T> struct host_fragment {
    uint32_t said[4][32];

    void take(int i, uint32_t x)
    {
        memcpy(said[i], host_say(x), sizeof(said[i]));
    }
    float at(uint32_t half_of_line, uint32_t half_of_k, int line, int k) const
    {
        const uint32_t pair =
            said[half_of_line + half_of_k * (uint32_t)(k / 8)][line % 8 * 4 + k % 8 / 2];
        const float2 two = T::unpack(pair);

        return k % 2 ? two.y : two.x;
    }
};

template <class T>
inline void mma_half(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    const int g = (int)(host.current->thread % 32 / 4), t = (int)(host.current->thread % 4);
    host_fragment<T> left, right;

    for (int i = 0; i < 4; i++)
        left.take(i, a[i]);
    right.take(0, b0);
    right.take(1, b1);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 16; k++)
            d[i] += left.at(i / 2, 2, g, k) * right.at(0, 1, 2 * t + i % 2, k);
}

/* ---- products of a warpgroup, both operands in shared memory, rows of 128 bytes, swizzled ---- */

struct wgmma_matrix {
    uint32_t address;

    wgmma_matrix operator+(uint32_t bytes) const
    {
        return {address + bytes};
    }
};
inline wgmma_matrix wgmma_along_k(uint32_t address)
{
    return {address};
}
inline void wgmma_fence()
{
}
inline void wgmma_commit()
{
}
template <int PENDING> inline void wgmma_wait()
{
}
template <int N> inline void wgmma_hold(float (&)[N])
{
}

inline float host_element(wgmma_matrix m, int row, int k, int element_bytes)
{
    const uint8_t *at = swizzled(m.address + (uint32_t)(128 * row + k * element_bytes));

    return element_bytes == 2 ? bf16::one((uint32_t)at[0] | (uint32_t)at[1] << 8)
                              : (float)numfmt_decode(SAB_E4M3, *at);
}

/* Accumulators as in wgmma.cuh. */
inline void host_product(float (&d)[64], wgmma_matrix a, wgmma_matrix b, int element_bytes,
                         bool accumulate)
{
    const int lane = (int)(host.current->thread % 32), warp = (int)(host.current->thread / 32 % 4);
    const int ks = 32 / element_bytes;
    float left[2][32];

    for (int r = 0; r < 2; r++)
        for (int k = 0; k < ks; k++)
            left[r][k] = host_element(a, 16 * warp + lane / 4 + 8 * r, k, element_bytes);
    for (int j = 0; j < 16; j++)
        for (int e = 0; e < 2; e++) {
            float right[32];

            for (int k = 0; k < ks; k++)
                right[k] = host_element(b, 8 * j + 2 * (lane % 4) + e, k, element_bytes);
            for (int r = 0; r < 2; r++) {
                float sum = accumulate ? d[4 * j + 2 * r + e] : 0.0f;

                for (int k = 0; k < ks; k++)
                    sum += left[r][k] * right[k];
                d[4 * j + 2 * r + e] = sum;
            }
        }
}
template <bool ACCUMULATE>
inline void wgmma_e4m3_ss_n128(float (&d)[64], wgmma_matrix a, wgmma_matrix b)
{
    host_product(d, a, b, 1, ACCUMULATE);
}
enum wgmma_major { K_MAJOR = 0, MN_MAJOR };
template <class T, wgmma_major A, wgmma_major B>
inline void wgmma_ss(float (&d)[64], wgmma_matrix a, wgmma_matrix b, bool accumulate)
{
    static_assert(A == K_MAJOR && B == K_MAJOR);
    host_product(d, a, b, 2, accumulate);
}

} // namespace sab

#endif
