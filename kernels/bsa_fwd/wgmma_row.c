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
extern const struct sab_kernel bsa_fwd_wgmma_row;
const struct sab_kernel bsa_fwd_wgmma_row = {
    SAB_ROW(bsa_fwd),
    .name = "wgmma",
    .help = "warpgroup products, three query tiles a block that share K and V, TMA loads",
    .device = SAB_DEVICE_CUDA,
    .targets = BSA_FWD_WGMMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = bsa_fwd_wgmma_supports,
    .workspace_size = needs_no_workspace,
    .plan = bsa_fwd_wgmma_plan,
    .launch = bsa_fwd_wgmma_launch,
    .free = bsa_fwd_wgmma_free,
};
