/*
 * reference.cu - dsa_bwd by its definition (contracts/dsa.md section 3.2), every output with a
 * single writer and a fixed order of sums: nothing here is atomic, equal calls give equal bits.
 *
 *   statistics   a warp a (query, head): folded lse and delta
 *   dq           a warp a (query, head) walks its slots
 *   dkv          a block a row of kv looks for its id in all lists, in order, and computes the
 *                weights of each find again; its warps share the heads
 *   d_sink       a warp a head
 *
 * A lane holds columns 2 lane + 64 c and the next one. Judges the fast kernels; nothing here is
 * tuned beyond what that takes.
 */
#include "reference.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "dsa_bwd_call.h"
#include "half_types.cuh"
#include "statistics.cuh"

namespace
{

constexpr int WARPS = 8, THREADS = 32 * WARPS;
constexpr int V_PAIRS = DSA_BWD_V / 64;
constexpr int FOUND_MOST = 4 * THREADS; /* ids that a block looks at in a step */

struct reference_args {
    dsa_bwd_call call;
    float *folded, *delta; /* [T,H] */
};

__device__ float warp_sum(float x)
{
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

template <class T, int PAIRS>
__device__ void load_row(float2 (&to)[PAIRS], const uint16_t *row, int lane)
{
#pragma unroll
    for (int c = 0; c < PAIRS; c++)
        to[c] = T::unpack(__ldg(reinterpret_cast<const uint32_t *>(row) + lane + 32 * c));
}

template <class T, int PAIRS>
__device__ void store_row(uint16_t *row, const float2 (&from)[PAIRS], int lane)
{
#pragma unroll
    for (int c = 0; c < PAIRS; c++)
        reinterpret_cast<uint32_t *>(row)[lane + 32 * c] = T::pack(from[c].x, from[c].y);
}

/* Over the first NR pairs of a lane, and all lanes. */
template <int NR, int A, int B> __device__ float dot(const float2 (&a)[A], const float2 (&b)[B])
{
    float sum = 0.0f;

#pragma unroll
    for (int c = 0; c < NR; c++)
        sum = fmaf(a[c].x, b[c].x, fmaf(a[c].y, b[c].y, sum));
    return warp_sum(sum);
}

template <class T> __device__ float rounded(float x)
{
    return T::unpack(T::pack(x, 0.0f)).x;
}

__device__ int64_t active_slots(const dsa_bwd_call &c, int64_t t)
{
    const int64_t length = c.topk_length ? c.topk_length[t] : c.slots;

    return min(max(length, static_cast<int64_t>(0)), c.slots);
}

/* Both rounded to the type. */
struct weights {
    float p, ds;
};
template <class T, int PAIRS>
__device__ weights weigh(const reference_args &a, int64_t row, const float2 (&q)[PAIRS],
                         const float2 (&dout)[V_PAIRS], const float2 (&kv)[PAIRS])
{
    const float s = dot<PAIRS>(q, kv), dp = dot<V_PAIRS>(dout, kv);
    const float p = exp2f(fmaf(s, a.call.scale * dsa_bwd::LOG2_E, a.folded[row]));

    return {rounded<T>(p), rounded<T>(p * (dp - a.delta[row]))};
}

template <class T>
__global__ void __launch_bounds__(THREADS) statistics(const __grid_constant__ reference_args a)
{
    const dsa_bwd_call &c = a.call;
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;

    for (int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + warp; row < c.queries * c.heads;
         row += static_cast<int64_t>(gridDim.x) * WARPS) {
        float2 out[V_PAIRS], dout[V_PAIRS];

        load_row<T>(out, c.out + row * DSA_BWD_V, lane);
        load_row<T>(dout, c.dout + row * DSA_BWD_V, lane);
        const float delta = dot<V_PAIRS>(out, dout), lse = c.lse[row];
        if (lane == 0) {
            a.folded[row] = dsa_bwd::folded_lse(lse, c.sink[row % c.heads]);
            a.delta[row] = lse == INFINITY ? 0.0f : delta; /* out of an empty row says nothing */
        }
    }
}

template <class T, int PAIRS>
__global__ void __launch_bounds__(THREADS, 2)
    query_gradients(const __grid_constant__ reference_args a)
{
    const dsa_bwd_call &c = a.call;
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;

    for (int64_t row = static_cast<int64_t>(blockIdx.x) * WARPS + warp; row < c.queries * c.heads;
         row += static_cast<int64_t>(gridDim.x) * WARPS) {
        const int64_t t = row / c.heads, slots = active_slots(c, t);
        float2 q[PAIRS], dout[V_PAIRS], dq[PAIRS] = {};

        load_row<T>(q, c.q + row * c.width, lane);
        load_row<T>(dout, c.dout + row * DSA_BWD_V, lane);
        for (int64_t j = 0; j < slots; j++) {
            const int32_t id = c.topk_idxs[t * c.slots + j];
            float2 kv[PAIRS];

            if (id < 0 || id >= c.keys)
                continue;
            load_row<T>(kv, c.kv + id * c.width, lane);
            const weights w = weigh<T>(a, row, q, dout, kv);
#pragma unroll
            for (int i = 0; i < PAIRS; i++) {
                dq[i].x = fmaf(w.ds, kv[i].x, dq[i].x);
                dq[i].y = fmaf(w.ds, kv[i].y, dq[i].y);
            }
        }
#pragma unroll
        for (int i = 0; i < PAIRS; i++)
            dq[i] = make_float2(dq[i].x * c.scale, dq[i].y * c.scale);
        store_row<T>(c.dq + row * c.width, dq, lane);
    }
}

/* The queries of `first`.. in whose lists `key` is active, in order: one entry a slot. */
struct finder {
    int32_t query[FOUND_MOST];
    int32_t counts[WARPS];
};

__device__ bool is_active(const dsa_bwd_call &c, int64_t slot, int32_t key)
{
    return slot < c.queries * c.slots && c.topk_idxs[slot] == key &&
           (!c.topk_length || slot % c.slots < active_slots(c, slot / c.slots));
}

/* All threads; the finds of slots first..first + FOUND_MOST - 1, and how many there are. */
__device__ int find(const dsa_bwd_call &c, int64_t first, int32_t key, finder &found)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    uint32_t hits[4];
    int count = 0, before = 0, all = 0;

    for (int i = 0; i < 4; i++) {
        const int64_t slot = first + (warp * 4 + i) * 32 + lane;
        hits[i] = __ballot_sync(0xffffffffu, is_active(c, slot, key));
        count += __popc(hits[i]);
    }
    if (!__syncthreads_or(count))
        return 0;
    found.counts[warp] = count;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) {
        before += w < warp ? found.counts[w] : 0;
        all += found.counts[w];
    }
    for (int i = 0; i < 4; i++) {
        if (hits[i] >> lane & 1)
            found.query[before + __popc(hits[i] & ((1u << lane) - 1))] =
                static_cast<int32_t>((first + (warp * 4 + i) * 32 + lane) / c.slots);
        before += __popc(hits[i]);
    }
    __syncthreads();
    return all;
}

