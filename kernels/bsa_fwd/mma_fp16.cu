/* bsa_fwd/mma for fp16. */
#include "mma_kernel.cuh"

const bsa_mma_fn bsa_mma_fp16 = bsa::mma_kernel<sab::fp16>;
