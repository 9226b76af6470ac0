/*
 * mma_host.h - the host side that kernels of sage_fwd share: one block of threads for a query tile,
 * arguments and tensor maps of mma_args.h, a kernel for each key of mma_keys.h.
 */
#ifndef SAGE_MMA_HOST_H
#define SAGE_MMA_HOST_H

#include "mma_keys.h"

/* What tells one such kernel from another. Lives as long as the library. */
struct sage_mma_form {
    const char *name;                             /* for messages */
    const struct sage_mma_variant *const *tables; /* SAGE_MMA_SIZES_NR of SAGE_MMA_COUNTS_NR */
    unsigned threads;                             /* of a block */
    int shared_bytes;                             /* dynamic */
    /* SAB_UNSUPPORTED with the reason on a device that the kernel is not built for */
    int (*check_arch)(const struct sab_problem *problem, struct sab_message *msg);
};

/* The hooks of struct sab_kernel, of kernels with sage_descriptor_options. */
int sage_mma_form_supports(const struct sage_mma_form *form, const struct sab_problem *problem,
                           struct sab_message *msg);
int sage_mma_form_plan(const struct sage_mma_form *form, const struct sab_problem *problem,
                       const struct sab_buffer *workspace, void **plan, struct sab_message *msg);
int sage_mma_form_launch(void *plan, void *stream, struct sab_message *msg);
void sage_mma_form_free(void *plan);

#endif
