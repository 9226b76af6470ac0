/*
 * cpu_cache.c - makes host caches cold, or full of dirty lines.
 *
 * By address where the processor lets a user do that: clflushopt or clflush on x86-64, dc civac on
 * aarch64; both work on every level and every core at once. Elsewhere by a sweep.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cpu_internal.h"

#if defined(__x86_64__)
#    include <cpuid.h>
#    include <immintrin.h>
#    define CPUID_1_EDX_CLFSH (1u << 19)
#endif

#define MIB ((size_t)1 << 20)
/* Virtual machines report the last-level cache of the whole host, hundreds of MiB, of which one
 * guest gets a share: a sweep of twice that would take longer than the launches. */
#define SWEEP_MIN_BYTES (16 * MIB)
#define SWEEP_MAX_BYTES (128 * MIB)
/* Spans shorter than this are flushed by one thread. */
#define FLUSH_PARALLEL_BYTES ((int64_t)MIB)

#if defined(__x86_64__)
static void cache_probe(struct cpu_cache *c)
{
    unsigned a, b, cc, d;

    c->flush = CPU_SWEEP;
    c->line_bytes = 64;
    if (__get_cpuid(1, &a, &b, &cc, &d) && (d & CPUID_1_EDX_CLFSH)) {
        c->flush = CPU_CLFLUSH;
        if ((b >> 8) & 0xff)
            c->line_bytes = 8 * (size_t)((b >> 8) & 0xff);
    }
    if (__get_cpuid_count(7, 0, &a, &b, &cc, &d) && (b & bit_CLFLUSHOPT))
        c->flush = CPU_CLFLUSHOPT;
}

__attribute__((target("clflushopt"))) static void flush_opt(const unsigned char *p, size_t line,
                                                            size_t nr)
{
    for (size_t i = 0; i < nr; i++)
        _mm_clflushopt((void *)(uintptr_t)(p + i * line));
    _mm_mfence();
}

static void flush_lines(const struct cpu_cache *c, const unsigned char *p, size_t nr)
{
    if (c->flush == CPU_CLFLUSHOPT) {
        flush_opt(p, c->line_bytes, nr);
        return;
    }
    for (size_t i = 0; i < nr; i++)
        _mm_clflush(p + i * c->line_bytes);
    _mm_mfence();
}
#elif defined(__aarch64__)
static void cache_probe(struct cpu_cache *c)
{
    uint64_t ctr;

    /* CTR_EL0.DminLine: log2 of the words of 4 bytes in the smallest data cache line. */
    __asm__("mrs %0, ctr_el0" : "=r"(ctr));
    c->flush = CPU_DC_CIVAC;
    c->line_bytes = (size_t)4 << ((ctr >> 16) & 0xf);
}

static void flush_lines(const struct cpu_cache *c, const unsigned char *p, size_t nr)
{
    for (size_t i = 0; i < nr; i++)
        __asm__ volatile("dc civac, %0" : : "r"(p + i * c->line_bytes) : "memory");
    __asm__ volatile("dsb sy" : : : "memory");
}
#else
static void cache_probe(struct cpu_cache *c)
{
    c->flush = CPU_SWEEP;
    c->line_bytes = 64;
}

static void flush_lines(const struct cpu_cache *c, const unsigned char *p, size_t nr)
{
    (void)c;
    (void)p;
    (void)nr;
}
#endif

void cpu_cache_init(struct cpu_cache *c, uint64_t last_level_bytes)
{
    uint64_t bytes = 2 * last_level_bytes;

    cache_probe(c);
    if (bytes < SWEEP_MIN_BYTES)
        bytes = SWEEP_MIN_BYTES;
    if (bytes > SWEEP_MAX_BYTES)
        bytes = SWEEP_MAX_BYTES;
    c->sweep = NULL;
    c->sweep_bytes = (size_t)(bytes / MIB * MIB);
}

void cpu_cache_release(struct cpu_cache *c)
{
    free(c->sweep);
    c->sweep = NULL;
}

void cpu_cache_describe(const struct cpu_cache *c, char *text, size_t size)
{
    static const char *const name[] = {"", "clflush", "clflushopt", "dc civac"};

    if (c->flush == CPU_SWEEP)
        snprintf(text, size, "sweep %zu MiB", c->sweep_bytes / MIB);
    else
        snprintf(text, size, "%s", name[c->flush]);
}

static void flush_span(const struct cpu_cache *c, const struct device_span *span, int threads)
{
    const uintptr_t begin = (uintptr_t)span->data & ~(uintptr_t)(c->line_bytes - 1);
    const uintptr_t end = (uintptr_t)span->data + (uintptr_t)span->bytes;
    const int64_t lines = (int64_t)((end - begin + c->line_bytes - 1) / c->line_bytes);
    const int64_t chunk = FLUSH_PARALLEL_BYTES / (int64_t)c->line_bytes;
    const int64_t chunks = (lines + chunk - 1) / chunk;

    (void)threads;
    CPU_OMP("omp parallel for num_threads(threads) if (chunks > 1)")
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t left = lines - i * chunk;

        flush_lines(c, (const unsigned char *)begin + i * chunk * (int64_t)c->line_bytes,
                    (size_t)(left < chunk ? left : chunk));
    }
}

/* Reads and modifies every line of the sweep's buffer. */
static int cache_sweep(struct cpu_cache *c, struct err *err)
{
    if (!c->sweep) {
        c->sweep = calloc(1, c->sweep_bytes);
        if (!c->sweep)
            return err_set(err, ERR_MEMORY, "out of memory: %zu bytes for the scrub",
                           c->sweep_bytes);
    }
    for (size_t i = 0; i < c->sweep_bytes; i += c->line_bytes) {
        volatile unsigned char *at = c->sweep + i;

        *at = (unsigned char)(*at + 1);
    }
    return 0;
}

int cpu_cache_scrub(struct cpu_cache *c, enum device_cache cache, const struct device_span *touch,
                    size_t touch_nr, int threads, struct err *err)
{
    if (cache == DEVICE_WARM)
        return 0;
    for (size_t i = 0; i < touch_nr && c->flush != CPU_SWEEP; i++)
        if (touch[i].bytes > 0)
            flush_span(c, &touch[i], threads);
    if (c->flush != CPU_SWEEP && cache == DEVICE_COLD)
        return 0;
    if (cache_sweep(c, err) < 0)
        return -1;
    if (cache == DEVICE_COLD) {
        /* Read once more: lines that are clean by now push out those still modified. */
        volatile unsigned char *at = c->sweep;

        for (size_t i = 0; i < c->sweep_bytes; i += c->line_bytes)
            (void)at[i];
    }
    return 0;
}
