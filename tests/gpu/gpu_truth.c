/*
 * gpu_truth.c - that the harness tells the truth: cold is cold, dirty is dirtier, the running clock
 * is the running clock, and two libraries with runtimes of their own are both seen.
 *
 *   gpu_truth [TWIN_A TWIN_B]   two builds of twin/gpu_twin.cu, for the last proof
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_kernels.h"
#include "gpu_tap.h"

#define MIB           1048576ull
#define SAMPLES       41
#define ARENA         (8192 * MIB)
#define COLD_LIMIT    0.03
#define BURN_LAUNCHES 16
#define BURN_ROUNDS   80000
#define BURN_BYTES    (256 * MIB)

struct truth {
    struct tap tap;
    struct device *dev;
    char *victim, *arena, *sink;
    uint64_t arena_at; /* the arena is read front to back, and around */
};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Mean of the middle half: as steady as a median, and not bound to the timer's grid. */
static double midmean(double *v, size_t nr)
{
    double sum = 0;

    qsort(v, nr, sizeof(*v), by_value);
    for (size_t i = nr / 4; i < nr - nr / 4; i++)
        sum += v[i];
    return sum / (double)(nr - 2 * (nr / 4));
}

static double median(double *v, size_t nr)
{
    qsort(v, nr, sizeof(*v), by_value);
    return v[nr / 2];
}

/* One sample of reading `bytes` at `data` after a scrub, alone in its round. NAN when it failed. */
static struct device_sample read_once(struct truth *u, const void *data, uint64_t bytes,
                                      enum device_cache cache)
{
    struct device_sample s = {.span_ns = NAN};
    struct err err = ERR_INIT;
    int rc;

    if (!tap_try(&u->tap, device_round_begin(u->dev, &err), "round", &err))
        return s;
    rc = device_sample_begin(u->dev, 1, cache, NULL, 0, NULL, 0, &err);
    if (rc == 0 && gpu_read(data, bytes, u->sink, device_stream(u->dev)) != 0)
        tap_ok(&u->tap, false, "read kernel");
    if (rc == 0)
        rc = device_sample_end(u->dev, &err);
    if (rc < 0 || device_round_end(u->dev, &s, 1, &err) < 0)
        tap_ok(&u->tap, false, "sample: %s", err.text);
    return s;
}

/* The next stretch of the arena: last touched some GiB ago, with only reads since. */
static const void *fresh(struct truth *u, uint64_t bytes)
{
    if (u->arena_at + bytes > ARENA)
        u->arena_at = 0;
    u->arena_at += bytes;
    return u->arena + u->arena_at - bytes;
}

/* Reads 240 MiB of the arena, as the read-only flush of other harnesses does, then the stretch. */
static double after_reads(struct truth *u, uint64_t bytes)
{
    for (int i = 0; i < 2; i++)
        read_once(u, fresh(u, 120 * MIB), 120 * MIB, DEVICE_WARM);
    return read_once(u, fresh(u, bytes), bytes, DEVICE_WARM).span_ns;
}

static bool agrees(const struct truth *u, double a, double b)
{
    return fabs(a - b) <= fmax(COLD_LIMIT * b, 1.5 * device_info(u->dev)->tick_ns);
}

/*
 * Reading a victim after the scrub takes as long as reading memory that nobody has touched: after
 * the same scrub (nothing of the victim is left in the cache), and after a flush that only reads
 * (the scrub leaves no dirty lines to pay for). All alternate.
 */
