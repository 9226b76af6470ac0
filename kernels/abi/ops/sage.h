/*
 * sage.h - the Sage operators: int8/fp8 block-sparse attention and its two quantisers. Rules follow
 * the validation table of the operator's contract.
 */
#ifndef SAB_OPS_SAGE_H
#define SAB_OPS_SAGE_H

/* clang-format off */

/* Sparsity metadata, shared word for word with bsa_fwd; H counts query heads. */
#define SAB_TENSORS_BLOCKS(T, op) \
    T(op, q2k_block_index, SAB_IN, 0, "i32", "B H ceil(Sq/64) cap", 16, "") \
    T(op, q2k_block_nums, SAB_IN, 1, "i32", "B H ceil(Sq/64)", 16, "") \
    T(op, block_sizes, SAB_IN, 1, "i32", "ceil(Sk/64) | B ceil(Sk/64) | B H ceil(Sk/64)", 16, "")
#define SAB_PARAMS_BLOCKS(P, op) \
    P(op, block_sparse_num, SAB_INT, "", "cap") \
    P(op, softmax_scale, SAB_REAL, "", "1/sqrt(D)") \
    P(op, uniform_block_count, SAB_FLAG, "", "0") \
    P(op, contiguous_block_indices, SAB_FLAG, "", "0")
#define SAB_RULES_BLOCKS(R, op) \
    R(op, SAB_INVALID, q2k_block_index, "cap >= 1", "needs a capacity of at least 1") \
    R(op, SAB_INVALID, block_sparse_num, "block_sparse_num >= 0 && block_sparse_num <= cap", "must be 0 to the capacity of q2k_block_index") \
    R(op, SAB_INVALID, softmax_scale, "softmax_scale > 0", "must be above 0") \
    R(op, SAB_INVALID, contiguous_block_indices, "contiguous_block_indices == 0 || uniform_block_count == 1", "needs uniform_block_count = 1")

/* sage_fwd */
#define SAB_TENSORS_sage_fwd(T) \
    T(sage_fwd, q_int8, SAB_IN, 0, "i8", "B H Sq D", 16, "") \
    T(sage_fwd, k_int8, SAB_IN, 0, "i8", "B Hk Sk D", 16, "") \
    T(sage_fwd, v_fp8, SAB_IN, 0, "e4m3", "B Hk D 64*ceil(Sk/64)", 16, "") \
    T(sage_fwd, q_scale, SAB_IN, 0, "f32", "B H 4*ceil(Sq/128)", 16, "") \
    T(sage_fwd, k_scale, SAB_IN, 0, "f32", "B Hk ceil(Sk/64)", 16, "") \
    T(sage_fwd, v_scale, SAB_IN, 0, "f32", "B Hk D", 16, "") \
    SAB_TENSORS_BLOCKS(T, sage_fwd) \
    T(sage_fwd, out, SAB_OUT, 0, "bf16", "B H Sq D", 16, "")
#define SAB_PARAMS_sage_fwd(P) \
    SAB_PARAMS_BLOCKS(P, sage_fwd)
#define SAB_RULES_sage_fwd(R) \
    R(sage_fwd, SAB_INVALID, q_int8, "B >= 1 && H >= 1 && Sq >= 1 && D >= 1", "needs every size to be at least 1") \
    R(sage_fwd, SAB_INVALID, k_int8, "Sk >= 1", "needs at least one token") \
    R(sage_fwd, SAB_INVALID, k_int8, "Hk >= 1 && Hk <= H", "needs as many heads as q_int8") \
    SAB_RULES_BLOCKS(R, sage_fwd) \
    R(sage_fwd, SAB_UNSUPPORTED, q_int8, "D == 128", "has a head dimension that is not served, only 128 is") \
    R(sage_fwd, SAB_UNSUPPORTED, k_int8, "Hk == H", "has fewer heads than q_int8, grouped-query heads are not served")
#define SAB_FEEDS_sage_fwd(F)

/* sage_quant_q */
#define SAB_TENSORS_sage_quant_q(T) \
    T(sage_quant_q, q, SAB_IN, 0, "bf16", "B H Sq D", 16, "free") \
    T(sage_quant_q, q_int8, SAB_OUT, 0, "i8", "B H Sq D", 16, "") \
    T(sage_quant_q, q_scale, SAB_OUT, 0, "f32", "B H 4*ceil(Sq/128)", 16, "")
#define SAB_PARAMS_sage_quant_q(P)
#define SAB_RULES_sage_quant_q(R) \
    R(sage_quant_q, SAB_INVALID, q, "B >= 1 && H >= 1 && Sq >= 1", "needs every size to be at least 1") \
    R(sage_quant_q, SAB_INVALID, q, "D == 128", "needs a last size of 128")
#define SAB_FEEDS_sage_quant_q(F) \
    F(sage_quant_q, q_int8, sage_fwd, q_int8, "") \
    F(sage_quant_q, q_scale, sage_fwd, q_scale, "")

/* sage_quant_kv */
#define SAB_TENSORS_sage_quant_kv(T) \
    T(sage_quant_kv, k, SAB_IN, 0, "bf16", "B H Sk D", 16, "free") \
    T(sage_quant_kv, v, SAB_IN, 0, "bf16", "B H Sk D", 16, "free") \
    T(sage_quant_kv, k_int8, SAB_OUT, 0, "i8", "B H Sk D", 16, "") \
    T(sage_quant_kv, k_scale, SAB_OUT, 0, "f32", "B H ceil(Sk/64)", 16, "") \
    T(sage_quant_kv, v_fp8, SAB_OUT, 0, "e4m3", "B H D 64*ceil(Sk/64)", 16, "") \
    T(sage_quant_kv, v_scale, SAB_OUT, 0, "f32", "B H D", 16, "")
#define SAB_PARAMS_sage_quant_kv(P)
#define SAB_RULES_sage_quant_kv(R) \
    R(sage_quant_kv, SAB_INVALID, k, "B >= 1 && H >= 1 && Sk >= 1", "needs every size to be at least 1") \
    R(sage_quant_kv, SAB_INVALID, k, "D == 128", "needs a last size of 128")
#define SAB_FEEDS_sage_quant_kv(F) \
    F(sage_quant_kv, k_int8, sage_fwd, k_int8, "") \
    F(sage_quant_kv, k_scale, sage_fwd, k_scale, "") \
    F(sage_quant_kv, v_fp8, sage_fwd, v_fp8, "") \
    F(sage_quant_kv, v_scale, sage_fwd, v_scale, "")
/* clang-format on */

#endif
