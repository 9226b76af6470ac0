#include "indexer_fwd_call.h"

#include <string.h>

static void take_pointers(struct indexer_fwd_call *call, const struct sab_problem *problem)
{
    call->q = sab_data(problem, SAB_T_indexer_fwd_q);
    call->k = sab_data(problem, SAB_T_indexer_fwd_k);
    call->w = sab_data(problem, SAB_T_indexer_fwd_w);
    call->q_scale = sab_data(problem, SAB_T_indexer_fwd_q_scale);
    call->k_scale = sab_data(problem, SAB_T_indexer_fwd_k_scale);
    call->offsets = sab_data(problem, SAB_T_indexer_fwd_q_causal_offset);
    call->cu_q = sab_data(problem, SAB_T_indexer_fwd_cu_seqlens_q);
    call->cu_k = sab_data(problem, SAB_T_indexer_fwd_cu_seqlens_k);
    call->scores = sab_data(problem, SAB_T_indexer_fwd_scores);
    call->lse = sab_data(problem, SAB_T_indexer_fwd_lse);
}

/* The distance of two rows of a tensor whose last dimension is a row: that of its last outer
 * dimension with more than one place, since the stride of a single place says nothing. */
static int64_t row_stride(const struct sab_tensor *t)
{
    for (int32_t d = t->rank - 2; d >= 0; d--)
        if (t->shape[d] > 1)
            return t->stride[d];
    return t->shape[t->rank - 1];
}

static void take_sizes(struct indexer_fwd_call *call, const struct sab_problem *problem)
{
    const struct sab_op_spec *op = sab_op_find("indexer_fwd");
    const struct sab_tensor *q = &problem->tensors[SAB_T_indexer_fwd_q];
    const struct sab_tensor *k = &problem->tensors[SAB_T_indexer_fwd_k];
    const struct sab_tensor *scores = &problem->tensors[SAB_T_indexer_fwd_scores];

    call->packed = problem->params[SAB_P_indexer_fwd_layout].i != 0;
    if (call->packed) {
        call->batch = sab_dimension(op, problem, "B");
        call->rows = q->shape[0];
        call->keys = k->shape[0];
        call->seqlen_q = problem->params[SAB_P_indexer_fwd_max_seqlen_q].i;
        call->seqlen_k = problem->params[SAB_P_indexer_fwd_max_seqlen_k].i;
    } else {
        call->batch = q->shape[0];
        call->seqlen_q = q->shape[1];
        call->seqlen_k = k->shape[1];
        call->rows = call->batch * call->seqlen_q;
        call->keys = call->batch * call->seqlen_k;
    }
    call->heads = (int32_t)q->shape[q->rank - 2];
    call->columns = scores->shape[scores->rank - 1];
    call->stride = row_stride(scores);
}

int indexer_fwd_call_init(struct indexer_fwd_call *call, const struct sab_problem *problem,
                          enum sab_device device, unsigned flags, struct sab_message *msg)
{
    const int status = sab_validate(sab_op_find("indexer_fwd"), problem, device, flags, msg);

    if (status != SAB_OK)
        return status;
    memset(call, 0, sizeof(*call));
    take_sizes(call, problem);
    take_pointers(call, problem);
    call->ratio = problem->params[SAB_P_indexer_fwd_ratio].i;
    call->precision = (int32_t)problem->params[SAB_P_indexer_fwd_precision].i;
    call->w_f32 = problem->tensors[SAB_T_indexer_fwd_w].dtype == SAB_F32;
    call->with_lse = problem->tensors[SAB_T_indexer_fwd_lse].dtype != SAB_NONE;
    call->factor = problem->params[SAB_P_indexer_fwd_w_prescaled].i
                       ? 1.0f
                       : (float)problem->params[SAB_P_indexer_fwd_sm_scale].f;
    return SAB_OK;
}

int indexer_fwd_call_check_arch(const struct sab_problem *problem, const char *targets,
                                struct sab_message *msg)
{
    if (sab_target_served(targets, problem->arch))
        return SAB_OK;
    return sab_say(msg, SAB_UNSUPPORTED,
                   "device: this kernel exists for the targets %s, the device has compute "
                   "capability %d.%d",
                   targets, problem->arch / 10, problem->arch % 10);
}
