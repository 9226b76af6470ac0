/*
 * cpu.c - sage_fwd/cpu: the hooks, the walk over tiles and blocks, and the choice of a variant.
 *
 * One tile is 64 query rows of one (batch, head); tiles are independent, so neither the number of
 * threads nor their order changes a bit. The threads take tiles in order, which keeps the K and V
 * of one head in the cache.
 */
#include <stdlib.h>
#if defined(__x86_64__) && defined(__linux__)
#    include <cpuid.h>
#    include <sys/syscall.h>
#    include <unistd.h>
#endif

#include "cpu_tile.h"
#include "row.h"

#define LOG2_E 1.44269504088896340736

/* The choices of the option `simd`, in the order of its table below. */
enum simd { SIMD_AUTO = 0, SIMD_OFF, SIMD_AVX2, SIMD_AVX512, SIMD_AMX, SIMD_NR };

struct sage_plan {
    const struct sage_variant *variant;
    const int8_t *q, *k;
    const uint8_t *v;
    const float *q_scale, *k_scale, *v_scale;
    const int32_t *index;
    const int32_t *nums;  /* NULL: every row uses `num` slots */
    const int32_t *sizes; /* NULL: mode 0 */
    uint16_t *out;
    int64_t heads, q_len, k_len, q_blocks, k_blocks, cap, num;
    int64_t q_scales;    /* entries of q_scale per (batch, head) */
    int64_t sizes_batch; /* stride of block_sizes over batches, elements; 0 in mode 1 */
    int64_t sizes_head;  /* and over heads; 0 in modes 1 and 2 */
    int64_t tiles;       /* batch * heads * q_blocks */
    float scale;         /* softmax_scale * log2(e) */
    int contiguous, threads;
};

#if defined(__x86_64__)
/* Linux keeps the tile registers from a process until it asks, and says no where the machine has
 * none; asking again changes nothing. */
static int amx_present(void)
{
#    if defined(__linux__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    const unsigned wanted = 1u << 22 | 1u << 24 | 1u << 25; /* leaf 7: AMX-BF16, -TILE, -INT8 */
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & wanted) == wanted &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#    else
    return 0;
#    endif
}
#endif

static int simd_present(enum simd simd)
{
    switch (simd) {
    case SIMD_OFF:
        return 1;
#if defined(__x86_64__)
    case SIMD_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case SIMD_AVX512:
        return simd_present(SIMD_AVX2) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
    case SIMD_AMX:
        return simd_present(SIMD_AVX512) && amx_present();
#endif
    default:
        return 0;
    }
}

/* The variant of a choice, or NULL where this processor lacks it. */
static const struct sage_variant *simd_variant(uint32_t choice)
{
    static const struct sage_variant *const variants[SIMD_NR] = {
        [SIMD_OFF] = &sage_variant_scalar,
#if defined(__x86_64__)
        [SIMD_AVX2] = &sage_variant_avx2,
        [SIMD_AVX512] = &sage_variant_avx512,
        [SIMD_AMX] = &sage_variant_amx,
#endif
    };
    int i;

    if (choice != SIMD_AUTO)
        return simd_present((enum simd)choice) ? variants[choice] : NULL;
    for (i = SIMD_NR - 1; i > SIMD_OFF; i--) {
        if (simd_present((enum simd)i))
            break;
    }
    return variants[i];
}

/* Tokens of block j that exist (contract, section 4). */
static int valid_tokens(const struct sage_plan *p, int64_t b, int64_t h, int64_t j)
{
    int64_t left = p->k_len - SAGE_KEYS * j, declared;

    if (left > SAGE_KEYS)
        left = SAGE_KEYS;
    if (p->sizes) {
        declared = p->sizes[b * p->sizes_batch + h * p->sizes_head + j];
        if (declared < left)
            left = declared;
    }
    return left > 0 ? (int)left : 0;
}

/* Slots in use of a tile; a count beyond the capacity breaks the contract and must not make us read
 * the next row. */
static int64_t slots_used(const struct sage_plan *p, int64_t tile)
{
    int64_t n = p->nums ? p->nums[tile] : p->num;

    if (n > p->cap)
        return p->cap;
    return n > 0 ? n : 0;
}

static void fold_block(const struct sage_plan *p, struct sage_tile *t, int64_t bh, int64_t j,
                       int valid)
{
    struct sage_block block;

    block.k = p->k + (bh * p->k_len + j * SAGE_KEYS) * SAGE_D;
    block.v_stride = p->k_blocks * SAGE_KEYS;
    block.v = p->v + bh * SAGE_D * block.v_stride + j * SAGE_KEYS;
    block.valid = valid;
    block.k_scale = p->k_scale[bh * p->k_blocks + j];
    p->variant->fold(t, &block);
}

