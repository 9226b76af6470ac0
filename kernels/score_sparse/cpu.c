/*
 * cpu.c - score_sparse_indexer/cpu and score_sparse_attention/cpu.
 */
#include <stdlib.h>

#include "cpu_sparse.h"
#include "row.h"
#include "score_sparse_call.h"

struct cpu_plan {
    struct cpu_sparse sparse;
    void *scratch;
};

static int check(const struct sab_problem *problem, int attention, unsigned flags,
                 struct cpu_sparse *sparse, struct sab_message *msg)
{
    const int status =
        score_sparse_call_init(&sparse->d, problem, attention, SAB_DEVICE_CPU, flags, msg);

    if (status != SAB_OK)
        return status;
    sparse->threads = problem->threads;
    return cpu_product_choose(problem, &sparse->product, msg);
}

static void cpu_free(void *plan)
{
    struct cpu_plan *p = plan;

    if (!p)
        return;
    free(p->scratch);
    free(p);
}

static int plan_make(const struct sab_problem *problem, int attention, void **plan,
                     struct sab_message *msg)
{
    struct cpu_sparse sparse;
    const int status = check(problem, attention, SAB_VALIDATE_POINTERS, &sparse, msg);
    struct cpu_plan *p;

    *plan = NULL;
    if (status != SAB_OK)
        return status;
    p = calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->sparse = sparse;
    p->scratch = cpu_sparse_scratch(&p->sparse);
    if (!p->scratch) {
        cpu_free(p);
        return sab_say(msg, SAB_FAILED, "no memory for the tiles of %d threads", sparse.threads);
    }
    *plan = p;
    return SAB_OK;
}

static int cpu_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct cpu_plan *p = plan;

    (void)stream;
    (void)msg;
    cpu_sparse_run(&p->sparse, p->scratch);
    return SAB_OK;
}

static int indexer_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct cpu_sparse sparse;

    return check(problem, 0, SAB_VALIDATE_METADATA, &sparse, msg);
}

static int indexer_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                  struct sab_message *msg)
{
    *bytes = 0;
    return indexer_supports(problem, msg);
}

static int indexer_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                        void **plan, struct sab_message *msg)
{
    (void)workspace;
    return plan_make(problem, 0, plan, msg);
}

static int attention_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct cpu_sparse sparse;

    return check(problem, 1, SAB_VALIDATE_METADATA, &sparse, msg);
}

static int attention_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                    struct sab_message *msg)
{
    *bytes = 0;
    return attention_supports(problem, msg);
}

static int attention_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                          void **plan, struct sab_message *msg)
{
    (void)workspace;
    return plan_make(problem, 1, plan, msg);
}

extern const struct sab_kernel score_sparse_indexer_cpu_row, score_sparse_attention_cpu_row;

const struct sab_kernel score_sparse_indexer_cpu_row = {
    SAB_ROW(score_sparse_indexer),
    .name = "cpu",
    .help = "all cores; AVX-512 or AVX2 where present",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .options = &cpu_simd_option,
    .options_nr = 1,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = indexer_supports,
    .workspace_size = indexer_workspace_size,
    .plan = indexer_plan,
    .launch = cpu_launch,
    .free = cpu_free,
};

const struct sab_kernel score_sparse_attention_cpu_row = {
    SAB_ROW(score_sparse_attention),
    .name = "cpu",
    .help = "all cores; AVX-512 or AVX2 where present",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .options = &cpu_simd_option,
    .options_nr = 1,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = attention_supports,
    .workspace_size = attention_workspace_size,
    .plan = attention_plan,
    .launch = cpu_launch,
    .free = cpu_free,
};
