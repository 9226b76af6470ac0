/*
 * library_check.h - private to the loader: the two halves of the judgement, and the copies.
 */
#ifndef BENCH_DEVICE_LIBRARY_CHECK_H
#define BENCH_DEVICE_LIBRARY_CHECK_H

#include "library.h"

/* Reads the file as ELF: machine, needed libraries, exported and process-unique symbols. */
int library_check_elf(const char *path, struct err *err);
/* Holds the table against this program's sab.h, and fills lib->kernels and lib->notes. */
int library_check_table(struct library *lib, struct err *err);
/* Copies `path` into a new folder below `dir`; *copy is the caller's, also after a failure. */
int library_make_copy(char **copy, const char *path, const char *dir, struct err *err);
/* Removes the copy and its folder; NULL is fine. */
void library_remove_copy(const char *copy);

#endif
