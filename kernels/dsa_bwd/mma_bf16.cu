#include "mma_forms.h"
#include "mma_kernel.cuh"

using namespace dsa_bwd;

template <int D> static constexpr dsa_bwd_mma_form form()
{
    return {mma_kernel<sab::bf16, D>, mma_layout<D>::BYTES};
}

const struct dsa_bwd_mma_form dsa_bwd_mma_bf16[2] = {form<512>(), form<576>()};
