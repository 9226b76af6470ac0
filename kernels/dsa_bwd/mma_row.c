#include "mma.h"
#include "row.h"

/* sab_library() lists it */
extern const struct sab_kernel dsa_bwd_mma_row;
const struct sab_kernel dsa_bwd_mma_row = {
    SAB_ROW(dsa_bwd),
    .name = "mma",
    .help = "32 heads a block, tiles of 16 keys, warp-wide products, fp32 atomics for dkv",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a;100a;120a",
    .supports = dsa_bwd_mma_supports,
    .workspace_size = dsa_bwd_mma_workspace_size,
    .plan = dsa_bwd_mma_plan,
    .launch = dsa_bwd_mma_launch,
    .free = dsa_bwd_mma_free,
};
