/* dsa_fwd/wgmma for few heads, bf16 rows of 512. */
#include "wgmma_few_kernel.cuh"

const struct dsa_fwd_wgmma_form dsa_fwd_wgmma_few_bf16_512[3] = {
    dsa::few_form<sab::bf16, 512, 8>(),
    dsa::few_form<sab::bf16, 512, 16>(),
    dsa::few_form<sab::bf16, 512, 32>(),
};
