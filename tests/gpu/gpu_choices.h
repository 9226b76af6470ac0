/*
 * gpu_choices.h - the choices of a kernel's options, for tests that run all of them.
 */
#ifndef TESTS_GPU_GPU_CHOICES_H
#define TESTS_GPU_GPU_CHOICES_H

#include <stdio.h>

#include "library.h"

static inline uint32_t rig_choice_flags(const struct sab_kernel *row, const uint32_t *choices)
{
    uint32_t flags = 0;

    for (uint32_t i = 0; i < row->options_nr; i++)
        flags |= row->options[i].choices[choices[i]].flags;
    return flags;
}

/* From the defaults (`choices` as library_default_choices() left them) to every other choice of one
 * option at a time. `step` counts from 0; false behind the last. */
static inline bool rig_choose(const struct sab_kernel *row, uint32_t step, uint32_t *choices)
{
    library_default_choices(row, choices);
    if (step == 0)
        return true;
    step--;
    for (uint32_t i = 0; i < row->options_nr; i++)
        for (uint32_t c = 0; c < row->options[i].choices_nr; c++)
            if (c != choices[i] && step-- == 0) {
                choices[i] = c;
                return true;
            }
    return false;
}

/* "sage_fwd/mma", and behind it what is not the default: "sage_fwd/mma.upload". */
static inline const char *rig_arm_name(const struct sab_kernel *row, const uint32_t *choices,
                                       char *buf, size_t size)
{
    int at = snprintf(buf, size, "%s/%s", row->op, row->name);

    for (uint32_t i = 0; choices && i < row->options_nr; i++) {
        const struct sab_choice *c = &row->options[i].choices[choices[i]];

        if (!(c->flags & SAB_CHOICE_DEFAULT) && at > 0 && (size_t)at < size)
            at += snprintf(buf + at, size - (size_t)at, ".%s", c->name);
    }
    return buf;
}

#endif
