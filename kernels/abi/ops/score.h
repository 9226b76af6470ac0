/*
 * score.h - the four score operators that recompute what the indexer's loss compares: indexer and
 * attention weights, over selected columns (sparse) or over every visible one (dense).
 */
#ifndef SAB_OPS_SCORE_H
#define SAB_OPS_SCORE_H

#include "ops/indexer.h"

/* clang-format off */
#define SAB_RULES_SERVED(R, op) \
    R(op, SAB_UNSUPPORTED, q, "D == 128 || D == 512 || D == 576", "has a width that is not served, 128, 512 and 576 are") \
    R(op, SAB_UNSUPPORTED, q, "H <= 128", "has more heads than are served, up to 128 are")

/* Both sparse operators. */
#define SAB_RULES_SPARSE(R, op, scale) \
    R(op, SAB_INVALID, scale, #scale " > 0", "must be above 0") \
    R(op, SAB_INVALID, q, "B >= 1 && Sq >= 1 && H >= 1 && D >= 1", "needs every size to be at least 1") \
    R(op, SAB_INVALID, k, "Sk >= 1", "needs at least one column") \
    R(op, SAB_INVALID, ids, "K >= 1", "needs at least one slot a row") \
    R(op, SAB_INVALID, ids, "id_space == local || B*Sk <= 2147483647", "needs global ids that fit in 32 bits") \
    SAB_RULES_SERVED(R, op)

/* score_sparse_indexer */
#define SAB_TENSORS_score_sparse_indexer(T) \
    T(score_sparse_indexer, q, SAB_IN, 0, "bf16", "B Sq H D", 16, "") \
    T(score_sparse_indexer, k, SAB_IN, 0, "bf16", "B Sk D", 16, "") \
    T(score_sparse_indexer, w, SAB_IN, 0, "bf16", "B Sq H", 16, "") \
    T(score_sparse_indexer, ids, SAB_IN, 0, "i32", "B Sq K", 16, "") \
    T(score_sparse_indexer, length, SAB_IN, 1, "i32", "B Sq", 16, "") \
    T(score_sparse_indexer, predict, SAB_OUT, 0, "f32", "B Sq K", 16, "")
#define SAB_PARAMS_score_sparse_indexer(P) \
    P(score_sparse_indexer, id_space, SAB_WORD, "local global", "") \
    P(score_sparse_indexer, sm_scale, SAB_REAL, "", "1/sqrt(D)")
#define SAB_RULES_score_sparse_indexer(R) \
    SAB_RULES_SPARSE(R, score_sparse_indexer, sm_scale)
#define SAB_FEEDS_score_sparse_indexer(F) \
    F(score_sparse_indexer, predict, indexer_bwd_sparse, predict, "")

/* score_sparse_attention */
#define SAB_TENSORS_score_sparse_attention(T) \
    T(score_sparse_attention, q, SAB_IN, 0, "bf16", "B Sq H D", 16, "") \
    T(score_sparse_attention, k, SAB_IN, 0, "bf16", "B Sk D", 16, "") \
    T(score_sparse_attention, lse, SAB_IN, 0, "f32", "B Sq H", 16, "") \
    T(score_sparse_attention, ids, SAB_IN, 0, "i32", "B Sq K", 16, "") \
    T(score_sparse_attention, length, SAB_IN, 1, "i32", "B Sq", 16, "") \
    T(score_sparse_attention, target, SAB_OUT, 0, "f32", "B Sq K", 16, "")
#define SAB_PARAMS_score_sparse_attention(P) \
    P(score_sparse_attention, id_space, SAB_WORD, "local global", "") \
    P(score_sparse_attention, softmax_scale, SAB_REAL, "", "1/sqrt(D)")
#define SAB_RULES_score_sparse_attention(R) \
    SAB_RULES_SPARSE(R, score_sparse_attention, softmax_scale)
#define SAB_FEEDS_score_sparse_attention(F) \
    F(score_sparse_attention, target, indexer_bwd_sparse, target, "")

/* Both dense operators; q_scale and k_scale belong to mxfp8. */
#define SAB_TENSORS_DENSE(T, op) \
    T(op, q_causal_offset, SAB_IN, 1, "i32", "B", 16, "") \
    T(op, cu_seqlens_q, SAB_IN, 1, "i32", "B+1", 16, "") \
    T(op, cu_seqlens_k, SAB_IN, 1, "i32", "B+1", 16, "") \
    T(op, out, SAB_OUT, 0, "f32", SAB_SHAPE_DENSE, 16, "rows") \
    T(op, denom, SAB_OUT, 0, "f32", SAB_SHAPE_ROWS, 16, "") \
    T(op, q_scale, SAB_IN, 1, "e8m0", SAB_SHAPE_MX_Q, 16, "") \
    T(op, k_scale, SAB_IN, 1, "e8m0", "[layout==bshd] B Sk Hk ceil(D/32) | [layout==thd] Tk Hk ceil(D/32) | [Hk==1 && layout==bshd] B Sk ceil(D/32) | [Hk==1 && layout==thd] Tk ceil(D/32)", 16, "")
#define SAB_RULES_DENSE(R, op, scale) \
    SAB_RULES_LAYOUT(R, op) \
    R(op, SAB_INVALID, q_scale, "present(q_scale) == (precision == mxfp8)", "must be given exactly for mxfp8") \
    R(op, SAB_INVALID, k_scale, "present(k_scale) == (precision == mxfp8)", "must be given exactly for mxfp8") \
    R(op, SAB_INVALID, ratio, "ratio >= 1", "must be at least 1") \
    R(op, SAB_INVALID, scale, #scale " > 0", "must be above 0") \
    SAB_RULES_SIZES(R, op, q, k) \
    R(op, SAB_INVALID, k, "Hk >= 1 && mod(H, Hk) == 0", "needs a number of heads that divides the query heads") \
    SAB_RULES_SERVED(R, op)

/* score_dense_indexer */
#define SAB_TENSORS_score_dense_indexer(T) \
    T(score_dense_indexer, q, SAB_IN, 0, "[precision==bf16] bf16 | [precision==mxfp8] e4m3", SAB_SHAPE_Q, 16, "") \
    T(score_dense_indexer, k, SAB_IN, 0, "=q", SAB_SHAPE_K, 16, "") \
    T(score_dense_indexer, w, SAB_IN, 0, "bf16", SAB_SHAPE_HEADS, 16, "") \
    SAB_TENSORS_DENSE(T, score_dense_indexer)
#define SAB_PARAMS_score_dense_indexer(P) \
    SAB_PARAMS_LAYOUT(P, score_dense_indexer) \
    P(score_dense_indexer, ratio, SAB_INT, "", "1") \
    P(score_dense_indexer, sm_scale, SAB_REAL, "", "1/sqrt(D)") \
    P(score_dense_indexer, precision, SAB_WORD, "bf16 mxfp8", "0")
#define SAB_RULES_score_dense_indexer(R) \
    SAB_RULES_DENSE(R, score_dense_indexer, sm_scale)
#define SAB_FEEDS_score_dense_indexer(F) \
    F(score_dense_indexer, out, indexer_bwd_dense, index_raw, "") \
    F(score_dense_indexer, denom, indexer_bwd_dense, index_lse, "")

/* score_dense_attention */
#define SAB_TENSORS_score_dense_attention(T) \
    T(score_dense_attention, q, SAB_IN, 0, "[precision==bf16] bf16 | [precision==mxfp8] e4m3", SAB_SHAPE_Q, 16, "") \
    T(score_dense_attention, k, SAB_IN, 0, "=q", SAB_SHAPE_K, 16, "") \
    T(score_dense_attention, lse, SAB_IN, 0, "f32", SAB_SHAPE_HEADS, 16, "") \
    SAB_TENSORS_DENSE(T, score_dense_attention)
#define SAB_PARAMS_score_dense_attention(P) \
    SAB_PARAMS_LAYOUT(P, score_dense_attention) \
    P(score_dense_attention, ratio, SAB_INT, "", "1") \
    P(score_dense_attention, softmax_scale, SAB_REAL, "", "1/sqrt(D)") \
    P(score_dense_attention, precision, SAB_WORD, "bf16 mxfp8", "0")
#define SAB_RULES_score_dense_attention(R) \
    SAB_RULES_DENSE(R, score_dense_attention, softmax_scale)
#define SAB_FEEDS_score_dense_attention(F) \
    F(score_dense_attention, out, indexer_bwd_dense, attn_raw, "") \
    F(score_dense_attention, denom, indexer_bwd_dense, attn_l1norm, "")
/* clang-format on */

#endif
