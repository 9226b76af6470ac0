#include "row.h"
#include "wgmma.h"

/* sab_library() lists it */
extern const struct sab_kernel dsa_bwd_wgmma_row;
const struct sab_kernel dsa_bwd_wgmma_row = {
    SAB_ROW(dsa_bwd),
    .name = "wgmma",
    .help = "16, 32 or 64 heads a block, two warpgroups in turn; dkv by atomics, fp32 or "
            "integers for equal bits",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a",
    .supports = dsa_bwd_wgmma_supports,
    .workspace_size = dsa_bwd_wgmma_workspace_size,
    .plan = dsa_bwd_wgmma_plan,
    .launch = dsa_bwd_wgmma_launch,
    .free = dsa_bwd_wgmma_free,
};
