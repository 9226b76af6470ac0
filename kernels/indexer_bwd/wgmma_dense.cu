#include "wgmma_kernel.cuh"

using namespace indexer_bwd;

const struct indexer_bwd_rows_form indexer_bwd_wgmma_dense[3] = {
    wgmma_form<16, false>(), wgmma_form<32, false>(), wgmma_form<64, false>()};
