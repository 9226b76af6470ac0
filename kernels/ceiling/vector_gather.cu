/*
 * vector_gather.cu - gather by cp.async, reduce, and both together. One block is one stream.
 *
 * cp.async: stages of 8 KiB, six of them, 128 threads with four pieces of 16 bytes each a stage:
 * 48 KiB in flight a block, four blocks an SM of sm_90 (48 KiB an SM reach the ceiling). Rows that
 * are added to get red.global.add.v4.f32, a piece a thread.
 */
#include "ceiling_host.cuh"
#include "gather.cuh"
#include "stage.cuh"

namespace
{

constexpr int THREADS = 128, STAGES = 6, STAGE_BYTES = 8192, PIECES = STAGE_BYTES / 16 / THREADS;

struct rows_args {
    const int32_t *src; /* [rows,words] */
    const int32_t *ids; /* [streams,picks] */
    float *acc;         /* [rows,width] */
    int32_t *sums;      /* [streams] */
    int32_t words, width, picks;
};

/* The pieces of a stage that a thread copies: which row, which words of it, and the row's id, read
 * a step ahead: waiting for an id before every copy would count as time of the copies. */
struct thread_pieces {
    int row[PIECES], word[PIECES];
    int32_t id[PIECES];
};

__device__ __forceinline__ void read_ids(const rows_args &c, thread_pieces &my, int step, int rows)
{
    const int32_t *ids = c.ids + static_cast<int64_t>(blockIdx.x) * c.picks + step * rows;

    if (step * rows >= c.picks)
        return;
#pragma unroll
    for (int i = 0; i < PIECES; i++)
        my.id[i] = __ldg(ids + my.row[i]);
}

/* Starts the copies of step `step`, whole rows, into its stage. An empty group keeps the count. */
__device__ __forceinline__ void fetch(const rows_args &c, thread_pieces &my, uint8_t *stages,
                                      int step, int rows)
{
    const uint32_t stage = sab::shared_address(stages + (step % STAGES) * STAGE_BYTES);

    if (step * rows < c.picks) {
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            sab::copy_piece(stage + 16 * (threadIdx.x + i * THREADS),
                            c.src + static_cast<int64_t>(my.id[i]) * c.words + my.word[i], true);
    }
    sab::copies_commit();
    read_ids(c, my, step + 1, rows);
}

__device__ __forceinline__ void add4(float *to)
{
    asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" : : "l"(to), "f"(1.0f) : "memory");
}

/* A row of acc gets 1 added, four numbers a thread and turn. */
__device__ __forceinline__ void add_row(const rows_args &c, int64_t id)
{
    for (int at = 4 * threadIdx.x; at < c.width; at += 4 * THREADS)
        add4(c.acc + id * c.width + at);
}

template <bool ADD>
__global__ void __launch_bounds__(THREADS) gather_kernel(const __grid_constant__ rows_args c)
{
    extern __shared__ __align__(128) uint8_t stages[];
    const int rows = STAGE_BYTES / (4 * c.words), steps = c.picks / rows;
    const int32_t *ids = c.ids + static_cast<int64_t>(blockIdx.x) * c.picks;
    thread_pieces my;
    uint32_t sum = 0;

#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        const int piece = threadIdx.x + i * THREADS;
        my.row[i] = piece / (c.words / 4);
        my.word[i] = piece % (c.words / 4) * 4;
    }
    read_ids(c, my, 0, rows);
    for (int step = 0; step < STAGES - 1; step++)
        fetch(c, my, stages, step, rows);
    for (int step = 0; step < steps; step++) {
        const int32_t *stage =
            reinterpret_cast<const int32_t *>(stages + (step % STAGES) * STAGE_BYTES);

        sab::copies_wait<STAGES - 2>();
        /* all copies of this step are there, and everyone is done with the stage that the next
         * ones go to */
        __syncthreads();
        fetch(c, my, stages, step + STAGES - 1, rows);
        for (int row = threadIdx.x; row < rows; row += THREADS)
            sum += static_cast<uint32_t>(stage[row * c.words + (step * rows + row) % c.words]);
        if (ADD)
            for (int row = 0; row < rows; row++)
                add_row(c, __ldg(ids + step * rows + row));
    }
    sab::copies_wait<0>();
    __syncthreads();
    uint32_t *parts = reinterpret_cast<uint32_t *>(stages);
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < THREADS; i++)
            sum += parts[i];
        c.sums[blockIdx.x] = static_cast<int32_t>(sum);
    }
}

