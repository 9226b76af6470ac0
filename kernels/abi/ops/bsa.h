/*
 * bsa.h - block-sparse attention forward in bf16 or fp16. Sparsity metadata is that of sage.h.
 */
#ifndef SAB_OPS_BSA_H
#define SAB_OPS_BSA_H

#include "ops/sage.h"

/* clang-format off */
#define SAB_TENSORS_bsa_fwd(T) \
    T(bsa_fwd, q, SAB_IN, 0, "bf16 fp16", "B H Sq D", 16, "") \
    T(bsa_fwd, k, SAB_IN, 0, "=q", "B Hk Sk D", 16, "") \
    T(bsa_fwd, v, SAB_IN, 0, "=q", "B Hk Sk D", 16, "") \
    SAB_TENSORS_BLOCKS(T, bsa_fwd) \
    T(bsa_fwd, out, SAB_OUT, 0, "=q", "B H Sq D", 16, "") \
    T(bsa_fwd, lse, SAB_OUT, 1, "f32", "B H Sq", 16, "")
#define SAB_PARAMS_bsa_fwd(P) \
    SAB_PARAMS_BLOCKS(P, bsa_fwd)
#define SAB_RULES_bsa_fwd(R) \
    R(bsa_fwd, SAB_INVALID, q, "B >= 1 && H >= 1 && Sq >= 1 && D >= 1", "needs every size to be at least 1") \
    R(bsa_fwd, SAB_INVALID, k, "Sk >= 1", "needs at least one token") \
    R(bsa_fwd, SAB_INVALID, k, "Hk >= 1 && mod(H, Hk) == 0", "needs a number of heads that divides the query heads") \
    SAB_RULES_BLOCKS(R, bsa_fwd) \
    R(bsa_fwd, SAB_UNSUPPORTED, q, "D == 128", "has a head dimension that is not served, only 128 is")
#define SAB_FEEDS_bsa_fwd(F)
/* clang-format on */

#endif
