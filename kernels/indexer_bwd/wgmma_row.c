#include "row.h"
#include "rows_host.h"

static const struct indexer_bwd_rows_engine engine = {"wgmma", "90a", indexer_bwd_wgmma_sparse,
                                                      indexer_bwd_wgmma_dense};

static int sparse_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return indexer_bwd_rows_supports(&engine, problem, 1, msg);
}

static int sparse_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                 struct sab_message *msg)
{
    return indexer_bwd_rows_workspace_size(&engine, problem, 1, bytes, msg);
}

static int sparse_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                       void **plan, struct sab_message *msg)
{
    return indexer_bwd_rows_plan(&engine, problem, 1, workspace, plan, msg);
}

static int dense_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return indexer_bwd_rows_supports(&engine, problem, 0, msg);
}

static int dense_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                struct sab_message *msg)
{
    return indexer_bwd_rows_workspace_size(&engine, problem, 0, bytes, msg);
}

static int dense_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                      void **plan, struct sab_message *msg)
{
    return indexer_bwd_rows_plan(&engine, problem, 0, workspace, plan, msg);
}

/* sab_library() lists them */
extern const struct sab_kernel indexer_bwd_sparse_wgmma_row, indexer_bwd_dense_wgmma_row;
const struct sab_kernel indexer_bwd_sparse_wgmma_row = {
    SAB_ROW(indexer_bwd_sparse),
    .name = "wgmma",
    .help = "a warpgroup a query row, warpgroup-wide products, fp32 additions to d_index_k in no "
            "fixed order",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a",
    .supports = sparse_supports,
    .workspace_size = sparse_workspace_size,
    .plan = sparse_plan,
    .launch = indexer_bwd_rows_launch,
    .free = indexer_bwd_rows_free,
};
const struct sab_kernel indexer_bwd_dense_wgmma_row = {
    SAB_ROW(indexer_bwd_dense),
    .name = "wgmma",
    .help = "a warpgroup a query row, warpgroup-wide products, fp32 additions to d_index_k in no "
            "fixed order",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a",
    .supports = dense_supports,
    .workspace_size = dense_workspace_size,
    .plan = dense_plan,
    .launch = indexer_bwd_rows_launch,
    .free = indexer_bwd_rows_free,
};
