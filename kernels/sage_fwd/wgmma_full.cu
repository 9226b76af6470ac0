/* sage_fwd/wgmma where every key block holds 64 tokens. */
#include "wgmma_kernel.cuh"

SAGE_WGMMA_DEFINE(full, 0, 1)
