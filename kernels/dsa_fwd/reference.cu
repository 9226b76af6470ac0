/*
 * reference.cu - dsa_fwd by its definition (contracts/dsa.md, section 2): a warp serves one head of
 * one query row and folds the active slots in order, 32 at a time. Products of q and kv are exact
 * floats, their sums doubles, so that scores hold where large terms cancel; weights, their sums and
 * the sums over chunks are doubles, the values of 32 slots are added up as floats, P is not
 * rounded. Judges the fast kernels; nothing here is tuned beyond that.
 */
#include "reference.h"

#include <cuda_runtime.h>
#include <math.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "dsa_fwd_call.h"
#include "half_types.cuh"

namespace
{

constexpr int ROWS_PER_BLOCK = 4; /* warps */
constexpr unsigned ALL = 0xffffffffu;
constexpr int VALUES = DSA_VALUE_WIDTH / 32; /* columns of a lane: 8 from 8 * lane, 8 from 256 on */

/* A running log-sum: sum of e^(s - m). */
struct log_sum {
    double m, l;

    /* Adds the 32 scores of the lanes (-inf: no score). Returns the factor of older sums, and the
     * lane's weight. Nothing is there to add where all are -inf. */
    __device__ double fold(double score, double *weight)
    {
        double top = score, sum;

        for (int step = 16; step > 0; step /= 2)
            top = fmax(top, __shfl_xor_sync(ALL, top, step));
        top = fmax(top, m);
        const double factor = top == -INFINITY ? 1.0 : exp(m - top);
        *weight = score == -INFINITY ? 0.0 : exp(score - top);
        sum = *weight;
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(ALL, sum, step);
        m = top;
        l = l * factor + sum;
        return factor;
    }
    __device__ float value() const
    {
        return l > 0.0 ? static_cast<float>(m + log(l)) : INFINITY;
    }
};

/* What a lane holds of a row of q or kv. */
struct slice {
    float values[VALUES], tail[2]; /* tail: columns 512 + 2 * lane.. */
};

template <class T> __device__ void unpack8(float *to, const uint16_t *from)
{
    const uint4 raw = *reinterpret_cast<const uint4 *>(from);
    const uint32_t pairs[4] = {raw.x, raw.y, raw.z, raw.w};

    for (int i = 0; i < 4; i++) {
        const float2 two = T::unpack(pairs[i]);
        to[2 * i] = two.x;
        to[2 * i + 1] = two.y;
    }
}

template <class T> __device__ slice read_slice(const uint16_t *row, int width, int lane)
{
    slice s = {};

    unpack8<T>(s.values, row + 8 * lane);
    unpack8<T>(s.values + 8, row + DSA_VALUE_WIDTH / 2 + 8 * lane);
    if (width > DSA_VALUE_WIDTH) {
        const float2 two =
            T::unpack(*reinterpret_cast<const uint32_t *>(row + DSA_VALUE_WIDTH + 2 * lane));
        s.tail[0] = two.x;
        s.tail[1] = two.y;
    }
    return s;
}

/* Two factors of at most 11 bits make an exact float. */
__device__ double dot(const slice &a, const slice &b)
{
    double sum = 0.0, more = 0.0;

    for (int i = 0; i < VALUES; i += 2) {
        sum += static_cast<double>(__fmul_rn(a.values[i], b.values[i]));
        more += static_cast<double>(__fmul_rn(a.values[i + 1], b.values[i + 1]));
    }
    sum += static_cast<double>(__fmul_rn(a.tail[0], b.tail[0]));
    more += static_cast<double>(__fmul_rn(a.tail[1], b.tail[1]));
    sum += more;
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(ALL, sum, step);
    return sum;
}

/* The id of the lane's slot, or -1 where it is not active (section 1, rules 3 and 4). */
__device__ int active_id(const dsa_fwd_call &c, int64_t row, int64_t slot)
{
    int64_t length = c.slots;

    if (c.lengths)
        length = min(static_cast<int64_t>(c.lengths[row]), length);
    if (slot >= length)
        return -1;
    const int id = c.ids[row * c.slots + slot];
    return id >= 0 && id < c.keys ? id : -1;
}

struct row_state {
    log_sum whole, prefix;
    double o[VALUES];
};

/* Folds slots first..first + 31; `id` is the lane's, or -1. */
template <class T>
__device__ void fold_chunk(const dsa_fwd_call &c, row_state &state, const slice &q, int64_t first,
                           int id, int lane)
{
    const unsigned active = __ballot_sync(ALL, id >= 0);
    double score = -INFINITY, weight, unused;
    float part[VALUES] = {};

    for (unsigned left = active; left != 0; left &= left - 1) {
        const int i = __ffs(static_cast<int>(left)) - 1;
        const int64_t key = __shfl_sync(ALL, id, i);
        const double s = dot(q, read_slice<T>(c.kv + key * c.width, c.width, lane));
        if (lane == i)
            score = s * static_cast<double>(c.scale);
    }
    if (c.lse_prefix)
        (void)state.prefix.fold(first + lane < c.prefix ? score : -INFINITY, &unused);
    const double factor = state.whole.fold(score, &weight);
    for (unsigned left = active; left != 0; left &= left - 1) {
        const int i = __ffs(static_cast<int>(left)) - 1;
        const int64_t key = __shfl_sync(ALL, id, i);
        const float w = static_cast<float>(__shfl_sync(ALL, weight, i));
        const slice v = read_slice<T>(c.kv + key * c.width, DSA_VALUE_WIDTH, lane);
        for (int j = 0; j < VALUES; j++)
            part[j] = fmaf(w, v.values[j], part[j]);
    }
    for (int j = 0; j < VALUES; j++)
        state.o[j] = state.o[j] * factor + static_cast<double>(part[j]);
}

/* The sink enters the normaliser once: e^lse + e^sink, here relative to e^m. Infinite is right. */
template <class T>
__device__ void write_row(const dsa_fwd_call &c, const row_state &state, int64_t row, int64_t head,
                          int lane)
{
    const int64_t at = row * c.heads + head;
    const double m = state.whole.m, l = state.whole.l;
    const double sink = c.sink ? static_cast<double>(c.sink[head]) : -INFINITY;
    const double inverse = l > 0.0 ? 1.0 / (l + exp(sink - m)) : 0.0;
    uint32_t *out = reinterpret_cast<uint32_t *>(c.out + at * DSA_VALUE_WIDTH);

    for (int j = 0; j < VALUES; j += 2) {
        const int column = j / 8 * (DSA_VALUE_WIDTH / 2) + 8 * lane + j % 8;
        const double x0 = inverse > 0.0 ? state.o[j] * inverse : 0.0;
        const double x1 = inverse > 0.0 ? state.o[j + 1] * inverse : 0.0;
        out[column / 2] = T::pack(static_cast<float>(x0), static_cast<float>(x1));
    }
    if (lane != 0)
        return;
    c.max_logits[at] = static_cast<float>(m);
    c.lse[at] = state.whole.value();
    if (c.lse_prefix)
        c.lse_prefix[at] = state.prefix.value();
}

template <class T>
__global__ void __launch_bounds__(32 * ROWS_PER_BLOCK)
    reference_kernel(const __grid_constant__ dsa_fwd_call c)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t all = c.rows * c.heads;

