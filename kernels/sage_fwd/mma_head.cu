/* sage_fwd/mma for block sizes per head. */
#include "mma_kernel.cuh"

SAGE_MMA_DEFINE(head, 3, 0)