template <int FORM>
__global__ void __launch_bounds__(THREADS) reduce_kernel(const __grid_constant__ rows_args c)
{
    extern __shared__ __align__(128) float ones[];
    const int32_t *ids = c.ids + static_cast<int64_t>(blockIdx.x) * c.picks;

    if (FORM == CEILING_FORM_BULK) {
        for (int i = threadIdx.x; i < c.width; i += THREADS)
            ones[i] = 1.0f;
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
        __syncthreads();
        if (threadIdx.x != 0)
            return;
    }
    for (int pick = 0; pick < c.picks; pick++) {
        const int64_t id = __ldg(ids + pick);
        float *row = c.acc + id * c.width;

        if (FORM == CEILING_FORM_V4)
            add_row(c, id);
        if (FORM == CEILING_FORM_SCALAR)
            for (int at = threadIdx.x; at < c.width; at += THREADS)
                asm volatile("red.global.add.f32 [%0], %1;"
                             :
                             : "l"(row + at), "f"(1.0f)
                             : "memory");
        if (FORM == CEILING_FORM_BULK) {
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
                         "[%0], [%1], %2;"
                         :
                         : "l"(row), "r"(sab::shared_address(ones)), "r"(4 * c.width)
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" : : : "memory");
            asm volatile("cp.async.bulk.wait_group.read 16;" : : : "memory");
        }
    }
    if (FORM == CEILING_FORM_BULK)
        asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}

/* What all of them take. */
int take(ceiling::launch<rows_args> *to, const sab_tensor *ids, sab_message *msg)
{
    if (ids->shape[0] > INT32_MAX || ids->shape[1] > INT32_MAX)
        return sab_say(msg, SAB_UNSUPPORTED, "ids: at most %d streams and rows of one are served",
                       INT32_MAX);
    to->threads = THREADS;
    to->blocks = static_cast<unsigned>(ids->shape[0]);
    to->args.ids = (const int32_t *)ids->data;
    to->args.picks = static_cast<int32_t>(ids->shape[1]);
    return SAB_OK;
}

/* Stages hold whole rows. */
int take_gather(ceiling::launch<rows_args> *to, const sab_tensor *src, const sab_tensor *sums,
                sab_message *msg)
{
    const int64_t words = src->shape[1];

    if (STAGE_BYTES / 4 % words || to->args.picks % (STAGE_BYTES / 4 / words))
        return sab_say(msg, SAB_UNSUPPORTED,
                       "src: stages of %d words hold whole rows, and streams fill them; rows have "
                       "%lld words, streams %d rows",
                       STAGE_BYTES / 4, static_cast<long long>(words), to->args.picks);
    to->args.src = (const int32_t *)src->data;
    to->args.sums = (int32_t *)sums->data;
    to->args.words = static_cast<int32_t>(words);
    to->shared_bytes = STAGES * STAGE_BYTES;
    return SAB_OK;
}

int make_gather(ceiling::launch<rows_args> *to, const sab_problem *problem, sab_message *msg)
{
    const sab_tensor *t = problem->tensors;
    int status = take(to, &t[SAB_T_gather_ids], msg);

    to->kernel = gather_kernel<false>;
    return status == SAB_OK ? take_gather(to, &t[SAB_T_gather_src], &t[SAB_T_gather_sums], msg)
                            : status;
}

int make_gather_reduce(ceiling::launch<rows_args> *to, const sab_problem *problem, sab_message *msg)
{
    const sab_tensor *t = problem->tensors;
    int status = take(to, &t[SAB_T_gather_reduce_ids], msg);

    to->kernel = gather_kernel<true>;
    to->args.acc = (float *)t[SAB_T_gather_reduce_acc].data;
    to->args.width = static_cast<int32_t>(t[SAB_T_gather_reduce_acc].shape[1]);
    return status == SAB_OK
               ? take_gather(to, &t[SAB_T_gather_reduce_src], &t[SAB_T_gather_reduce_sums], msg)
               : status;
}

int make_reduce(ceiling::launch<rows_args> *to, const sab_problem *problem, sab_message *msg)
{
    static void (*const kernels[CEILING_FORM_NR])(const rows_args) = {
        reduce_kernel<CEILING_FORM_V4>, reduce_kernel<CEILING_FORM_SCALAR>,
        reduce_kernel<CEILING_FORM_BULK>};
    const sab_tensor *acc = &problem->tensors[SAB_T_reduce_acc];
    const uint32_t form = problem->choices_nr ? problem->choices[0] : 0u;

    if (problem->choices_nr > 1 || form >= CEILING_FORM_NR)
        return sab_say(msg, SAB_INVALID, "form is choice %u of %u, expected 0 to %d", form,
                       problem->choices_nr, CEILING_FORM_NR - 1);
    if (acc->shape[1] > 8192)
        return sab_say(msg, SAB_UNSUPPORTED, "acc: rows of at most 8192 numbers are served");
    to->kernel = kernels[form];
    to->args.acc = (float *)acc->data;
    to->args.width = static_cast<int32_t>(acc->shape[1]);
    to->shared_bytes = form == CEILING_FORM_BULK ? 4 * static_cast<unsigned>(acc->shape[1]) : 0;
    return take(to, &problem->tensors[SAB_T_reduce_ids], msg);
}

} // namespace

CEILING_DEFINE_HOOKS(gather, "gather", rows_args, make_gather)
CEILING_DEFINE_HOOKS(reduce, "reduce", rows_args, make_reduce)
CEILING_DEFINE_HOOKS(gather_reduce, "gather_reduce", rows_args, make_gather_reduce)