static void begin_tile(const struct sage_plan *p, struct sage_tile *t, int64_t bh, int64_t row)
{
    int r;

    for (r = 0; r < SAGE_ROWS; r++) {
        t->m[r] = -INFINITY;
        t->qs[r] = 0.0f;
        if (r < t->rows)
            t->qs[r] = p->q_scale[bh * p->q_scales + (row + r) / 32] * p->scale;
    }
    memset(t->l, 0, sizeof(t->l));
    p->variant->begin(t, p->q + (bh * p->q_len + row) * SAGE_D);
}

/* Returns the slot whose index is no block, or -1. A row without valid tokens is +0 and reads no
 * operand at all. */
static int64_t run_tile(const struct sage_plan *p, struct sage_tile *t, int64_t tile)
{
    const int32_t *slots = p->index + tile * p->cap;
    int64_t bh = tile / p->q_blocks, row = tile % p->q_blocks * SAGE_ROWS;
    int64_t n = slots_used(p, tile), i, j = 0;
    uint16_t *out = p->out + (bh * p->q_len + row) * SAGE_D;
    int64_t bad = -1;
    int valid, folded = 0;

    t->rows = p->q_len - row < SAGE_ROWS ? (int)(p->q_len - row) : SAGE_ROWS;
    for (i = n - 1; i >= 0; i--) {
        if (!p->contiguous || i == n - 1)
            j = slots[i];
        else
            j = j > 0 ? j - 1 : p->k_blocks - 1;
        if (j < 0 || j >= p->k_blocks) {
            bad = i;
            break;
        }
        valid = valid_tokens(p, bh / p->heads, bh % p->heads, j);
        if (!valid)
            continue;
        if (!folded++)
            begin_tile(p, t, bh, row);
        fold_block(p, t, bh, j, valid);
    }
    if (folded)
        p->variant->finish(t, p->v_scale + bh * SAGE_D, out);
    else
        memset(out, 0, (size_t)t->rows * SAGE_D * sizeof(*out));
    return bad;
}

static int say_bad_slot(const struct sage_plan *p, int64_t bad, struct sab_message *msg)
{
    int64_t tile = bad / p->cap, bh = tile / p->q_blocks;

    return sab_say(
        msg, SAB_INVALID,
        "q2k_block_index[%lld, %lld, %lld, %lld] is %d, expected a key block of 0 to %lld",
        (long long)(bh / p->heads), (long long)(bh % p->heads), (long long)(tile % p->q_blocks),
        (long long)(bad % p->cap), p->index[bad], (long long)(p->k_blocks - 1));
}

static int cpu_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct sage_plan *p = plan;
    int64_t bad = INT64_MAX;

    (void)stream;
#if defined(_OPENMP)
#    pragma omp parallel num_threads(p->threads) reduction(min : bad)
#endif
    {
        struct sage_tile t;
        int64_t tile, slot;

#if defined(_OPENMP)
#    pragma omp for schedule(dynamic)
#endif
        for (tile = 0; tile < p->tiles; tile++) {
            slot = run_tile(p, &t, tile);
            if (slot >= 0 && tile * p->cap + slot < bad)
                bad = tile * p->cap + slot;
        }
    }
    return bad == INT64_MAX ? SAB_OK : say_bad_slot(p, bad, msg);
}

