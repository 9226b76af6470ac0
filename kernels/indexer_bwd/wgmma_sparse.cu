#include "wgmma_kernel.cuh"

using namespace indexer_bwd;

const struct indexer_bwd_rows_form indexer_bwd_wgmma_sparse[3] = {
    wgmma_form<16, true>(), wgmma_form<32, true>(), wgmma_form<64, true>()};
