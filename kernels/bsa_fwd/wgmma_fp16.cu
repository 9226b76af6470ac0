/* bsa_fwd/wgmma for fp16. */
#include "wgmma_kernel.cuh"

const bsa_wgmma_fn bsa_wgmma_fp16 = bsa::wgmma_kernel<sab::fp16>;
