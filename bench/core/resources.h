/*
 * resources.h - registers, spills and shared memory of a kernel, from the file that its build
 * wrote.
 */
#ifndef BENCH_CORE_RESOURCES_H
#define BENCH_CORE_RESOURCES_H

#include "library.h"
#include "rows.h"

/*
 * The file has one line a device function and architecture, of fields KEY=VALUE between blanks:
 *     arch=90a registers=N stack=N spill=N shared=N constant=N sha256=HEX name=MANGLED
 * in bytes, but for registers (kernels/cmake/cubin_usage.c); `#` begins a comment.
 *
 * A function belongs to kernel OP/NAME where its identifier, namespaces included, has the words of
 * NAME and of OP among its own, split at everything that is neither letter nor digit:
 * `sage_fwd_mma_kernel`, `sage_fwd::mma`. Where no function has all words of OP its first word is
 * enough (`sage::mma_kernel<...>`), and where that finds nothing either, that word among its
 * arguments (`reference_kernel(sage_call)`).
 */

/* Fills registers, spill_bytes, shared_bytes and local_bytes of a row from `<library>.resources`:
 * the largest of the kernel's functions for the architecture (10*major + minor). Leaves them empty
 * where nothing is known. local_bytes is the stack a thread; spill_bytes is at most that, since
 * machine code does not tell a spill from a local array. */
int resources_fill(const struct library *lib, const struct sab_kernel *kernel, int arch,
                   struct case_row *row, struct err *err);

#endif
