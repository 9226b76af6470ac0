#include "wgmma_forms.h"
#include "wgmma_kernel.cuh"

using namespace dsa_bwd;

const struct dsa_bwd_wgmma_form dsa_bwd_wgmma_bf16[2] = {
    {wgmma_kernel<sab::bf16, 512>, layout<512>::BYTES, finish<sab::bf16>},
    {wgmma_kernel<sab::bf16, 576>, layout<576>::BYTES, finish<sab::bf16>},
};
