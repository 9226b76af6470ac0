/*
 * reference.cu - indexer_topk by its definition (contracts/indexer.md, section 3): a block serves a
 * row. Four counts of a byte each give the order of the n-th largest score; one walk over the row
 * then writes the selected columns in ascending order. Judges the fast kernels; nothing is tuned.
 */
#include "reference.h"

#include <cuda_runtime.h>
#include <stdlib.h>

#include "cuda_check.h"
#include "indexer_topk_call.h"

namespace
{

constexpr int THREADS = 256, WARPS = THREADS / 32;
constexpr unsigned ALL = 0xffffffffu;
constexpr unsigned MAX_BLOCKS = 65535;

struct shared_state {
    int64_t count[256];
    int64_t left; /* of the n largest, those that share the known bytes */
    int64_t ties; /* columns that do */
    uint32_t nth;
    int above[WARPS], equal[WARPS];
};

__device__ uint32_t bits_at(const indexer_topk_call &c, int64_t row, int64_t i)
{
    const int64_t at = row * c.stride + i;

    if (c.dtype == SAB_F32)
        return static_cast<const uint32_t *>(c.values_in)[at];
    return static_cast<const uint16_t *>(c.values_in)[at];
}

__device__ uint32_t key_at(const indexer_topk_call &c, int64_t row, int64_t i)
{
    const uint32_t bits = bits_at(c, row, i);

    return c.dtype == SAB_F32 ? indexer_topk_key32(bits) : indexer_topk_key16(bits);
}

/* Takes the next byte of the n-th largest score's key from the counts. */
__device__ void next_byte(shared_state &s, int shift)
{
    int byte = 255;

    while (s.count[byte] < s.left)
        s.left -= s.count[byte--];
    s.ties = s.count[byte];
    s.nth |= static_cast<uint32_t>(byte) << shift;
}

__device__ void find_nth(const indexer_topk_call &c, shared_state &s, int64_t row, int64_t length)
{
    uint32_t known = 0;

    for (int shift = 24; shift >= 0; shift -= 8) {
        s.count[threadIdx.x] = 0;
        __syncthreads();
        for (int64_t i = threadIdx.x; i < length; i += THREADS) {
            const uint32_t key = key_at(c, row, i);
            if ((key & known) == s.nth)
                atomicAdd(reinterpret_cast<unsigned long long *>(&s.count[key >> shift & 255]),
                          1ull);
        }
        __syncthreads();
        if (threadIdx.x == 0)
            next_byte(s, shift);
        known |= 255u << shift;
        __syncthreads();
    }
}

__device__ void write_value(const indexer_topk_call &c, int64_t row, int64_t slot, int64_t id)
{
    const int64_t at = row * c.slots + slot;

    c.indices[at] = static_cast<int32_t>(id);
    if (!c.values)
        return;
    if (c.dtype == SAB_F32)
        static_cast<uint32_t *>(c.values)[at] = id < 0 ? 0xff800000u : bits_at(c, row, id);
    else
        static_cast<uint16_t *>(c.values)[at] = static_cast<uint16_t>(
            id >= 0 ? bits_at(c, row, id) : (c.dtype == SAB_FP16 ? 0xfc00u : 0xff80u));
}

/* How many of the block's threads before this one say yes, and how many of all. */
__device__ int count_before(int (&part)[WARPS], bool yes, int *all)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned votes = __ballot_sync(ALL, yes);
    int before = __popc(votes & ((1u << lane) - 1));

    if (lane == 0)
        part[warp] = __popc(votes);
    __syncthreads();
    *all = 0;
    for (int i = 0; i < WARPS; i++) {
        before += i < warp ? part[i] : 0;
        *all += part[i];
    }
    return before;
}

/* Ties `first`.. `first + left - 1` of the row are selected, in the order of their columns. */
__device__ void write_selected(const indexer_topk_call &c, shared_state &s, int64_t row,
                               int64_t length)
{
    const int64_t first = c.tie_break == TIE_LARGER_ID ? s.ties - s.left : 0;
    int64_t above = 0, ties = 0; /* in columns before the tile */

    for (int64_t tile = 0; tile < length; tile += THREADS) {
        const int64_t i = tile + threadIdx.x;
        const uint32_t key = i < length ? key_at(c, row, i) : 0;
        int all_above, all_ties;
        const int64_t a = above + count_before(s.above, i < length && key > s.nth, &all_above);
        const int64_t t = ties + count_before(s.equal, i < length && key == s.nth, &all_ties);
        /* selected ties before this column */
        const int64_t chosen = t <= first ? 0 : t - first < s.left ? t - first : s.left;
        const bool tie = key == s.nth && t >= first && t < first + s.left;

        if (i < length && (key > s.nth || tie))
            write_value(c, row, a + chosen, i);
        above += all_above;
        ties += all_ties;
        __syncthreads();
    }
}

__global__ void __launch_bounds__(THREADS)
    reference_kernel(const __grid_constant__ indexer_topk_call c)
{
    __shared__ shared_state s;

    for (int64_t row = blockIdx.x; row < c.rows; row += gridDim.x) {
        const int64_t length = indexer_topk_length(&c, row);
        const int64_t n = length < c.slots ? length : c.slots;

        if (length > c.slots) {
            if (threadIdx.x == 0) {
                s.left = n;
                s.nth = 0;
            }
            find_nth(c, s, row, length);
            write_selected(c, s, row, length);
        } else {
            for (int64_t j = threadIdx.x; j < n; j += THREADS)
                write_value(c, row, j, j);
        }
        for (int64_t j = n + threadIdx.x; j < c.slots; j += THREADS)
            write_value(c, row, j, -1);
        __syncthreads();
    }
}

} // namespace

struct reference_plan {
    struct indexer_topk_call call;
};

int indexer_topk_reference_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct indexer_topk_call call;
    const int status =
        indexer_topk_call_init(&call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_METADATA, msg);

    return status == SAB_OK
               ? indexer_topk_call_check_arch(problem, INDEXER_TOPK_REFERENCE_TARGETS, msg)
               : status;
}

int indexer_topk_reference_plan(const struct sab_problem *problem,
                                const struct sab_buffer *workspace, void **plan,
                                struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    struct indexer_topk_call call;
    int status =
        indexer_topk_call_init(&call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = indexer_topk_call_check_arch(problem, INDEXER_TOPK_REFERENCE_TARGETS, msg);
    if (status == SAB_OK)
        status = sab_cuda_check(cudaFuncGetAttributes(&attributes, reference_kernel),
                                "load the kernel of indexer_topk/reference", msg);
    if (status != SAB_OK)
        return status;
    struct reference_plan *p = (struct reference_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->call = call;
    *plan = p;
    return SAB_OK;
}

int indexer_topk_reference_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct reference_plan *p = (const struct reference_plan *)plan;
    const int64_t rows = p->call.rows;
    const unsigned blocks = rows < MAX_BLOCKS ? static_cast<unsigned>(rows) : MAX_BLOCKS;

    reference_kernel<<<blocks, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(p->call);
    return sab_cuda_check(cudaGetLastError(), "launch indexer_topk/reference", msg);
}

void indexer_topk_reference_free(void *plan)
{
    free(plan);
}
