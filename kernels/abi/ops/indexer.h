/*
 * indexer.h - the indexer: scores, selection and the two backward operators. Layout bshd carries a
 * batch dimension; layout thd packs segments back to back, with cu_seqlens of B+1 entries.
 */
#ifndef SAB_OPS_INDEXER_H
#define SAB_OPS_INDEXER_H

/* clang-format off */

/* Shapes in both layouts, shared with score.h. */
#define SAB_SHAPE_Q     "[layout==bshd] B Sq H D | [layout==thd] Tq H D"
#define SAB_SHAPE_K     "[layout==bshd] B Sk Hk D | [layout==thd] Tk Hk D"
#define SAB_SHAPE_K1    "[layout==bshd] B Sk D | [layout==thd] Tk D"
#define SAB_SHAPE_ROWS  "[layout==bshd] B Sq | [layout==thd] Tq"
#define SAB_SHAPE_HEADS "[layout==bshd] B Sq H | [layout==thd] Tq H"
#define SAB_SHAPE_SLOTS "[layout==bshd] B Sq K | [layout==thd] Tq K"
#define SAB_SHAPE_DENSE "[layout==bshd] B Sq Sk | [layout==thd] Tq max_seqlen_k"
#define SAB_SHAPE_MX_Q  "[layout==bshd] B Sq H ceil(D/32) | [layout==thd] Tq H ceil(D/32)"
#define SAB_SHAPE_MX_K  "[layout==bshd] B Sk ceil(D/32) | [layout==thd] Tk ceil(D/32)"

#define SAB_PARAMS_LAYOUT(P, op) \
    P(op, layout, SAB_WORD, "bshd thd", "0") \
    P(op, max_seqlen_q, SAB_INT, "", "0") \
    P(op, max_seqlen_k, SAB_INT, "", "0")
#define SAB_RULES_LAYOUT(R, op) \
    R(op, SAB_INVALID, cu_seqlens_q, "present(cu_seqlens_q) == (layout == thd)", "must be given exactly in layout thd") \
    R(op, SAB_INVALID, cu_seqlens_k, "present(cu_seqlens_k) == (layout == thd)", "must be given exactly in layout thd") \
    R(op, SAB_INVALID, max_seqlen_q, "layout == bshd || max_seqlen_q >= 1", "must be at least 1 in layout thd") \
    R(op, SAB_INVALID, max_seqlen_k, "layout == bshd || max_seqlen_k >= 1", "must be at least 1 in layout thd")
/* Ids are 32-bit, after conversion too. */
#define SAB_RULES_IDS(R, op) \
    R(op, SAB_INVALID, ids, "K >= 1", "needs at least one slot a row") \
    R(op, SAB_INVALID, ids, "id_space == local || layout == thd || B*Sk <= 2147483647", "needs global ids that fit in 32 bits") \
    R(op, SAB_INVALID, ids, "id_space == local || layout == bshd || Tk <= 2147483647", "needs global ids that fit in 32 bits")
#define SAB_RULES_SIZES(R, op, q, k) \
    R(op, SAB_INVALID, q, "B >= 1 && H >= 1 && D >= 1", "needs every size to be at least 1") \
    R(op, SAB_INVALID, q, "(layout == thd && Tq >= 1) || (layout == bshd && Sq >= 1)", "needs at least one token") \
    R(op, SAB_INVALID, k, "(layout == thd && Tk >= 1) || (layout == bshd && Sk >= 1)", "needs at least one column")

