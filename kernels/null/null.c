/*
 * null.c - a library whose kernels do nothing: null/cpu, and null/cuda where it was built with
 * CUDA. It measures the harness, drives tests on machines without a GPU, and shows what a library
 * of one's own needs: hooks, rows, a table, one exported function.
 */
#include "row.h"
#include "sab.h"
#include "sab_build.h"
#include "schema.h"

#ifdef SAB_HAVE_CUDA
#    include "null_cuda.h"
#endif

static int cpu_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return sab_validate(sab_op_find("null"), problem, SAB_DEVICE_CPU, SAB_VALIDATE_METADATA, msg);
}

static int no_workspace(const struct sab_problem *problem, uint64_t *bytes, struct sab_message *msg)
{
    (void)problem;
    (void)msg;
    *bytes = 0;
    return SAB_OK;
}

static int cpu_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg)
{
    (void)workspace;
    *plan = NULL;
    return sab_validate(sab_op_find("null"), problem, SAB_DEVICE_CPU, SAB_VALIDATE_POINTERS, msg);
}

static int cpu_launch(void *plan, void *stream, struct sab_message *msg)
{
    (void)plan;
    (void)stream;
    (void)msg;
    return SAB_OK;
}

static void no_plan(void *plan)
{
    (void)plan;
}

static const struct sab_kernel cpu_row = {
    SAB_ROW(null),
    .name = "cpu",
    .help = "returns at once",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = cpu_supports,
    .workspace_size = no_workspace,
    .plan = cpu_plan,
    .launch = cpu_launch,
    .free = no_plan,
};

#ifdef SAB_HAVE_CUDA
static int cuda_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    int status =
        sab_validate(sab_op_find("null"), problem, SAB_DEVICE_CUDA, SAB_VALIDATE_METADATA, msg);

    if (status != SAB_OK)
        return status;
    if (!sab_target_served(SAB_BUILD_TARGETS, problem->arch))
        return sab_say(msg, SAB_UNSUPPORTED, "compute capability %d.%d is not served, built for %s",
                       problem->arch / 10, problem->arch % 10, SAB_BUILD_TARGETS);
    return SAB_OK;
}

static const struct sab_kernel cuda_row = {
    SAB_ROW(null),
    .name = "cuda",
    .help = "launches one empty kernel",
    .device = SAB_DEVICE_CUDA,
    .targets = SAB_BUILD_TARGETS,
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = cuda_supports,
    .workspace_size = no_workspace,
    .plan = null_cuda_plan,
    .launch = null_cuda_launch,
    .free = no_plan,
};
#endif

static const struct sab_kernel *const rows[] = {
    &cpu_row,
#ifdef SAB_HAVE_CUDA
    &cuda_row,
#endif
};

static const struct sab_library library = {
    SAB_LIBRARY_SIZES,
    .kernels_nr = sizeof(rows) / sizeof(rows[0]),
    .name = "sab_null",
    .describe = SAB_BUILD_DESCRIBE,
    .toolkit = SAB_BUILD_TOOLKIT,
    .targets = SAB_BUILD_TARGETS,
    .kernels = rows,
};

const struct sab_library *sab_library(uint32_t abi_version)
{
    (void)abi_version;
    return &library;
}
