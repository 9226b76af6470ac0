/*
 * cpu.c - bsa_fwd/cpu: the hooks, the walk over tiles and blocks, and the choice of a variant. One
 * tile is 64 query rows of one head; tiles are independent, so neither the number of threads nor
 * their order changes a bit. The threads take tiles in order, which keeps the K and V of one head
 * in the cache.
 */
#include <stdlib.h>
#if defined(_OPENMP)
#    include <omp.h>
#endif

#include "cpu_simd.h"
#include "cpu_tile.h"
#include "row.h"

static const struct bsa_variant *const variants[CPU_SIMD_NR] = {
    [CPU_SIMD_PLAIN] = &bsa_variant_plain,
#if defined(__x86_64__)
    [CPU_SIMD_AVX2] = &bsa_variant_avx2,
    [CPU_SIMD_AVX512] = &bsa_variant_avx512,
#endif
};

/* Tokens of block j that exist (sage contract, section 4); h counts query heads. */
static int64_t valid_tokens(const struct bsa_plan *p, int64_t b, int64_t h, int64_t j)
{
    int64_t left = p->k_len - BSA_KEYS * j;

    if (left > BSA_KEYS)
        left = BSA_KEYS;
    if (p->sizes) {
        const int64_t declared = p->sizes[b * p->sizes_batch + h * p->sizes_head + j];

        if (declared < left)
            left = declared;
    }
    return left > 0 ? left : 0;
}

/* Slots in use of a tile; a count beyond the capacity breaks the contract and must not make us read
 * the next row. */
static int64_t slots_used(const struct bsa_plan *p, int64_t tile)
{
    const int64_t n = p->nums ? p->nums[tile] : p->num;

    return n > p->cap ? p->cap : n > 0 ? n : 0;
}

/* A row without valid tokens reads no operand at all. */
static void write_empty(int64_t rows, uint16_t *out, float *lse)
{
    memset(out, 0, (size_t)rows * BSA_D * sizeof(*out));
    for (int64_t r = 0; lse && r < rows; r++)
        lse[r] = -INFINITY;
}

/* Returns the slot whose index is no block, or -1. */
static int64_t run_tile(const struct bsa_plan *p, struct bsa_tile *t, int64_t tile)
{
    const int32_t *slots = p->index + tile * p->cap;
    const int64_t bh = tile / p->q_blocks, b = bh / p->heads, h = bh % p->heads;
    const int64_t kv_head = b * p->kv_heads + h / (p->heads / p->kv_heads);
    const int64_t first = bh * p->q_len + tile % p->q_blocks * BSA_ROWS;
    const int64_t left = (bh + 1) * p->q_len - first, n = slots_used(p, tile);
    float *lse = p->lse ? p->lse + first : NULL;
    int64_t j = 0;
    int folded = 0;

    t->rows = left < BSA_ROWS ? left : BSA_ROWS;
    for (int64_t i = n - 1; i >= 0; i--) {
        if (!p->contiguous || i == n - 1)
            j = slots[i];
        else
            j = j > 0 ? j - 1 : p->k_blocks - 1;
        if (j < 0 || j >= p->k_blocks)
            return i;
        const int64_t valid = valid_tokens(p, b, h, j);
        const int64_t at = (kv_head * p->k_len + j * BSA_KEYS) * BSA_D;
        if (!valid)
            continue;
        if (!folded++)
            p->variant->begin(p, t, p->q + first * BSA_D);
        p->variant->fold(p, t, p->k + at, p->v + at, valid);
    }
    if (folded)
        p->variant->finish(p, t, p->out + first * BSA_D, lse);
    else
        write_empty(t->rows, p->out + first * BSA_D, lse);
    return -1;
}

static int say_bad_slot(const struct bsa_plan *p, int64_t bad, struct sab_message *msg)
{
    const int64_t tile = bad / p->cap, bh = tile / p->q_blocks;

    return sab_say(
        msg, SAB_INVALID,
        "q2k_block_index[%lld, %lld, %lld, %lld] is %d, expected a key block of 0 to %lld",
        (long long)(bh / p->heads), (long long)(bh % p->heads), (long long)(tile % p->q_blocks),
        (long long)(bad % p->cap), p->index[bad], (long long)(p->k_blocks - 1));
}

static int cpu_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct bsa_plan *p = plan;
    int64_t bad = INT64_MAX;

    (void)stream;
