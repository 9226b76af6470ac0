#include "indexer_bwd_call.h"

#include <string.h>

static void take_sparse(struct indexer_bwd_call *call, const struct sab_problem *p)
{
    const struct sab_tensor *ids = &p->tensors[SAB_T_indexer_bwd_sparse_ids];

    call->q = sab_data(p, SAB_T_indexer_bwd_sparse_index_q);
    call->w = sab_data(p, SAB_T_indexer_bwd_sparse_weights);
    call->k = sab_data(p, SAB_T_indexer_bwd_sparse_index_k);
    call->target = sab_data(p, SAB_T_indexer_bwd_sparse_target);
    call->predict = sab_data(p, SAB_T_indexer_bwd_sparse_predict);
    call->slots.ids = sab_data(p, SAB_T_indexer_bwd_sparse_ids);
    call->slots.lengths = sab_data(p, SAB_T_indexer_bwd_sparse_length);
    call->slots.slots = ids->shape[ids->rank - 1];
    call->slots.global = p->params[SAB_P_indexer_bwd_sparse_id_space].i != 0;
    call->grad_loss = sab_data(p, SAB_T_indexer_bwd_sparse_grad_loss);
    call->cu_q = sab_data(p, SAB_T_indexer_bwd_sparse_cu_seqlens_q);
    call->cu_k = sab_data(p, SAB_T_indexer_bwd_sparse_cu_seqlens_k);
    call->dq = sab_data(p, SAB_T_indexer_bwd_sparse_d_index_q);
    call->dw = sab_data(p, SAB_T_indexer_bwd_sparse_d_weights);
    call->dk = sab_data(p, SAB_T_indexer_bwd_sparse_d_index_k);
    call->dk_f32 = p->tensors[SAB_T_indexer_bwd_sparse_d_index_k].dtype == SAB_F32;
    call->columns = call->slots.slots;
    call->ratio = 1;
    call->sm_scale = (float)p->params[SAB_P_indexer_bwd_sparse_sm_scale].f;
    call->grad_scale = (float)p->params[SAB_P_indexer_bwd_sparse_grad_scale].f;
    call->deterministic = p->params[SAB_P_indexer_bwd_sparse_deterministic].i != 0;
}

static void take_dense(struct indexer_bwd_call *call, const struct sab_problem *p)
{
    const struct sab_tensor *raw = &p->tensors[SAB_T_indexer_bwd_dense_index_raw];

    call->q = sab_data(p, SAB_T_indexer_bwd_dense_index_q);
    call->w = sab_data(p, SAB_T_indexer_bwd_dense_weights);
    call->k = sab_data(p, SAB_T_indexer_bwd_dense_index_k);
    call->attn_raw = sab_data(p, SAB_T_indexer_bwd_dense_attn_raw);
    call->attn_l1norm = sab_data(p, SAB_T_indexer_bwd_dense_attn_l1norm);
    call->index_raw = sab_data(p, SAB_T_indexer_bwd_dense_index_raw);
    call->index_lse = sab_data(p, SAB_T_indexer_bwd_dense_index_lse);
    call->grad_loss = sab_data(p, SAB_T_indexer_bwd_dense_grad_loss);
    call->offsets = sab_data(p, SAB_T_indexer_bwd_dense_q_causal_offset);
    call->cu_q = sab_data(p, SAB_T_indexer_bwd_dense_cu_seqlens_q);
    call->cu_k = sab_data(p, SAB_T_indexer_bwd_dense_cu_seqlens_k);
    call->dq = sab_data(p, SAB_T_indexer_bwd_dense_d_index_q);
    call->dw = sab_data(p, SAB_T_indexer_bwd_dense_d_weights);
    call->dk = sab_data(p, SAB_T_indexer_bwd_dense_d_index_k);
    call->dk_f32 = p->tensors[SAB_T_indexer_bwd_dense_d_index_k].dtype == SAB_F32;
    call->columns = raw->shape[raw->rank - 1];
    call->ratio = p->params[SAB_P_indexer_bwd_dense_ratio].i;
    call->sm_scale = (float)p->params[SAB_P_indexer_bwd_dense_sm_scale].f;
    call->grad_scale = (float)p->params[SAB_P_indexer_bwd_dense_grad_scale].f;
    call->deterministic = p->params[SAB_P_indexer_bwd_dense_deterministic].i != 0;
}

static void take_sizes(struct indexer_bwd_call *call, const struct sab_problem *p)
{
    const struct sab_tensor *q, *k;
    int packed;

    if (call->sparse) {
        q = &p->tensors[SAB_T_indexer_bwd_sparse_index_q];
        k = &p->tensors[SAB_T_indexer_bwd_sparse_index_k];
        packed = p->params[SAB_P_indexer_bwd_sparse_layout].i != 0;
        call->batch = p->tensors[SAB_T_indexer_bwd_sparse_cu_seqlens_q].shape[0] - 1;
        call->seqlen_q = p->params[SAB_P_indexer_bwd_sparse_max_seqlen_q].i;
        call->seqlen_k = p->params[SAB_P_indexer_bwd_sparse_max_seqlen_k].i;
    } else {
        q = &p->tensors[SAB_T_indexer_bwd_dense_index_q];
        k = &p->tensors[SAB_T_indexer_bwd_dense_index_k];
        packed = p->params[SAB_P_indexer_bwd_dense_layout].i != 0;
        call->batch = p->tensors[SAB_T_indexer_bwd_dense_cu_seqlens_q].shape[0] - 1;
        call->seqlen_q = p->params[SAB_P_indexer_bwd_dense_max_seqlen_q].i;
        call->seqlen_k = p->params[SAB_P_indexer_bwd_dense_max_seqlen_k].i;
    }
    call->heads = q->shape[q->rank - 2];
    call->rows = q->shape[0];
    call->keys = k->shape[0];
    if (packed)
        return;
    call->batch = q->shape[0];
    call->seqlen_q = q->shape[1];
    call->seqlen_k = k->shape[1];
    call->rows = call->batch * call->seqlen_q;
    call->keys = call->batch * call->seqlen_k;
}

int indexer_bwd_call_init(struct indexer_bwd_call *call, const struct sab_problem *problem,
                          int sparse, enum sab_device device, unsigned flags,
                          struct sab_message *msg)
{
    const char *op = sparse ? "indexer_bwd_sparse" : "indexer_bwd_dense";
    const int status = sab_validate(sab_op_find(op), problem, device, flags, msg);

    if (status != SAB_OK)
        return status;
    memset(call, 0, sizeof(*call));
    call->sparse = sparse;
    take_sizes(call, problem);
    if (sparse)
        take_sparse(call, problem);
    else
        take_dense(call, problem);
    return SAB_OK;
}

int indexer_bwd_call_check_arch(const struct sab_problem *problem, const char *targets,
                                struct sab_message *msg)
{
    if (sab_target_served(targets, problem->arch))
        return SAB_OK;
    return sab_say(msg, SAB_UNSUPPORTED,
                   "device: this kernel exists for the targets %s, the device has compute "
                   "capability %d.%d",
                   targets, problem->arch / 10, problem->arch % 10);
}

uint64_t indexer_bwd_gradient_bytes(const struct indexer_bwd_call *call)
{
    return ((uint64_t)call->rows * (uint64_t)call->columns * 4 + 255) / 256 * 256;
}
