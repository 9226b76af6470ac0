#include "reference.h"
#include "row.h"

/* sab_library() lists them */
extern const struct sab_kernel sage_quant_q_reference_row, sage_quant_kv_reference_row;

const struct sab_kernel sage_quant_q_reference_row = {
    SAB_ROW(sage_quant_q),
    .name = "reference",
    .help = "one thread a channel, divisions as they stand in the contract",
    .device = SAB_DEVICE_CUDA,
    .targets = QUANT_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC | SAB_KERNEL_REFERENCE,
    .supports = quant_q_cuda_supports,
    .workspace_size = quant_q_workspace_size,
    .plan = quant_q_reference_plan,
    .launch = quant_q_reference_launch,
    .free = quant_reference_free,
};

const struct sab_kernel sage_quant_kv_reference_row = {
    SAB_ROW(sage_quant_kv),
    .name = "reference",
    .help = "one thread a channel, the three launches of the contract",
    .device = SAB_DEVICE_CUDA,
    .targets = QUANT_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC | SAB_KERNEL_REFERENCE,
    .supports = quant_kv_cuda_supports,
    .workspace_size = quant_kv_cuda_workspace_size,
    .plan = quant_kv_reference_plan,
    .launch = quant_kv_reference_launch,
    .free = quant_reference_free,
};
