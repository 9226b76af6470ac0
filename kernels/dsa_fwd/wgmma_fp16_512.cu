/* dsa_fwd/wgmma for 64 heads, fp16 rows of 512. */
#include "wgmma_kernel.cuh"

const struct dsa_fwd_wgmma_form dsa_fwd_wgmma_fp16_512 = {
    dsa::wgmma_kernel<sab::fp16, 512>, DSA_WGMMA_HEADS, sizeof(dsa::wgmma_shared<512>)};
