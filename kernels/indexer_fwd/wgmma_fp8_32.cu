/* wgmma_fp8_32.cu - the kernel of indexer_fwd/wgmma for fp8 and 32 heads. */
#include "wgmma_kernel.cuh"

INDEXER_WGMMA_DEFINE(fp8, 32)
