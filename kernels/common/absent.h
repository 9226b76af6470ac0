/*
 * absent.h - the row of a CUDA kernel in a library that was built without CUDA: it answers that.
 */
#ifndef SAB_COMMON_ABSENT_H
#define SAB_COMMON_ABSENT_H

#include "row.h"
#include "sab.h"

int sab_absent_supports(const struct sab_problem *problem, struct sab_message *msg);
int sab_absent_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg);
int sab_absent_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg);
int sab_absent_launch(void *plan, void *stream, struct sab_message *msg);
void sab_absent_free(void *plan);

/* clang-format off */
#define SAB_ABSENT_ROW(operator_, name_) SAB_ABSENT_ROW_OPTIONS(operator_, name_, NULL, 0)
/* Its options stay known too. */
#define SAB_ABSENT_ROW_OPTIONS(operator_, name_, options_, options_nr_)                           \
    {                                                                                              \
        SAB_ROW(operator_), .name = name_, .help = "not in this library: built without CUDA",     \
        .device = SAB_DEVICE_CUDA, .targets = "", .options = options_,                             \
        .options_nr = options_nr_, .supports = sab_absent_supports,                 \
        .workspace_size = sab_absent_workspace_size, .plan = sab_absent_plan,                      \
        .launch = sab_absent_launch, .free = sab_absent_free,                                      \
    }
/* clang-format on */

#endif
