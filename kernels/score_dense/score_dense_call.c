#include "score_dense_call.h"

#include <string.h>

/* Where an operator has its tensors and parameters. */
struct places {
    const char *op;
    uint32_t q, k, heads, offsets, cu_q, cu_k, out, denom, q_scale, k_scale;
    uint32_t layout, max_q, max_k, ratio, scale;
};

#define PLACES(op_, heads_, scale_)                                                                \
    {                                                                                              \
        .op = #op_, .q = SAB_T_##op_##_q, .k = SAB_T_##op_##_k, .heads = SAB_T_##op_##_##heads_,   \
        .offsets = SAB_T_##op_##_q_causal_offset, .cu_q = SAB_T_##op_##_cu_seqlens_q,              \
        .cu_k = SAB_T_##op_##_cu_seqlens_k, .out = SAB_T_##op_##_out,                              \
        .denom = SAB_T_##op_##_denom, .q_scale = SAB_T_##op_##_q_scale,                            \
        .k_scale = SAB_T_##op_##_k_scale, .layout = SAB_P_##op_##_layout,                          \
        .max_q = SAB_P_##op_##_max_seqlen_q, .max_k = SAB_P_##op_##_max_seqlen_k,                  \
        .ratio = SAB_P_##op_##_ratio, .scale = SAB_P_##op_##_##scale_                              \
    }

static const struct places indexer_places = PLACES(score_dense_indexer, w, sm_scale);
static const struct places attention_places = PLACES(score_dense_attention, lse, softmax_scale);

static void take_pointers(struct indexer_dense *d, const struct sab_problem *problem,
                          const struct places *at)
{
    d->q.data = sab_data(problem, at->q);
    d->k.data = sab_data(problem, at->k);
    d->q.exponents = sab_data(problem, at->q_scale);
    d->k.exponents = sab_data(problem, at->k_scale);
    if (d->attention)
        d->lse = sab_data(problem, at->heads);
    else
        d->w = sab_data(problem, at->heads);
    d->offsets = sab_data(problem, at->offsets);
    d->cu_q = sab_data(problem, at->cu_q);
    d->cu_k = sab_data(problem, at->cu_k);
    d->out = sab_data(problem, at->out);
    d->sums = sab_data(problem, at->denom);
}

/* The distance of two rows: the stride of the last outer dimension with more than one place. */
static int64_t row_stride(const struct sab_tensor *t)
{
    for (int32_t d = t->rank - 2; d >= 0; d--)
        if (t->shape[d] > 1)
            return t->stride[d];
    return t->shape[t->rank - 1];
}

static void take_sizes(struct indexer_dense *d, const struct sab_problem *problem,
                       const struct places *at)
{
    const struct sab_tensor *q = &problem->tensors[at->q], *k = &problem->tensors[at->k];
    const struct sab_tensor *out = &problem->tensors[at->out];
    const int packed = problem->params[at->layout].i != 0;

    d->heads = q->shape[q->rank - 2];
    d->kv_heads = k->shape[k->rank - 2];
    d->q.width = d->k.width = q->shape[q->rank - 1];
    d->q.e4m3 = d->k.e4m3 = q->dtype == SAB_E4M3;
    d->batch = packed ? problem->tensors[at->cu_q].shape[0] - 1 : q->shape[0];
    d->seqlen_q = packed ? problem->params[at->max_q].i : q->shape[1];
    d->seqlen_k = packed ? problem->params[at->max_k].i : k->shape[1];
    d->rows = packed ? q->shape[0] : d->batch * d->seqlen_q;
    d->columns = out->shape[out->rank - 1];
    d->stride = row_stride(out);
}

int score_dense_call_init(struct indexer_dense *dense, const struct sab_problem *problem,
                          int attention, enum sab_device device, unsigned flags,
                          struct sab_message *msg)
{
    const struct places *at = attention ? &attention_places : &indexer_places;
    const int status = sab_validate(sab_op_find(at->op), problem, device, flags, msg);

    if (status != SAB_OK)
        return status;
    memset(dense, 0, sizeof(*dense));
    dense->attention = attention;
    take_sizes(dense, problem, at);
    take_pointers(dense, problem, at);
    dense->ratio = problem->params[at->ratio].i;
    dense->scale = (float)problem->params[at->scale].f;
    return SAB_OK;
}

const char *score_dense_call_op(int attention)
{
    return attention ? attention_places.op : indexer_places.op;
}

int64_t score_dense_call_keys(const struct sab_problem *problem, int attention)
{
    const struct places *at = attention ? &attention_places : &indexer_places;
    const struct sab_tensor *k = &problem->tensors[at->k];

    return problem->params[at->layout].i != 0 ? k->shape[0] : k->shape[0] * k->shape[1];
}

int score_dense_call_check_arch(const struct sab_problem *problem, const char *targets,
                                struct sab_message *msg)
{
    if (sab_target_served(targets, problem->arch))
        return SAB_OK;
    return sab_say(msg, SAB_UNSUPPORTED,
                   "device: this kernel exists for the targets %s, the device has compute "
                   "capability %d.%d",
                   targets, problem->arch / 10, problem->arch % 10);
}
