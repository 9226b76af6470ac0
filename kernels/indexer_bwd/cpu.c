/*
 * cpu.c - indexer_bwd_sparse/cpu and indexer_bwd_dense/cpu. The workspace holds G, and behind it
 * sums of dK where the output is bf16.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu_gradient.h"
#include "row.h"

#define WORKSPACE_ALIGNMENT 64

struct cpu_plan {
    struct cpu_bwd bwd;
    void *scratch;
};

static int check(const struct sab_problem *problem, int sparse, unsigned flags, struct cpu_bwd *bwd,
                 struct sab_message *msg)
{
    int status;

    memset(bwd, 0, sizeof(*bwd));
    status = indexer_bwd_call_init(&bwd->call, problem, sparse, SAB_DEVICE_CPU, flags, msg);
    if (status != SAB_OK)
        return status;
    bwd->threads = problem->threads;
    return cpu_product_choose(problem, &bwd->product, msg);
}

static uint64_t workspace_bytes(const struct indexer_bwd_call *c)
{
    return indexer_bwd_gradient_bytes(c) +
           (c->dk_f32 ? 0 : (uint64_t)c->keys * INDEXER_BWD_WIDTH * sizeof(float));
}

static int size_of(const struct sab_problem *problem, int sparse, uint64_t *bytes,
                   struct sab_message *msg)
{
    struct cpu_bwd bwd;
    const int status = check(problem, sparse, SAB_VALIDATE_METADATA, &bwd, msg);

    *bytes = status == SAB_OK ? workspace_bytes(&bwd.call) : 0;
    return status;
}

static void cpu_free(void *plan)
{
    struct cpu_plan *p = plan;

    if (!p)
        return;
    free(p->scratch);
    free(p);
}

static int plan_make(const struct sab_problem *problem, int sparse,
                     const struct sab_buffer *workspace, void **plan, struct sab_message *msg)
{
    const char *op = sparse ? "indexer_bwd_sparse" : "indexer_bwd_dense";
    struct cpu_bwd bwd;
    struct cpu_plan *p;
    int status = check(problem, sparse, SAB_VALIDATE_POINTERS, &bwd, msg);

    *plan = NULL;
    if (status == SAB_OK)
        status =
            sab_validate_workspace(sab_op_find(op), problem, workspace, workspace_bytes(&bwd.call),
                                   WORKSPACE_ALIGNMENT, SAB_DEVICE_CPU, msg);
    if (status != SAB_OK)
        return status;
    p = calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->bwd = bwd;
    p->bwd.gradient = workspace->data;
    p->bwd.dk = bwd.call.dk_f32
                    ? bwd.call.dk
                    : (float *)workspace->data + indexer_bwd_gradient_bytes(&bwd.call) / 4;
    p->scratch = cpu_bwd_scratch(&p->bwd);
    if (!p->scratch) {
        cpu_free(p);
        return sab_say(msg, SAB_FAILED, "no memory for the tiles of %d threads", bwd.threads);
    }
    *plan = p;
    return SAB_OK;
}

static int cpu_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct cpu_plan *p = plan;

    (void)stream;
    (void)msg;
    cpu_bwd_run(&p->bwd, p->scratch);
    return SAB_OK;
}

static int sparse_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct cpu_bwd bwd;

    return check(problem, 1, SAB_VALIDATE_METADATA, &bwd, msg);
}

static int sparse_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                 struct sab_message *msg)
{
    return size_of(problem, 1, bytes, msg);
}

static int sparse_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg)
{
    return plan_make(problem, 1, workspace, plan, msg);
}

static int dense_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct cpu_bwd bwd;

    return check(problem, 0, SAB_VALIDATE_METADATA, &bwd, msg);
}

static int dense_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                struct sab_message *msg)
{
    return size_of(problem, 0, bytes, msg);
}

static int dense_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                      void **plan, struct sab_message *msg)
{
    return plan_make(problem, 0, workspace, plan, msg);
}

extern const struct sab_kernel indexer_bwd_sparse_cpu_row, indexer_bwd_dense_cpu_row;

const struct sab_kernel indexer_bwd_sparse_cpu_row = {
    SAB_ROW(indexer_bwd_sparse),
    .name = "cpu",
    .help = "all cores; AVX-512 or AVX2 where present",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .options = &cpu_simd_option,
    .options_nr = 1,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = sparse_supports,
    .workspace_size = sparse_workspace_size,
    .plan = sparse_plan,
    .launch = cpu_launch,
    .free = cpu_free,
};

const struct sab_kernel indexer_bwd_dense_cpu_row = {
    SAB_ROW(indexer_bwd_dense),
    .name = "cpu",
    .help = "all cores; AVX-512 or AVX2 where present",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .options = &cpu_simd_option,
    .options_nr = 1,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = dense_supports,
    .workspace_size = dense_workspace_size,
    .plan = dense_plan,
    .launch = cpu_launch,
    .free = cpu_free,
};
