#include "wgmma_forms.h"
#include "wgmma_kernel.cuh"

using namespace dsa_bwd;

template <int D> static constexpr dsa_bwd_wgmma_form form()
{
    return {wgmma_kernel<sab::bf16, D, float_adder>, layout<D>::BYTES,
            finish<sab::bf16, float_sums>, nullptr, nullptr};
}

const struct dsa_bwd_wgmma_form dsa_bwd_wgmma_bf16[2] = {form<512>(), form<576>()};