static void test_cold(struct truth *u)
{
    for (uint64_t mib = 1; mib <= 256; mib *= 2) {
        double cold[SAMPLES], untouched[SAMPLES], clean[SAMPLES], dirty[SAMPLES], warm[SAMPLES];
        double a, b, c;

        for (int i = 0; i < SAMPLES; i++) {
            /* Read just before, so that the scrub has something to evict; never twice the same. */
            const char *victim = u->victim + ((uint64_t)i * mib * MIB) % (256 * MIB);

            read_once(u, victim, mib * MIB, DEVICE_WARM);
            cold[i] = read_once(u, victim, mib * MIB, DEVICE_COLD).span_ns;
            untouched[i] = read_once(u, fresh(u, mib * MIB), mib * MIB, DEVICE_COLD).span_ns;
            clean[i] = after_reads(u, mib * MIB);
            read_once(u, u->victim, mib * MIB, DEVICE_WARM);
            warm[i] = read_once(u, u->victim, mib * MIB, DEVICE_WARM).span_ns;
            dirty[i] = read_once(u, u->victim, mib * MIB, DEVICE_DIRTY).span_ns;
        }
        a = midmean(cold, SAMPLES);
        b = midmean(untouched, SAMPLES);
        c = midmean(clean, SAMPLES);
        tap_ok(&u->tap, agrees(u, a, b),
               "%3llu MiB: cold %.0f ns, untouched %.0f ns (%+.1f %%), dirty %.0f ns, warm %.0f ns",
               (unsigned long long)mib, a, b, 100 * (a / b - 1), median(dirty, SAMPLES),
               median(warm, SAMPLES));
        printf("# %3llu MiB: untouched after a flush that only reads %.0f ns (%+.1f %%)\n",
               (unsigned long long)mib, c, 100 * (a / c - 1));
        if (mib >= 64) /* below, the code and the TLB that stay warm there count */
            tap_ok(&u->tap, agrees(u, a, c), "%3llu MiB: no debt is left", (unsigned long long)mib);
        if (mib >= 8 && mib <= 32)
            tap_ok(&u->tap, median(dirty, SAMPLES) > 1.1 * a,
                   "%3llu MiB: dirty is visibly slower than cold (%+.1f %%)",
                   (unsigned long long)mib, 100 * (median(dirty, SAMPLES) / a - 1));
        if (mib <= 8)
            tap_ok(&u->tap, median(warm, SAMPLES) < 0.95 * a,
                   "%3llu MiB: warm is visibly faster than cold", (unsigned long long)mib);
    }
}

/* Launches without pauses; the medians of the later half of the running clocks. */
static double clock_of(struct truth *u, bool burn)
{
    struct device_sample s[BURN_LAUNCHES];
    double mhz[BURN_LAUNCHES / 2];
    struct device_conditions c;
    struct err err = ERR_INIT;

    device_idle(u->dev, 3e8);
    if (!tap_try(&u->tap, device_round_begin(u->dev, &err), "round", &err))
        return NAN;
    for (uint64_t i = 0; i < BURN_LAUNCHES; i++) {
        int rc = device_sample_begin(u->dev, i, DEVICE_COLD, NULL, 0, NULL, 0, &err);

        if (rc == 0)
            rc = burn ? gpu_burn(u->victim, BURN_BYTES, BURN_ROUNDS, u->sink, device_stream(u->dev))
                      : gpu_spin(10000000, device_stream(u->dev));
        if (rc != 0 || device_sample_end(u->dev, &err) < 0)
            tap_ok(&u->tap, false, "launch %d: %s", rc, err.text);
    }
    if (!tap_try(&u->tap, device_round_end(u->dev, s, BURN_LAUNCHES, &err), "end", &err))
        return NAN;
    for (int i = 0; i < BURN_LAUNCHES; i++) {
        device_conditions_at(u->dev, s[i].start_ns + s[i].span_ns / 2, &c);
        printf("# %s %2d: span %.2f ms, running clock %.1f MHz, NVML %.0f MHz, %.0f W, reasons "
               "0x%llx\n",
               burn ? "burn" : "spin", i, s[i].span_ns / 1e6, s[i].run_mhz, c.sm_mhz, c.power_w,
               (unsigned long long)c.throttle_bits);
        if (i >= BURN_LAUNCHES / 2)
            mhz[i - BURN_LAUNCHES / 2] = s[i].run_mhz;
    }
    return median(mhz, BURN_LAUNCHES / 2);
}

static void test_clock(struct truth *u)
{
    const double light = clock_of(u, false), heavy = clock_of(u, true);

    tap_ok(&u->tap, light > 500, "running clock of one idle thread: %.1f MHz", light);
    tap_ok(&u->tap, heavy < 0.99 * light,
           "running clock under full power: %.1f MHz (%+.1f %% of the light one)", heavy,
           100 * (heavy / light - 1));
}

