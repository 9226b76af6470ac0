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
extern const struct sab_kernel sage_fwd_reference_row;
const struct sab_kernel sage_fwd_reference_row = {
    SAB_ROW(sage_fwd),
    .name = "reference",
    .help = "exact softmax on dequantised values, one warp a query row; P is not rounded",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a;100a;120a",
    .flags = SAB_KERNEL_DETERMINISTIC | SAB_KERNEL_REFERENCE,
    .supports = sage_reference_supports,
    .workspace_size = needs_no_workspace,
    .plan = sage_reference_plan,
    .launch = sage_reference_launch,
    .free = sage_reference_free,
};
