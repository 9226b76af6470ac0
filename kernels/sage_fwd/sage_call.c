#include "sage_call.h"

#include <string.h>

/* The key of contracts/sage.md section 6. */
static void derive_key(struct sage_call *call, const struct sab_problem *problem)
{
    const struct sab_tensor *sizes = &problem->tensors[SAB_T_sage_fwd_block_sizes];
    const struct sab_tensor *nums = &problem->tensors[SAB_T_sage_fwd_q2k_block_nums];
    int uniform = problem->params[SAB_P_sage_fwd_uniform_block_count].i != 0;
    struct sage_key *key = &call->key;

    key->block_nums = nums->dtype != SAB_NONE && !uniform;
    key->sizes_mode = sizes->dtype == SAB_NONE ? 0 : (uint8_t)sizes->rank;
    key->full_tiles = key->sizes_mode == 0 && call->seqlen_k % SAGE_BLOCK == 0;
    key->nonempty = uniform && call->block_sparse_num > 0;
    key->contiguous = problem->params[SAB_P_sage_fwd_contiguous_block_indices].i != 0;
}

static void take_pointers(struct sage_call *call, const struct sab_tensor *tensors)
{
    call->q = tensors[SAB_T_sage_fwd_q_int8].data;
    call->k = tensors[SAB_T_sage_fwd_k_int8].data;
    call->v = tensors[SAB_T_sage_fwd_v_fp8].data;
    call->q_scale = tensors[SAB_T_sage_fwd_q_scale].data;
    call->k_scale = tensors[SAB_T_sage_fwd_k_scale].data;
    call->v_scale = tensors[SAB_T_sage_fwd_v_scale].data;
    call->block_index = tensors[SAB_T_sage_fwd_q2k_block_index].data;
    call->out = tensors[SAB_T_sage_fwd_out].data;
    if (tensors[SAB_T_sage_fwd_q2k_block_nums].dtype != SAB_NONE)
        call->block_nums = tensors[SAB_T_sage_fwd_q2k_block_nums].data;
    if (tensors[SAB_T_sage_fwd_block_sizes].dtype != SAB_NONE)
        call->block_sizes = tensors[SAB_T_sage_fwd_block_sizes].data;
}

int sage_call_init(struct sage_call *call, const struct sab_problem *problem, unsigned flags,
                   struct sab_message *msg)
{
    const double log2_e = 1.4426950408889634;
    int status = sab_validate(sab_op_find("sage_fwd"), problem, SAB_DEVICE_CUDA, flags, msg);

    if (status != SAB_OK)
        return status;
    memset(call, 0, sizeof(*call));
    const struct sab_tensor *q = &problem->tensors[SAB_T_sage_fwd_q_int8];
    call->batch = q->shape[0];
    call->heads = q->shape[1];
    call->seqlen_q = q->shape[2];
    call->seqlen_k = problem->tensors[SAB_T_sage_fwd_k_int8].shape[2];
    call->cap = problem->tensors[SAB_T_sage_fwd_q2k_block_index].shape[3];
    call->query_tiles = (call->seqlen_q - 1) / SAGE_BLOCK + 1;
    call->key_blocks = (call->seqlen_k - 1) / SAGE_BLOCK + 1;
    call->block_sparse_num = problem->params[SAB_P_sage_fwd_block_sparse_num].i;
    call->scale_log2 = (float)(problem->params[SAB_P_sage_fwd_softmax_scale].f * log2_e);
    take_pointers(call, problem->tensors);
    derive_key(call, problem);
    return SAB_OK;
}

int sage_call_check_arch(const struct sab_problem *problem, struct sab_message *msg)
{
    static const int archs[] = {90, 100, 120};

    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        if (problem->arch == archs[i])
            return SAB_OK;
    }
    return sab_say(
        msg, SAB_UNSUPPORTED,
        "device: this kernel exists for compute capability 9.0, 10.0 and 12.0, the device "
        "has %d.%d",
        problem->arch / 10, problem->arch % 10);
}
