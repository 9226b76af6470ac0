/*
 * measure_internal.h - what the files of measure share.
 */
#ifndef BENCH_CORE_MEASURE_INTERNAL_H
#define BENCH_CORE_MEASURE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "case_run.h"
#include "stats_order.h"

enum pace_pattern { PATTERN_NONE = 0, PATTERN_BURST, PATTERN_ALONE, PATTERN_SUSTAINED };

/* One launch of one arm, as planned. */
struct slot {
    int super_round, round, attempt, slot;
    int arm;        /* index into measure.racer */
    double idle_ns; /* pause that stood before it */
};

struct measure {
    struct case_run *run;
    struct arm_run *racer[CASE_RUN_MAX_ARMS];
    size_t nr;
    size_t base; /* index of the first baseline among the racers; SIZE_MAX without one */
    struct order order;
    size_t per_super;
    enum pace_pattern pattern;
    size_t burst_rounds; /* rounds that fit one burst */
    struct slot *queue;  /* rounds of the burst that is being gathered, nr slots each */
    size_t queued;       /* rounds */
    struct device_sample *got;
    double work_ns; /* device work since the last pause */
    double begin_ns, budget_ns;
    double scrub_ns; /* device time of one preparation and scrub, from the warm-up */
    int prev;        /* racer that ran last, -1 none */
    bool checking;   /* look at outputs after each sample */
};

/* measure_sample.c: enqueues one sample of an arm: preparation, scrub, probe, launch, probe. */
int measure_launch(struct measure *m, struct arm_run *arm, uint64_t id, struct err *err);
/* One sample as a row of run->samples. */
int measure_store(struct measure *m, const struct slot *s, const struct device_sample *d, int prev,
                  struct err *err);

/* measure_drop.c: marks whole rounds as dropped by the running clock and the throttle reasons. */
int measure_drop(struct measure *m, struct err *err);

#endif
