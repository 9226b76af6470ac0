/*
 * reference.cu - indexer_bwd_sparse and indexer_bwd_dense by their definition
 * (contracts/indexer.md, section 6). One kernel has a block a query row: G to the workspace, then
 * dW and dQ, a warp a head. The other has a block a key, which looks through all rows of its batch,
 * so that nothing is added by atomics. Products are sums of floats, everything else are doubles in
 * a fixed order. Judges the fast kernels; nothing is tuned.
 */
#include "reference.h"

#include <stdlib.h>

#include "cuda_check.h"
#include "indexer_bwd_call.h"
#include "reference_sums.cuh"

namespace
{

using namespace sab;

constexpr int WIDTH = INDEXER_BWD_WIDTH, PARTS = WIDTH / 32; /* PARTS: columns of a lane */

struct reference_args {
    indexer_bwd_call c;
    float *gradient; /* [rows,columns] */
};

__device__ float of_bf16(uint16_t x)
{
    return __uint_as_float(static_cast<uint32_t>(x) << 16);
}

__device__ uint16_t to_bf16(double x)
{
    return static_cast<uint16_t>(bf16x2(static_cast<float>(x), 0));
}

/* A lane's columns lane, lane + 32, ... of a row. */
__device__ void read_row(float (&to)[PARTS], const uint16_t *row)
{
    for (int i = 0; i < PARTS; i++)
        to[i] = of_bf16(row[threadIdx.x % 32 + 32 * i]);
}

__device__ float dot(const float (&a)[PARTS], const float (&b)[PARTS])
{
    float sum = 0;

    for (int i = 0; i < PARTS; i++)
        sum = fmaf(a[i], b[i], sum);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(REFERENCE_ALL, sum, step);
    return sum;
}

/* Teacher (already raised), probability, and whether that is not too small for a gradient. */
__device__ bool teacher_at(const indexer_bwd_call &c, int64_t row, int64_t j, double *t, double *p)
{
    const int64_t at = row * c.columns + j;
    bool counts;

    if (c.sparse) {
        *t = c.target[at];
        *p = c.predict[at];
        counts = c.predict[at] >= INDEXER_BWD_TINY;
    } else {
        const double log_p =
            static_cast<double>(c.index_raw[at]) - static_cast<double>(c.index_lse[row]);
        *t = static_cast<double>(c.attn_raw[at]) /
             (static_cast<double>(c.attn_l1norm[row]) + static_cast<double>(INDEXER_BWD_L1_EPS));
        *p = exp(log_p);
        counts = log_p >= static_cast<double>(INDEXER_BWD_LOG_TINY);
    }
    if (*t < static_cast<double>(INDEXER_BWD_TINY))
        *t = static_cast<double>(INDEXER_BWD_TINY);
    return counts;
}

/* Entries that may count; 0 for a row that is switched off. */
__device__ int64_t row_length(const indexer_bwd_call &c, const indexer_place &place, int64_t row)
{
    if (!c.sparse && !isfinite(c.index_lse[row]))
        return 0;
    return indexer_bwd_length(&c, &place, row);
}

/* Section 6.2. */
__device__ void row_gradient(const reference_args &a, const indexer_place &place, int64_t row,
                             int64_t length, double *shared)
{
    const indexer_bwd_call &c = a.c;
    const double factor = static_cast<double>(c.grad_scale) * static_cast<double>(c.grad_loss[0]);
    float *g = a.gradient + row * c.columns;
    double sum = 0, t, p;

    for (int64_t j = threadIdx.x; j < length; j += REFERENCE_THREADS)
        if (indexer_bwd_key(&c, &place, row, j) >= 0 && teacher_at(c, row, j, &t, &p))
            sum -= t * factor;
    sum = block_sum(sum, shared);
    for (int64_t j = threadIdx.x; j < c.columns; j += REFERENCE_THREADS) {
        double x = 0;
        if (j < length && indexer_bwd_key(&c, &place, row, j) >= 0) {
            const bool counts = teacher_at(c, row, j, &t, &p);
            x = (counts ? -t * factor : 0) - p * sum;
        }
        g[j] = static_cast<float>(x);
    }
}

/* Section 6.3, dW and dQ of one head. */
__device__ void head_gradient(const reference_args &a, const indexer_place &place, int64_t row,
                              int64_t head, int64_t length)
{
    const indexer_bwd_call &c = a.c;
    const int64_t at = row * c.heads + head;
    const double w = of_bf16(c.w[at]), scale = c.sm_scale;
    const float *g = a.gradient + row * c.columns;
    double dw = 0, dq[PARTS] = {};
    float q[PARTS], k[PARTS];

    read_row(q, c.q + at * WIDTH);
    for (int64_t j = 0; j < length; j++) {
        const double gradient = g[j];
        if (gradient == 0)
            continue;
        read_row(k, c.k + indexer_bwd_key(&c, &place, row, j) * WIDTH);
        const float x = dot(q, k);
        if (!(x > 0))
            continue;
        dw += gradient * scale * static_cast<double>(x);
        for (int i = 0; i < PARTS; i++)
            dq[i] += gradient * w * static_cast<double>(k[i]);
    }
    for (int i = 0; i < PARTS; i++)
        c.dq[at * WIDTH + threadIdx.x % 32 + 32 * i] = to_bf16(scale * dq[i]);
    if (threadIdx.x % 32 == 0)
        c.dw[at] = to_bf16(dw);
}

__global__ void __launch_bounds__(REFERENCE_THREADS, 1)
    rows_kernel(const __grid_constant__ reference_args a)
{
    __shared__ double shared[REFERENCE_WARPS];

    for (int64_t row = blockIdx.x; row < a.c.rows; row += gridDim.x) {
        const indexer_place place = indexer_bwd_place(&a.c, row);
        const int64_t length = row_length(a.c, place, row);

        row_gradient(a, place, row, length, shared);
        __syncthreads();
        for (int64_t h = threadIdx.x / 32; h < a.c.heads; h += REFERENCE_WARPS)
            head_gradient(a, place, row, h, length);
    }
}

/* What one entry of a row adds to its key. */
__device__ void add_entry(const indexer_bwd_call &c, int64_t row, double gradient,
                          const float (&k)[PARTS], double (&dk)[PARTS])
{
    float q[PARTS];

    for (int64_t h = 0; h < c.heads; h++) {
        const int64_t at = row * c.heads + h;
        read_row(q, c.q + at * WIDTH);
        if (!(dot(q, k) > 0))
            continue;
        const double a = gradient * static_cast<double>(of_bf16(c.w[at]));
        for (int i = 0; i < PARTS; i++)
            dk[i] += a * static_cast<double>(q[i]);
    }
}

/* All entries of a row that name the key. */
__device__ void add_row(const reference_args &a, int64_t row, int64_t key, const float (&k)[PARTS],
                        double (&dk)[PARTS])
{
    const indexer_bwd_call &c = a.c;
    const indexer_place place = indexer_bwd_place(&c, row);
    const int64_t length = row_length(c, place, row);
    const float *g = a.gradient + row * c.columns;

    if (!c.sparse) {
        const int64_t j = key - place.first_k;
        if (j < length && g[j] != 0)
            add_entry(c, row, g[j], k, dk);
        return;
    }
    for (int64_t first = 0; first < length; first += 32) {
        const int64_t j = first + threadIdx.x % 32;
        const bool here = j < length && indexer_bwd_key(&c, &place, row, j) == key && g[j] != 0;

        for (unsigned left = __ballot_sync(REFERENCE_ALL, here); left != 0; left &= left - 1)
            add_entry(c, row, g[first + __ffs(static_cast<int>(left)) - 1], k, dk);
    }
}

/* The batch of a key, or -1 behind the last packed segment. */
__device__ int64_t batch_of(const indexer_bwd_call &c, int64_t key)
{
    if (!c.cu_k)
        return key / c.seqlen_k;
    if (key >= c.cu_k[c.batch])
        return -1;
    return indexer_packed_place(c.cu_k, c.cu_k, c.batch, key).batch;
}

__device__ void write_key(const indexer_bwd_call &c, int64_t key, double (*part)[WIDTH])
{
    for (int i = threadIdx.x; i < WIDTH; i += REFERENCE_THREADS) {
        double sum = 0;
        for (int warp = 0; warp < REFERENCE_WARPS; warp++)
            sum += part[warp][i];
        sum *= static_cast<double>(c.sm_scale);
        if (c.dk_f32)
            static_cast<float *>(c.dk)[key * WIDTH + i] = static_cast<float>(sum);
        else
            static_cast<uint16_t *>(c.dk)[key * WIDTH + i] = to_bf16(sum);
    }
}

__global__ void __launch_bounds__(REFERENCE_THREADS, 1)
    keys_kernel(const __grid_constant__ reference_args a)
{
    __shared__ double part[REFERENCE_WARPS][WIDTH];
    const int warp = threadIdx.x / 32;

    for (int64_t key = blockIdx.x; key < a.c.keys; key += gridDim.x) {
        const int64_t batch = batch_of(a.c, key);
        double dk[PARTS] = {};

        if (batch >= 0) {
            const indexer_bwd_batch s = indexer_bwd_bounds(&a.c, batch);
            float k[PARTS];
            read_row(k, a.c.k + key * WIDTH);
            for (int64_t row = s.first_q + warp; row < s.end_q; row += REFERENCE_WARPS)
                add_row(a, row, key, k, dk);
        }
        for (int i = 0; i < PARTS; i++)
            part[warp][threadIdx.x % 32 + 32 * i] = dk[i];
        __syncthreads();
        write_key(a.c, key, part);
        __syncthreads();
    }
}

int check(const struct sab_problem *problem, int sparse, unsigned flags,
          struct indexer_bwd_call *call, struct sab_message *msg)
{
    const int status = indexer_bwd_call_init(call, problem, sparse, SAB_DEVICE_CUDA, flags, msg);

