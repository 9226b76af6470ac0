/* dsa_fwd/wgmma for fp16 rows of 576. */
#include "wgmma_kernel.cuh"

const dsa_fwd_wgmma_fn dsa_fwd_wgmma_fp16_576 = dsa::wgmma_kernel<sab::fp16, 576>;
