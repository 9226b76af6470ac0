#include "wgmma.h"
#include "row.h"

static int needs_no_workspace(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    (void)problem;
    (void)msg;
    *bytes = 0;
    return SAB_OK;
}

static int indexer_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return score_sparse_wgmma_supports(problem, 0, msg);
}

static int indexer_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                        void **plan, struct sab_message *msg)
{
    (void)workspace;
    return score_sparse_wgmma_plan(problem, 0, plan, msg);
}

static int attention_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return score_sparse_wgmma_supports(problem, 1, msg);
}

static int attention_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                          void **plan, struct sab_message *msg)
{
    (void)workspace;
    return score_sparse_wgmma_plan(problem, 1, plan, msg);
}

/* sab_library() lists them */
extern const struct sab_kernel score_sparse_indexer_wgmma_row, score_sparse_attention_wgmma_row;
const struct sab_kernel score_sparse_indexer_wgmma_row = {
    SAB_ROW(score_sparse_indexer),
    .name = "wgmma",
    .help = "warpgroup products of gathered keys with all heads, sums over heads in registers",
    .device = SAB_DEVICE_CUDA,
    .targets = SCORE_SPARSE_WGMMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = indexer_supports,
    .workspace_size = needs_no_workspace,
    .plan = indexer_plan,
    .launch = score_sparse_wgmma_launch,
    .free = score_sparse_wgmma_free,
};

const struct sab_kernel score_sparse_attention_wgmma_row = {
    SAB_ROW(score_sparse_attention),
    .name = "wgmma",
    .help = "warpgroup products of gathered keys with all heads, sums over heads in registers",
    .device = SAB_DEVICE_CUDA,
    .targets = SCORE_SPARSE_WGMMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = attention_supports,
    .workspace_size = needs_no_workspace,
    .plan = attention_plan,
    .launch = score_sparse_wgmma_launch,
    .free = score_sparse_wgmma_free,
};
