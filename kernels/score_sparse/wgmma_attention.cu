#include "wgmma_kernel.cuh"

SCORE_SPARSE_WGMMA_DEFINE(score_sparse_wgmma_attention, true)