/* What the operator's rules leave to a kernel. */
static int check(const struct sab_problem *problem, unsigned flags, struct sab_message *msg)
{
    const struct sab_tensor *q, *k;
    uint32_t choice;
    int status;

    status = sab_validate(sab_op_find("sage_fwd"), problem, SAB_DEVICE_CPU, flags, msg);
    if (status)
        return status;
    q = &problem->tensors[SAB_T_sage_fwd_q_int8];
    k = &problem->tensors[SAB_T_sage_fwd_k_int8];
    if (q->shape[3] != SAGE_D)
        return sab_say(msg, SAB_UNSUPPORTED, "q_int8 has head dimension %lld, only %d is served",
                       (long long)q->shape[3], SAGE_D);
    if (k->shape[1] != q->shape[1])
        return sab_say(msg, SAB_UNSUPPORTED,
                       "k_int8 has %lld heads and q_int8 %lld, grouped-query heads are not served",
                       (long long)k->shape[1], (long long)q->shape[1]);
    choice = problem->choices_nr ? problem->choices[0] : SIMD_AUTO;
    if (problem->choices_nr > 1 || choice >= SIMD_NR)
        return sab_say(msg, SAB_INVALID, "simd is choice %u of %u, expected 0 to %d", choice,
                       problem->choices_nr, SIMD_NR - 1);
    if (!simd_variant(choice))
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

static void take_sizes(struct sage_plan *p, const struct sab_problem *problem)
{
    const struct sab_tensor *q = &problem->tensors[SAB_T_sage_fwd_q_int8];

    p->heads = q->shape[1];
    p->q_len = q->shape[2];
    p->k_len = problem->tensors[SAB_T_sage_fwd_k_int8].shape[2];
    p->q_blocks = (p->q_len + SAGE_ROWS - 1) / SAGE_ROWS;
    p->k_blocks = (p->k_len + SAGE_KEYS - 1) / SAGE_KEYS;
    p->q_scales = 4 * ((p->q_len + 127) / 128);
    p->cap = problem->tensors[SAB_T_sage_fwd_q2k_block_index].shape[3];
    p->tiles = q->shape[0] * p->heads * p->q_blocks;
}

static void take_tensors(struct sage_plan *p, const struct sab_problem *problem)
{
    const struct sab_tensor *t = problem->tensors;
    const struct sab_tensor *sizes = &t[SAB_T_sage_fwd_block_sizes];
    const union sab_value *params = problem->params;

    p->q = t[SAB_T_sage_fwd_q_int8].data;
    p->k = t[SAB_T_sage_fwd_k_int8].data;
    p->v = t[SAB_T_sage_fwd_v_fp8].data;
    p->q_scale = t[SAB_T_sage_fwd_q_scale].data;
    p->k_scale = t[SAB_T_sage_fwd_k_scale].data;
    p->v_scale = t[SAB_T_sage_fwd_v_scale].data;
    p->index = t[SAB_T_sage_fwd_q2k_block_index].data;
    p->out = t[SAB_T_sage_fwd_out].data;
    /* Under the uniform promise the counts are not even looked at. */
    if (t[SAB_T_sage_fwd_q2k_block_nums].dtype != SAB_NONE &&
        !params[SAB_P_sage_fwd_uniform_block_count].i)
        p->nums = t[SAB_T_sage_fwd_q2k_block_nums].data;
    if (sizes->dtype == SAB_NONE)
        return;
    p->sizes = sizes->data;
    if (sizes->rank == 2)
        p->sizes_batch = p->k_blocks;
    if (sizes->rank == 3) {
        p->sizes_batch = p->heads * p->k_blocks;
        p->sizes_head = p->k_blocks;
    }
}

static int cpu_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg)
{
    struct sage_plan *p;
    int status;

    (void)workspace;
    *plan = NULL;
    status = check(problem, SAB_VALIDATE_POINTERS, msg);
    if (status)
        return status;
    p = calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    take_sizes(p, problem);
    take_tensors(p, problem);
    p->variant = simd_variant(problem->choices_nr ? problem->choices[0] : SIMD_AUTO);
    p->num = problem->params[SAB_P_sage_fwd_block_sparse_num].i;
    p->scale = (float)(problem->params[SAB_P_sage_fwd_softmax_scale].f * LOG2_E);
    p->contiguous = problem->params[SAB_P_sage_fwd_contiguous_block_indices].i != 0;
    p->threads = problem->threads;
    *plan = p;
    return SAB_OK;
}

static void cpu_free(void *plan)
{
    free(plan);
}

static const struct sab_choice simd_choices[SIMD_NR] = {
    [SIMD_AUTO] = {"auto", "the widest of the following that the processor has", SAB_CHOICE_DEFAULT,
                   0},
    [SIMD_OFF] = {"off", "plain C, not vectorised", 0, 0},
    [SIMD_AVX2] = {"avx2", "AVX2 and FMA", 0, 0},
    [SIMD_AVX512] = {"avx512", "AVX-512 with VNNI", 0, 0},
    [SIMD_AMX] = {"amx", "AMX int8 and bf16 tiles, AVX-512 between them", 0, 0},
};

static const struct sab_option options[] = {
    {"simd", "vector instructions to use; every choice gives the same bits", simd_choices, SIMD_NR},
};

static const struct sab_attribute attributes[] = {
    {"fold", "last_to_first"}, {"p_scale", "256"}, {"rescale", "lazy"}};

const struct sab_kernel sage_fwd_cpu_row = {
    SAB_ROW(sage_fwd),
    .name = "cpu",
    .help = "all cores; AMX, AVX-512 or AVX2 where present",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .options = options,
    .options_nr = sizeof(options) / sizeof(options[0]),
    .attributes = attributes,
    .attributes_nr = sizeof(attributes) / sizeof(attributes[0]),
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = cpu_supports,
    .workspace_size = cpu_workspace_size,
    .plan = cpu_plan,
    .launch = cpu_launch,
    .free = cpu_free,
};
