/*
 * reference.cu - sage_fwd by its definition (contracts/sage.md section 9.1, "Exact"): a warp serves
 * one query row, folds the used blocks in slot order and keeps an exact softmax. Products are exact
 * integers, weights and the sums of one block are floats, sums over blocks are doubles, P is not
 * rounded. Judges the fast kernels; nothing here is tuned beyond that.
 */
#include "reference.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "convert.cuh"
#include "cuda_check.h"
#include "sage_call.h"

namespace
{

constexpr int ROWS_PER_BLOCK = 4; /* warps */
constexpr int CHANNELS_PER_LANE = SAGE_HEAD_DIM / 32;

struct row_state {
    double m, l; /* maximum in log2 units, sum of weights */
    double o[CHANNELS_PER_LANE];
};

/* Logical token of a physical place in a group of 16 (section 3). */
__device__ int logical_token(int physical)
{
    const int group = physical & ~15, r = physical & 15;

    return group + 2 * (r / 4) + 8 * (r / 2 % 2) + r % 2;
}

/* Slots in use by a row (section 4): the tensor counts only without the uniform promise. */
__device__ int64_t slot_count(const sage_call &c, int64_t row)
{
    return c.key.block_nums ? c.block_nums[row] : c.block_sparse_num;
}

__device__ int valid_tokens(const sage_call &c, int64_t batch, int64_t bh, int64_t block)
{
    const int64_t left = min(c.seqlen_k - SAGE_BLOCK * block, static_cast<int64_t>(SAGE_BLOCK));
    int64_t at = block;

    if (c.key.sizes_mode == 0)
        return static_cast<int>(left);
    if (c.key.sizes_mode == 2)
        at += batch * c.key_blocks;
    if (c.key.sizes_mode == 3)
        at += bh * c.key_blocks;
    return static_cast<int>(min(left, static_cast<int64_t>(max(c.block_sizes[at], 0))));
}

__device__ float warp_max(float x)
{
    for (int step = 16; step > 0; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

__device__ float warp_sum(float x)
{
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

/* Score of one key in log2 units; q and k are 128 int8 each. */
__device__ float score(const int (&q)[SAGE_HEAD_DIM / 4], const int8_t *k, float scale)
{
    const int4 *k16 = reinterpret_cast<const int4 *>(k);
    int sum = 0;

    for (int i = 0; i < SAGE_HEAD_DIM / 16; i++) {
        const int4 x = __ldg(k16 + i);
        sum = __dp4a(q[4 * i], x.x, sum);
        sum = __dp4a(q[4 * i + 1], x.y, sum);
        sum = __dp4a(q[4 * i + 2], x.z, sum);
        sum = __dp4a(q[4 * i + 3], x.w, sum);
    }
    return static_cast<float>(sum) * scale;
}

/* Sum of weight times value over four places; a value without weight is not looked at, since that
 * of a token that does not exist may be anything. */
__device__ float weighted_sum4(const float4 &w, uint32_t bytes)
{
    const float2 low = sab::e4m3x2_to_float2(bytes), high = sab::e4m3x2_to_float2(bytes >> 16);
    float sum = w.x != 0.0f ? w.x * low.x : 0.0f;

    sum += w.y != 0.0f ? w.y * low.y : 0.0f;
    sum += w.z != 0.0f ? w.z * high.x : 0.0f;
    sum += w.w != 0.0f ? w.w * high.y : 0.0f;
    return sum;
}

/* The same over the 64 places of a block, for one channel. Weights lie in physical order, like V.
 */
__device__ float weighted_sum(const float4 *w, const uint8_t *v)
{
    float sum = 0.0f;

    for (int group = 0; group < SAGE_BLOCK / 16; group++) {
        const uint4 x = __ldg(reinterpret_cast<const uint4 *>(v) + group);

        sum += weighted_sum4(w[4 * group], x.x);
        sum += weighted_sum4(w[4 * group + 1], x.y);
        sum += weighted_sum4(w[4 * group + 2], x.z);
        sum += weighted_sum4(w[4 * group + 3], x.w);
    }
    return sum;
}

/* Folds one block into the row. `weights` is the warp's own 64 floats. */
__device__ void fold_block(const sage_call &c, row_state &state, const int (&q)[SAGE_HEAD_DIM / 4],
                           float q_scale, int64_t bh, int64_t block, int valid, float4 *weights)
{
    const int lane = threadIdx.x & 31;
    const float scale = q_scale * c.k_scale[bh * c.key_blocks + block];
    const int64_t first = bh * c.seqlen_k + SAGE_BLOCK * block;
    float s[2], top = -INFINITY;

    for (int i = 0; i < 2; i++) {
        const int place = lane + 32 * i, token = logical_token(place);
        s[i] = token < valid ? score(q, c.k + (first + token) * SAGE_HEAD_DIM, scale) : -INFINITY;
        top = fmaxf(top, s[i]);
    }
    const double m_new = fmax(state.m, static_cast<double>(warp_max(top)));
    /* a block with no valid token never comes here, so m_new is finite */
    const double factor = exp2(state.m - m_new);
    float sum = 0.0f;
    for (int i = 0; i < 2; i++) {
        const float p = exp2f(static_cast<float>(static_cast<double>(s[i]) - m_new));
        reinterpret_cast<float *>(weights)[lane + 32 * i] = p;
        sum += p;
    }
    state.m = m_new;
    state.l = state.l * factor + static_cast<double>(warp_sum(sum));
    __syncwarp();
    for (int i = 0; i < CHANNELS_PER_LANE; i++) {
        const int64_t channel = bh * SAGE_HEAD_DIM + lane + 32 * i;
        const uint8_t *v = c.v + (channel * c.key_blocks + block) * SAGE_BLOCK;
        state.o[i] = state.o[i] * factor + static_cast<double>(weighted_sum(weights, v));
    }
    __syncwarp();
}

/* Attention of one query row; bh = batch * heads + head. */
__device__ void serve_row(const sage_call &c, int64_t bh, int64_t query, float4 *weights)
{
    const int lane = threadIdx.x & 31;
    const int64_t tile = bh * c.query_tiles + query / SAGE_BLOCK;
    const int64_t scales = 4 * ((c.seqlen_q - 1) / 128 + 1);
    const float q_scale = c.q_scale[bh * scales + query / 32] * c.scale_log2;
    const int64_t at = bh * c.seqlen_q + query;
    row_state state = {-INFINITY, 0.0, {}};
    int q[SAGE_HEAD_DIM / 4];

    for (int i = 0; i < SAGE_HEAD_DIM / 4; i++)
        q[i] = reinterpret_cast<const int *>(c.q + at * SAGE_HEAD_DIM)[i];
    const int64_t count = slot_count(c, tile);
    for (int64_t slot = 0; slot < count; slot++) {
        const int64_t block = c.block_index[tile * c.cap + slot];
        const int valid = valid_tokens(c, bh / c.heads, bh, block);
        if (valid > 0)
            fold_block(c, state, q, q_scale, bh, block, valid, weights);
    }
    for (int i = 0; i < CHANNELS_PER_LANE; i++) {
        const int channel = lane + 32 * i;
        const float mean = state.l > 0.0 ? static_cast<float>(state.o[i] / state.l) : 0.0f;
        const float value = mean * c.v_scale[bh * SAGE_HEAD_DIM + channel];
        c.out[at * SAGE_HEAD_DIM + channel] = static_cast<uint16_t>(sab::bf16x2(value, 0.0f));
    }
}

__global__ void __launch_bounds__(32 * ROWS_PER_BLOCK, 4)
    reference_kernel(const __grid_constant__ sage_call c)
{
    __shared__ float4 weights[ROWS_PER_BLOCK][SAGE_BLOCK / 4];
    const int warp = threadIdx.x / 32;
    const int64_t rows = c.batch * c.heads * c.seqlen_q;

    for (int64_t row = static_cast<int64_t>(blockIdx.x) * ROWS_PER_BLOCK + warp; row < rows;
         row += static_cast<int64_t>(gridDim.x) * ROWS_PER_BLOCK)
        serve_row(c, row / c.seqlen_q, row % c.seqlen_q, weights[warp]);
}

} // namespace

struct reference_plan {
    struct sage_call call;
    unsigned blocks;
};

int sage_reference_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct sage_call call;
    int status = sage_call_init(&call, problem, SAB_VALIDATE_METADATA, msg);

    return status == SAB_OK ? sage_call_check_arch(problem, msg) : status;
}

int sage_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                        void **plan, struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct sage_call call;
    int status = sage_call_init(&call, problem, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = sage_call_check_arch(problem, msg);
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, reference_kernel),
                                "load the kernel of sage_fwd/reference", msg);
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

int sage_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct reference_plan *p = (const struct reference_plan *)plan;

    reference_kernel<<<p->blocks, 32 * ROWS_PER_BLOCK, 0, static_cast<cudaStream_t>(stream)>>>(
        p->call);
    return sab_cuda_check(cudaGetLastError(), "launch sage_fwd/reference", msg);
}

void sage_reference_free(void *plan)
{
    free(plan);
}
