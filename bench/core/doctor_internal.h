/*
 * doctor_internal.h - the parts of doctor.h.
 */
#ifndef BENCH_CORE_DOCTOR_INTERNAL_H
#define BENCH_CORE_DOCTOR_INTERNAL_H

#include "doctor.h"

/* doctor_host.c: processor, memory, load, disk. */
int doctor_host(const struct doctor_paths *paths, struct finding_list *list, struct err *err);
/* doctor_tools.c: drivers, libraries and programs that are found at run time. */
int doctor_tools(const struct doctor_paths *paths, const struct device_info *info,
                 struct finding_list *list, struct err *err);

#endif
