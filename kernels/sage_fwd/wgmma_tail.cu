/* sage_fwd/wgmma for a partial last key block. */
#include "wgmma_kernel.cuh"

SAGE_WGMMA_DEFINE(tail, 0, 0)
