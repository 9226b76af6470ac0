/*
 * reference.cu - the two quantisers as the contract writes them (sage contract, section 8): one
 * thread a channel, IEEE divisions, one launch for Q and three for K and V. Judges the fast
 * kernels; nothing here is tuned.
 */
#include "reference.h"

#include <cstdlib>
#include <cstring>

#include "cuda_check.h"
#include "quant_device.cuh"

namespace sage_quant
{

/* Most blocks of a grid in its second and third dimension; the kernels step over the rest. */
constexpr int64_t GRID_MOST = 65535;

/* Largest of 128 values. All threads of the block call it. */
__device__ float block_largest(float x)
{
    __shared__ float shared[QUANT_DIM];

    __syncthreads();
    shared[threadIdx.x] = x;
    for (int step = QUANT_DIM / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + step]);
    }
    __syncthreads();
    return shared[0];
}

__device__ int8_t quantise(float x, float scale)
{
    return static_cast<int8_t>(fminf(fmaxf(rintf(__fdiv_rn(x, scale)), -127.0f), 127.0f));
}

/* Place of a logical token in its group of 16 (section 3). */
__device__ int place_of(int token)
{
    const int r = token % 16;

    return token - r + 2 * (r / 8) + 4 * (r / 2 % 4) + r % 2;
}

__device__ void q_group(const quant_q_call &c, int64_t b, int64_t h, int64_t group)
{
    const int64_t first = group * QUANT_GROUP, bh = b * c.heads + h;
    const int64_t end = min(first + QUANT_GROUP, c.seqlen);
    const int channel = threadIdx.x;
    float largest = 0.0f;

    for (int64_t r = first; r < end; r++)
        largest = fmaxf(largest, fabsf(bf16_of(rows_of(c.q, b, h, r)[channel])));
    const float scale = scale_of(block_largest(largest), QUANT_INT8);
    if (channel == 0)
        c.q_scale[bh * c.groups + group] = scale;
    for (int64_t r = first; r < end; r++)
        c.q_int8[(bh * c.seqlen + r) * QUANT_DIM + channel] =
            quantise(bf16_of(rows_of(c.q, b, h, r)[channel]), scale);
}

__global__ void __launch_bounds__(QUANT_DIM)
    sage_quant_q_reference(const __grid_constant__ quant_q_call c)
{
    for (int64_t b = blockIdx.z; b < c.batch; b += gridDim.z)
        for (int64_t h = blockIdx.y; h < c.heads; h += gridDim.y)
            q_group(c, b, h, blockIdx.x);
}

__device__ void kv_sums(const quant_kv_call &c, int64_t b, int64_t h, int64_t block)
{
    const int64_t first = block * QUANT_BLOCK, end = min(first + QUANT_BLOCK, c.seqlen);
    const int64_t at = ((b * c.heads + h) * c.blocks + block) * QUANT_DIM + threadIdx.x;
    float sum = 0.0f, largest = 0.0f;

    for (int pair = 0; pair < QUANT_STRANDS / 2; pair++) {
        float part[2] = {0.0f, 0.0f};

        for (int s = 0; s < 2; s++)
            for (int64_t r = first + 2 * pair + s; r < end; r += QUANT_STRANDS)
                part[s] = __fadd_rn(part[s], bf16_of(rows_of(c.k, b, h, r)[threadIdx.x]));
        const float both = __fadd_rn(part[0], part[1]);
        sum = pair == 0 ? both : __fadd_rn(sum, both);
    }
    for (int64_t r = first; r < end; r++)
        largest = fmaxf(largest, fabsf(bf16_of(rows_of(c.v, b, h, r)[threadIdx.x])));
    c.sum[at] = sum;
    c.largest[at] = largest;
}

__global__ void __launch_bounds__(QUANT_DIM)
    sage_quant_kv_reference_partial(const __grid_constant__ quant_kv_call c)
{
    for (int64_t b = blockIdx.z; b < c.batch; b += gridDim.z)
        for (int64_t h = blockIdx.y; h < c.heads; h += gridDim.y)
            kv_sums(c, b, h, blockIdx.x);
}

__device__ void kv_head(const quant_kv_call &c, int64_t bh)
{
    const int64_t first = bh * c.blocks * QUANT_DIM + threadIdx.x;
    float sum = 0.0f, largest = 0.0f;

    for (int64_t span = 0; span < c.blocks; span += QUANT_SPAN) {
        float part = 0.0f;

        for (int64_t i = span; i < min(span + QUANT_SPAN, c.blocks); i++)
            part = __fadd_rn(part, c.sum[first + i * QUANT_DIM]);
        sum = __fadd_rn(sum, part);
    }
    for (int64_t i = 0; i < c.blocks; i++)
        largest = fmaxf(largest, c.largest[first + i * QUANT_DIM]);
    c.mean[bh * QUANT_DIM + threadIdx.x] = round_bf16(__fdiv_rn(sum, static_cast<float>(c.seqlen)));
    c.v_scale[bh * QUANT_DIM + threadIdx.x] = scale_of(largest, QUANT_E4M3);
}

