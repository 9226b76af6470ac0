#include "indexer_topk_call.h"

#include <string.h>

int indexer_topk_call_init(struct indexer_topk_call *call, const struct sab_problem *problem,
                           enum sab_device device, unsigned flags, struct sab_message *msg)
{
    const int status = sab_validate(sab_op_find("indexer_topk"), problem, device, flags, msg);

    if (status != SAB_OK)
        return status;
    memset(call, 0, sizeof(*call));
    const struct sab_tensor *in = &problem->tensors[SAB_T_indexer_topk_values_in];
    const struct sab_tensor *values = &problem->tensors[SAB_T_indexer_topk_values];
    call->values_in = in->data;
    call->seq_lens = problem->tensors[SAB_T_indexer_topk_seq_lens].data;
    call->indices = problem->tensors[SAB_T_indexer_topk_indices].data;
    call->with_values = values->dtype != SAB_NONE;
    if (call->with_values)
        call->values = values->data;
    call->rows = in->shape[0];
    call->columns = in->shape[1];
    /* the stride of a single row says nothing */
    call->stride = call->rows > 1 ? in->stride[0] : call->columns;
    call->slots = problem->tensors[SAB_T_indexer_topk_indices].shape[1];
    call->next_n = problem->params[SAB_P_indexer_topk_next_n].i;
    call->tie_break = (int32_t)problem->params[SAB_P_indexer_topk_tie_break].i;
    call->dtype = in->dtype;
    call->element_bytes = (int32_t)sab_dtype_size(in->dtype);
    return SAB_OK;
}

int indexer_topk_call_check_arch(const struct sab_problem *problem, const char *targets,
                                 struct sab_message *msg)
{
    if (sab_target_served(targets, problem->arch))
        return SAB_OK;
    return sab_say(msg, SAB_UNSUPPORTED,
                   "device: this kernel exists for the targets %s, the device has compute "
                   "capability %d.%d",
                   targets, problem->arch / 10, problem->arch % 10);
}
