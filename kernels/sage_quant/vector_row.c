#include "row.h"
#include "vector.h"

/* sab_library() lists them */
extern const struct sab_kernel sage_quant_q_vector_row, sage_quant_kv_vector_row;

const struct sab_kernel sage_quant_q_vector_row = {
    SAB_ROW(sage_quant_q),
    .name = "vector",
    .help = "one launch, queries kept in registers between maximum and quotient",
    .device = SAB_DEVICE_CUDA,
    .targets = QUANT_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = quant_q_cuda_supports,
    .workspace_size = quant_q_workspace_size,
    .plan = quant_q_vector_plan,
    .launch = quant_q_vector_launch,
    .free = quant_vector_free,
};

const struct sab_kernel sage_quant_kv_vector_row = {
    SAB_ROW(sage_quant_kv),
    .name = "vector",
    .help = "one launch: quotients follow the statistics of their head while it is in the L2",
    .device = SAB_DEVICE_CUDA,
    .targets = QUANT_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = quant_kv_cuda_supports,
    .workspace_size = quant_kv_cuda_workspace_size,
    .plan = quant_kv_vector_plan,
    .launch = quant_kv_vector_launch,
    .free = quant_vector_free,
};
