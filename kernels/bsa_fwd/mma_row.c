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
extern const struct sab_kernel bsa_fwd_mma_row;
const struct sab_kernel bsa_fwd_mma_row = {
    SAB_ROW(bsa_fwd),
    .name = "mma",
    .help = "mma.sync, one query tile a block, K and V by TMA in a ring of three stages",
    .device = SAB_DEVICE_CUDA,
    .targets = BSA_FWD_MMA_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = bsa_fwd_mma_supports,
    .workspace_size = needs_no_workspace,
    .plan = bsa_fwd_mma_plan,
    .launch = bsa_fwd_mma_launch,
    .free = bsa_fwd_mma_free,
};
