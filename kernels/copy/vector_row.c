#include "row.h"
#include "vector.h"

static int needs_no_workspace(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    (void)problem;
    (void)msg;
    *bytes = 0;
    return SAB_OK;
}

/* sab_library() lists it */
extern const struct sab_kernel copy_vector_row;
const struct sab_kernel copy_vector_row = {
    SAB_ROW(copy),
    .name = "vector",
    .help = "16 bytes a load, eight loads of a thread in flight",
    .device = SAB_DEVICE_CUDA,
    .targets = "90a;100a;120a",
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = copy_vector_supports,
    .workspace_size = needs_no_workspace,
    .plan = copy_vector_plan,
    .launch = copy_vector_launch,
    .free = copy_vector_free,
};
