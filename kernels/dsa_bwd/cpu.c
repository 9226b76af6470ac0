/*
 * cpu.c - dsa_bwd/cpu: the hooks, the workspace, the threads, and the choice of a variant. Bits do
 * not depend on the number of threads, so `deterministic` is always kept.
 */
#include <stdlib.h>
#if defined(_OPENMP)
#    include <omp.h>
#endif

#include "cpu_simd.h"
#include "cpu_tile.h"
#include "row.h"

#define BLOCK_BYTES (32 << 20) /* of P and dS */
#define ALIGNMENT   256
#define PARTS_MAX   16

static const struct dsa_bwd_variant *const variants[CPU_SIMD_NR] = {
    [CPU_SIMD_PLAIN] = &dsa_bwd_variant_plain,
#if defined(__x86_64__)
    [CPU_SIMD_AVX2] = &dsa_bwd_variant_avx2,
    [CPU_SIMD_AVX512] = &dsa_bwd_variant_avx512,
#endif
};

static int check(const struct sab_problem *problem, unsigned flags, enum cpu_simd *simd,
                 struct sab_message *msg)
{
    const int status = sab_validate(sab_op_find("dsa_bwd"), problem, SAB_DEVICE_CPU, flags, msg);

    return status == SAB_OK ? cpu_simd_choose(problem, simd, msg) : status;
}

static int cpu_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    enum cpu_simd simd;

    return check(problem, SAB_VALIDATE_METADATA, &simd, msg);
}

/* The next `bytes` of a workspace; with base NULL, only their place is counted. */
static void *take(char *base, uint64_t *at, uint64_t bytes)
{
    void *here = base ? base + *at : NULL;

    *at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return here;
}

/* Places everything in the workspace; its bytes. */
static uint64_t place(struct dsa_bwd_plan *p, void *base)
{
    const uint64_t keys = (uint64_t)p->keys, heads = (uint64_t)p->heads;
    uint64_t weights, block, at = 0;

    p->pitch = (p->slots + DSA_TILE - 1) / DSA_TILE * DSA_TILE;
    p->block = 1;
    if (p->pitch > 0)
        p->block = BLOCK_BYTES / (2 * p->heads * p->pitch * (int64_t)sizeof(float));
    if (p->block > p->rows)
        p->block = p->rows;
    if (p->block < 1)
        p->block = 1;
    block = (uint64_t)p->block;
    weights = block * heads * (uint64_t)p->pitch * sizeof(float);
    p->sum = take(base, &at, keys * (uint64_t)p->width * sizeof(float));
    p->d_total = take(base, &at, heads * sizeof(double));
    p->terms = take(base, &at, block * heads * sizeof(double));
    p->nl = take(base, &at, block * heads * sizeof(float));
    p->p = take(base, &at, weights);
    p->ds = take(base, &at, weights);
    p->nr = take(base, &at, block * sizeof(int64_t));
    p->active = take(base, &at, block * (uint64_t)p->slots * sizeof(int32_t));
    return at;
}

static void take_sizes(struct dsa_bwd_plan *p, const struct sab_problem *problem)
{
    const struct sab_tensor *q = &problem->tensors[SAB_T_dsa_bwd_q];

    p->rows = q->shape[0];
    p->heads = q->shape[1];
    p->width = q->shape[2];
    p->fp16 = q->dtype == SAB_FP16;
    p->keys = problem->tensors[SAB_T_dsa_bwd_kv].shape[0];
    p->slots = problem->tensors[SAB_T_dsa_bwd_topk_idxs].shape[1];
}

static int cpu_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    const int status = cpu_supports(problem, msg);
    struct dsa_bwd_plan p = {0};

    *bytes = 0;
    if (status != SAB_OK)
        return status;
    take_sizes(&p, problem);
    *bytes = place(&p, NULL);
    return SAB_OK;
}

static void take_tensors(struct dsa_bwd_plan *p, const struct sab_problem *problem)
{
    const struct sab_tensor *t = problem->tensors;
    const int64_t strips = p->width / DSA_TILE;

    p->q = t[SAB_T_dsa_bwd_q].data;
    p->kv = t[SAB_T_dsa_bwd_kv].data;
    p->out = t[SAB_T_dsa_bwd_out].data;
    p->dout = t[SAB_T_dsa_bwd_dout].data;
    p->lse = t[SAB_T_dsa_bwd_lse].data;
    p->sink = t[SAB_T_dsa_bwd_attn_sink].data;
    p->ids = t[SAB_T_dsa_bwd_topk_idxs].data;
    p->length = sab_data(problem, SAB_T_dsa_bwd_topk_length);
    p->dq = t[SAB_T_dsa_bwd_dq].data;
    p->dkv = t[SAB_T_dsa_bwd_dkv].data;
    p->d_sink = t[SAB_T_dsa_bwd_d_sink].data;
    p->scale = (float)problem->params[SAB_P_dsa_bwd_softmax_scale].f;
    p->threads = problem->threads;
    p->parts = (int)((2 * p->threads + strips - 1) / strips);
    if (p->parts > PARTS_MAX)
        p->parts = PARTS_MAX;
}

