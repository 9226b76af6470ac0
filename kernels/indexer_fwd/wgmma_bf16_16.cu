/* wgmma_bf16_16.cu - the kernel of indexer_fwd/wgmma for bf16 and 16 heads. */
#include "wgmma_kernel.cuh"

INDEXER_WGMMA_DEFINE(bf16, 16)
