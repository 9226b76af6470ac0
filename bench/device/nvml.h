/*
 * nvml.h - the one owner of NVML: what GPUs there are, and their clocks, power and temperature.
 * Everything is optional: without NVML nothing is known, and nothing fails.
 */
#ifndef BENCH_DEVICE_NVML_H
#define BENCH_DEVICE_NVML_H

#include "device.h"

struct nvml;

/* NULL where there is no NVML. */
struct nvml *nvml_open(void);
void nvml_close(struct nvml *n); /* NULL is fine */

/* GPUs in NVML's order (that of PCI). Returns the number, fills at most `max`. */
int nvml_list(struct nvml *n, struct device_listing *list, int max);
/* Fills what NVML knows of the GPU with info->uuid: driver, clock_max_mhz, power_limit_w,
 * power_default_w, ecc, persistence, mig, display. */
void nvml_describe(struct nvml *n, struct device_info *info);
/* Programs that have the GPU open, -1 where NVML does not say. */
int nvml_processes(struct nvml *n, const char *uuid);
/* Watches the SM clock and the clock event reasons of the GPU with info->uuid, which is open and
 * idle, until the clock stands still or 2 s are over: sm_mhz_lo, sm_mhz_hi of the last fifth of a
 * second, throttle_bits. */
void nvml_look(struct nvml *n, struct device_info *info);

/* A thread that reads one GPU's conditions about every 5 ms into a ring of the last 20 s. */
struct nvml_poll;
/* NULL where NVML does not know the GPU. `n` must outlive it. */
struct nvml_poll *nvml_poll_start(struct nvml *n, const char *uuid);
void nvml_poll_stop(struct nvml_poll *poll); /* NULL is fine */
/* The reading nearest to a moment on device_now_ns()'s time line, at most 50 ms away; else `out` is
 * left as it is. */
void nvml_poll_at(struct nvml_poll *poll, double at_ns, struct device_conditions *out);

#endif