#if defined(_OPENMP)
#    pragma omp parallel num_threads(p->threads) reduction(min : bad)
#endif
    {
#if defined(_OPENMP)
        const int thread = omp_get_thread_num();
#    pragma omp for schedule(dynamic)
#else
        const int thread = 0;
#endif
        for (int64_t tile = 0; tile < p->tiles; tile++) {
            const int64_t slot = run_tile(p, &p->scratch[thread], tile);

            if (slot >= 0 && tile * p->cap + slot < bad)
                bad = tile * p->cap + slot;
        }
    }
    return bad == INT64_MAX ? SAB_OK : say_bad_slot(p, bad, msg);
}

static int check(const struct sab_problem *problem, unsigned flags, enum cpu_simd *simd,
                 struct sab_message *msg)
{
    const int status = sab_validate(sab_op_find("bsa_fwd"), problem, SAB_DEVICE_CPU, flags, msg);

    return status == SAB_OK ? cpu_simd_choose(problem, simd, msg) : status;
}

static int cpu_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    enum cpu_simd simd;

    return check(problem, SAB_VALIDATE_METADATA, &simd, msg);
}

static int cpu_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    *bytes = 0;
    return cpu_supports(problem, msg);
}

static void take_blocks(struct bsa_plan *p, const struct sab_problem *problem)
{
    const struct sab_tensor *sizes = &problem->tensors[SAB_T_bsa_fwd_block_sizes];
    const union sab_value *params = problem->params;

    p->cap = problem->tensors[SAB_T_bsa_fwd_q2k_block_index].shape[3];
    p->index = sab_data(problem, SAB_T_bsa_fwd_q2k_block_index);
    /* Under the uniform promise the counts are not even looked at. */
    if (!params[SAB_P_bsa_fwd_uniform_block_count].i)
        p->nums = sab_data(problem, SAB_T_bsa_fwd_q2k_block_nums);
    p->sizes = sab_data(problem, SAB_T_bsa_fwd_block_sizes);
    if (p->sizes && sizes->rank == 2)
        p->sizes_batch = p->k_blocks;
    if (p->sizes && sizes->rank == 3) {
        p->sizes_batch = p->heads * p->k_blocks;
        p->sizes_head = p->k_blocks;
    }
    p->num = params[SAB_P_bsa_fwd_block_sparse_num].i;
    p->contiguous = params[SAB_P_bsa_fwd_contiguous_block_indices].i != 0;
}

static void take_problem(struct bsa_plan *p, const struct sab_problem *problem)
{
    const struct sab_tensor *q = &problem->tensors[SAB_T_bsa_fwd_q];
    const struct sab_tensor *k = &problem->tensors[SAB_T_bsa_fwd_k];

    p->threads = problem->threads;
    p->fp16 = q->dtype == SAB_FP16;
    p->heads = q->shape[1];
    p->q_len = q->shape[2];
    p->kv_heads = k->shape[1];
    p->k_len = k->shape[2];
    p->q_blocks = (p->q_len + BSA_ROWS - 1) / BSA_ROWS;
    p->k_blocks = (p->k_len + BSA_KEYS - 1) / BSA_KEYS;
    p->tiles = q->shape[0] * p->heads * p->q_blocks;
    p->q = sab_data(problem, SAB_T_bsa_fwd_q);
    p->k = sab_data(problem, SAB_T_bsa_fwd_k);
    p->v = sab_data(problem, SAB_T_bsa_fwd_v);
    p->out = sab_data(problem, SAB_T_bsa_fwd_out);
    p->lse = sab_data(problem, SAB_T_bsa_fwd_lse);
    p->scale_log2 = (float)(problem->params[SAB_P_bsa_fwd_softmax_scale].f * DSA_LOG2E);
    take_blocks(p, problem);
}

static void cpu_free(void *plan)
{
    struct bsa_plan *p = plan;

    if (p)
        free(p->scratch);
    free(p);
}

static int cpu_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg)
{
    enum cpu_simd simd;
    const int status = check(problem, SAB_VALIDATE_POINTERS, &simd, msg);
    struct bsa_plan *p;

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    p = calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    take_problem(p, problem);
    p->variant = variants[simd];
    p->scratch = aligned_alloc(64, (size_t)p->threads * sizeof(*p->scratch));
    if (!p->scratch) {
        cpu_free(p);
        return sab_say(msg, SAB_FAILED, "no memory for the tiles of %d threads", problem->threads);
    }
    *plan = p;
    return SAB_OK;
}

extern const struct sab_kernel bsa_fwd_cpu_row;

const struct sab_kernel bsa_fwd_cpu_row = {
    SAB_ROW(bsa_fwd),
    .name = "cpu",
    .help = "all cores; AVX-512 or AVX2 where present",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .options = &cpu_simd_option,
    .options_nr = 1,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = cpu_supports,
    .workspace_size = cpu_workspace_size,
    .plan = cpu_plan,
    .launch = cpu_launch,
    .free = cpu_free,
};
