/* sage_fwd/wgmma for block sizes per batch. */
#include "wgmma_kernel.cuh"

SAGE_WGMMA_DEFINE(batch, 2, 0)