/* indexer_fwd */
#define SAB_TENSORS_indexer_fwd(T) \
    T(indexer_fwd, q, SAB_IN, 0, "[precision==bf16] bf16 | [precision!=bf16] e4m3", SAB_SHAPE_Q, 16, "") \
    T(indexer_fwd, k, SAB_IN, 0, "=q", SAB_SHAPE_K, 16, "") \
    T(indexer_fwd, w, SAB_IN, 0, "[precision==mxfp8] bf16 | [precision!=mxfp8] bf16 f32", SAB_SHAPE_HEADS, 16, "") \
    T(indexer_fwd, q_scale, SAB_IN, 1, "[precision==mxfp8] e8m0 | [precision!=mxfp8] f32", "[precision!=mxfp8 && layout==bshd] B Sq H | [precision!=mxfp8 && layout==thd] Tq H | " SAB_SHAPE_MX_Q, 16, "") \
    T(indexer_fwd, k_scale, SAB_IN, 1, "[precision==mxfp8] e8m0 | [precision!=mxfp8] f32", "[precision!=mxfp8 && layout==bshd] B Sk | [precision!=mxfp8 && layout==thd] Tk | " SAB_SHAPE_MX_K, 16, "") \
    T(indexer_fwd, q_causal_offset, SAB_IN, 1, "i32", "B", 16, "") \
    T(indexer_fwd, cu_seqlens_q, SAB_IN, 1, "i32", "B+1", 16, "") \
    T(indexer_fwd, cu_seqlens_k, SAB_IN, 1, "i32", "B+1", 16, "") \
    T(indexer_fwd, scores, SAB_OUT, 0, "f32", SAB_SHAPE_DENSE, 16, "rows4") \
    T(indexer_fwd, lse, SAB_OUT, 1, "f32", SAB_SHAPE_ROWS, 16, "")
#define SAB_PARAMS_indexer_fwd(P) \
    P(indexer_fwd, precision, SAB_WORD, "bf16 fp8 mxfp8", "0") \
    SAB_PARAMS_LAYOUT(P, indexer_fwd) \
    P(indexer_fwd, ratio, SAB_INT, "", "1") \
    P(indexer_fwd, sm_scale, SAB_REAL, "", "1/sqrt(D)") \
    P(indexer_fwd, w_prescaled, SAB_FLAG, "", "0")
#define SAB_RULES_indexer_fwd(R) \
    SAB_RULES_LAYOUT(R, indexer_fwd) \
    R(indexer_fwd, SAB_INVALID, q_scale, "present(q_scale) == (precision == mxfp8 || (precision == fp8 && w_prescaled == 0))", "must be given exactly for fp8 with plain w and for mxfp8") \
    R(indexer_fwd, SAB_INVALID, k_scale, "present(k_scale) == (precision != bf16)", "must be given exactly for fp8 and mxfp8") \
    R(indexer_fwd, SAB_INVALID, w_prescaled, "w_prescaled == (precision == fp8 && is(w, f32))", "must be 1 exactly for fp8 with w in f32") \
    R(indexer_fwd, SAB_INVALID, ratio, "ratio >= 1", "must be at least 1") \
    R(indexer_fwd, SAB_INVALID, sm_scale, "sm_scale > 0", "must be above 0") \
    SAB_RULES_SIZES(R, indexer_fwd, q, k) \
    R(indexer_fwd, SAB_INVALID, k, "Hk >= 1", "needs one head") \
    R(indexer_fwd, SAB_UNSUPPORTED, k, "Hk == 1", "has more than one head, which is not served") \
    R(indexer_fwd, SAB_UNSUPPORTED, q, "D == 128", "has a width that is not served, only 128 is") \
    R(indexer_fwd, SAB_UNSUPPORTED, q, "H == 16 || H == 32 || H == 64", "has a number of heads that is not served, 16, 32 and 64 are")
#define SAB_FEEDS_indexer_fwd(F) \
    F(indexer_fwd, scores, indexer_topk, values_in, "") \
    F(indexer_fwd, scores, indexer_bwd_dense, index_raw, "") \
    F(indexer_fwd, lse, indexer_bwd_dense, index_lse, "")

