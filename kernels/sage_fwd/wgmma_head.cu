/* sage_fwd/wgmma for block sizes per head. */
#include "wgmma_kernel.cuh"

SAGE_WGMMA_DEFINE(head, 3, 0)
