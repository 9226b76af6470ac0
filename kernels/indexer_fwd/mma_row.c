#include "mma.h"
#include "row.h"

static int needs_no_workspace(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    (void)problem;
    (void)msg;
    *bytes = 0;
    return SAB_OK;
}

/* sab_library() lists it */
extern const struct sab_kernel indexer_fwd_mma_row;
const struct sab_kernel indexer_fwd_mma_row = {
    SAB_ROW(indexer_fwd),
    .name = "mma",
    .help = "warp-wide products, all precisions; e4m3 as fp16, with E8M0 scales as bf16",
    .device = SAB_DEVICE_CUDA,
    .targets = INDEXER_FWD_MMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = indexer_fwd_mma_supports,
    .workspace_size = needs_no_workspace,
    .plan = indexer_fwd_mma_plan,
    .launch = indexer_fwd_mma_launch,
    .free = indexer_fwd_mma_free,
};
