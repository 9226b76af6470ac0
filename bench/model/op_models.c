/*
 * op_models.c - the operators that bench can judge, in the order of its listings.
 */
#include <string.h>

#include "op_models.h"
#include "opmodel.h"

static const struct op_model *const models[] = {
    &op_model_sage_fwd,
    &op_model_sage_quant_q,
    &op_model_sage_quant_kv,
    &op_model_bsa_fwd,
    &op_model_dsa_fwd,
    &op_model_dsa_bwd,
    &op_model_indexer_fwd,
    &op_model_indexer_topk,
    &op_model_score_sparse_indexer,
    &op_model_score_sparse_attention,
    &op_model_score_dense_indexer,
    &op_model_score_dense_attention,
    &op_model_indexer_bwd_sparse,
    &op_model_indexer_bwd_dense,
    &op_model_copy,
    &op_model_mma_peak,
    &op_model_read,
    &op_model_gather,
    &op_model_reduce,
    &op_model_gather_reduce,
    &op_model_exp2,
    &op_model_null,
};

const struct op_model *op_model_at(size_t i)
{
    return i < sizeof(models) / sizeof(models[0]) ? models[i] : NULL;
}

const struct op_model *op_model_find(const char *name)
{
    for (size_t i = 0; op_model_at(i); i++)
        if (!strcmp(models[i]->name, name))
            return models[i];
    return NULL;
}
