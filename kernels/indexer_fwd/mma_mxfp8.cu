/* mma_mxfp8.cu - the kernels of indexer_fwd/mma for mxfp8. */
#include "mma_kernel.cuh"

INDEXER_MMA_DEFINE(mxfp8)
