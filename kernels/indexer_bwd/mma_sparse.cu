#include "mma_kernel.cuh"

using namespace indexer_bwd;

const struct indexer_bwd_rows_form indexer_bwd_mma_sparse[3] = {
    mma_form<16, true>(), mma_form<32, true>(), mma_form<64, true>()};
