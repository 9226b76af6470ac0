/* dsa_fwd/wgmma for few heads, fp16 rows of 576. */
#include "wgmma_few_kernel.cuh"

const struct dsa_fwd_wgmma_form dsa_fwd_wgmma_few_fp16_576[3] = {
    dsa::few_form<sab::fp16, 576, 8>(),
    dsa::few_form<sab::fp16, 576, 16>(),
    dsa::few_form<sab::fp16, 576, 32>(),
};
