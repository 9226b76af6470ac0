#include "mma_forms.h"
#include "mma_kernel.cuh"

using namespace dsa_bwd;

template <int D> static constexpr dsa_bwd_mma_form form()
{
    return {mma_kernel<sab::fp16, D>, mma_layout<D>::BYTES};
}

const struct dsa_bwd_mma_form dsa_bwd_mma_fp16[2] = {form<512>(), form<576>()};
