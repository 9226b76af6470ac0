/*
 * activity.h - what a GPU did in a round: activities, whose launch they belong to, and totals.
 *
 * A log takes activities and links from the timer's records in any order; activity_log_close()
 * joins them by correlation number and adds them up by id. No CUDA here. Selection is by id alone,
 * names are for display and for the hash of an activity set.
 */
#ifndef BENCH_DEVICE_ACTIVITY_H
#define BENCH_DEVICE_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum activity_kind { ACTIVITY_KERNEL = 0, ACTIVITY_COPY, ACTIVITY_FILL };

struct activity {
    uint64_t start_ns, end_ns; /* the timer's own time line; both 0: no stamps were taken */
    uint32_t correlation;
    enum activity_kind kind;
    const char *name; /* lives as long as the timer */
    uint64_t id;      /* set by activity_log_close(); ACTIVITY_NO_ID where no link names one */
};

#define ACTIVITY_NO_ID UINT64_MAX

/* Activities with this correlation number were caused under this id. */
struct activity_link {
    uint32_t correlation;
    uint64_t id;
};

struct activity_total {
    uint64_t id;
    uint64_t start_ns, end_ns; /* of the first and the last */
    uint64_t busy_ns;
    uint64_t set; /* hash of the multiset of (kind, name) */
    int nr;
    int unstamped; /* activities without stamps: the round is void */
};

struct activity_log {
    struct activity *item;
    size_t nr, alloc;
    struct activity_link *link;
    size_t links_nr, links_alloc;
    struct activity_total *total; /* by ascending id */
    size_t totals_nr;
    bool oom; /* something could not be kept: sticky until clear */
};

void activity_log_init(struct activity_log *log);
void activity_log_release(struct activity_log *log);
void activity_log_clear(struct activity_log *log); /* empties, keeps the memory */
void activity_log_add(struct activity_log *log, const struct activity *a);
void activity_log_link(struct activity_log *log, uint32_t correlation, uint64_t id);
/* Joins and adds up; may be called again after more was added. Sorts the items by (id, start). */
int activity_log_close(struct activity_log *log, struct err *err);
/* NULL where nothing ran under that id. */
const struct activity_total *activity_log_find(const struct activity_log *log, uint64_t id);
/*
 * Step of the stamps: the largest step that every duration is a multiple of, give or take 1 ns.
 * Where there is none, the smallest difference between two durations. 0: too little to tell.
 */
uint64_t activity_log_tick_ns(const struct activity_log *log);

#endif
