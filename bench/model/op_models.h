/*
 * op_models.h - one declaration for each file in ops/; op_models.c lists them.
 */
#ifndef BENCH_MODEL_OP_MODELS_H
#define BENCH_MODEL_OP_MODELS_H

#include "opmodel.h"

extern const struct op_model op_model_sage_fwd;
extern const struct op_model op_model_sage_quant_q;
extern const struct op_model op_model_sage_quant_kv;
extern const struct op_model op_model_bsa_fwd;
extern const struct op_model op_model_dsa_fwd;
extern const struct op_model op_model_dsa_bwd;
extern const struct op_model op_model_indexer_fwd;
extern const struct op_model op_model_indexer_topk;
extern const struct op_model op_model_score_sparse_indexer;
extern const struct op_model op_model_score_sparse_attention;
extern const struct op_model op_model_score_dense_indexer;
extern const struct op_model op_model_score_dense_attention;
extern const struct op_model op_model_indexer_bwd_sparse;
extern const struct op_model op_model_indexer_bwd_dense;
extern const struct op_model op_model_copy;
extern const struct op_model op_model_mma_peak;
extern const struct op_model op_model_read;
extern const struct op_model op_model_gather;
extern const struct op_model op_model_reduce;
extern const struct op_model op_model_gather_reduce;
extern const struct op_model op_model_exp2;
extern const struct op_model op_model_null;

#endif
