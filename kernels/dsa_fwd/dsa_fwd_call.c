#include "dsa_fwd_call.h"

#include <string.h>

static void take_pointers(struct dsa_fwd_call *call, const struct sab_tensor *tensors)
{
    call->q = tensors[SAB_T_dsa_fwd_q].data;
    call->kv = tensors[SAB_T_dsa_fwd_kv].data;
    call->ids = tensors[SAB_T_dsa_fwd_topk_idxs].data;
    call->out = tensors[SAB_T_dsa_fwd_out].data;
    call->max_logits = tensors[SAB_T_dsa_fwd_max_logits].data;
    call->lse = tensors[SAB_T_dsa_fwd_lse].data;
    if (tensors[SAB_T_dsa_fwd_attn_sink].dtype != SAB_NONE)
        call->sink = tensors[SAB_T_dsa_fwd_attn_sink].data;
    if (tensors[SAB_T_dsa_fwd_topk_length].dtype != SAB_NONE)
        call->lengths = tensors[SAB_T_dsa_fwd_topk_length].data;
    if (tensors[SAB_T_dsa_fwd_lse_indexer].dtype != SAB_NONE)
        call->lse_prefix = tensors[SAB_T_dsa_fwd_lse_indexer].data;
}

int dsa_fwd_call_init(struct dsa_fwd_call *call, const struct sab_problem *problem, unsigned flags,
                      struct sab_message *msg)
{
    const double log2_e = 1.4426950408889634;
    int status = sab_validate(sab_op_find("dsa_fwd"), problem, SAB_DEVICE_CUDA, flags, msg);

    if (status != SAB_OK)
        return status;
    memset(call, 0, sizeof(*call));
    const struct sab_tensor *q = &problem->tensors[SAB_T_dsa_fwd_q];
    const double scale = problem->params[SAB_P_dsa_fwd_softmax_scale].f;
    call->rows = q->shape[0];
    call->heads = q->shape[1];
    call->width = (int32_t)q->shape[2];
    call->fp16 = q->dtype == SAB_FP16;
    call->keys = problem->tensors[SAB_T_dsa_fwd_kv].shape[0];
    call->slots = problem->tensors[SAB_T_dsa_fwd_topk_idxs].shape[1];
    call->prefix = problem->params[SAB_P_dsa_fwd_lse_prefix].i;
    call->scale = (float)scale;
    call->scale_log2 = (float)(scale * log2_e);
    take_pointers(call, problem->tensors);
    return SAB_OK;
}

int dsa_fwd_call_check_arch(const struct sab_problem *problem, const char *targets,
                            struct sab_message *msg)
{
    if (sab_target_served(targets, problem->arch))
        return SAB_OK;
    return sab_say(msg, SAB_UNSUPPORTED,
                   "device: this kernel exists for the targets %s, the device has compute "
                   "capability %d.%d",
                   targets, problem->arch / 10, problem->arch % 10);
}

int dsa_fwd_call_check_limits(const struct dsa_fwd_call *call, int32_t tile, int32_t ahead,
                              struct sab_message *msg)
{
    const int64_t most = INT32_MAX - ahead;

    if (call->slots > most)
        return sab_say(msg, SAB_UNSUPPORTED, "topk_idxs: at most %lld slots are served, given %lld",
                       (long long)most, (long long)call->slots);
    if (call->heads > most)
        return sab_say(msg, SAB_UNSUPPORTED, "q: at most %lld heads are served, given %lld",
                       (long long)most, (long long)call->heads);
    const int64_t tiles = (call->heads + tile - 1) / tile;
    if (call->rows > most / tiles)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "q: at most %lld rows of %d heads are served, given %lld x %lld",
                       (long long)most, tile, (long long)call->rows, (long long)tiles);
    return SAB_OK;
}
