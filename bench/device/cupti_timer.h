/*
 * cupti_timer.h - the one owner of CUPTI: stamps of everything that the GPU does, by id.
 *
 * Only the activity API is used, found at run time. One per process: CUPTI's callbacks carry no
 * context of ours, and CUPTI itself takes one subscriber.
 *
 * Work enqueued by the calling thread between push and pop belongs to that id, whatever library
 * enqueues it through whichever copy of the runtime; a graph launch belongs to it as a whole.
 */
#ifndef BENCH_DEVICE_CUPTI_TIMER_H
#define BENCH_DEVICE_CUPTI_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "activity.h"
#include "err.h"

struct cupti_timer;

/* ERR_ENVIRONMENT: no CUPTI (naming what was tried), another subscriber, no permission. Call before
 * the context is made. */
int cupti_timer_open(struct cupti_timer **timer, struct err *err);
void cupti_timer_close(struct cupti_timer *timer); /* NULL is fine */
/* "13.0.1" style, from CUPTI's API version. */
void cupti_timer_version(const struct cupti_timer *timer, char *text, size_t size);

int cupti_timer_push(struct cupti_timer *timer, uint64_t id, struct err *err);
int cupti_timer_pop(struct cupti_timer *timer, struct err *err);

/* Forgets all records so far. */
int cupti_timer_clear(struct cupti_timer *timer, struct err *err);
/* Fetches the records of what has finished on the GPU (the caller has waited for it) and joins
 * them; `forced` fetches unfinished buffers too. ERR_ENVIRONMENT when records were dropped. */
int cupti_timer_collect(struct cupti_timer *timer, bool forced, struct err *err);
/* Records of the last collect; valid until the next clear. */
const struct activity_log *cupti_timer_log(const struct cupti_timer *timer);

/* What to add to a stamp to get device_now_ns()'s time line; good to about 1 us. */
int cupti_timer_offset_ns(struct cupti_timer *timer, double *offset_ns, struct err *err);

#endif
