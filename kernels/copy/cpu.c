/*
 * cpu.c - copy/cpu: threads copy pieces of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "row.h"

struct copy_plan {
    const uint8_t *from;
    uint8_t *to;
    int64_t bytes;
    int threads;
};

#define PIECE INT64_C(262144)

static int supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return sab_validate(sab_op_find("copy"), problem, SAB_DEVICE_CPU, SAB_VALIDATE_METADATA, msg);
}

static int workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                          struct sab_message *msg)
{
    (void)problem;
    (void)msg;
    *bytes = 0;
    return SAB_OK;
}

static int make_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                     void **plan, struct sab_message *msg)
{
    int status =
        sab_validate(sab_op_find("copy"), problem, SAB_DEVICE_CPU, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    struct copy_plan *p = malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->from = problem->tensors[SAB_T_copy_src].data;
    p->to = problem->tensors[SAB_T_copy_dst].data;
    p->bytes = problem->tensors[SAB_T_copy_src].shape[0];
    p->threads = problem->threads;
    *plan = p;
    return SAB_OK;
}

static int launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct copy_plan *p = plan;
    const int64_t pieces = (p->bytes - 1) / PIECE + 1;

    (void)stream;
    (void)msg;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t at = i * PIECE, left = p->bytes - at;

        memcpy(p->to + at, p->from + at, (size_t)(left < PIECE ? left : PIECE));
    }
    return SAB_OK;
}

static void release(void *plan)
{
    free(plan);
}

/* sab_library() lists it */
extern const struct sab_kernel copy_cpu_row;
const struct sab_kernel copy_cpu_row = {
    SAB_ROW(copy),
    .name = "cpu",
    .help = "memcpy by pieces, threads",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = supports,
    .workspace_size = workspace_size,
    .plan = make_plan,
    .launch = launch,
    .free = release,
};
