#include "wgmma_forms.h"
#include "wgmma_kernel.cuh"
#include "wgmma_survey.cuh"

using namespace dsa_bwd;

template <int D> static constexpr dsa_bwd_wgmma_form form()
{
    return {wgmma_kernel<sab::fp16, D, integer_adder>, layout<D>::BYTES,
            finish<sab::fp16, integer_sums>, survey<sab::fp16>, clear_again};
}

const struct dsa_bwd_wgmma_form dsa_bwd_wgmma_fp16_fixed[2] = {form<512>(), form<576>()};