/* indexer_topk: R rows, C columns, L lengths, K slots; tie_break 0 any, 1 smaller, 2 larger id */
#define SAB_TENSORS_indexer_topk(T) \
    T(indexer_topk, values_in, SAB_IN, 0, "f32 fp16 bf16", "R C", 16, "rows") \
    T(indexer_topk, seq_lens, SAB_IN, 0, "i32", "L", 16, "") \
    T(indexer_topk, indices, SAB_OUT, 0, "i32", "R K", 16, "") \
    T(indexer_topk, values, SAB_OUT, 1, "=values_in", "R K", 16, "")
#define SAB_PARAMS_indexer_topk(P) \
    P(indexer_topk, next_n, SAB_INT, "", "1") \
    P(indexer_topk, tie_break, SAB_INT, "", "0")
#define SAB_RULES_indexer_topk(R) \
    R(indexer_topk, SAB_INVALID, next_n, "next_n >= 1", "must be at least 1") \
    R(indexer_topk, SAB_INVALID, tie_break, "tie_break >= 0 && tie_break <= 2", "must be 0 (any), 1 (smaller id) or 2 (larger id)") \
    R(indexer_topk, SAB_INVALID, values_in, "R >= 1 && C >= 1", "needs every size to be at least 1") \
    R(indexer_topk, SAB_INVALID, values_in, "C <= 2147483647", "has more columns than 32-bit ids can name") \
    R(indexer_topk, SAB_INVALID, seq_lens, "R == L*next_n", "needs one length for next_n rows of values_in") \
    R(indexer_topk, SAB_INVALID, indices, "K >= 1", "needs at least one slot a row") \
    R(indexer_topk, SAB_UNSUPPORTED, indices, "K <= 2048", "has more slots a row than are served, up to 2048 are")
#define SAB_FEEDS_indexer_topk(F) \
    F(indexer_topk, indices, dsa_fwd, topk_idxs, "local_to_global") \
    F(indexer_topk, indices, dsa_bwd, topk_idxs, "local_to_global") \
    F(indexer_topk, indices, score_sparse_indexer, ids, "") \
    F(indexer_topk, indices, score_sparse_attention, ids, "") \
    F(indexer_topk, indices, indexer_bwd_sparse, ids, "")

/* What both backward operators write, and what they hold against it. */
#define SAB_TENSORS_BWD_OUT(T, op) \
    T(op, d_index_q, SAB_OUT, 0, "bf16", SAB_SHAPE_Q, 16, "") \
    T(op, d_weights, SAB_OUT, 0, "bf16", SAB_SHAPE_HEADS, 16, "") \
    T(op, d_index_k, SAB_OUT, 0, "bf16 f32", SAB_SHAPE_K1, 16, "")
#define SAB_RULES_BWD(R, op) \
    SAB_RULES_LAYOUT(R, op) \
    R(op, SAB_INVALID, sm_scale, "sm_scale > 0", "must be above 0") \
    SAB_RULES_SIZES(R, op, index_q, index_k) \
    R(op, SAB_UNSUPPORTED, index_q, "D == 128", "has a width that is not served, only 128 is") \
    R(op, SAB_UNSUPPORTED, index_q, "H == 16 || H == 32 || H == 64", "has a number of heads that is not served, 16, 32 and 64 are")

/* indexer_bwd_sparse; ids have no default space, the caller says which */
#define SAB_TENSORS_indexer_bwd_sparse(T) \
    T(indexer_bwd_sparse, index_q, SAB_IN, 0, "bf16", SAB_SHAPE_Q, 16, "") \
    T(indexer_bwd_sparse, weights, SAB_IN, 0, "bf16", SAB_SHAPE_HEADS, 16, "") \
    T(indexer_bwd_sparse, index_k, SAB_IN, 0, "bf16", SAB_SHAPE_K1, 16, "") \
    T(indexer_bwd_sparse, target, SAB_IN, 0, "f32", SAB_SHAPE_SLOTS, 16, "") \
    T(indexer_bwd_sparse, predict, SAB_IN, 0, "f32", SAB_SHAPE_SLOTS, 16, "") \
    T(indexer_bwd_sparse, ids, SAB_IN, 0, "i32", SAB_SHAPE_SLOTS, 16, "") \
    T(indexer_bwd_sparse, length, SAB_IN, 1, "i32", SAB_SHAPE_ROWS, 16, "") \
    T(indexer_bwd_sparse, grad_loss, SAB_IN, 0, "f32", "1", 16, "") \
    T(indexer_bwd_sparse, cu_seqlens_q, SAB_IN, 1, "i32", "B+1", 16, "") \
    T(indexer_bwd_sparse, cu_seqlens_k, SAB_IN, 1, "i32", "B+1", 16, "") \
    SAB_TENSORS_BWD_OUT(T, indexer_bwd_sparse)
