/* wgmma_fp8_16.cu - the kernel of indexer_fwd/wgmma for fp8 and 16 heads. */
#include "wgmma_kernel.cuh"

INDEXER_WGMMA_DEFINE(fp8, 16)
