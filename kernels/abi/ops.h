/*
 * ops.h - the operator catalogue: every operator's tensors, parameters, rules and feeds.
 *
 * Adding an operator: a row in SAB_OPS and the four lists, in the file of its family. Growing one:
 * append an optional tensor or a parameter with a default at the END of its list; a kernel built
 * earlier stays usable, since its row carries the hash of the shorter lists.
 *
 * OP(op, help)
 *
 * T(op, name, role, optional, dtypes, shape, alignment, strided)
 *   dtypes   "bf16 fp16"; "=q": that of tensor q; alternatives may be guarded like shapes
 *   shape    slowest dimension first. A bare symbol (or symbol+1) is bound by the first tensor that
 *            shows it, all else is held against what is bound. Alternatives stand between `|`, each
 *            may open with a guard in brackets; the first whose guard holds and whose rank fits is
 *            taken. Symbols: B batch, H heads, Hk key/value heads, Sq/Sk tokens, Tq/Tk packed
 *            tokens, D width, K slots, cap capacity of an index row
 *   strided  "" contiguous; "rows": the stride of the last but one dimension may also be any larger
 *            multiple of 4 elements, outer dimensions packed above it; "rows4": it is a multiple of
 *            4 in any case; "free": every stride but the last, which is 1. Strides of dimensions of
 *            size 1 say nothing.
 *
 * P(op, name, kind, words, default)
 *   default  an expression over dimensions and earlier parameters; "": the caller must give one
 *
 * R(op, status, subject, condition, right)
 *   The message reads "'subject' right, given ...". INVALID rules are judged before UNSUPPORTED
 *   ones, whatever their order. In an expression stand dimensions, parameters, words of the
 *   operator's word parameters, present(tensor), rank(tensor), is(tensor, dtype), and the functions
 *   of expr.h.
 *
 * F(op, output, consumer, input, conversion)
 *   An output may feed an input of the same number of elements, read in the input's shape.
 *   "local_to_global": ids that are not negative get the first row of their batch added.
 */
#ifndef SAB_OPS_H
#define SAB_OPS_H

#include "ops/bsa.h"
#include "ops/ceiling.h"
#include "ops/dsa.h"
#include "ops/indexer.h"
#include "ops/sage.h"
#include "ops/score.h"

/* clang-format off */
#define SAB_OPS(OP) \
    OP(sage_fwd, "Sage block-sparse attention forward: int8 QK, fp8 PV, bf16 out") \
    OP(sage_quant_q, "Sage quantiser of the queries: bf16 to int8, one scale per 32 rows") \
    OP(sage_quant_kv, "Sage quantiser of keys and values: int8 per block, fp8 per channel") \
    OP(bsa_fwd, "block-sparse attention forward in bf16 or fp16, grouped-query heads") \
    OP(dsa_fwd, "DSA sparse attention forward over gathered rows, with sink") \
    OP(dsa_bwd, "DSA sparse attention backward: dq, dkv and d_sink") \
    OP(indexer_fwd, "indexer scores: weighted relu of head products, ratio-causal") \
    OP(indexer_topk, "exact selection of the largest scores of each row") \
    OP(score_sparse_indexer, "indexer softmax over selected columns (predict)") \
    OP(score_sparse_attention, "attention weights over selected columns, heads summed (target)") \
    OP(score_dense_indexer, "indexer scores and their log-sum over visible columns") \
    OP(score_dense_attention, "attention weights, heads summed, over visible columns") \
    OP(indexer_bwd_sparse, "indexer backward over selected columns") \
    OP(indexer_bwd_dense, "indexer backward over all visible columns") \
    OP(copy, "copies bytes: the ceiling of memory bandwidth") \
    OP(mma_peak, "repeated small matrix products: the ceiling of the tensor units") \
    OP(read, "reads bytes: the ceiling of memory bandwidth for what writes little") \
    OP(gather, "brings random rows on chip: the ceiling of tiles and of gathered rows") \
    OP(reduce, "adds to random rows in memory: the ceiling of reductions") \
    OP(gather_reduce, "brings random rows on chip and adds to others: both ceilings together") \
    OP(exp2, "exponentials: the ceiling of the special function units") \
    OP(null, "no outputs: what the harness itself costs")
/* clang-format on */

#endif