/* What one (query, head) adds to the row of kv. */
template <class T, int PAIRS>
__device__ void add_find(const reference_args &a, int64_t row, const float2 (&kv)[PAIRS],
                         float2 (&sum)[PAIRS], int lane)
{
    float2 q[PAIRS], dout[V_PAIRS];

    load_row<T>(q, a.call.q + row * a.call.width, lane);
    load_row<T>(dout, a.call.dout + row * DSA_BWD_V, lane);
    const weights w = weigh<T>(a, row, q, dout, kv);
    const float ds = w.ds * a.call.scale;
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        if (i < V_PAIRS) {
            sum[i].x = fmaf(w.p, dout[i < V_PAIRS ? i : 0].x, sum[i].x);
            sum[i].y = fmaf(w.p, dout[i < V_PAIRS ? i : 0].y, sum[i].y);
        }
        sum[i].x = fmaf(ds, q[i].x, sum[i].x);
        sum[i].y = fmaf(ds, q[i].y, sum[i].y);
    }
}

template <class T, int PAIRS>
__global__ void __launch_bounds__(THREADS) key_gradients(const __grid_constant__ reference_args a)
{
    __shared__ finder found;
    __shared__ float2 parts[WARPS][32 * PAIRS];
    const dsa_bwd_call &c = a.call;
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const int32_t key = static_cast<int32_t>(blockIdx.x);
    float2 kv[PAIRS], sum[PAIRS] = {};

    load_row<T>(kv, c.kv + key * c.width, lane);
    for (int64_t first = 0; first < c.queries * c.slots; first += FOUND_MOST) {
        const int nr = find(c, first, key, found);

        for (int i = 0; i < nr; i++) {
            for (int64_t h = warp; h < c.heads; h += WARPS)
                add_find<T>(a, found.query[i] * c.heads + h, kv, sum, lane);
        }
        if (nr)
            __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < PAIRS; i++)
        parts[warp][lane + 32 * i] = sum[i];
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * PAIRS; i += THREADS) {
        float2 whole = {};
        for (int w = 0; w < WARPS; w++)
            whole = make_float2(whole.x + parts[w][i].x, whole.y + parts[w][i].y);
        reinterpret_cast<uint32_t *>(c.dkv + key * c.width)[i] = T::pack(whole.x, whole.y);
    }
}

