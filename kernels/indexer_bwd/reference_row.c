#include "reference.h"
#include "row.h"

static int sparse_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return indexer_bwd_reference_supports(problem, 1, msg);
}

static int sparse_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                 struct sab_message *msg)
{
    return indexer_bwd_reference_workspace_size(problem, 1, bytes, msg);
}

static int sparse_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg)
{
    return indexer_bwd_reference_plan(problem, 1, workspace, plan, msg);
}

static int dense_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return indexer_bwd_reference_supports(problem, 0, msg);
}

static int dense_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                struct sab_message *msg)
{
    return indexer_bwd_reference_workspace_size(problem, 0, bytes, msg);
}

static int dense_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                      void **plan, struct sab_message *msg)
{
    return indexer_bwd_reference_plan(problem, 0, workspace, plan, msg);
}

/* sab_library() lists them */
extern const struct sab_kernel indexer_bwd_sparse_reference_row, indexer_bwd_dense_reference_row;
const struct sab_kernel indexer_bwd_sparse_reference_row = {
    SAB_ROW(indexer_bwd_sparse),
    .name = "reference",
    .help = "by the definition: a block a row, then a block a key, sums of doubles, no atomics",
    .device = SAB_DEVICE_CUDA,
    .targets = INDEXER_BWD_REFERENCE_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC | SAB_KERNEL_REFERENCE,
    .supports = sparse_supports,
    .workspace_size = sparse_workspace_size,
    .plan = sparse_plan,
    .launch = indexer_bwd_reference_launch,
    .free = indexer_bwd_reference_free,
};
const struct sab_kernel indexer_bwd_dense_reference_row = {
    SAB_ROW(indexer_bwd_dense),
    .name = "reference",
    .help = "by the definition: a block a row, then a block a key, sums of doubles, no atomics",
    .device = SAB_DEVICE_CUDA,
    .targets = INDEXER_BWD_REFERENCE_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC | SAB_KERNEL_REFERENCE,
    .supports = dense_supports,
    .workspace_size = dense_workspace_size,
    .plan = dense_plan,
    .launch = indexer_bwd_reference_launch,
    .free = indexer_bwd_reference_free,
};
