/* sage_fwd/mma for block sizes per batch. */
#include "mma_kernel.cuh"

SAGE_MMA_DEFINE(batch, 2, 0)
