/* wgmma_bf16_32.cu - the kernel of indexer_fwd/wgmma for bf16 and 32 heads. */
#include "wgmma_kernel.cuh"

INDEXER_WGMMA_DEFINE(bf16, 32)
