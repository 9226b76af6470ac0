/* bsa_fwd/mma for bf16. */
#include "mma_kernel.cuh"

const bsa_mma_fn bsa_mma_bf16 = bsa::mma_kernel<sab::bf16>;
