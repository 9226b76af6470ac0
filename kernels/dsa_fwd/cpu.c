/*
 * cpu.c - dsa_fwd/cpu: the hooks, the threads, and the choice of a variant. Query rows and groups
 * of heads are independent of each other, so neither the number of threads nor their order changes
 * a bit.
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
static const struct dsa_fwd_variant *variant_of(uint32_t choice)
{
#if defined(__x86_64__)
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const int avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                       __builtin_cpu_supports("avx512dq");

    if (avx512 && (choice == SIMD_AUTO || choice == SIMD_AVX512))
        return &dsa_fwd_variant_avx512;
    if (avx2 && (choice == SIMD_AUTO || choice == SIMD_AVX2))
        return &dsa_fwd_variant_avx2;
#endif
    return choice == SIMD_AUTO || choice == SIMD_OFF ? &dsa_fwd_variant_plain : NULL;
}

static uint32_t choice_of(const struct sab_problem *problem)
{
    return problem->choices_nr ? problem->choices[0] : SIMD_AUTO;
}

/* What the operator's rules leave to a kernel. */
static int check(const struct sab_problem *problem, unsigned flags, struct sab_message *msg)
{
    const int status = sab_validate(sab_op_find("dsa_fwd"), problem, SAB_DEVICE_CPU, flags, msg);

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

static void take_problem(struct dsa_fwd_plan *p, const struct sab_problem *problem)
{
    const struct sab_tensor *q = &problem->tensors[SAB_T_dsa_fwd_q];

    p->variant = variant_of(choice_of(problem));
    p->rows = q->shape[0];
    p->heads = q->shape[1];
    p->width = q->shape[2];
    p->fp16 = q->dtype == SAB_FP16;
    p->keys = problem->tensors[SAB_T_dsa_fwd_kv].shape[0];
    p->slots = problem->tensors[SAB_T_dsa_fwd_topk_idxs].shape[1];
    p->q = data_of(problem, SAB_T_dsa_fwd_q);
    p->kv = data_of(problem, SAB_T_dsa_fwd_kv);
    p->ids = data_of(problem, SAB_T_dsa_fwd_topk_idxs);
    p->length = data_of(problem, SAB_T_dsa_fwd_topk_length);
    p->sink = data_of(problem, SAB_T_dsa_fwd_attn_sink);
    p->out = data_of(problem, SAB_T_dsa_fwd_out);
    p->max_logits = data_of(problem, SAB_T_dsa_fwd_max_logits);
    p->lse = data_of(problem, SAB_T_dsa_fwd_lse);
    p->lse_indexer = data_of(problem, SAB_T_dsa_fwd_lse_indexer);
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
    const int status = check(problem, SAB_VALIDATE_POINTERS, msg);
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

extern const struct sab_kernel dsa_fwd_cpu_row;

const struct sab_kernel dsa_fwd_cpu_row = {
    SAB_ROW(dsa_fwd),
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
