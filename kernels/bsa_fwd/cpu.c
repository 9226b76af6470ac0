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

#include "cpu_tile.h"
#include "row.h"
#include "schema.h"

enum simd { SIMD_AUTO = 0, SIMD_OFF, SIMD_AVX2, SIMD_AVX512, SIMD_NR };

/* The variant of a choice, or NULL where this processor lacks it. */
static const struct bsa_variant *variant_of(uint32_t choice)
{
#if defined(__x86_64__)
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const int avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                       __builtin_cpu_supports("avx512dq");

    if (avx512 && (choice == SIMD_AUTO || choice == SIMD_AVX512))
        return &bsa_variant_avx512;
    if (avx2 && (choice == SIMD_AUTO || choice == SIMD_AVX2))
        return &bsa_variant_avx2;
#endif
    return choice == SIMD_AUTO || choice == SIMD_OFF ? &bsa_variant_plain : NULL;
}

static uint32_t choice_of(const struct sab_problem *problem)
{
    return problem->choices_nr ? problem->choices[0] : SIMD_AUTO;
}

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

/* What the operator's rules leave to a kernel. */
static int check(const struct sab_problem *problem, unsigned flags, struct sab_message *msg)
{
    const int status = sab_validate(sab_op_find("bsa_fwd"), problem, SAB_DEVICE_CPU, flags, msg);

    if (status != SAB_OK)
        return status;
    if (problem->choices_nr > 1 || choice_of(problem) >= SIMD_NR)
        return sab_say(msg, SAB_INVALID, "simd is choice %u of %u, expected 0 to %d",
                       choice_of(problem), problem->choices_nr, SIMD_NR - 1);
    if (!variant_of(choice_of(problem)))
        return sab_say(msg, SAB_UNSUPPORTED,
                       "simd asks for instructions that this processor lacks");
    if (problem->threads < 1)
        return sab_say(msg, SAB_INVALID, "threads is %d, expected at least 1", problem->threads);
    return SAB_OK;
}

static int cpu_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return check(problem, SAB_VALIDATE_METADATA, msg);
}

static int cpu_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    *bytes = 0;
    return check(problem, SAB_VALIDATE_METADATA, msg);
}

static void *data_of(const struct sab_problem *problem, uint32_t tensor)
{
    const struct sab_tensor *t = &problem->tensors[tensor];

    return t->dtype == SAB_NONE ? NULL : t->data;
}

static void take_blocks(struct bsa_plan *p, const struct sab_problem *problem)
{
    const struct sab_tensor *sizes = &problem->tensors[SAB_T_bsa_fwd_block_sizes];
    const union sab_value *params = problem->params;

    p->cap = problem->tensors[SAB_T_bsa_fwd_q2k_block_index].shape[3];
    p->index = data_of(problem, SAB_T_bsa_fwd_q2k_block_index);
    /* Under the uniform promise the counts are not even looked at. */
    if (!params[SAB_P_bsa_fwd_uniform_block_count].i)
        p->nums = data_of(problem, SAB_T_bsa_fwd_q2k_block_nums);
    p->sizes = data_of(problem, SAB_T_bsa_fwd_block_sizes);
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

    p->variant = variant_of(choice_of(problem));
    p->threads = problem->threads;
    p->fp16 = q->dtype == SAB_FP16;
    p->heads = q->shape[1];
    p->q_len = q->shape[2];
    p->kv_heads = k->shape[1];
    p->k_len = k->shape[2];
    p->q_blocks = (p->q_len + BSA_ROWS - 1) / BSA_ROWS;
    p->k_blocks = (p->k_len + BSA_KEYS - 1) / BSA_KEYS;
    p->tiles = q->shape[0] * p->heads * p->q_blocks;
    p->q = data_of(problem, SAB_T_bsa_fwd_q);
    p->k = data_of(problem, SAB_T_bsa_fwd_k);
    p->v = data_of(problem, SAB_T_bsa_fwd_v);
    p->out = data_of(problem, SAB_T_bsa_fwd_out);
    p->lse = data_of(problem, SAB_T_bsa_fwd_lse);
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
    const int status = check(problem, SAB_VALIDATE_POINTERS, msg);
    struct bsa_plan *p;

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    p = calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    take_problem(p, problem);
    p->scratch = aligned_alloc(64, (size_t)p->threads * sizeof(*p->scratch));
    if (!p->scratch) {
        cpu_free(p);
        return sab_say(msg, SAB_FAILED, "no memory for the tiles of %d threads", problem->threads);
    }
    *plan = p;
    return SAB_OK;
}

static const struct sab_choice simd_choices[SIMD_NR] = {
    [SIMD_AUTO] = {"auto", "the widest of the following that the processor has", SAB_CHOICE_DEFAULT,
                   0},
    [SIMD_OFF] = {"off", "what every processor of its kind has", 0, 0},
    [SIMD_AVX2] = {"avx2", "AVX2 and FMA", 0, 0},
    [SIMD_AVX512] = {"avx512", "AVX-512", 0, 0},
};

static const struct sab_option options[] = {
    {"simd", "vector instructions to use; choices differ by rounding", simd_choices, SIMD_NR},
};

extern const struct sab_kernel bsa_fwd_cpu_row;

const struct sab_kernel bsa_fwd_cpu_row = {
    SAB_ROW(bsa_fwd),
    .name = "cpu",
    .help = "all cores; AVX-512 or AVX2 where present",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .options = options,
    .options_nr = sizeof(options) / sizeof(options[0]),
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = cpu_supports,
    .workspace_size = cpu_workspace_size,
    .plan = cpu_plan,
    .launch = cpu_launch,
    .free = cpu_free,
};
