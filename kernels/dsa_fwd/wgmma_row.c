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
extern const struct sab_kernel dsa_fwd_wgmma_row;
const struct sab_kernel dsa_fwd_wgmma_row = {
    SAB_ROW(dsa_fwd),
    .name = "wgmma",
    .help = "warpgroup products, 8 to 64 heads a block, gathered rows in a ring of column segments",
    .device = SAB_DEVICE_CUDA,
    .targets = DSA_FWD_WGMMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = dsa_fwd_wgmma_supports,
    .workspace_size = needs_no_workspace,
    .plan = dsa_fwd_wgmma_plan,
    .launch = dsa_fwd_wgmma_launch,
    .free = dsa_fwd_wgmma_free,
};
