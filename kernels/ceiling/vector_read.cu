/*
 * vector_read.cu - read and exp2: memory that is only read, and the special function units.
 *
 * A block of 256 threads adds up a part of 32 KiB: eight loads of 16 bytes of a thread are in
 * flight at once, 64 KiB and more an SM. Sums of integers have no order.
 */
#include "ceiling_host.cuh"

namespace
{

constexpr int READ_THREADS = 256, LOADS = 8;
constexpr int64_t PART_VECTORS = READ_THREADS * LOADS;
constexpr unsigned ALL = 0xffffffffu;

struct read_args {
    const int4 *src;
    int32_t *sums;
    int64_t vectors;
};

__global__ void __launch_bounds__(READ_THREADS) read_kernel(const __grid_constant__ read_args c)
{
    __shared__ int32_t warps[READ_THREADS / 32];
    const int64_t first = blockIdx.x * PART_VECTORS + threadIdx.x;
    int4 x[LOADS];
    int32_t sum = 0;

#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int64_t at = first + i * READ_THREADS;
        x[i] = at < c.vectors ? __ldcs(c.src + at) : make_int4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        sum += x[i].x + x[i].y + x[i].z + x[i].w;
    sum = static_cast<int32_t>(__reduce_add_sync(ALL, static_cast<unsigned>(sum)));
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < READ_THREADS / 32; i++)
            sum += warps[i];
        c.sums[blockIdx.x] = sum;
    }
}

int make_read(ceiling::launch<read_args> *to, const sab_problem *problem, sab_message *msg)
{
    const int64_t vectors = problem->tensors[SAB_T_read_src].shape[0] / 4;
    const int64_t blocks = (vectors - 1) / PART_VECTORS + 1;

    if (blocks > INT32_MAX)
        return sab_say(msg, SAB_UNSUPPORTED, "src: at most %lld words are served, given %lld",
                       static_cast<long long>(INT32_MAX * PART_VECTORS * 4),
                       static_cast<long long>(vectors * 4));
    to->kernel = read_kernel;
    to->blocks = static_cast<unsigned>(blocks);
    to->threads = READ_THREADS;
    to->args = {(const int4 *)problem->tensors[SAB_T_read_src].data,
                (int32_t *)problem->tensors[SAB_T_read_sums].data, vectors};
    return SAB_OK;
}

constexpr int EXP2_THREADS = 256, CHAINS = 8;

struct exp2_args {
    const float *src;
    float *out;
    int64_t elements;
    int iterations;
};

/* One exponential beside two additions, which the other pipes take: eight sums of a thread hide
 * their latency. */
__global__ void __launch_bounds__(EXP2_THREADS) exp2_kernel(const __grid_constant__ exp2_args c)
{
    const int64_t first = static_cast<int64_t>(blockIdx.x) * EXP2_THREADS * CHAINS + threadIdx.x;
    float x[CHAINS], sum[CHAINS] = {};

#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
        const int64_t at = first + i * EXP2_THREADS;
        x[i] = at < c.elements ? c.src[at] : 0.0f;
    }
#pragma unroll 4
    for (int j = 0; j < c.iterations; j++) {
#pragma unroll
        for (int i = 0; i < CHAINS; i++) {
            float y;
            asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x[i]));
            sum[i] += y;
            x[i] -= 0x1p-10f;
        }
    }
#pragma unroll
    for (int i = 0; i < CHAINS; i++) {
        const int64_t at = first + i * EXP2_THREADS;
        if (at < c.elements)
            c.out[at] = sum[i];
    }
}

int make_exp2(ceiling::launch<exp2_args> *to, const sab_problem *problem, sab_message *msg)
{
    const int64_t elements = problem->tensors[SAB_T_exp2_src].shape[0];
    const int64_t iterations = problem->params[SAB_P_exp2_iterations].i;
    const int64_t blocks = (elements - 1) / (EXP2_THREADS * CHAINS) + 1;

    if (blocks > INT32_MAX || iterations > INT32_MAX)
        return sab_say(msg, SAB_UNSUPPORTED, "src: %lld sums of %lld are too many",
                       static_cast<long long>(elements), static_cast<long long>(iterations));
    to->kernel = exp2_kernel;
    to->blocks = static_cast<unsigned>(blocks);
    to->threads = EXP2_THREADS;
    to->args = {(const float *)problem->tensors[SAB_T_exp2_src].data,
                (float *)problem->tensors[SAB_T_exp2_out].data, elements,
                static_cast<int>(iterations)};
    return SAB_OK;
}

} // namespace

CEILING_DEFINE_HOOKS(read, "read", read_args, make_read)
CEILING_DEFINE_HOOKS(exp2, "exp2", exp2_args, make_exp2)
