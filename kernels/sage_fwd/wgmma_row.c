#include "wgmma.h"
#include "descriptor_call.h"
#include "row.h"

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
    .help = "warpgroup products of int8 and e4m3, two key blocks a step, TMA loads",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a",
    .options = sage_descriptor_options,
    .options_nr = SAGE_DESCRIPTOR_OPTIONS_NR,
    .attributes = attributes,
    .attributes_nr = sizeof(attributes) / sizeof(attributes[0]),
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = sage_wgmma_supports,
    .workspace_size = sage_descriptor_workspace_size,
    .plan = sage_wgmma_plan,
    .launch = sage_wgmma_launch,
    .free = sage_wgmma_free,
};
