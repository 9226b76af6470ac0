#include "quant_call.h"

#include <string.h>

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a - 1) / b + 1;
}

/* Strides of dimensions of size 1 say nothing. */
static void take_rows(struct quant_rows *rows, const struct sab_tensor *t)
{
    rows->data = t->data;
    rows->batch = t->shape[0] > 1 ? t->stride[0] : 0;
    rows->head = t->shape[1] > 1 ? t->stride[1] : 0;
    rows->row = t->shape[2] > 1 ? t->stride[2] : 0;
    rows->aligned = rows->batch % 8 == 0 && rows->head % 8 == 0 && rows->row % 8 == 0;
}

static int validate(const char *op, const struct sab_problem *problem, enum sab_device device,
                    unsigned flags, struct sab_message *msg)
{
    int status = sab_validate(sab_op_find(op), problem, device, flags, msg);

    if (status != SAB_OK)
        return status;
    if (device == SAB_DEVICE_CUDA && !sab_target_served(QUANT_TARGETS, problem->arch))
        return sab_say(msg, SAB_UNSUPPORTED,
                       "device: this kernel exists for compute capability 9.0, 10.0 and 12.0, the "
                       "device has %d.%d",
                       problem->arch / 10, problem->arch % 10);
    if (device == SAB_DEVICE_CPU && problem->threads < 1)
        return sab_say(msg, SAB_INVALID, "threads is %d, expected at least 1", problem->threads);
    return SAB_OK;
}

int quant_q_call_init(struct quant_q_call *call, const struct sab_problem *problem,
                      enum sab_device device, unsigned flags, struct sab_message *msg)
{
    const struct sab_tensor *t = problem->tensors;
    int status = validate("sage_quant_q", problem, device, flags, msg);

    memset(call, 0, sizeof(*call));
    if (status != SAB_OK)
        return status;
    take_rows(&call->q, &t[SAB_T_sage_quant_q_q]);
    call->q_int8 = t[SAB_T_sage_quant_q_q_int8].data;
    call->q_scale = t[SAB_T_sage_quant_q_q_scale].data;
    call->batch = t[SAB_T_sage_quant_q_q].shape[0];
    call->heads = t[SAB_T_sage_quant_q_q].shape[1];
    call->seqlen = t[SAB_T_sage_quant_q_q].shape[2];
    call->groups = 4 * ceil_div(call->seqlen, 128);
    return SAB_OK;
}

int quant_kv_call_init(struct quant_kv_call *call, const struct sab_problem *problem,
                       enum sab_device device, unsigned flags, struct sab_message *msg)
{
    const struct sab_tensor *t = problem->tensors;
    int status = validate("sage_quant_kv", problem, device, flags, msg);

    memset(call, 0, sizeof(*call));
    if (status != SAB_OK)
        return status;
    take_rows(&call->k, &t[SAB_T_sage_quant_kv_k]);
    take_rows(&call->v, &t[SAB_T_sage_quant_kv_v]);
    call->k_int8 = t[SAB_T_sage_quant_kv_k_int8].data;
    call->k_scale = t[SAB_T_sage_quant_kv_k_scale].data;
    call->v_fp8 = t[SAB_T_sage_quant_kv_v_fp8].data;
    call->v_scale = t[SAB_T_sage_quant_kv_v_scale].data;
    call->batch = t[SAB_T_sage_quant_kv_k].shape[0];
    call->heads = t[SAB_T_sage_quant_kv_k].shape[1];
    call->seqlen = t[SAB_T_sage_quant_kv_k].shape[2];
    call->blocks = ceil_div(call->seqlen, QUANT_BLOCK);
    call->chunks = ceil_div(call->seqlen, QUANT_CHUNK);
    return SAB_OK;
}

/* Floats of one of the two statistics. */
static uint64_t statistics(const struct quant_kv_call *call)
{
    return (uint64_t)(call->batch * call->heads) * (uint64_t)call->chunks * QUANT_DIM;
}

uint64_t quant_kv_workspace(const struct quant_kv_call *call)
{
    const uint64_t heads = (uint64_t)(call->batch * call->heads);

    return sizeof(float) * (2 * statistics(call) + 2 * heads * QUANT_DIM) +
           sizeof(uint32_t) * (2 * heads + 1);
}

int quant_kv_place(struct quant_kv_call *call, const struct sab_problem *problem,
                   const struct sab_buffer *workspace, enum sab_device device,
                   struct sab_message *msg)
{
    int status = sab_validate_workspace(sab_op_find("sage_quant_kv"), problem, workspace,
                                        quant_kv_workspace(call), 16, device, msg);

    if (status != SAB_OK)
        return status;
    call->sum = workspace->data;
    call->largest = call->sum + statistics(call);
    call->mean = call->largest + statistics(call);
    call->inverse = call->mean + call->batch * call->heads * QUANT_DIM;
    call->k_count = (uint32_t *)(call->inverse + call->batch * call->heads * QUANT_DIM);
    call->v_count = call->k_count + call->batch * call->heads;
    call->ticket = call->v_count + call->batch * call->heads;
    return SAB_OK;
}

int quant_q_cpu_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct quant_q_call call;

    return quant_q_call_init(&call, problem, SAB_DEVICE_CPU, SAB_VALIDATE_METADATA, msg);
}

int quant_q_cuda_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct quant_q_call call;

    return quant_q_call_init(&call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_METADATA, msg);
}

int quant_q_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                           struct sab_message *msg)
{
    (void)problem;
    (void)msg;
    *bytes = 0;
    return SAB_OK;
}

int quant_kv_cpu_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct quant_kv_call call;

    return quant_kv_call_init(&call, problem, SAB_DEVICE_CPU, SAB_VALIDATE_METADATA, msg);
}

int quant_kv_cuda_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct quant_kv_call call;

    return quant_kv_call_init(&call, problem, SAB_DEVICE_CUDA, SAB_VALIDATE_METADATA, msg);
}

static int workspace_size(const struct sab_problem *problem, enum sab_device device,
                          uint64_t *bytes, struct sab_message *msg)
{
    struct quant_kv_call call;
    int status = quant_kv_call_init(&call, problem, device, SAB_VALIDATE_METADATA, msg);

    *bytes = status == SAB_OK ? quant_kv_workspace(&call) : 0;
    return status;
}

int quant_kv_cpu_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                struct sab_message *msg)
{
    return workspace_size(problem, SAB_DEVICE_CPU, bytes, msg);
}

int quant_kv_cuda_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                 struct sab_message *msg)
{
    return workspace_size(problem, SAB_DEVICE_CUDA, bytes, msg);
}
