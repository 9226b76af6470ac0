/* sage_fwd/mma for absent block_sizes and a partial last block. */
#include "mma_kernel.cuh"

SAGE_MMA_DEFINE(tail, 0, 0)
