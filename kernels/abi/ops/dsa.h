/*
 * dsa.h - DSA sparse attention, forward and backward. T query rows, N key/value rows, K slots a
 * row, D is 512 or 576; values are the first 512 columns. `lse_prefix` is the length of the prefix
 * whose log-sum is written to lse_indexer.
 */
#ifndef SAB_OPS_DSA_H
#define SAB_OPS_DSA_H

/* clang-format off */

/* T, N and K may be 0: nothing to write, or rows without an active slot. */
#define SAB_RULES_DSA(R, op) \
    R(op, SAB_INVALID, q, "H >= 1", "needs at least one head") \
    R(op, SAB_INVALID, q, "D == 512 || D == 576", "needs a width of 512 or 576") \
    R(op, SAB_INVALID, softmax_scale, "softmax_scale > 0", "must be above 0") \
    R(op, SAB_INVALID, kv, "N <= 2147483647", "has more rows than 32-bit ids can name")

/* dsa_fwd */
#define SAB_TENSORS_dsa_fwd(X) \
    X(dsa_fwd, q, SAB_IN, 0, "bf16 fp16", "T H D", 16, "") \
    X(dsa_fwd, kv, SAB_IN, 0, "=q", "N D", 16, "") \
    X(dsa_fwd, topk_idxs, SAB_IN, 0, "i32", "T K", 16, "") \
    X(dsa_fwd, attn_sink, SAB_IN, 1, "f32", "H", 16, "") \
    X(dsa_fwd, topk_length, SAB_IN, 1, "i32", "T", 16, "") \
    X(dsa_fwd, out, SAB_OUT, 0, "=q", "T H 512", 16, "") \
    X(dsa_fwd, max_logits, SAB_OUT, 0, "f32", "T H", 16, "") \
    X(dsa_fwd, lse, SAB_OUT, 0, "f32", "T H", 16, "") \
    X(dsa_fwd, lse_indexer, SAB_OUT, 1, "f32", "T H", 16, "")
#define SAB_PARAMS_dsa_fwd(P) \
    P(dsa_fwd, softmax_scale, SAB_REAL, "", "1/sqrt(D)") \
    P(dsa_fwd, lse_prefix, SAB_INT, "", "0")
#define SAB_RULES_dsa_fwd(R) \
    SAB_RULES_DSA(R, dsa_fwd) \
    R(dsa_fwd, SAB_INVALID, lse_prefix, "lse_prefix >= 0 && lse_prefix <= K", "must be 0 to the slots of a row") \
    R(dsa_fwd, SAB_INVALID, lse_indexer, "present(lse_indexer) == (lse_prefix > 0)", "must be given exactly when lse_prefix is above 0")
#define SAB_FEEDS_dsa_fwd(F) \
    F(dsa_fwd, out, dsa_bwd, out, "") \
    F(dsa_fwd, lse, dsa_bwd, lse, "") \
    F(dsa_fwd, lse, score_sparse_attention, lse, "")

/* dsa_bwd; the promise of equal bits is asked for, a kernel without it answers UNSUPPORTED */
#define SAB_TENSORS_dsa_bwd(X) \
    X(dsa_bwd, q, SAB_IN, 0, "bf16 fp16", "T H D", 16, "") \
    X(dsa_bwd, kv, SAB_IN, 0, "=q", "N D", 16, "") \
    X(dsa_bwd, out, SAB_IN, 0, "=q", "T H 512", 16, "") \
    X(dsa_bwd, dout, SAB_IN, 0, "=q", "T H 512", 16, "") \
    X(dsa_bwd, lse, SAB_IN, 0, "f32", "T H", 8, "") \
    X(dsa_bwd, attn_sink, SAB_IN, 0, "f32", "H", 16, "") \
    X(dsa_bwd, topk_idxs, SAB_IN, 0, "i32", "T K", 16, "") \
    X(dsa_bwd, topk_length, SAB_IN, 1, "i32", "T", 16, "") \
    X(dsa_bwd, dq, SAB_OUT, 0, "=q", "T H D", 16, "") \
    X(dsa_bwd, dkv, SAB_OUT, 0, "=q", "N D", 16, "") \
    X(dsa_bwd, d_sink, SAB_OUT, 0, "f32", "H", 16, "")
#define SAB_PARAMS_dsa_bwd(P) \
    P(dsa_bwd, softmax_scale, SAB_REAL, "", "1/sqrt(D)") \
    P(dsa_bwd, deterministic, SAB_FLAG, "", "0")
#define SAB_RULES_dsa_bwd(R) \
    SAB_RULES_DSA(R, dsa_bwd)
#define SAB_FEEDS_dsa_bwd(F)
/* clang-format on */

#endif
