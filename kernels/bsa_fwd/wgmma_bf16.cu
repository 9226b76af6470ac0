/* bsa_fwd/wgmma for bf16. */
#include "wgmma_kernel.cuh"

const bsa_wgmma_fn bsa_wgmma_bf16 = bsa::wgmma_kernel<sab::bf16>;
