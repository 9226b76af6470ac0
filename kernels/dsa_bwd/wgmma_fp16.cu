#include "wgmma_forms.h"
#include "wgmma_kernel.cuh"

using namespace dsa_bwd;

const struct dsa_bwd_wgmma_form dsa_bwd_wgmma_fp16[2] = {
    {wgmma_kernel<sab::fp16, 512>, layout<512>::BYTES, finish<sab::fp16>},
    {wgmma_kernel<sab::fp16, 576>, layout<576>::BYTES, finish<sab::fp16>},
};
