/*
 * vector_rows.c - the rows of the kernels that measure the machine.
 */
#include "ceiling.h"
#include "row.h"

static int needs_no_workspace(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    (void)problem;
    (void)msg;
    *bytes = 0;
    return SAB_OK;
}

/* clang-format off */
#define CEILING_ROW(row_name, hooks, operator_, name_, help_, options_, options_nr_)               \
    extern const struct sab_kernel row_name;                                                       \
    const struct sab_kernel row_name = {                                                           \
        SAB_ROW(operator_), .name = name_, .help = help_, .device = SAB_DEVICE_CUDA,               \
        .targets = CEILING_TARGETS, .options = options_, .options_nr = options_nr_,                \
        .flags = SAB_KERNEL_DETERMINISTIC, .supports = ceiling_##hooks##_supports,                 \
        .workspace_size = needs_no_workspace, .plan = ceiling_##hooks##_plan,                      \
        .launch = ceiling_##hooks##_launch, .free = ceiling_##hooks##_free,                        \
    }
/* clang-format on */

/* sab_library() lists them */
CEILING_ROW(read_vector_row, read, read, "vector", "16 bytes a load, eight of a thread in flight",
            NULL, 0);
CEILING_ROW(gather_vector_row, gather, gather, "vector", "cp.async, 48 KiB of a block in flight",
            NULL, 0);
CEILING_ROW(gather_bulk_row, bulk, gather, "bulk", "bulk copies, a ring of 64 KiB a warp", NULL, 0);
CEILING_ROW(reduce_vector_row, reduce, reduce, "vector", "fp32 reductions, rows by blocks",
            ceiling_form_options, CEILING_FORM_OPTIONS_NR);
CEILING_ROW(gather_reduce_vector_row, gather_reduce, gather_reduce, "vector",
            "cp.async, and red.v4 to the rows that came", NULL, 0);
CEILING_ROW(exp2_vector_row, exp2, exp2, "vector", "ex2.approx beside two additions", NULL, 0);
CEILING_ROW(mma_peak_mma_row, mma, mma_peak, "mma", "mma.sync, 32 products of distinct registers",
            NULL, 0);
CEILING_ROW(mma_peak_wgmma_row, wgmma, mma_peak, "wgmma",
            "wgmma m64n128, both operands in shared memory", NULL, 0);
