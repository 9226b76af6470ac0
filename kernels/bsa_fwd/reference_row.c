#include "reference.h"
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
extern const struct sab_kernel bsa_fwd_reference_row;
const struct sab_kernel bsa_fwd_reference_row = {
    SAB_ROW(bsa_fwd),
    .name = "reference",
    .help = "exact softmax, one warp a query row; P is not rounded",
    .device = SAB_DEVICE_CUDA,
    .targets = BSA_REFERENCE_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC | SAB_KERNEL_REFERENCE,
    .supports = bsa_reference_supports,
    .workspace_size = needs_no_workspace,
    .plan = bsa_reference_plan,
    .launch = bsa_reference_launch,
    .free = bsa_reference_free,
};
