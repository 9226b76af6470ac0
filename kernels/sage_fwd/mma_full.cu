/* sage_fwd/mma for absent block_sizes and a multiple of 64 keys. */
#include "mma_kernel.cuh"

SAGE_MMA_DEFINE(full, 0, 1)
