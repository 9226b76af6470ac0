#include "vector.h"
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
extern const struct sab_kernel indexer_topk_vector_row;
const struct sab_kernel indexer_topk_vector_row = {
    SAB_ROW(indexer_topk),
    .name = "vector",
    .help = "one launch, every logit read once; radix selection on the chip, clusters for few rows",
    .device = SAB_DEVICE_CUDA,
    .targets = INDEXER_TOPK_VECTOR_TARGETS,
    .supports = indexer_topk_vector_supports,
    .workspace_size = needs_no_workspace,
    .plan = indexer_topk_vector_plan,
    .launch = indexer_topk_vector_launch,
    .free = indexer_topk_vector_free,
};