    return status == SAB_OK
               ? indexer_bwd_call_check_arch(problem, INDEXER_BWD_REFERENCE_TARGETS, msg)
               : status;
}

} // namespace

struct reference_plan {
    struct reference_args args;
};

int indexer_bwd_reference_supports(const struct sab_problem *problem, int sparse,
                                   struct sab_message *msg)
{
    struct indexer_bwd_call call;

    return check(problem, sparse, SAB_VALIDATE_METADATA, &call, msg);
}

int indexer_bwd_reference_workspace_size(const struct sab_problem *problem, int sparse,
                                         uint64_t *bytes, struct sab_message *msg)
{
    struct indexer_bwd_call call;
    const int status = check(problem, sparse, SAB_VALIDATE_METADATA, &call, msg);

    *bytes = status == SAB_OK ? indexer_bwd_gradient_bytes(&call) : 0;
    return status;
}

int indexer_bwd_reference_plan(const struct sab_problem *problem, int sparse,
                               const struct sab_buffer *workspace, void **plan,
                               struct sab_message *msg)
{
    const char *op = sparse ? "indexer_bwd_sparse" : "indexer_bwd_dense";
    struct cudaFuncAttributes attributes;
    struct indexer_bwd_call call;
    int status = check(problem, sparse, SAB_VALIDATE_POINTERS, &call, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status =
            sab_validate_workspace(sab_op_find(op), problem, workspace,
                                   indexer_bwd_gradient_bytes(&call), 256, SAB_DEVICE_CUDA, msg);
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, rows_kernel),
                                "load the reference kernels of the indexer's backward", msg);
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, keys_kernel),
                                "load the reference kernels of the indexer's backward", msg);
    if (status != SAB_OK)
        return status;
    struct reference_plan *p = (struct reference_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->args.c = call;
    p->args.gradient = static_cast<float *>(workspace->data);
    *plan = p;
    return SAB_OK;
}

int indexer_bwd_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct reference_plan *p = (const struct reference_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    const char *what = "launch the reference kernels of the indexer's backward";

    rows_kernel<<<reference_blocks(p->args.c.rows), REFERENCE_THREADS, 0, on>>>(p->args);
    const int status = sab_cuda_check(cudaGetLastError(), what, msg);
    if (status != SAB_OK)
        return status;
    keys_kernel<<<reference_blocks(p->args.c.keys), REFERENCE_THREADS, 0, on>>>(p->args);
    return sab_cuda_check(cudaGetLastError(), what, msg);
}

void indexer_bwd_reference_free(void *plan)
{
    free(plan);
}
