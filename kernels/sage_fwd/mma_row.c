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

static const struct sab_attribute attributes[] = {
    {"fold", "last_to_first"},
    {"p_scale", "256"},
    {"rescale", "lazy"},
};

/* sab_library() lists it */
extern const struct sab_kernel sage_fwd_mma_row;
const struct sab_kernel sage_fwd_mma_row = {
    SAB_ROW(sage_fwd),
    .name = "mma",
    .help =
        "mma.sync int8 and e4m3, TMA loads, tensor maps by value; half-precision PV below sm_120",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a;100a;120a",
    .attributes = attributes,
    .attributes_nr = sizeof(attributes) / sizeof(attributes[0]),
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = sage_mma_supports,
    .workspace_size = needs_no_workspace,
    .plan = sage_mma_plan,
    .launch = sage_mma_launch,
    .free = sage_mma_free,
};
