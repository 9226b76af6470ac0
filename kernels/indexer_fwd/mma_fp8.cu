/* mma_fp8.cu - the kernels of indexer_fwd/mma for fp8. */
#include "mma_kernel.cuh"

INDEXER_MMA_DEFINE(fp8)
