/*
 * reference.cu - bsa_fwd by its definition (contracts/bsa.md, section 3): a warp serves one query
 * row, folds the used blocks in slot order and keeps an exact softmax. Products and weights are
 * floats, as are sums of eight products and of one block's values; sums over those are doubles, P
 * is not rounded. Judges the fast kernels; nothing here is tuned beyond that.
 */
#include "reference.h"

#include <cuda_runtime.h>
#include <math.h>
#include <stdlib.h>

#include "bsa_call.h"
#include "cuda_check.h"
#include "half_types.cuh"

namespace
{

constexpr int ROWS_PER_BLOCK = 4; /* warps */
constexpr unsigned ALL = 0xffffffffu;
constexpr int CHANNELS = BSA_HEAD_DIM / 32; /* of a lane, side by side */
constexpr double LN2 = 0.69314718055994530942;

struct row_state {
    double m, l; /* maximum in log2 units, sum of weights */
    double o[CHANNELS];
};

/* What a warp keeps in shared memory. */
struct warp_room {
    float q[BSA_HEAD_DIM];
    float weights[BSA_BLOCK];
};

/* Slots in use by a row (contracts/sage.md, section 4). */
__device__ int64_t slot_count(const bsa_call &c, int64_t row)
{
    return c.key.block_nums ? c.block_nums[row] : c.block_sparse_num;
}

__device__ int valid_tokens(const bsa_call &c, int64_t batch, int64_t bh, int64_t block)
{
    const int64_t left = min(c.seqlen_k - BSA_BLOCK * block, static_cast<int64_t>(BSA_BLOCK));
    int64_t at = block;

    if (c.key.sizes_mode == 0)
        return static_cast<int>(left);
    if (c.key.sizes_mode == 2)
        at += batch * c.key_blocks;
    if (c.key.sizes_mode == 3)
        at += bh * c.key_blocks;
    return static_cast<int>(min(left, static_cast<int64_t>(max(c.block_sizes[at], 0))));
}

__device__ double warp_max(double x)
{
    for (int step = 16; step > 0; step /= 2)
        x = fmax(x, __shfl_xor_sync(ALL, x, step));
    return x;
}

__device__ double warp_sum(double x)
{
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(ALL, x, step);
    return x;
}

template <class T> __device__ double dot(const float *q, const uint16_t *k)
{
    double sum = 0.0;

    for (int i = 0; i < BSA_HEAD_DIM; i += 8) {
        const uint4 raw = __ldg(reinterpret_cast<const uint4 *>(k + i));
        const uint32_t pairs[4] = {raw.x, raw.y, raw.z, raw.w};
        float part = 0.0f;

        for (int j = 0; j < 4; j++) {
            const float2 two = T::unpack(pairs[j]);
            part = fmaf(q[i + 2 * j], two.x, part);
            part = fmaf(q[i + 2 * j + 1], two.y, part);
        }
        sum += static_cast<double>(part);
    }
    return sum;
}

/* Folds keys 0 to valid - 1, valid > 0, of a block that starts at row `first` of k and v. */
template <class T>
__device__ void fold_block(const bsa_call &c, row_state &state, warp_room &room, int64_t first,
                           int valid, int lane)
{
    double s[2], top = -INFINITY, sum = 0.0;
    float part[CHANNELS] = {};

    for (int i = 0; i < 2; i++) {
        const int token = lane + 32 * i;
        s[i] = -INFINITY;
        if (token < valid)
            s[i] = dot<T>(room.q, c.k + (first + token) * BSA_HEAD_DIM) *
                   static_cast<double>(c.scale_log2);
        top = fmax(top, s[i]);
    }
    const double m_new = fmax(state.m, warp_max(top));
    const double factor = exp2(state.m - m_new);
    for (int i = 0; i < 2; i++) {
        const double p = exp2(s[i] - m_new);
        room.weights[lane + 32 * i] = static_cast<float>(p);
        sum += p;
    }
    state.m = m_new;
    state.l = state.l * factor + warp_sum(sum);
    __syncwarp();
    for (int token = 0; token < valid; token++) {
        const uint16_t *v = c.v + (first + token) * BSA_HEAD_DIM + CHANNELS * lane;
        const uint2 raw = __ldg(reinterpret_cast<const uint2 *>(v));
        const float2 low = T::unpack(raw.x), high = T::unpack(raw.y);
        const float p = room.weights[token];

        part[0] = fmaf(p, low.x, part[0]);
        part[1] = fmaf(p, low.y, part[1]);
        part[2] = fmaf(p, high.x, part[2]);
        part[3] = fmaf(p, high.y, part[3]);
    }
    for (int i = 0; i < CHANNELS; i++)
        state.o[i] = state.o[i] * factor + static_cast<double>(part[i]);
    __syncwarp();
}

template <class T>
__device__ void write_row(const bsa_call &c, const row_state &state, int64_t at, int lane)
{
    float mean[CHANNELS];

    for (int i = 0; i < CHANNELS; i++)
        mean[i] = state.l > 0.0 ? static_cast<float>(state.o[i] / state.l) : 0.0f;
    reinterpret_cast<uint2 *>(c.out + at * BSA_HEAD_DIM)[lane] =
        make_uint2(T::pack(mean[0], mean[1]), T::pack(mean[2], mean[3]));
    if (c.lse && lane == 0)
        c.lse[at] = state.l > 0.0 ? static_cast<float>((state.m + log2(state.l)) * LN2) : -INFINITY;
}

/* Attention of one query row; bh = batch * heads + head. */
template <class T>
__device__ void serve_row(const bsa_call &c, warp_room &room, int64_t bh, int64_t query, int lane)
{
    const int64_t tile = bh * c.query_tiles + query / BSA_BLOCK, at = bh * c.seqlen_q + query;
    const int64_t batch = bh / c.heads, kv_head = batch * c.kv_heads + bh % c.heads / c.group;
    const int64_t count = slot_count(c, tile);
    row_state state = {-INFINITY, 0.0, {}};

    for (int i = lane; i < BSA_HEAD_DIM / 2; i += 32) {
        const float2 two =
            T::unpack(reinterpret_cast<const uint32_t *>(c.q + at * BSA_HEAD_DIM)[i]);
        room.q[2 * i] = two.x;
        room.q[2 * i + 1] = two.y;
    }
    __syncwarp();
    for (int64_t slot = 0; slot < count; slot++) {
        const int64_t block = c.block_index[tile * c.cap + slot];
        const int valid = valid_tokens(c, batch, bh, block);
        if (valid > 0)
            fold_block<T>(c, state, room, kv_head * c.seqlen_k + BSA_BLOCK * block, valid, lane);
    }
    write_row<T>(c, state, at, lane);
    __syncwarp();
}

template <class T>
__global__ void __launch_bounds__(32 * ROWS_PER_BLOCK, 4)
    reference_kernel(const __grid_constant__ bsa_call c)
{
    __shared__ warp_room rooms[ROWS_PER_BLOCK];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t rows = c.batch * c.heads * c.seqlen_q;

    for (int64_t row = static_cast<int64_t>(blockIdx.x) * ROWS_PER_BLOCK + warp; row < rows;
         row += static_cast<int64_t>(gridDim.x) * ROWS_PER_BLOCK)
        serve_row<T>(c, rooms[warp], row / c.seqlen_q, row % c.seqlen_q, lane);
}

typedef void (*kernel_fn)(const bsa_call);

kernel_fn kernel_of(const bsa_call &c)
{
    return c.key.fp16 ? reference_kernel<sab::fp16> : reference_kernel<sab::bf16>;
}

} // namespace

