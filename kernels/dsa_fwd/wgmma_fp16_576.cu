/* dsa_fwd/wgmma for 64 heads, fp16 rows of 576. */
#include "wgmma_kernel.cuh"

const struct dsa_fwd_wgmma_form dsa_fwd_wgmma_fp16_576 = {
    dsa::wgmma_kernel<sab::fp16, 576>, DSA_WGMMA_HEADS, sizeof(dsa::wgmma_shared<576>)};