/* How well a figure repeats around a short launch. */
static void test_clock_repeats(struct truth *u)
{
    double mhz[SAMPLES], spread;
    int known = 0;

    for (int i = 0; i < SAMPLES; i++) {
        const struct device_sample s = read_once(u, u->victim, 32 * MIB, DEVICE_COLD);

        if (!isnan(s.run_mhz))
            mhz[known++] = s.run_mhz;
    }
    if (!tap_ok(&u->tap, known == SAMPLES, "a figure for %d of %d launches of about 10 us", known,
                SAMPLES))
        return;
    qsort(mhz, SAMPLES, sizeof(mhz[0]), by_value);
    spread = mhz[SAMPLES - 2] / mhz[1] - 1;
    tap_ok(&u->tap, spread < 0.02, "running clock around 10 us: %.1f to %.1f MHz (%.2f %%)", mhz[1],
           mhz[SAMPLES - 2], 100 * spread);
}

static void test_twins(struct truth *u, const char *const path[2])
{
    struct device_sample s[4];
    struct err err = ERR_INIT;
    int (*launch[2])(void *out, void *stream);

    for (int i = 0; i < 2; i++) {
        void *handle = dlopen(path[i], RTLD_NOW | RTLD_LOCAL);
        void *found = handle ? dlsym(handle, "gpu_twin_launch") : NULL;

        if (!tap_ok(&u->tap, found != NULL, "library %s%s%s", path[i], found ? "" : ": ",
                    found ? "" : dlerror()))
            return;
        memcpy(&launch[i], &found, sizeof(found));
        tap_ok(&u->tap, launch[i](u->sink, device_stream(u->dev)) == 0, "first launch");
    }
    tap_ok(&u->tap, launch[0] != launch[1], "two libraries, not one twice");
    if (!tap_try(&u->tap, device_sync(u->dev, &err), "sync", &err) ||
        !tap_try(&u->tap, device_round_begin(u->dev, &err), "round", &err))
        return;
    for (uint64_t i = 0; i < 4; i++) {
        device_sample_begin(u->dev, i, DEVICE_COLD, NULL, 0, NULL, 0, &err);
        tap_ok(&u->tap, launch[i & 1](u->sink, device_stream(u->dev)) == 0, "launch");
        device_sample_end(u->dev, &err);
    }
    if (!tap_try(&u->tap, device_round_end(u->dev, s, 4, &err), "end", &err))
        return;
    for (int i = 0; i < 4; i++)
        tap_ok(&u->tap, s[i].activities == 1, "library %d: %d activity, %.0f ns", i & 1,
               s[i].activities, s[i].span_ns);
}

static bool prepare(struct truth *u)
{
    const struct recipe r = {
        .kind = RECIPE_RANDOM, .dtype = SAB_I32, .seed = 3, .rank = 1, .shape = {ARENA / 4}};
    struct recipe small = r;
    struct err err = ERR_INIT;
    void *p;

    small.shape[0] = BURN_BYTES / 4;
    if (!tap_try(&u->tap, device_alloc(u->dev, ARENA, &p, &err), "arena", &err))
        return false;
    u->arena = p;
    if (!tap_try(&u->tap, device_alloc(u->dev, BURN_BYTES, &p, &err), "victim", &err))
        return false;
    u->victim = p;
    if (!tap_try(&u->tap, device_alloc(u->dev, 4096, &p, &err), "sink", &err))
        return false;
    u->sink = p;
    return tap_try(&u->tap, device_generate(u->dev, &r, u->arena, &err), "generate", &err) &&
           tap_try(&u->tap, device_generate(u->dev, &small, u->victim, &err), "generate", &err) &&
           tap_try(&u->tap, device_sync(u->dev, &err), "sync", &err);
}

int main(int argc, char **argv)
{
    struct truth u = {{0, 0}, NULL, NULL, NULL, NULL, 0};
    int rc = tap_open(&u.dev);

    if (rc != 0)
        return rc;
    if (prepare(&u)) {
        read_once(&u, u.victim, MIB, DEVICE_COLD); /* the first use of a kernel loads it */
        test_cold(&u);
        test_clock_repeats(&u);
        test_clock(&u);
        if (argc == 3) {
            const char *const path[2] = {argv[1], argv[2]};

            test_twins(&u, path);
        } else {
            printf("# the twins were not named: their proof is left out\n");
        }
    }
    device_free(u.dev, u.arena);
    device_free(u.dev, u.victim);
    device_free(u.dev, u.sink);
    device_close(u.dev);
    return tap_end(&u.tap);
}
