/*
 * probe.h - the running clock from pairs of clock readings. No CUDA here.
 *
 * A probe is one small kernel before a launch and one after it. Each block reads its SM's cycle
 * counter and the GPU's global timer; readings are paired by SM. The clock is
 *
 *     sum over SMs of (cycles after - cycles before) / sum of (time after - time before).
 *
 * The global timer moves in steps (32 ns on an H200, 1 us on other chips). The blocks of one probe
 * start at moments spread over several steps, so that errors average out over SMs; one pair alone
 * is off by up to one step. A figure is given only where it can be honest: at least PROBE_PAIRS_MIN
 * SMs, a step of at most PROBE_STEP_MAX of the mean time between the probes, and a standard error
 * over SMs of at most PROBE_ERROR_MAX. So a launch of a microsecond gets a figure on an H200 (the
 * probes stand some 2 us apart even around an empty kernel) and NAN where the timer steps by 1 us.
 * Idle time between the probes and the launch is part of what is averaged.
 */
#ifndef BENCH_DEVICE_PROBE_H
#define BENCH_DEVICE_PROBE_H

#include <stddef.h>
#include <stdint.h>

#define PROBE_PAIRS_MIN 8
#define PROBE_STEP_MAX  0.02
#define PROBE_ERROR_MAX 0.005

/* What one block read. */
struct probe_reading {
    uint64_t clock;   /* cycles of its SM */
    uint64_t time_ns; /* global timer */
    uint32_t sm;
    uint32_t unused;
};

/* MHz, or NAN. `step_ns` is the timer's step. Where several blocks of a probe ran on one SM, the
 * last of them before the launch and the first after it count. */
double probe_mhz(const struct probe_reading *before, const struct probe_reading *after, size_t nr,
                 double step_ns);

#endif
