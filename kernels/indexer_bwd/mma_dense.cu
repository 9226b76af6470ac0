#include "mma_kernel.cuh"

using namespace indexer_bwd;

const struct indexer_bwd_rows_form indexer_bwd_mma_dense[3] = {
    mma_form<16, false>(), mma_form<32, false>(), mma_form<64, false>()};
