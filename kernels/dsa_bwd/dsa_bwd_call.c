#include "dsa_bwd_call.h"

#include <string.h>

static void take_pointers(struct dsa_bwd_call *call, const struct sab_tensor *tensors)
{
    call->q = tensors[SAB_T_dsa_bwd_q].data;
    call->kv = tensors[SAB_T_dsa_bwd_kv].data;
    call->out = tensors[SAB_T_dsa_bwd_out].data;
    call->dout = tensors[SAB_T_dsa_bwd_dout].data;
    call->lse = tensors[SAB_T_dsa_bwd_lse].data;
    call->sink = tensors[SAB_T_dsa_bwd_attn_sink].data;
    call->topk_idxs = tensors[SAB_T_dsa_bwd_topk_idxs].data;
    if (tensors[SAB_T_dsa_bwd_topk_length].dtype != SAB_NONE)
        call->topk_length = tensors[SAB_T_dsa_bwd_topk_length].data;
    call->dq = tensors[SAB_T_dsa_bwd_dq].data;
    call->dkv = tensors[SAB_T_dsa_bwd_dkv].data;
    call->d_sink = tensors[SAB_T_dsa_bwd_d_sink].data;
}

int dsa_bwd_call_init(struct dsa_bwd_call *call, const struct sab_problem *problem, unsigned flags,
                      struct sab_message *msg)
{
    int status = sab_validate(sab_op_find("dsa_bwd"), problem, SAB_DEVICE_CUDA, flags, msg);

    if (status != SAB_OK)
        return status;
    memset(call, 0, sizeof(*call));
    const struct sab_tensor *q = &problem->tensors[SAB_T_dsa_bwd_q];
    call->queries = q->shape[0];
    call->heads = q->shape[1];
    call->width = q->shape[2];
    call->keys = problem->tensors[SAB_T_dsa_bwd_kv].shape[0];
    call->slots = problem->tensors[SAB_T_dsa_bwd_topk_idxs].shape[1];
    call->scale = (float)problem->params[SAB_P_dsa_bwd_softmax_scale].f;
    call->fp16 = q->dtype == SAB_FP16;
    call->deterministic = problem->params[SAB_P_dsa_bwd_deterministic].i != 0;
    take_pointers(call, problem->tensors);
    return SAB_OK;
}

int dsa_bwd_call_check_arch(const struct sab_problem *problem, struct sab_message *msg)
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

float dsa_bwd_gain(const struct dsa_bwd_call *call)
{
    const float most = 4096.0f, gain = 1.0f / call->scale;

    return gain < 1.0f ? 1.0f : gain > most ? most : gain;
}

struct limit {
    const char *what;
    int64_t value, most;
};

int dsa_bwd_call_check_limits(const struct dsa_bwd_call *call, int64_t block_heads,
                              int64_t tile_keys, struct sab_message *msg)
{
    /* find_last() steps by a block of threads, the walk by a tile */
    const int64_t most = INT32_MAX - (tile_keys < 512 ? 512 : tile_keys);
    const int64_t head_blocks = (call->heads - 1) / block_heads + 1;
    const struct limit limits[] = {
        {"heads", call->heads, most},
        {"slots of a row of topk_idxs", call->slots, most},
        {"rows of q", call->queries, most / head_blocks},
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (limits[i].value > limits[i].most)
            return sab_say(msg, SAB_UNSUPPORTED, "%s: at most %lld are served, given %lld",
                           limits[i].what, (long long)limits[i].most, (long long)limits[i].value);
    }
    return SAB_OK;
}

static uint64_t round_up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

uint64_t dsa_bwd_stats_bytes(const struct dsa_bwd_call *call)
{
    return round_up((uint64_t)call->heads * round_up((uint64_t)call->queries, 8) * 8, 128);
}

uint64_t dsa_bwd_accumulator_bytes(const struct dsa_bwd_call *call, uint64_t shards)
{
    return round_up(
        shards * round_up((uint64_t)call->keys, 8) * round_up((uint64_t)call->width, 8) * 4, 128);
}

struct dsa_bwd_fixed_layout dsa_bwd_fixed_layout(const struct dsa_bwd_call *call)
{
    struct dsa_bwd_fixed_layout at;

    at.counts =
        round_up(round_up((uint64_t)call->keys, 8) * round_up((uint64_t)call->width, 8) * 8, 128);
    at.facts = at.counts + round_up((uint64_t)call->keys * 4, 128);
    at.bytes = at.facts + 128;
    return at;
}
