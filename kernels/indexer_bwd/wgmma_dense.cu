#include "wgmma_pair_kernel.cuh"

using namespace indexer_bwd;

const struct indexer_bwd_rows_form indexer_bwd_wgmma_dense[3] = {
    wgmma_pair_form<16>(), wgmma_pair_form<32>(), wgmma_pair_form<64>()};