struct reference_plan {
    struct bsa_call call;
    unsigned blocks;
};

int bsa_reference_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct bsa_call call;
    int status = bsa_call_init(&call, problem, SAB_VALIDATE_METADATA, msg);

    return status == SAB_OK ? bsa_call_check_arch(problem, BSA_REFERENCE_TARGETS, msg) : status;
}

int bsa_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct bsa_call call;
    int status = bsa_call_init(&call, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = bsa_call_check_arch(problem, BSA_REFERENCE_TARGETS, msg);
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, kernel_of(call)),
                                "load the kernel of bsa_fwd/reference", msg);
    if (status != SAB_OK)
        return status;
    struct reference_plan *p = (struct reference_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    const int64_t blocks = (call.batch * call.heads * call.seqlen_q - 1) / ROWS_PER_BLOCK + 1;
    p->call = call;
    p->blocks = (unsigned)(blocks < INT32_MAX ? blocks : INT32_MAX);
    *plan = p;
    return SAB_OK;
}

int bsa_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct reference_plan *p = (const struct reference_plan *)plan;

    kernel_of(p->call)<<<p->blocks, 32 * ROWS_PER_BLOCK, 0, static_cast<cudaStream_t>(stream)>>>(
        p->call);
    return sab_cuda_check(cudaGetLastError(), "launch bsa_fwd/reference", msg);
}

void bsa_reference_free(void *plan)
{
    free(plan);
}
