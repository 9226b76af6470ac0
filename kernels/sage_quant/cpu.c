/*
 * cpu.c - sage_quant_q/cpu and sage_quant_kv/cpu: the hooks, the threads, and the choice of a
 * variant. Groups, heads and blocks are independent of each other, so neither the number of
 * threads nor their order changes a bit.
 */
#include <stdlib.h>

#include "cpu_body.h"
#include "row.h"

enum simd { SIMD_AUTO = 0, SIMD_OFF, SIMD_AVX2, SIMD_NR };

struct quant_variant {
    void (*q_group)(const struct quant_q_call *c, int64_t bh, int64_t group);
    void (*kv_sums)(const struct quant_kv_call *c, int64_t bh, int64_t block);
    void (*kv_head)(const struct quant_kv_call *c, int64_t bh);
    void (*kv_block)(const struct quant_kv_call *c, int64_t bh, int64_t block);
};

/* The same loops, compiled for one set of instructions. */
#define VARIANT(name, target)                                                                      \
    target static void name##_q_group(const struct quant_q_call *c, int64_t bh, int64_t group)     \
    {                                                                                              \
        body_q_group(c, bh, group);                                                                \
    }                                                                                              \
    target static void name##_kv_sums(const struct quant_kv_call *c, int64_t bh, int64_t block)    \
    {                                                                                              \
        body_kv_sums(c, bh, block);                                                                \
    }                                                                                              \
    target static void name##_kv_head(const struct quant_kv_call *c, int64_t bh)                   \
    {                                                                                              \
        body_kv_head(c, bh);                                                                       \
    }                                                                                              \
    target static void name##_kv_block(const struct quant_kv_call *c, int64_t bh, int64_t block)   \
    {                                                                                              \
        body_kv_block(c, bh, block);                                                               \
    }                                                                                              \
    static const struct quant_variant name##_variant = {name##_q_group, name##_kv_sums,            \
                                                        name##_kv_head, name##_kv_block};

VARIANT(plain, )
#if defined(__x86_64__)
VARIANT(avx2, __attribute__((target("avx2"))))
#endif

struct quant_plan {
    const struct quant_variant *variant;
    struct quant_q_call q;
    struct quant_kv_call kv;
    int threads;
};

/* The variant of a choice, or NULL where this processor lacks it. */
static const struct quant_variant *variant_of(const struct sab_problem *problem)
{
    const uint32_t choice = problem->choices_nr ? problem->choices[0] : SIMD_AUTO;

#if defined(__x86_64__)
    if (choice != SIMD_OFF && __builtin_cpu_supports("avx2"))
        return &avx2_variant;
#endif
    return choice == SIMD_AVX2 ? NULL : &plain_variant;
}

static int check_choice(const struct sab_problem *problem, struct sab_message *msg)
{
    if (problem->choices_nr > 1 || (problem->choices_nr && problem->choices[0] >= SIMD_NR))
        return sab_say(msg, SAB_INVALID, "simd is choice %u of %u, expected 0 to %d",
                       problem->choices[0], problem->choices_nr, SIMD_NR - 1);
    if (!variant_of(problem))
        return sab_say(msg, SAB_UNSUPPORTED,
                       "simd asks for instructions that this processor lacks");
    return SAB_OK;
}

static int q_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    const int status = quant_q_cpu_supports(problem, msg);

    return status == SAB_OK ? check_choice(problem, msg) : status;
}

static int kv_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    const int status = quant_kv_cpu_supports(problem, msg);

    return status == SAB_OK ? check_choice(problem, msg) : status;
}

static int keep_plan(const struct quant_plan *made, void **plan, struct sab_message *msg)
{
    struct quant_plan *p = malloc(sizeof(*p));

    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    *p = *made;
    *plan = p;
    return SAB_OK;
}

static int q_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                  void **plan, struct sab_message *msg)
{
    struct quant_plan p = {.threads = problem->threads};
    int status = quant_q_call_init(&p.q, problem, SAB_DEVICE_CPU, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status == SAB_OK)
        status = check_choice(problem, msg);
    if (status != SAB_OK)
        return status;
    p.variant = variant_of(problem);
    return keep_plan(&p, plan, msg);
}

static int kv_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                   void **plan, struct sab_message *msg)
{
    struct quant_plan p = {.threads = problem->threads};
    int status = quant_kv_call_init(&p.kv, problem, SAB_DEVICE_CPU, SAB_VALIDATE_POINTERS, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status = check_choice(problem, msg);
    if (status == SAB_OK)
        status = quant_kv_place(&p.kv, problem, workspace, SAB_DEVICE_CPU, msg);
    if (status != SAB_OK)
        return status;
    p.variant = variant_of(problem);
    return keep_plan(&p, plan, msg);
}

static int q_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct quant_plan *p = plan;
    const int64_t groups = p->q.groups, all = p->q.batch * p->q.heads * groups;

    (void)stream;
    (void)msg;
#if defined(_OPENMP)
#    pragma omp parallel for num_threads(p->threads) schedule(static)
#endif
    for (int64_t i = 0; i < all; i++)
        p->variant->q_group(&p->q, i / groups, i % groups);
    return SAB_OK;
}

/* Each loop ends with all threads waiting for the last one. */
static int kv_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct quant_plan *p = plan;
    const struct quant_kv_call *c = &p->kv;
    const int64_t heads = c->batch * c->heads;

    (void)stream;
    (void)msg;
#if defined(_OPENMP)
#    pragma omp parallel num_threads(p->threads)
#endif
    {
#if defined(_OPENMP)
#    pragma omp for schedule(static)
#endif
        for (int64_t i = 0; i < heads * c->blocks; i++)
            p->variant->kv_sums(c, i / c->blocks, i % c->blocks);
#if defined(_OPENMP)
#    pragma omp for schedule(static)
#endif
        for (int64_t i = 0; i < heads; i++)
            p->variant->kv_head(c, i);
#if defined(_OPENMP)
#    pragma omp for schedule(static)
#endif
        for (int64_t i = 0; i < heads * c->blocks; i++)
            p->variant->kv_block(c, i / c->blocks, i % c->blocks);
    }
    return SAB_OK;
}

static const struct sab_choice simd_choices[SIMD_NR] = {
    [SIMD_AUTO] = {"auto", "AVX2 where the processor has it", SAB_CHOICE_DEFAULT, 0},
    [SIMD_OFF] = {"off", "what every processor of this kind has", 0, 0},
    [SIMD_AVX2] = {"avx2", "AVX2", 0, 0},
};

static const struct sab_option options[] = {
    {"simd", "vector instructions to use; every choice gives the same bits", simd_choices, SIMD_NR},
};

extern const struct sab_kernel sage_quant_q_cpu_row, sage_quant_kv_cpu_row;

const struct sab_kernel sage_quant_q_cpu_row = {
    SAB_ROW(sage_quant_q),
    .name = "cpu",
    .help = "all cores; AVX2 where present",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .options = options,
    .options_nr = sizeof(options) / sizeof(options[0]),
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = q_supports,
    .workspace_size = quant_q_workspace_size,
    .plan = q_plan,
    .launch = q_launch,
    .free = free,
};

const struct sab_kernel sage_quant_kv_cpu_row = {
    SAB_ROW(sage_quant_kv),
    .name = "cpu",
    .help = "all cores, sums in the fixed order; AVX2 where present",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .options = options,
    .options_nr = sizeof(options) / sizeof(options[0]),
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = kv_supports,
    .workspace_size = quant_kv_cpu_workspace_size,
    .plan = kv_plan,
    .launch = kv_launch,
    .free = free,
};
