/*
 * vector_bulk.cu - gather by bulk copies, the feed of tiles. One warp is one stream: one lane asks
 * for rows into a ring of 64 KiB, three rings an SM of sm_90.
 *
 * Rule R10 of contracts/sage.md holds here too: the word that was looked at is fenced against the
 * next copy into its stage.
 */
#include "ceiling_host.cuh"
#include "stage.cuh"

namespace
{

constexpr int RING_BYTES = 65536, STAGES_MAX = 64;

struct bulk_args {
    const int32_t *src, *ids;
    int32_t *sums;
    int32_t words, picks, stages;
};

__global__ void __launch_bounds__(32) bulk_kernel(const __grid_constant__ bulk_args c)
{
    extern __shared__ __align__(128) uint8_t ring[];
    __shared__ uint64_t full[STAGES_MAX];
    const int32_t *ids = c.ids + static_cast<int64_t>(blockIdx.x) * c.picks;
    const uint32_t bytes = 4 * c.words;
    const uint64_t policy = sab::evict_normal();
    uint32_t sum = 0;

    if (threadIdx.x != 0)
        return;
    for (int i = 0; i < c.stages; i++)
        sab::barrier_init(&full[i], 1);
    sab::barriers_publish();
    for (int pick = 0; pick < c.picks + c.stages; pick++) {
        const int done = pick - c.stages, stage = pick % c.stages;

        if (done >= 0) {
            sab::barrier_wait(&full[stage], done / c.stages & 1);
            sum += *reinterpret_cast<const volatile uint32_t *>(ring + stage * bytes +
                                                                4 * (done % c.words));
            cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
        }
        if (pick < c.picks) {
            const int64_t id = __ldg(ids + pick);
            sab::expect_boxes(&full[stage], bytes);
            sab::copy_bulk(ring + stage * bytes, c.src + id * c.words, bytes, &full[stage], policy);
        }
    }
    c.sums[blockIdx.x] = static_cast<int32_t>(sum);
}

int make_bulk(ceiling::launch<bulk_args> *to, const sab_problem *problem, sab_message *msg)
{
    const sab_tensor *src = &problem->tensors[SAB_T_gather_src];
    const sab_tensor *ids = &problem->tensors[SAB_T_gather_ids];
    const int64_t bytes = 4 * src->shape[1];

    if (bytes < RING_BYTES / STAGES_MAX || bytes > RING_BYTES / 2)
        return sab_say(msg, SAB_UNSUPPORTED, "src: rows of %d to %d bytes are served, given %lld",
                       RING_BYTES / STAGES_MAX, RING_BYTES / 2, static_cast<long long>(bytes));
    if (ids->shape[0] > INT32_MAX || ids->shape[1] > INT32_MAX / 2)
        return sab_say(msg, SAB_UNSUPPORTED, "ids: at most %d streams of %d rows are served",
                       INT32_MAX, INT32_MAX / 2);
    to->kernel = bulk_kernel;
    to->threads = 32;
    to->blocks = static_cast<unsigned>(ids->shape[0]);
    to->shared_bytes = RING_BYTES;
    to->args = {(const int32_t *)src->data,
                (const int32_t *)ids->data,
                (int32_t *)problem->tensors[SAB_T_gather_sums].data,
                static_cast<int32_t>(src->shape[1]),
                static_cast<int32_t>(ids->shape[1]),
                static_cast<int32_t>(RING_BYTES / bytes)};
    return SAB_OK;
}

} // namespace

CEILING_DEFINE_HOOKS(bulk, "gather", bulk_args, make_bulk)
