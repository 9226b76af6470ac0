/*
 * mma_forms.h - the kernels of dsa_bwd/mma for one type.
 */
#ifndef DSA_BWD_MMA_FORMS_H
#define DSA_BWD_MMA_FORMS_H

#include "mma_args.h"

struct dsa_bwd_mma_form {
    void (*main)(const struct dsa_bwd_mma_args);
    uint32_t shared_bytes;
};

/* by width: 512, 576 */
extern const struct dsa_bwd_mma_form dsa_bwd_mma_bf16[2], dsa_bwd_mma_fp16[2];

#endif