__global__ void __launch_bounds__(32) sink_gradients(const __grid_constant__ reference_args a)
{
    const dsa_bwd_call &c = a.call;

    for (int64_t h = blockIdx.x; h < c.heads; h += gridDim.x) {
        double sum = 0.0;

        for (int64_t t = threadIdx.x; t < c.queries; t += 32) {
            const int64_t row = t * c.heads + h;
            sum += static_cast<double>(dsa_bwd::sink_share(c.lse[row], c.sink[h], a.folded[row])) *
                   static_cast<double>(a.delta[row]);
        }
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (threadIdx.x == 0)
            c.d_sink[h] = static_cast<float>(-sum);
    }
}

using kernel = void (*)(const reference_args);
struct form {
    kernel statistics, query_gradients, key_gradients;
};

template <class T, int PAIRS> constexpr form form_of()
{
    return {statistics<T>, query_gradients<T, PAIRS>, key_gradients<T, PAIRS>};
}

/* by fp16, width */
const form forms[2][2] = {{form_of<sab::bf16, 8>(), form_of<sab::bf16, 9>()},
                          {form_of<sab::fp16, 8>(), form_of<sab::fp16, 9>()}};

int load(const form &f, struct sab_message *msg)
{
    const kernel kernels[] = {f.statistics, f.query_gradients, f.key_gradients, sink_gradients};
    int status = SAB_OK;

    for (const kernel k : kernels) {
        cudaFuncAttributes attributes;
        if (status == SAB_OK)
            status = sab_cuda_check(cudaFuncGetAttributes(&attributes, k),
                                    "load the kernels of dsa_bwd/reference", msg);
    }
    return status;
}

unsigned blocks_of(int64_t units, int64_t per_block)
{
    const int64_t blocks = (units + per_block - 1) / per_block;

    return static_cast<unsigned>(blocks < INT32_MAX ? blocks : INT32_MAX);
}

} // namespace

struct reference_plan {
    reference_args args;
    const form *f;
};

static int init(struct dsa_bwd_call *call, const struct sab_problem *problem, unsigned flags,
                struct sab_message *msg)
{
    int status = dsa_bwd_call_init(call, problem, flags, msg);

    return status == SAB_OK ? dsa_bwd_call_check_arch(problem, msg) : status;
}

int dsa_bwd_reference_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct dsa_bwd_call call;

    return init(&call, problem, SAB_VALIDATE_METADATA, msg);
}

int dsa_bwd_reference_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                     struct sab_message *msg)
{
    struct dsa_bwd_call call;
    int status = init(&call, problem, SAB_VALIDATE_METADATA, msg);

    *bytes = status == SAB_OK ? dsa_bwd_stats_bytes(&call) : 0;
    return status;
}

int dsa_bwd_reference_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                           void **plan, struct sab_message *msg)
{
    struct dsa_bwd_call call;
    int status = init(&call, problem, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = sab_validate_workspace(sab_op_find("dsa_bwd"), problem, workspace,
                                        dsa_bwd_stats_bytes(&call), DSA_BWD_WORKSPACE_ALIGNMENT,
                                        SAB_DEVICE_CUDA, msg);
    if (status != SAB_OK)
        return status;
    const form *f = &forms[call.fp16][call.width == 576];
    status = load(*f, msg);
    if (status != SAB_OK)
        return status;
    struct reference_plan *p = (struct reference_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->args.call = call;
    p->args.folded = (float *)workspace->data;
    p->args.delta = p->args.folded + call.queries * call.heads;
    p->f = f;
    *plan = p;
    return SAB_OK;
}

int dsa_bwd_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct reference_plan *p = (const struct reference_plan *)plan;
    const struct dsa_bwd_call &c = p->args.call;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    const unsigned row_blocks = blocks_of(c.queries * c.heads, WARPS);

    if (row_blocks) {
        p->f->statistics<<<row_blocks, THREADS, 0, on>>>(p->args);
        p->f->query_gradients<<<row_blocks, THREADS, 0, on>>>(p->args);
    }
    if (c.keys)
        p->f->key_gradients<<<blocks_of(c.keys, 1), THREADS, 0, on>>>(p->args);
    sink_gradients<<<blocks_of(c.heads, 1), 32, 0, on>>>(p->args);
    return sab_cuda_check(cudaGetLastError(), "launch dsa_bwd/reference", msg);
}

void dsa_bwd_reference_free(void *plan)
{
    free(plan);
}
