/*
 * cpu_read.c - read/cpu: threads add up parts of their own.
 */
#include <stdlib.h>

#include "row.h"

#define PART_WORDS INT64_C(8192)

struct read_plan {
    const uint32_t *src;
    int32_t *sums;
    int64_t words;
    int threads;
};

static int supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return sab_validate(sab_op_find("read"), problem, SAB_DEVICE_CPU, SAB_VALIDATE_METADATA, msg);
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
        sab_validate(sab_op_find("read"), problem, SAB_DEVICE_CPU, SAB_VALIDATE_POINTERS, msg);

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    struct read_plan *p = malloc(sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->src = problem->tensors[SAB_T_read_src].data;
    p->sums = problem->tensors[SAB_T_read_sums].data;
    p->words = problem->tensors[SAB_T_read_src].shape[0];
    p->threads = problem->threads;
    *plan = p;
    return SAB_OK;
}

static int launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct read_plan *p = plan;
    const int64_t parts = (p->words - 1) / PART_WORDS + 1;

    (void)stream;
    (void)msg;
#if defined(_OPENMP)
#    pragma omp parallel for schedule(static) num_threads(p->threads)
#endif
    for (int64_t part = 0; part < parts; part++) {
        const int64_t at = part * PART_WORDS, left = p->words - at;
        const int64_t n = left < PART_WORDS ? left : PART_WORDS;
        uint32_t sum = 0;

        for (int64_t i = 0; i < n; i++)
            sum += p->src[at + i];
        p->sums[part] = (int32_t)sum;
    }
    return SAB_OK;
}

static void release(void *plan)
{
    free(plan);
}

/* sab_library() lists it */
extern const struct sab_kernel read_cpu_row;
const struct sab_kernel read_cpu_row = {
    SAB_ROW(read),
    .name = "cpu",
    .help = "sums by parts, threads",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = supports,
    .workspace_size = workspace_size,
    .plan = make_plan,
    .launch = launch,
    .free = release,
};
