/*
 * branch_disk.h - the build cache on a disk that may be full.
 */
#ifndef BENCH_CORE_BRANCH_DISK_H
#define BENCH_CORE_BRANCH_DISK_H

#include "err.h"

/* ERR_ENVIRONMENT ("disk full") if that is why a tool failed: it says so in `said` (what it
 * printed, in the C locale), or nothing is left at `dir`, where it wrote. 0 for another cause. */
int branch_disk_check(const char *dir, const char *said, const char *name, struct err *err);
/* Removes a folder and all in it, following no links. What cannot be removed stays. */
void branch_disk_remove(const char *path);

#endif
