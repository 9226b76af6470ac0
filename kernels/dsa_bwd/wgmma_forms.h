/*
 * wgmma_forms.h - the kernels of dsa_bwd/wgmma for one type, and the last kernel.
 */
#ifndef DSA_BWD_WGMMA_FORMS_H
#define DSA_BWD_WGMMA_FORMS_H

#include "accumulator.cuh"
#include "wgmma_args.h"

struct dsa_bwd_wgmma_form {
    void (*main)(const struct dsa_bwd_wgmma_args);
    uint32_t shared_bytes;
    void (*finish)(const dsa_bwd::finish_args);
};

/* by width: 512, 576 */
extern const struct dsa_bwd_wgmma_form dsa_bwd_wgmma_bf16[2], dsa_bwd_wgmma_fp16[2];

#endif
