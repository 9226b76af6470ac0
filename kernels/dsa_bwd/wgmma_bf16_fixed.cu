#include "wgmma_forms.h"
#include "wgmma_kernel.cuh"

using namespace dsa_bwd;

template <int N, int D> static constexpr dsa_bwd_wgmma_form form()
{
    return {wgmma_kernel<sab::bf16, D, N, integer_adder>, layout<D, N>::BYTES};
}

const struct dsa_bwd_wgmma_form dsa_bwd_wgmma_bf16_fixed[3][2] = {
    {form<16, 512>(), form<16, 576>()},
    {form<32, 512>(), form<32, 576>()},
    {form<64, 512>(), form<64, 576>()},
};
