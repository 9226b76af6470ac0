/* sage_fwd/mma for one table of block sizes. */
#include "mma_kernel.cuh"

SAGE_MMA_DEFINE(global, 1, 0)
