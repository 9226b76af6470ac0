#include "bsa_call.h"

#include <string.h>

/* The key of contracts/bsa.md section 4. */
static void derive_key(struct bsa_call *call, const struct sab_problem *problem)
{
    const struct sab_tensor *sizes = &problem->tensors[SAB_T_bsa_fwd_block_sizes];
    const struct sab_tensor *nums = &problem->tensors[SAB_T_bsa_fwd_q2k_block_nums];
    int uniform = problem->params[SAB_P_bsa_fwd_uniform_block_count].i != 0;
    struct bsa_key *key = &call->key;

    key->block_nums = nums->dtype != SAB_NONE && !uniform;
    key->sizes_mode = sizes->dtype == SAB_NONE ? 0 : (uint8_t)sizes->rank;
    key->full_tiles = key->sizes_mode == 0 && call->seqlen_k % BSA_BLOCK == 0;
    key->nonempty = uniform && call->block_sparse_num > 0;
    key->contiguous = problem->params[SAB_P_bsa_fwd_contiguous_block_indices].i != 0;
    key->fp16 = problem->tensors[SAB_T_bsa_fwd_q].dtype == SAB_FP16;
    key->lse = problem->tensors[SAB_T_bsa_fwd_lse].dtype != SAB_NONE;
}

static void take_pointers(struct bsa_call *call, const struct sab_tensor *tensors)
{
    call->q = tensors[SAB_T_bsa_fwd_q].data;
    call->k = tensors[SAB_T_bsa_fwd_k].data;
    call->v = tensors[SAB_T_bsa_fwd_v].data;
    call->block_index = tensors[SAB_T_bsa_fwd_q2k_block_index].data;
    call->out = tensors[SAB_T_bsa_fwd_out].data;
    if (tensors[SAB_T_bsa_fwd_q2k_block_nums].dtype != SAB_NONE)
        call->block_nums = tensors[SAB_T_bsa_fwd_q2k_block_nums].data;
    if (tensors[SAB_T_bsa_fwd_block_sizes].dtype != SAB_NONE)
        call->block_sizes = tensors[SAB_T_bsa_fwd_block_sizes].data;
    if (tensors[SAB_T_bsa_fwd_lse].dtype != SAB_NONE)
        call->lse = tensors[SAB_T_bsa_fwd_lse].data;
}

int bsa_call_init(struct bsa_call *call, const struct sab_problem *problem, unsigned flags,
                  struct sab_message *msg)
{
    const double log2_e = 1.4426950408889634;
    int status = sab_validate(sab_op_find("bsa_fwd"), problem, SAB_DEVICE_CUDA, flags, msg);

    if (status != SAB_OK)
        return status;
    memset(call, 0, sizeof(*call));
    const struct sab_tensor *q = &problem->tensors[SAB_T_bsa_fwd_q];
    const struct sab_tensor *k = &problem->tensors[SAB_T_bsa_fwd_k];
    call->batch = q->shape[0];
    call->heads = q->shape[1];
    call->seqlen_q = q->shape[2];
    call->kv_heads = k->shape[1];
    call->seqlen_k = k->shape[2];
    call->group = call->heads / call->kv_heads;
    call->cap = problem->tensors[SAB_T_bsa_fwd_q2k_block_index].shape[3];
    call->query_tiles = (call->seqlen_q - 1) / BSA_BLOCK + 1;
    call->key_blocks = (call->seqlen_k - 1) / BSA_BLOCK + 1;
    call->block_sparse_num = problem->params[SAB_P_bsa_fwd_block_sparse_num].i;
    call->scale_log2 = (float)(problem->params[SAB_P_bsa_fwd_softmax_scale].f * log2_e);
    take_pointers(call, problem->tensors);
    derive_key(call, problem);
    return SAB_OK;
}

int bsa_call_check_arch(const struct sab_problem *problem, const char *targets,
                        struct sab_message *msg)
{
    if (sab_target_served(targets, problem->arch))
        return SAB_OK;
    return sab_say(msg, SAB_UNSUPPORTED,
                   "device: this kernel exists for the targets %s, the device has compute "
                   "capability %d.%d",
                   targets, problem->arch / 10, problem->arch % 10);
}
