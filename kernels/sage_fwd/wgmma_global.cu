/* sage_fwd/wgmma for one table of block sizes. */
#include "wgmma_kernel.cuh"

SAGE_WGMMA_DEFINE(global, 1, 0)
