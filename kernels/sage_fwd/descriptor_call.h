/*
 * descriptor_call.h - the option `descriptor` of kernels that load by TMA: how a launch comes by
 * its tensor maps, and what workspace it needs for that (contracts/sage.md section 7.2).
 */
#ifndef SAGE_DESCRIPTOR_CALL_H
#define SAGE_DESCRIPTOR_CALL_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The places in the option's list of choices. */
enum sage_descriptor {
    SAGE_DESCRIPTOR_BY_VALUE = 0,
    SAGE_DESCRIPTOR_UPLOAD,
    SAGE_DESCRIPTOR_CACHED,
    SAGE_DESCRIPTOR_NR
};

#define SAGE_DESCRIPTOR_OPTIONS_NR 1 /* `descriptor` is a kernel's first and only option */

enum {
    SAGE_DESCRIPTOR_BYTES = 512, /* four maps of 128 */
    SAGE_DESCRIPTOR_ALIGNMENT = 128,
};

extern const struct sab_option sage_descriptor_options[SAGE_DESCRIPTOR_OPTIONS_NR];

/* The hook of struct sab_kernel: 0 bytes by value, else SAGE_DESCRIPTOR_BYTES. */
int sage_descriptor_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                   struct sab_message *msg);

/* The choice of a problem; the default where it names none. SAB_INVALID for a place that the list
 * has not. */
int sage_descriptor_read(const struct sab_problem *problem, enum sage_descriptor *descriptor,
                         struct sab_message *msg);

/* The same in plan(): also holds the workspace against what the choice needs. */
int sage_descriptor_check(const struct sab_problem *problem, const struct sab_buffer *workspace,
                          enum sage_descriptor *descriptor, struct sab_message *msg);

#ifdef __cplusplus
}
#endif
#endif
