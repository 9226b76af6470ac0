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
extern const struct sab_kernel indexer_topk_reference_row;
const struct sab_kernel indexer_topk_reference_row = {
    SAB_ROW(indexer_topk),
    .name = "reference",
    .help = "a block a row, counts a byte at a time, ids ascending",
    .device = SAB_DEVICE_CUDA,
    .targets = INDEXER_TOPK_REFERENCE_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC | SAB_KERNEL_REFERENCE,
    .supports = indexer_topk_reference_supports,
    .workspace_size = needs_no_workspace,
    .plan = indexer_topk_reference_plan,
    .launch = indexer_topk_reference_launch,
    .free = indexer_topk_reference_free,
};
