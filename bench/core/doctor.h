/*
 * doctor.h - what on this machine would spoil a run. Each finding says what it does to the numbers
 * and what to do; nothing is changed.
 */
#ifndef BENCH_CORE_DOCTOR_H
#define BENCH_CORE_DOCTOR_H

#include <stddef.h>

#include "device.h"
#include "err.h"

enum finding_severity {
    FINDING_NOTE = 0, /* good to know */
    FINDING_WARN,     /* numbers get noisier or slower */
    FINDING_BAD,      /* numbers are not to be had, or would mislead */
};

struct finding {
    enum finding_severity severity;
    char code[32];
    char what[256];   /* what was found, with the value */
    char effect[256]; /* what it does to the numbers */
    char remedy[256]; /* what to do */
};

/* A zeroed struct is an empty list. */
struct finding_list {
    struct finding *items;
    size_t nr, alloc;
};

void finding_list_init(struct finding_list *list);
void finding_list_release(struct finding_list *list);
const char *finding_severity_name(enum finding_severity severity); /* "note", "warn", "bad" */
/* The worst severity in the list, FINDING_NOTE for an empty one. */
enum finding_severity finding_worst(const struct finding_list *list);

/* Where to look; tests point these at a folder of their own. */
struct doctor_paths {
    const char *sys;     /* "/sys" */
    const char *proc;    /* "/proc" */
    const char *results; /* folder that runs are written to, for its free space */
};

/*
 * Appends what it finds about host, build, tools, drivers, the folder for results (NULL: the
 * default one) and, where `info` is not NULL, the opened device. ERR_MEMORY only: what cannot be
 * read is no finding, or a note where that matters.
 */
int doctor_run(const struct device_info *info, const char *results, struct finding_list *list,
               struct err *err);
int doctor_run_at(const struct doctor_paths *paths, const struct device_info *info,
                  struct finding_list *list, struct err *err);
/* The opened device alone: settings, present clocks, throttling, and who else is on it. */
int doctor_device(const struct device_info *info, struct finding_list *list, struct err *err);
/* A device that could not be opened, by what device_open() said. */
int doctor_refused(const struct err *refused, struct finding_list *list, struct err *err);
/* Appends a finding. */
int doctor_add(struct finding_list *list, struct err *err, enum finding_severity severity,
               const char *code, const char *what, const char *effect, const char *remedy);

#endif
