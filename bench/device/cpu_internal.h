/*
 * cpu_internal.h - the parts of device cpu.
 */
#ifndef BENCH_DEVICE_CPU_INTERNAL_H
#define BENCH_DEVICE_CPU_INTERNAL_H

#include "device_internal.h"

/* A parallel loop where the compiler has OpenMP, the same loop without it. */
#ifdef _OPENMP
#    define CPU_OMP(clauses) _Pragma(clauses)
#else
#    define CPU_OMP(clauses)
#endif

enum cpu_flush { CPU_SWEEP = 0, CPU_CLFLUSH, CPU_CLFLUSHOPT, CPU_DC_CIVAC };

struct cpu_cache {
    enum cpu_flush flush;
    size_t line_bytes;
    unsigned char *sweep; /* made at the first need */
    size_t sweep_bytes;
};

struct cpu_device {
    struct device dev;
    struct cpu_cache cache;
    bool timed;
    double start_ns; /* of the launch that is running */
    double part_start_ns;
    double before_mhz; /* running clock before it */
};

/* ---- cpu_cache.c ---- */

/* `last_level_bytes` sizes the sweep. */
void cpu_cache_init(struct cpu_cache *c, uint64_t last_level_bytes);
void cpu_cache_release(struct cpu_cache *c);
/* What device_info.scrub says. */
void cpu_cache_describe(const struct cpu_cache *c, char *text, size_t size);
/* COLD: no line of `touch` is cached afterwards, or (sweep) none is likely to be. DIRTY: besides,
 * the caches are full of modified lines of the sweep's own buffer. WARM: nothing. */
int cpu_cache_scrub(struct cpu_cache *c, enum device_cache cache, const struct device_span *touch,
                    size_t touch_nr, int threads, struct err *err);

/* ---- cpu_clock.c ---- */

/* Smallest step between two readings of the clock, one right behind the other: moments nearer than
 * that cannot be told apart, whatever the clock's own unit. */
double cpu_clock_tick_ns(void);
/* Clock of the core that the caller runs on, in MHz, from a chain of dependent additions (one cycle
 * each); NAN where no such chain is known. Takes about 6 us. */
double cpu_clock_mhz(double tick_ns);

/* ---- cpu_info.c ---- */

void cpu_info_read(struct device_info *info);

/* ---- cpu_traffic.c ---- */

extern const struct device_traffic_vtable cpu_traffic;

/* ---- cpu_data.c ---- */

int cpu_generate(struct device *dev, const struct recipe *r, void *dst, struct err *err);
int cpu_shift_ids(struct device *dev, int32_t *dst, const int32_t *src, int64_t n, int64_t group,
                  int64_t add, struct err *err);
int cpu_count_other(struct device *dev, const void *ptr, int byte, uint64_t bytes, uint64_t *count,
                    int64_t *first, struct err *err);
int cpu_digest(struct device *dev, const void *ptr, uint64_t bytes, uint64_t *digest,
               struct err *err);
int cpu_compare(struct device *dev, int32_t dtype, const void *got, const void *ref, int64_t n,
                struct device_difference *out, struct err *err);

#endif
