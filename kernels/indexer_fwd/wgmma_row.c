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

/* sab_library() lists it */
extern const struct sab_kernel indexer_fwd_wgmma_row;
const struct sab_kernel indexer_fwd_wgmma_row = {
    SAB_ROW(indexer_fwd),
    .name = "wgmma",
    .help = "warpgroup products of e4m3 and bf16, queries stay while keys stream by TMA",
    .device = SAB_DEVICE_CUDA,
    .targets = INDEXER_FWD_WGMMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = indexer_fwd_wgmma_supports,
    .workspace_size = needs_no_workspace,
    .plan = indexer_fwd_wgmma_plan,
    .launch = indexer_fwd_wgmma_launch,
    .free = indexer_fwd_wgmma_free,
};
