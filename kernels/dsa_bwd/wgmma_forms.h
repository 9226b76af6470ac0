/*
 * wgmma_forms.h - the kernels of dsa_bwd/wgmma for one type.
 */
#ifndef DSA_BWD_WGMMA_FORMS_H
#define DSA_BWD_WGMMA_FORMS_H

#include "wgmma_args.h"

struct dsa_bwd_wgmma_form {
    void (*main)(const struct dsa_bwd_wgmma_args);
    uint32_t shared_bytes;
};

/* by heads of a block: 16, 32, 64, and width: 512, 576; `fixed` is that of integers */
extern const struct dsa_bwd_wgmma_form dsa_bwd_wgmma_bf16[3][2], dsa_bwd_wgmma_fp16[3][2];
extern const struct dsa_bwd_wgmma_form dsa_bwd_wgmma_bf16_fixed[3][2],
    dsa_bwd_wgmma_fp16_fixed[3][2];

#endif
