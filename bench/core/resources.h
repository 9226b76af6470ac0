/*
 * resources.h - registers, spills and shared memory of a kernel, from the file that its build
 * wrote.
 */
#ifndef BENCH_CORE_RESOURCES_H
#define BENCH_CORE_RESOURCES_H

#include "library.h"
#include "rows.h"

/* Fills registers, spill_bytes, shared_bytes and local_bytes of a row from `<library>.resources`:
 * the largest of the kernel's functions for the architecture. Leaves them empty where nothing is
 * known. */
void resources_fill(const struct library *lib, const struct sab_kernel *kernel, int arch,
                    struct case_row *row);

#endif
