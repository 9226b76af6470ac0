#include "mma_kernel.cuh"

SCORE_DENSE_MMA_DEFINE(score_dense_mma_indexer, false)
