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
extern const struct sab_kernel dsa_fwd_mma_row;
const struct sab_kernel dsa_fwd_mma_row = {
    SAB_ROW(dsa_fwd),
    .name = "mma",
    .help = "warp-wide products, 16 or 32 heads a block, 99 KiB of shared memory",
    .device = SAB_DEVICE_CUDA,
    .targets = DSA_FWD_MMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = dsa_fwd_mma_supports,
    .workspace_size = needs_no_workspace,
    .plan = dsa_fwd_mma_plan,
    .launch = dsa_fwd_mma_launch,
    .free = dsa_fwd_mma_free,
};
