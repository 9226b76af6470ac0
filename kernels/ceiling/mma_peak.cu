/*
 * mma_peak.cu - mma_peak/mma: the rate of mma.sync. A warp has a tile: 32 rows of a, 64 of b, 64
 * bytes each, so two products deep; all operands are distinct registers, and an iteration is 32
 * products into 16 accumulators. Products are volatile: none may be left out or made once for
 * several iterations, which tests/unit/test_ceiling_code.c holds against the machine code.
 */
#include "ceiling_host.cuh"
#include "mma_half.cuh"

namespace
{

constexpr int WARPS = 4, ROWS = 32, COLUMNS = 64, ROW_BYTES = 64;

struct mma_args {
    const uint8_t *a, *b; /* [tiles,32,64 bytes], [tiles,64,64 bytes] */
    void *out;            /* [tiles,32,64], f32 or i32 */
    int tiles, iterations;
};

#define CEILING_MMA(T, shape, types, word, constraint)                                             \
    struct T {                                                                                     \
        typedef word acc;                                                                          \
        static __device__ __forceinline__ void product(acc (&d)[4], const uint32_t (&a)[4],        \
                                                       uint32_t b0, uint32_t b1)                   \
        {                                                                                          \
            asm volatile("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, "         \
                         "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                           \
                         : "+" constraint(d[0]), "+" constraint(d[1]), "+" constraint(d[2]),       \
                           "+" constraint(d[3])                                                    \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));          \
        }                                                                                          \
    };

CEILING_MMA(of_bf16, "m16n8k16", "f32.bf16.bf16.f32", float, "f")
CEILING_MMA(of_fp16, "m16n8k16", "f32.f16.f16.f32", float, "f")
CEILING_MMA(of_s8, "m16n8k32", "s32.s8.s8.s32", int32_t, "r")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 1200
CEILING_MMA(of_e4m3, "m16n8k32", "f32.e4m3.e4m3.f32", float, "f")
#else
struct of_e4m3 : of_bf16 { /* never launched: see make_mma() */
};
#endif

/* Fragments as in mma_half.cuh and mma_sync.cuh, which agree in bytes: register i of a holds row
 * g + 8 * (i % 2), bytes 16 * (i / 2) + 4 * t of the 32 of a product. */
template <class T>
__global__ void __launch_bounds__(32 * WARPS) peak_mma_kernel(const __grid_constant__ mma_args c)
{
    const int tile = blockIdx.x * WARPS + threadIdx.x / 32;
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    uint32_t a[2][2][4], b[8][2][2];
    typename T::acc d[2][8][4] = {};

    if (tile >= c.tiles)
        return;
    const uint8_t *from_a = c.a + static_cast<int64_t>(tile) * ROWS * ROW_BYTES;
    const uint8_t *from_b = c.b + static_cast<int64_t>(tile) * COLUMNS * ROW_BYTES;
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                a[m][k][i] = *reinterpret_cast<const uint32_t *>(
                    from_a + (16 * m + g + 8 * (i % 2)) * ROW_BYTES + 32 * k + 16 * (i / 2) +
                    4 * t);
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                b[n][k][i] = *reinterpret_cast<const uint32_t *>(from_b + (8 * n + g) * ROW_BYTES +
                                                                 32 * k + 16 * i + 4 * t);
    }
#pragma unroll 1
    for (int j = 0; j < c.iterations; j++) {
#pragma unroll
        for (int k = 0; k < 2; k++)
#pragma unroll
            for (int n = 0; n < 8; n++)
#pragma unroll
                for (int m = 0; m < 2; m++)
                    T::product(d[m][n], a[m][k], b[n][k][0], b[n][k][1]);
    }
    typename T::acc *out =
        static_cast<typename T::acc *>(c.out) + static_cast<int64_t>(tile) * ROWS * COLUMNS;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                out[(16 * m + g + 8 * (i / 2)) * COLUMNS + 8 * n + 2 * t + i % 2] = d[m][n][i];
}

void (*kernel_of(int32_t dtype))(const mma_args)
{
    switch (dtype) {
    case SAB_BF16:
        return peak_mma_kernel<of_bf16>;
    case SAB_FP16:
        return peak_mma_kernel<of_fp16>;
    case SAB_I8:
        return peak_mma_kernel<of_s8>;
    default:
        return peak_mma_kernel<of_e4m3>;
    }
}

int make_mma(ceiling::launch<mma_args> *to, const sab_problem *problem, sab_message *msg)
{
    const sab_tensor *a = &problem->tensors[SAB_T_mma_peak_a];
    const sab_tensor *b = &problem->tensors[SAB_T_mma_peak_b];
    const int64_t size = sab_dtype_size(a->dtype), iterations = problem->params[0].i;

    if (a->shape[1] != ROWS || b->shape[1] != COLUMNS || a->shape[2] * size != ROW_BYTES)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "a: tiles of %d and %d rows of %d bytes are served, given %lld and %lld of "
                       "%lld",
                       ROWS, COLUMNS, ROW_BYTES, static_cast<long long>(a->shape[1]),
                       static_cast<long long>(b->shape[1]),
                       static_cast<long long>(a->shape[2] * size));
    if (a->dtype == SAB_E4M3 && problem->arch < 120)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "device: compute capability %d.%d has no mma.sync of e4m3, its products "
                       "would be those of fp16",
                       problem->arch / 10, problem->arch % 10);
    if (a->shape[0] > INT32_MAX - WARPS || iterations > INT32_MAX)
        return sab_say(msg, SAB_UNSUPPORTED, "a: at most %d tiles and iterations are served",
                       INT32_MAX - WARPS);
    to->kernel = kernel_of(a->dtype);
    to->threads = 32 * WARPS;
    to->blocks = static_cast<unsigned>((a->shape[0] - 1) / WARPS + 1);
    to->args = {(const uint8_t *)a->data, (const uint8_t *)b->data,
                problem->tensors[SAB_T_mma_peak_out].data, static_cast<int>(a->shape[0]),
                static_cast<int>(iterations)};
    return SAB_OK;
}

} // namespace

CEILING_DEFINE_HOOKS(mma, "mma_peak", mma_args, make_mma)
