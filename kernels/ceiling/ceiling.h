/*
 * ceiling.h - the hooks of the kernels that measure the machine; their rows stand in vector_rows.c.
 */
#ifndef CEILING_H
#define CEILING_H

#include "form_call.h"
#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CEILING_TARGETS "90a;100a;120a"

#define CEILING_HOOKS(name)                                                                        \
    int ceiling_##name##_supports(const struct sab_problem *problem, struct sab_message *msg);     \
    int ceiling_##name##_plan(const struct sab_problem *problem,                                   \
                              const struct sab_buffer *workspace, void **plan,                     \
                              struct sab_message *msg);                                            \
    int ceiling_##name##_launch(void *plan, void *stream, struct sab_message *msg);                \
    void ceiling_##name##_free(void *plan);

CEILING_HOOKS(read)
CEILING_HOOKS(gather)        /* cp.async */
CEILING_HOOKS(bulk)          /* gather by bulk copies */
CEILING_HOOKS(reduce)        /* option `form` */
CEILING_HOOKS(gather_reduce) /* cp.async and red.v4 */
CEILING_HOOKS(exp2)
CEILING_HOOKS(mma)
CEILING_HOOKS(wgmma)

#ifdef __cplusplus
}
#endif
#endif
