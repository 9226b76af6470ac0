/*
 * wgmma_peak.cu - mma_peak/wgmma: the rate of warpgroup products, both operands in shared memory. A
 * warpgroup has a tile: 64 rows of a, 128 of b, 128 bytes each, so four products deep; two
 * iterations are under way at a time.
 *
 * Sums of e4m3 products keep about 13 bits on the way (contracts/sage.md, section 13): they are
 * added to others in full precision after every 16 iterations, 64 products.
 */
#include "ceiling_host.cuh"
#include "gather.cuh"
#include "stage.cuh"
#include "wgmma_half.cuh"

namespace
{

enum {
    ROWS = 64,
    COLUMNS = 128,
    ROW_BYTES = 128,
    DEPTH = 4,  /* products of an iteration */
    SUMS = 64,  /* accumulators of a thread */
    ROUND = 16, /* iterations between promotions */
};
constexpr unsigned SHARED_BYTES = (ROWS + COLUMNS) * ROW_BYTES + 1024;

struct wgmma_args {
    const uint4 *a, *b; /* [tiles,64,128 bytes], [tiles,128,128 bytes] */
    void *out;          /* [tiles,64,128], f32 or i32 */
    int iterations;
};

struct e4m3 {
};
struct s8 {
};

template <class T> struct acc_of {
    typedef float type;
};
template <> struct acc_of<s8> {
    typedef int32_t type;
};

#define FOUR(i)                                                                                    \
    "%" #i "0, %" #i "1, %" #i "2, %" #i "3, %" #i "4, %" #i "5, %" #i "6, %" #i "7, %" #i         \
    "8, %" #i "9"
#define SUM4(d, i)  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUM16(d, i) SUM4(d, i), SUM4(d, i + 4), SUM4(d, i + 8), SUM4(d, i + 12)

template <int N>
__device__ __forceinline__ void product_e4m3(float (&d)[N], sab::wgmma_matrix a,
                                             sab::wgmma_matrix b, bool accumulate)
{
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 ".reg .b64 a, b;\n\t"
                 "mov.b64 a, {%64, %65};\n\t"
                 "mov.b64 b, {%66, %67};\n\t"
                 "setp.ne.b32 p, %68, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, " FOUR(1) ", " FOUR(2) ", " FOUR(
                     3) ", " FOUR(4) ", " FOUR(5) ", %60, %61, %62, %63"
                                                  "}, a, b, p, 1, 1;\n\t"
                                                  "}"
                 : SUM16(d, 0), SUM16(d, 16), SUM16(d, 32), SUM16(d, 48)
                 : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "r"(accumulate ? 1 : 0));
}

template <class T>
__device__ __forceinline__ void product(typename acc_of<T>::type (&d)[SUMS], sab::wgmma_matrix a,
                                        sab::wgmma_matrix b, bool accumulate)
{
    if constexpr (std::is_same_v<T, s8>)
        sab::wgmma_s8_n128<true>(d, a, b);
    else if constexpr (std::is_same_v<T, e4m3>)
        product_e4m3(d, a, b, accumulate);
    else
        sab::wgmma_ss<T, sab::K_MAJOR, sab::K_MAJOR>(d, a, b, accumulate);
}

/* `n` iterations into d, which for integers was 0 before the first of all. */
template <class T>
__device__ __forceinline__ void iterate(typename acc_of<T>::type (&d)[SUMS], sab::wgmma_matrix a,
                                        sab::wgmma_matrix b, int n)
{
    sab::wgmma_hold(d);
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        sab::wgmma_fence();
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            product<T>(d, a + 32 * k, b + 32 * k, j > 0 || k > 0);
        sab::wgmma_commit();
        sab::wgmma_wait<1>();
    }
    sab::wgmma_wait<0>();
    sab::wgmma_hold(d);
}

/* Rows of 128 bytes into a tile with the 128-byte swizzle. */
template <int N> __device__ __forceinline__ void load_tile(uint8_t *to, const uint4 *from)
{
    for (int piece = threadIdx.x; piece < 8 * N; piece += 128)
        *reinterpret_cast<uint4 *>(to + sab::swizzled_piece(piece / 8, piece % 8)) = from[piece];
}

