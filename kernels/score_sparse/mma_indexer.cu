#include "mma_kernel.cuh"

SCORE_SPARSE_MMA_DEFINE(score_sparse_mma_indexer, false)