static void cpu_free(void *plan)
{
    struct dsa_bwd_plan *p = plan;

    if (p)
        free(p->tiles);
    free(p);
}

static int cpu_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg)
{
    struct dsa_bwd_plan made = {0}, *p;
    enum cpu_simd simd;
    int status = check(problem, SAB_VALIDATE_POINTERS, &simd, msg);

    *plan = NULL;
    if (status != SAB_OK)
        return status;
    take_sizes(&made, problem);
    status = sab_validate_workspace(sab_op_find("dsa_bwd"), problem, workspace, place(&made, NULL),
                                    ALIGNMENT, SAB_DEVICE_CPU, msg);
    if (status != SAB_OK)
        return status;
    place(&made, workspace->data);
    take_tensors(&made, problem);
    made.variant = variants[simd];
    made.tiles = aligned_alloc(64, (size_t)made.threads * sizeof(*made.tiles));
    p = malloc(sizeof(*p));
    if (!made.tiles || !p) {
        free(made.tiles);
        free(p);
        return sab_say(msg, SAB_FAILED, "no memory for the tiles of %d threads", made.threads);
    }
    *p = made;
    *plan = p;
    return SAB_OK;
}

static void add_terms(const struct dsa_bwd_plan *p, int64_t first)
{
    const int64_t rows = p->rows - first < p->block ? p->rows - first : p->block;

    for (int64_t i = 0; i < rows; i++)
        for (int64_t h = 0; h < p->heads; h++)
            p->d_total[h] -= p->terms[i * p->heads + h];
}

static void list_active(const struct dsa_bwd_plan *p, int64_t first, int64_t i)
{
    int64_t prefix;

    p->nr[i] = dsa_active_ids(p->ids + (first + i) * p->slots, dsa_bwd_length(p, first + i),
                              p->keys, 0, p->active + i * p->slots, &prefix);
}

/* Both phases of a block, by all threads of the caller's team. */
static void run_block(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t first)
{
    const int64_t rows = p->rows - first < p->block ? p->rows - first : p->block;
    const int64_t groups = (p->heads + DSA_TILE - 1) / DSA_TILE;
    const int64_t units = p->width / DSA_TILE * p->parts;

#if defined(_OPENMP)
#    pragma omp for schedule(static)
#endif
    for (int64_t i = 0; i < rows; i++)
        list_active(p, first, i);
#if defined(_OPENMP)
#    pragma omp for schedule(dynamic)
#endif
    for (int64_t i = 0; i < rows * groups; i++)
        p->variant->group(p, t, first, i / groups, i % groups);
#if defined(_OPENMP)
#    pragma omp single nowait
#endif
    add_terms(p, first);
#if defined(_OPENMP)
#    pragma omp for schedule(dynamic)
#endif
    for (int64_t i = 0; i < units; i++)
        p->variant->strip(p, t, first, i / p->parts * DSA_TILE, i % p->parts);
}

static int cpu_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct dsa_bwd_plan *p = plan;

    (void)stream;
    (void)msg;
    memset(p->d_total, 0, (size_t)p->heads * sizeof(double));
    if (p->keys > 0)
        memset(p->sum, 0, (size_t)(p->keys * p->width) * sizeof(float));
#if defined(_OPENMP)
#    pragma omp parallel num_threads(p->threads)
#endif
    {
#if defined(_OPENMP)
        struct dsa_bwd_tile *t = &p->tiles[omp_get_thread_num()];
#else
        struct dsa_bwd_tile *t = p->tiles;
#endif

        for (int64_t first = 0; first < p->rows; first += p->block)
            run_block(p, t, first);
#if defined(_OPENMP)
#    pragma omp for schedule(static)
#endif
        for (int64_t i = 0; i < p->keys; i++)
            p->variant->key(p, i);
    }
    for (int64_t h = 0; h < p->heads; h++)
        p->d_sink[h] = (float)p->d_total[h];
    return SAB_OK;
}

extern const struct sab_kernel dsa_bwd_cpu_row;

const struct sab_kernel dsa_bwd_cpu_row = {
    SAB_ROW(dsa_bwd),
    .name = "cpu",
    .help = "all cores, sums in a fixed order; AVX-512 or AVX2 where present",
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
