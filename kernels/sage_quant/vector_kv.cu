/*
 * vector_kv.cu - sage_quant_kv/vector: one launch, behind a clear of its counters. Blocks stay on
 * the device until the tickets have run out (vector_kv_ring.cuh).
 */
#include <cstdlib>

#include "cuda_check.h"
#include "vector.h"
#include "vector_kv_quantise.cuh"

namespace sage_quant
{

/* The warps of a group that compute. */
__device__ __forceinline__ void compute_items(const quant_kv_call &c, kv_group &group,
                                              const kv_lane &lane)
{
    kv_place place = {0, 0};
    kv_sums sums;

    for (;; place.advance()) {
        sab::barrier_wait(&group.full[place.stage], place.parity);
        switch (group.note[place.stage].kind) {
        case K_STATISTICS:
            key_statistics(c, group, place.stage, sums, lane);
            break;
        case V_STATISTICS:
            value_statistics(c, group, place.stage, sums, lane);
            break;
        case K_QUOTIENTS:
            key_quotients(c, group, place.stage, lane);
            break;
        case V_QUOTIENTS:
            value_quotients(c, group, place.stage, lane);
            break;
        default:
            return;
        }
    }
}

constexpr int KV_MOST_GROUPS = 2;

/* Thread numbers: the computing warps of group 0, of group 1, ..., then a loader warp a group. */
template <bool ALIGNED>
__global__ void __launch_bounds__(KV_MOST_GROUPS *KV_THREADS, 1)
    sage_quant_kv_vector_kernel(const __grid_constant__ quant_kv_call c,
                                const __grid_constant__ kv_order order)
{
    extern __shared__ __align__(128) uint8_t shared[];
    kv_group *groups = reinterpret_cast<kv_group *>(shared);
    const uint32_t groups_nr = blockDim.x / KV_THREADS, computing = groups_nr * KV_LANES;

    if (threadIdx.x < groups_nr * KV_STAGES) {
        kv_group &group = groups[threadIdx.x / KV_STAGES];

        sab::barrier_init(&group.full[threadIdx.x % KV_STAGES], 1);
        sab::barrier_init(&group.empty[threadIdx.x % KV_STAGES], KV_LANES / 32);
        sab::barriers_publish();
    }
    __syncthreads();
    if (threadIdx.x >= computing) {
        load_items<ALIGNED>(c, order, groups[(threadIdx.x - computing) / 32]);
        return;
    }
    const kv_lane lane = {threadIdx.x / KV_LANES, threadIdx.x % KV_LANES};

    compute_items(c, groups[lane.group], lane);
}

typedef void (*kv_kernel)(const quant_kv_call, const kv_order);

static kv_kernel kernel_of(const quant_kv_call *c)
{
    return c->k.aligned && c->v.aligned ? sage_quant_kv_vector_kernel<true>
                                        : sage_quant_kv_vector_kernel<false>;
}

} // namespace sage_quant

struct vector_plan {
    struct quant_kv_call call;
    sage_quant::kv_order order;
    unsigned blocks, groups; /* groups: of a block */
};

enum { KV_FINISHING = 64 }; /* chunks that pass while a head is being summed up */

/* The lead covers a head, whose last chunk its quotients wait for; the items that are under way
 * meanwhile, two a group; and some time for the sums over the head. A chunk is 128 KiB of input, so
 * what lies between its two looks stays well below the L2. */
static void set_order(struct vector_plan *p)
{
    const int64_t chunks = p->call.batch * p->call.heads * p->call.chunks;
    const int64_t under_way = 2 * p->blocks * p->groups / sage_quant::KV_STEP;
    const int64_t lead = p->call.chunks + under_way + KV_FINISHING;

    p->order.chunks = (uint32_t)chunks;
    p->order.lead = (uint32_t)(lead < chunks ? lead : chunks);
    p->order.items = 2 * p->order.lead + p->order.chunks * sage_quant::KV_STEP;
}

/* Tickets are 32-bit, and every group draws one or two too many. */
static int check_limits(const struct quant_kv_call *c, struct sab_message *msg)
{
    const int64_t most = (UINT32_MAX >> 1) / (sage_quant::KV_STEP + 2);

    if (c->batch > most / c->heads / c->chunks)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "k: at most %lld chunks of 256 tokens are served, given %lld x %lld x %lld",
                       (long long)most, (long long)c->batch, (long long)c->heads,
                       (long long)c->chunks);
    return SAB_OK;
}

/* As many groups as the shared memory of a block holds; one block a multiprocessor. */
static int set_shape(struct vector_plan *p, const struct sab_problem *problem,
                     struct sab_message *msg)
{
    const void *kernel = reinterpret_cast<const void *>(sage_quant::kernel_of(&p->call));
    int bytes = 0;
    cudaError_t error =
        cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, problem->device);

    p->groups = (unsigned)(bytes / (int)sizeof(sage_quant::kv_group));
    if (p->groups > sage_quant::KV_MOST_GROUPS)
        p->groups = sage_quant::KV_MOST_GROUPS;
    p->blocks = (unsigned)problem->multiprocessors;
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)(p->groups * sizeof(sage_quant::kv_group)));
    return sab_cuda_check(error, "load the kernel of sage_quant_kv/vector", msg);
}

int quant_kv_vector_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                         void **plan, struct sab_message *msg)
{
    struct vector_plan made = {};
    int status =
        quant_kv_call_init(&made.call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = quant_kv_place(&made.call, problem, workspace, SAB_DEVICE_CUDA, msg);
    if (status == SAB_OK)
        status = check_limits(&made.call, msg);
    if (status == SAB_OK)
        status = set_shape(&made, problem, msg);
    if (status != SAB_OK)
        return status;
    set_order(&made);
    struct vector_plan *p = (struct vector_plan *)malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    *p = made;
    *plan = p;
    return SAB_OK;
}

int quant_kv_vector_launch(void *plan, void *stream, struct sab_message *msg)
{
    struct vector_plan *p = (struct vector_plan *)plan;
    const cudaStream_t on = static_cast<cudaStream_t>(stream);
    const uint64_t counters = (uint64_t)(2 * p->call.batch * p->call.heads) + 1;
    void *arguments[] = {&p->call, &p->order};
    cudaError_t error = cudaMemsetAsync(p->call.k_count, 0, sizeof(uint32_t) * counters, on);

    if (error == cudaSuccess)
        error = cudaLaunchKernel(reinterpret_cast<const void *>(sage_quant::kernel_of(&p->call)),
                                 p->blocks, p->groups * sage_quant::KV_THREADS, arguments,
                                 p->groups * sizeof(sage_quant::kv_group), on);
    return sab_cuda_check(error, "launch sage_quant_kv/vector", msg);
}
