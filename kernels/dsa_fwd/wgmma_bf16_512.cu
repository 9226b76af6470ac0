/* dsa_fwd/wgmma for bf16 rows of 512. */
#include "wgmma_kernel.cuh"

const dsa_fwd_wgmma_fn dsa_fwd_wgmma_bf16_512 = dsa::wgmma_kernel<sab::bf16, 512>;