template <class T>
__global__ void __launch_bounds__(128) peak_wgmma_kernel(const __grid_constant__ wgmma_args c)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    typedef typename acc_of<T>::type acc;
    extern __shared__ uint8_t raw[];
    const uint32_t base = sab::shared_address(raw), skip = (1024 - base % 1024) % 1024;
    uint8_t *a = raw + skip, *b = a + ROWS * ROW_BYTES;
    const int64_t tile = blockIdx.x;
    acc d[SUMS] = {};

    load_tile<ROWS>(a, c.a + tile * ROWS * 8);
    load_tile<COLUMNS>(b, c.b + tile * COLUMNS * 8);
    sab::fence_async_reads();
    __syncthreads();
    const sab::wgmma_matrix ma = sab::wgmma_along_k(sab::shared_address(a));
    const sab::wgmma_matrix mb = sab::wgmma_along_k(sab::shared_address(b));
    if constexpr (std::is_same_v<T, e4m3>) {
        acc part[SUMS] = {};

        for (int done = 0; done < c.iterations; done += ROUND) {
            iterate<T>(part, ma, mb, min(static_cast<int>(ROUND), c.iterations - done));
#    pragma unroll
            for (int i = 0; i < SUMS; i++)
                d[i] += part[i];
        }
    } else {
        iterate<T>(d, ma, mb, c.iterations);
    }
    acc *out = static_cast<acc *>(c.out) + tile * ROWS * COLUMNS;
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = 2 * (threadIdx.x % 4);
#    pragma unroll
    for (int i = 0; i < SUMS; i++)
        out[(row + 8 * (i / 2 % 2)) * COLUMNS + 8 * (i / 4) + column + i % 2] = d[i];
#else
    (void)c;
#endif
}

void (*kernel_of(int32_t dtype))(const wgmma_args)
{
    switch (dtype) {
    case SAB_BF16:
        return peak_wgmma_kernel<sab::bf16>;
    case SAB_FP16:
        return peak_wgmma_kernel<sab::fp16>;
    case SAB_I8:
        return peak_wgmma_kernel<s8>;
    default:
        return peak_wgmma_kernel<e4m3>;
    }
}

int make_wgmma(ceiling::launch<wgmma_args> *to, const sab_problem *problem, sab_message *msg)
{
    const sab_tensor *a = &problem->tensors[SAB_T_mma_peak_a];
    const sab_tensor *b = &problem->tensors[SAB_T_mma_peak_b];
    const int64_t size = sab_dtype_size(a->dtype), iterations = problem->params[0].i;

    if (problem->arch != 90)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "device: warpgroup products exist for 9.0 alone, the device has %d.%d",
                       problem->arch / 10, problem->arch % 10);
    if (a->shape[1] != ROWS || b->shape[1] != COLUMNS || a->shape[2] * size != ROW_BYTES)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "a: tiles of %d and %d rows of %d bytes are served, given %lld and %lld of "
                       "%lld",
                       ROWS, COLUMNS, ROW_BYTES, static_cast<long long>(a->shape[1]),
                       static_cast<long long>(b->shape[1]),
                       static_cast<long long>(a->shape[2] * size));
    if (a->shape[0] > INT32_MAX || iterations > INT32_MAX - ROUND)
        return sab_say(msg, SAB_UNSUPPORTED, "a: at most %d tiles and iterations are served",
                       INT32_MAX - ROUND);
    to->kernel = kernel_of(a->dtype);
    to->threads = 128;
    to->blocks = static_cast<unsigned>(a->shape[0]);
    to->shared_bytes = SHARED_BYTES;
    to->args = {(const uint4 *)a->data, (const uint4 *)b->data,
                problem->tensors[SAB_T_mma_peak_out].data, static_cast<int>(iterations)};
    return SAB_OK;
}

} // namespace

CEILING_DEFINE_HOOKS(wgmma, "mma_peak", wgmma_args, make_wgmma)
