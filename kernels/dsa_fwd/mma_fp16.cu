#include "mma_kernel.cuh"

const struct dsa_fwd_mma_form dsa_fwd_mma_fp16[2][2] = {
    {dsa::mma_form<sab::fp16, 512, 16>(), dsa::mma_form<sab::fp16, 512, 32>()},
    {dsa::mma_form<sab::fp16, 576, 16>(), dsa::mma_form<sab::fp16, 576, 32>()},
};
