#include "reference.h"
#include "row.h"

static int needs_no_workspace(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    (void)problem;
    (void)msg;
    *bytes = 0;
    return SAB_OK;
}

/* sab_library() lists it */
extern const struct sab_kernel indexer_fwd_reference_row;
const struct sab_kernel indexer_fwd_reference_row = {
    SAB_ROW(indexer_fwd),
    .name = "reference",
    .help = "by the definition: a block a row, sums of doubles",
    .device = SAB_DEVICE_CUDA,
    .targets = INDEXER_FWD_REFERENCE_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC | SAB_KERNEL_REFERENCE,
    .supports = indexer_fwd_reference_supports,
    .workspace_size = needs_no_workspace,
    .plan = indexer_fwd_reference_plan,
    .launch = indexer_fwd_reference_launch,
    .free = indexer_fwd_reference_free,
};
