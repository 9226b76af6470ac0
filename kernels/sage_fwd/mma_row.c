#include "mma.h"
#include "descriptor_call.h"
#include "row.h"

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
    .help = "mma.sync int8 and e4m3, TMA loads; half-precision PV below sm_120",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a;100a;120a",
    .options = sage_descriptor_options,
    .options_nr = SAGE_DESCRIPTOR_OPTIONS_NR,
    .attributes = attributes,
    .attributes_nr = sizeof(attributes) / sizeof(attributes[0]),
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = sage_mma_supports,
    .workspace_size = sage_descriptor_workspace_size,
    .plan = sage_mma_plan,
    .launch = sage_mma_launch,
    .free = sage_mma_free,
};
