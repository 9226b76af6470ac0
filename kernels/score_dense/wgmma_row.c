#include "wgmma.h"
#include "row.h"

static int indexer_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return score_dense_wgmma_supports(problem, 0, msg);
}

static int indexer_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                  struct sab_message *msg)
{
    return score_dense_wgmma_workspace_size(problem, 0, bytes, msg);
}

static int indexer_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                        void **plan, struct sab_message *msg)
{
    return score_dense_wgmma_plan(problem, 0, workspace, plan, msg);
}

static int attention_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return score_dense_wgmma_supports(problem, 1, msg);
}

static int attention_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                    struct sab_message *msg)
{
    return score_dense_wgmma_workspace_size(problem, 1, bytes, msg);
}

static int attention_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                          void **plan, struct sab_message *msg)
{
    return score_dense_wgmma_plan(problem, 1, workspace, plan, msg);
}

/* sab_library() lists them */
extern const struct sab_kernel score_dense_indexer_wgmma_row, score_dense_attention_wgmma_row;
const struct sab_kernel score_dense_indexer_wgmma_row = {
    SAB_ROW(score_dense_indexer),
    .name = "wgmma",
    .help = "warpgroup products, queries stay while keys stream by TMA; mxfp8 becomes bf16 first",
    .device = SAB_DEVICE_CUDA,
    .targets = SCORE_DENSE_WGMMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = indexer_supports,
    .workspace_size = indexer_workspace_size,
    .plan = indexer_plan,
    .launch = score_dense_wgmma_launch,
    .free = score_dense_wgmma_free,
};

const struct sab_kernel score_dense_attention_wgmma_row = {
    SAB_ROW(score_dense_attention),
    .name = "wgmma",
    .help = "warpgroup products, queries stay while keys stream by TMA; mxfp8 becomes bf16 first",
    .device = SAB_DEVICE_CUDA,
    .targets = SCORE_DENSE_WGMMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = attention_supports,
    .workspace_size = attention_workspace_size,
    .plan = attention_plan,
    .launch = score_dense_wgmma_launch,
    .free = score_dense_wgmma_free,
};