#define SAB_PARAMS_indexer_bwd_sparse(P) \
    P(indexer_bwd_sparse, id_space, SAB_WORD, "local global", "") \
    SAB_PARAMS_LAYOUT(P, indexer_bwd_sparse) \
    P(indexer_bwd_sparse, sm_scale, SAB_REAL, "", "1/sqrt(D)") \
    P(indexer_bwd_sparse, grad_scale, SAB_REAL, "", "1") \
    P(indexer_bwd_sparse, deterministic, SAB_FLAG, "", "0")
#define SAB_RULES_indexer_bwd_sparse(R) \
    SAB_RULES_BWD(R, indexer_bwd_sparse) \
    SAB_RULES_IDS(R, indexer_bwd_sparse)
#define SAB_FEEDS_indexer_bwd_sparse(F)

/* indexer_bwd_dense */
#define SAB_TENSORS_indexer_bwd_dense(T) \
    T(indexer_bwd_dense, index_q, SAB_IN, 0, "bf16", SAB_SHAPE_Q, 16, "") \
    T(indexer_bwd_dense, weights, SAB_IN, 0, "bf16", SAB_SHAPE_HEADS, 16, "") \
    T(indexer_bwd_dense, index_k, SAB_IN, 0, "bf16", SAB_SHAPE_K1, 16, "") \
    T(indexer_bwd_dense, attn_raw, SAB_IN, 0, "f32", SAB_SHAPE_DENSE, 16, "") \
    T(indexer_bwd_dense, attn_l1norm, SAB_IN, 0, "f32", SAB_SHAPE_ROWS, 16, "") \
    T(indexer_bwd_dense, index_raw, SAB_IN, 0, "f32", SAB_SHAPE_DENSE, 16, "") \
    T(indexer_bwd_dense, index_lse, SAB_IN, 0, "f32", SAB_SHAPE_ROWS, 16, "") \
    T(indexer_bwd_dense, grad_loss, SAB_IN, 0, "f32", "1", 16, "") \
    T(indexer_bwd_dense, q_causal_offset, SAB_IN, 1, "i32", "B", 16, "") \
    T(indexer_bwd_dense, cu_seqlens_q, SAB_IN, 1, "i32", "B+1", 16, "") \
    T(indexer_bwd_dense, cu_seqlens_k, SAB_IN, 1, "i32", "B+1", 16, "") \
    SAB_TENSORS_BWD_OUT(T, indexer_bwd_dense)
#define SAB_PARAMS_indexer_bwd_dense(P) \
    SAB_PARAMS_LAYOUT(P, indexer_bwd_dense) \
    P(indexer_bwd_dense, ratio, SAB_INT, "", "1") \
    P(indexer_bwd_dense, sm_scale, SAB_REAL, "", "1/sqrt(D)") \
    P(indexer_bwd_dense, grad_scale, SAB_REAL, "", "1") \
    P(indexer_bwd_dense, deterministic, SAB_FLAG, "", "0")
#define SAB_RULES_indexer_bwd_dense(R) \
    SAB_RULES_BWD(R, indexer_bwd_dense) \
    R(indexer_bwd_dense, SAB_INVALID, ratio, "ratio >= 1", "must be at least 1")
#define SAB_FEEDS_indexer_bwd_dense(F)
/* clang-format on */

#endif
