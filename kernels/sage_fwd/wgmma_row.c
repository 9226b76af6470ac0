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

static const struct sab_attribute attributes[] = {
    {"fold", "last_to_first"},
    {"p_scale", "256"},
    {"rescale", "lazy_pairs"}, /* one maximum for two blocks in a row */
};

/* sab_library() lists it */
extern const struct sab_kernel sage_fwd_wgmma_row;
const struct sab_kernel sage_fwd_wgmma_row = {
    SAB_ROW(sage_fwd),
    .name = "wgmma",
    .help = "warpgroup products of int8 and e4m3, two key blocks a step, TMA loads, maps by value",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a",
    .attributes = attributes,
    .attributes_nr = sizeof(attributes) / sizeof(attributes[0]),
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = sage_wgmma_supports,
    .workspace_size = needs_no_workspace,
    .plan = sage_wgmma_plan,
    .launch = sage_wgmma_launch,
    .free = sage_wgmma_free,
};