__global__ void __launch_bounds__(QUANT_DIM)
    sage_quant_kv_reference_final(const __grid_constant__ quant_kv_call c)
{
    for (int64_t b = blockIdx.z; b < c.batch; b += gridDim.z)
        for (int64_t h = blockIdx.y; h < c.heads; h += gridDim.y)
            kv_head(c, b * c.heads + h);
}

__device__ void k_block(const quant_kv_call &c, int64_t b, int64_t h, int64_t block)
{
    const int64_t first = block * QUANT_BLOCK, end = min(first + QUANT_BLOCK, c.seqlen);
    const int64_t bh = b * c.heads + h;
    const int channel = threadIdx.x;
    const float mean = c.mean[bh * QUANT_DIM + channel];
    float largest = 0.0f;

    for (int64_t r = first; r < end; r++)
        largest = fmaxf(largest, fabsf(__fsub_rn(bf16_of(rows_of(c.k, b, h, r)[channel]), mean)));
    const float scale = scale_of(block_largest(largest), QUANT_INT8);
    if (channel == 0)
        c.k_scale[bh * c.blocks + block] = scale;
    for (int64_t r = first; r < end; r++)
        c.k_int8[(bh * c.seqlen + r) * QUANT_DIM + channel] =
            quantise(__fsub_rn(bf16_of(rows_of(c.k, b, h, r)[channel]), mean), scale);
}

__device__ void v_block(const quant_kv_call &c, int64_t b, int64_t h, int64_t block)
{
    const int64_t channel = (b * c.heads + h) * QUANT_DIM + threadIdx.x;
    const float scale = c.v_scale[channel];
    uint8_t *out = c.v_fp8 + (channel * c.blocks + block) * QUANT_BLOCK;

    for (int i = 0; i < QUANT_BLOCK; i++) {
        const int64_t row = block * QUANT_BLOCK + i;
        uint32_t code = 0;

        if (row < c.seqlen)
            code = sab::e4m3x4(__fdiv_rn(bf16_of(rows_of(c.v, b, h, row)[threadIdx.x]), scale),
                               0.0f, 0.0f, 0.0f);
        out[place_of(i)] = static_cast<uint8_t>(code);
    }
}

__global__ void __launch_bounds__(QUANT_DIM)
    sage_quant_kv_reference_quantise(const __grid_constant__ quant_kv_call c)
{
    for (int64_t b = blockIdx.z; b < c.batch; b += gridDim.z)
        for (int64_t h = blockIdx.y; h < c.heads; h += gridDim.y) {
            k_block(c, b, h, blockIdx.x);
            v_block(c, b, h, blockIdx.x);
        }
}

static dim3 grid_of(int64_t parts, int64_t heads, int64_t batch)
{
    return dim3((unsigned)parts, (unsigned)(heads < GRID_MOST ? heads : GRID_MOST),
                (unsigned)(batch < GRID_MOST ? batch : GRID_MOST));
}

} // namespace sage_quant

static int keep(const void *call, size_t size, void **plan, struct sab_message *msg)
{
    *plan = malloc(size);
    if (!*plan)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", size);
    memcpy(*plan, call, size);
    return SAB_OK;
}

int quant_q_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                           void **plan, struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct quant_q_call call;
    int status = quant_q_call_init(&call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status =
            sab_cuda_check(cudaFuncGetAttributes(&attributes, sage_quant::sage_quant_q_reference),
                           "load the kernel of sage_quant_q/reference", msg);
    return status == SAB_OK ? keep(&call, sizeof(call), plan, msg) : status;
}

int quant_q_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct quant_q_call *c = (const struct quant_q_call *)plan;

    sage_quant::sage_quant_q_reference<<<sage_quant::grid_of(c->groups, c->heads, c->batch),
                                         QUANT_DIM, 0, static_cast<cudaStream_t>(stream)>>>(*c);
    return sab_cuda_check(cudaGetLastError(), "launch sage_quant_q/reference", msg);
}

int quant_kv_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                            void **plan, struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct quant_kv_call call;
    int status = quant_kv_call_init(&call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = quant_kv_place(&call, problem, workspace, SAB_DEVICE_CUDA, msg);
    if (status == SAB_OK)
        status = sab_cuda_check(
            cudaFuncGetAttributes(&attributes, sage_quant::sage_quant_kv_reference_quantise),
            "load the kernels of sage_quant_kv/reference", msg);
    return status == SAB_OK ? keep(&call, sizeof(call), plan, msg) : status;
}

int quant_kv_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct quant_kv_call *c = (const struct quant_kv_call *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);

    sage_quant::sage_quant_kv_reference_partial<<<
        sage_quant::grid_of(c->blocks, c->heads, c->batch), QUANT_DIM, 0, on>>>(*c);
    sage_quant::sage_quant_kv_reference_final<<<sage_quant::grid_of(1, c->heads, c->batch),
                                                QUANT_DIM, 0, on>>>(*c);
    sage_quant::sage_quant_kv_reference_quantise<<<
        sage_quant::grid_of(c->blocks, c->heads, c->batch), QUANT_DIM, 0, on>>>(*c);
    return sab_cuda_check(cudaGetLastError(), "launch sage_quant_kv/reference", msg);
}

void quant_reference_free(void *plan)
{
    free(plan);
}