    for (int64_t at = static_cast<int64_t>(blockIdx.x) * ROWS_PER_BLOCK + warp; at < all;
         at += static_cast<int64_t>(gridDim.x) * ROWS_PER_BLOCK) {
        const int64_t row = at / c.heads, head = at % c.heads;
        const slice q = read_slice<T>(c.q + at * c.width, c.width, lane);
        row_state state = {{-INFINITY, 0.0}, {-INFINITY, 0.0}, {}};

        for (int64_t first = 0; first < c.slots; first += 32) {
            const int id = active_id(c, row, first + lane);
            if (__any_sync(ALL, id >= 0))
                fold_chunk<T>(c, state, q, first, id, lane);
        }
        write_row<T>(c, state, row, head, lane);
    }
}

typedef void (*kernel_fn)(const dsa_fwd_call);

kernel_fn kernel_of(const dsa_fwd_call &c)
{
    return c.fp16 ? reference_kernel<sab::fp16> : reference_kernel<sab::bf16>;
}

} // namespace

struct reference_plan {
    struct dsa_fwd_call call;
    unsigned blocks; /* 0: nothing to write */
};

int dsa_fwd_reference_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct dsa_fwd_call call;
    int status = dsa_fwd_call_init(&call, problem, SAB_VALIDATE_METADATA, msg);

    return status == SAB_OK ? dsa_fwd_call_check_arch(problem, DSA_FWD_REFERENCE_TARGETS, msg)
                            : status;
}

int dsa_fwd_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                           void **plan, struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct dsa_fwd_call call;
    int status = dsa_fwd_call_init(&call, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = dsa_fwd_call_check_arch(problem, DSA_FWD_REFERENCE_TARGETS, msg);
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, kernel_of(call)),
                                "load the kernel of dsa_fwd/reference", msg);
    if (status != SAB_OK)
        return status;
    struct reference_plan *p = (struct reference_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    const int64_t blocks = (call.rows * call.heads + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    p->call = call;
    p->blocks = (unsigned)(blocks < INT32_MAX ? blocks : INT32_MAX);
    *plan = p;
    return SAB_OK;
}

int dsa_fwd_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct reference_plan *p = (const struct reference_plan *)plan;

    if (p->blocks == 0)
        return SAB_OK;
    kernel_of(p->call)<<<p->blocks, 32 * ROWS_PER_BLOCK, 0, static_cast<cudaStream_t>(stream)>>>(
        p->call);
    return sab_cuda_check(cudaGetLastError(), "launch dsa_fwd/reference", msg);
}

void dsa_fwd_reference_free(void *plan)
{
    free(plan);
}
