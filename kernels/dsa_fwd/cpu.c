/*
 * cpu.c - dsa_fwd/cpu: the hooks, the threads, and the choice of a variant. Query rows and groups
 * of heads are independent of each other, so neither the number of threads nor their order changes
 * a bit.
 */
#include <stdlib.h>
#if defined(_OPENMP)
#    include <omp.h>
#endif

#include "cpu_simd.h"
#include "cpu_tile.h"
#include "row.h"

static const struct dsa_fwd_variant *const variants[CPU_SIMD_NR] = {
    [CPU_SIMD_PLAIN] = &dsa_fwd_variant_plain,
#if defined(__x86_64__)
    [CPU_SIMD_AVX2] = &dsa_fwd_variant_avx2,
    [CPU_SIMD_AVX512] = &dsa_fwd_variant_avx512,
#endif
};

static int check(const struct sab_problem *problem, unsigned flags, enum cpu_simd *simd,
                 struct sab_message *msg)
{
    const int status = sab_validate(sab_op_find("dsa_fwd"), problem, SAB_DEVICE_CPU, flags, msg);

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

static void take_problem(struct dsa_fwd_plan *p, const struct sab_problem *problem)
{
    const struct sab_tensor *q = &problem->tensors[SAB_T_dsa_fwd_q];

    p->rows = q->shape[0];
    p->heads = q->shape[1];
    p->width = q->shape[2];
    p->fp16 = q->dtype == SAB_FP16;
    p->keys = problem->tensors[SAB_T_dsa_fwd_kv].shape[0];
    p->slots = problem->tensors[SAB_T_dsa_fwd_topk_idxs].shape[1];
    p->q = sab_data(problem, SAB_T_dsa_fwd_q);
    p->kv = sab_data(problem, SAB_T_dsa_fwd_kv);
    p->ids = sab_data(problem, SAB_T_dsa_fwd_topk_idxs);
    p->length = sab_data(problem, SAB_T_dsa_fwd_topk_length);
    p->sink = sab_data(problem, SAB_T_dsa_fwd_attn_sink);
    p->out = sab_data(problem, SAB_T_dsa_fwd_out);
    p->max_logits = sab_data(problem, SAB_T_dsa_fwd_max_logits);
    p->lse = sab_data(problem, SAB_T_dsa_fwd_lse);
    p->lse_indexer = sab_data(problem, SAB_T_dsa_fwd_lse_indexer);
    p->prefix = problem->params[SAB_P_dsa_fwd_lse_prefix].i;
    p->scale = (float)problem->params[SAB_P_dsa_fwd_softmax_scale].f;
    p->threads = problem->threads;
}

static void cpu_free(void *plan)
{
    struct dsa_fwd_plan *p = plan;

    if (!p)
        return;
    free(p->tiles);
    free(p->active);
    free(p);
}

static int cpu_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg)
{
    enum cpu_simd simd;
    const int status = check(problem, SAB_VALIDATE_POINTERS, &simd, msg);
    struct dsa_fwd_plan *p;
    size_t threads;

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    p = calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    take_problem(p, problem);
    p->variant = variants[simd];
    threads = (size_t)p->threads;
    p->tiles = aligned_alloc(64, threads * sizeof(*p->tiles));
    p->active = malloc(threads * ((size_t)p->slots + 1) * sizeof(*p->active));
    if (!p->tiles || !p->active) {
        cpu_free(p);
        return sab_say(msg, SAB_FAILED, "no memory for the tiles of %zu threads", threads);
    }
    *plan = p;
    return SAB_OK;
}

static int cpu_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct dsa_fwd_plan *p = plan;
    const int64_t groups = (p->heads + DSA_TILE - 1) / DSA_TILE;

    (void)stream;
    (void)msg;
#if defined(_OPENMP)
#    pragma omp parallel num_threads(p->threads)
#endif
    {
#if defined(_OPENMP)
        const int thread = omp_get_thread_num();
#    pragma omp for schedule(dynamic)
#else
        const int thread = 0;
#endif
        for (int64_t i = 0; i < p->rows * groups; i++)
            p->variant->group(p, &p->tiles[thread], p->active + thread * (p->slots + 1), i / groups,
                              i % groups);
    }
    return SAB_OK;
}

extern const struct sab_kernel dsa_fwd_cpu_row;

const struct sab_kernel dsa_fwd_cpu_row = {
    SAB_ROW(dsa_fwd),
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
