/*
 * cpu.c - indexer_fwd/cpu: bf16, e4m3 and mxfp8 on all cores.
 */
#include <stdlib.h>

#include "cpu_dense.h"
#include "indexer_fwd_dense_call.h"
#include "row.h"

struct cpu_plan {
    struct cpu_dense dense;
    void *scratch;
};

static int check(const struct sab_problem *problem, unsigned flags, struct cpu_dense *dense,
                 struct sab_message *msg)
{
    struct indexer_fwd_call call;
    const int status = indexer_fwd_call_init(&call, problem, SAB_DEVICE_CPU, flags, msg);

    if (status != SAB_OK)
        return status;
    indexer_fwd_dense(&call, &dense->d);
    dense->threads = problem->threads;
    return cpu_product_choose(problem, &dense->product, msg);
}

static int cpu_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct cpu_dense dense;

    return check(problem, SAB_VALIDATE_METADATA, &dense, msg);
}

static int cpu_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    *bytes = 0;
    return cpu_supports(problem, msg);
}

static void cpu_free(void *plan)
{
    struct cpu_plan *p = plan;

    if (!p)
        return;
    free(p->scratch);
    free(p);
}

static int cpu_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg)
{
    struct cpu_dense dense;
    const int status = check(problem, SAB_VALIDATE_POINTERS, &dense, msg);
    struct cpu_plan *p;

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    p = calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->dense = dense;
    p->scratch = cpu_dense_scratch(&p->dense);
    if (!p->scratch) {
        cpu_free(p);
        return sab_say(msg, SAB_FAILED, "no memory for the tiles of %d threads", dense.threads);
    }
    *plan = p;
    return SAB_OK;
}

static int cpu_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct cpu_plan *p = plan;

    (void)stream;
    (void)msg;
    cpu_dense_run(&p->dense, p->scratch);
    return SAB_OK;
}

extern const struct sab_kernel indexer_fwd_cpu_row;

const struct sab_kernel indexer_fwd_cpu_row = {
    SAB_ROW(indexer_fwd),
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
