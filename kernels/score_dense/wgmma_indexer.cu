#include "wgmma_kernel.cuh"

SCORE_DENSE_WGMMA_DEFINE(score_dense_wgmma_indexer, false)
