#include "reference.h"
#include "row.h"

/* sab_library() lists it */
extern const struct sab_kernel dsa_bwd_reference_row;
const struct sab_kernel dsa_bwd_reference_row = {
    SAB_ROW(dsa_bwd),
    .name = "reference",
    .help = "by definition: a warp a (query, head) for dq, a block a row of kv for dkv, no atomics",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a;100a;120a",
    .flags = SAB_KERNEL_DETERMINISTIC | SAB_KERNEL_REFERENCE,
    .supports = dsa_bwd_reference_supports,
    .workspace_size = dsa_bwd_reference_workspace_size,
    .plan = dsa_bwd_reference_plan,
    .launch = dsa_bwd_reference_launch,
    .free = dsa_bwd_reference_free,
};
