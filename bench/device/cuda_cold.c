/*
 * cuda_cold.c - host side of scrubs and clock probes.
 *
 * Cold is two passes. The first reads, changes and writes back a buffer of twice L2: nothing else
 * is cached afterwards, but many of the lines are modified, and whoever comes next pays for their
 * write-back (measured on an H200: 12.6 us against 9.4 for a 32 MiB reader). The second reads
 * another such buffer, which leaves clean lines only. Data is random, so that a compressing L2
 * cannot hold more of it than its size. Dirty is the first pass alone.
 */
#include <stdio.h>

#include "cuda_internal.h"

#define MIB                 1048576u
#define SCRUB_MIN_BYTES     (64u * (uint64_t)MIB)
#define SCRUB_BLOCKS_PER_SM 8
#define STEP_READINGS       20000

static int fill_random(struct cuda_device *cuda, void *data, uint64_t seed, struct err *err)
{
    const struct recipe r = {.kind = RECIPE_RANDOM,
                             .dtype = SAB_I32,
                             .seed = seed,
                             .rank = 1,
                             .shape = {(int64_t)(cuda->scrub.bytes / 4)}};

    return cuda_generate(&cuda->dev, &r, data, err);
}

int cuda_scrub_open(struct cuda_device *cuda, uint64_t seed, struct err *err)
{
    struct cuda_scrub *s = &cuda->scrub;
    uint64_t bytes = 2 * cuda->dev.info.cache_bytes;
    void *sink;

    if (bytes < SCRUB_MIN_BYTES)
        bytes = SCRUB_MIN_BYTES;
    s->bytes = (bytes + MIB - 1) / MIB * MIB;
    s->blocks = SCRUB_BLOCKS_PER_SM * cuda->dev.info.multiprocessors;
    if (cuda_alloc(&cuda->dev, s->bytes, &s->modified, err) < 0 ||
        cuda_alloc(&cuda->dev, s->bytes, &s->read, err) < 0 ||
        cuda_alloc(&cuda->dev, sizeof(*s->sink), &sink, err) < 0)
        return -1;
    s->sink = sink;
    snprintf(cuda->dev.info.scrub, sizeof(cuda->dev.info.scrub), "rmw %llu MiB + read %llu MiB",
             (unsigned long long)(s->bytes / MIB), (unsigned long long)(s->bytes / MIB));
    if (fill_random(cuda, s->modified, recipe_hash(seed, 0), err) < 0)
        return -1;
    return fill_random(cuda, s->read, recipe_hash(seed, 1), err);
}

void cuda_scrub_close(struct cuda_device *cuda)
{
    cuda_free(&cuda->dev, cuda->scrub.modified);
    cuda_free(&cuda->dev, cuda->scrub.read);
    cuda_free(&cuda->dev, cuda->scrub.sink);
}

int cuda_scrub_enqueue(struct cuda_device *cuda, enum device_cache cache, int *launches,
                       struct err *err)
{
    const struct cuda_scrub *s = &cuda->scrub;

    if (cache == DEVICE_WARM)
        return 0;
    if (cuda_check(cuda_kernel_modify(s->modified, s->bytes, s->blocks, cuda->stream),
                   "the scrub's first pass", err) < 0)
        return -1;
    ++*launches;
    if (cache == DEVICE_DIRTY)
        return 0;
    if (cuda_check(cuda_kernel_read(s->read, s->bytes, s->sink, s->blocks, cuda->stream),
                   "the scrub's second pass", err) < 0)
        return -1;
    ++*launches;
    return 0;
}

int cuda_reset_persisting(struct err *err)
{
    const cudaError_t rc = cudaCtxResetPersistingL2Cache();

    /* A device without persisting lines has none to reset. */
    if (rc == cudaErrorNotSupported) {
        cudaGetLastError();
        return 0;
    }
    return cuda_check(rc, "cudaCtxResetPersistingL2Cache", err);
}

/* ---- the running clock ------------------------------------------------------------------------
 */

static size_t clock_place(const struct cuda_clock *c, size_t sample, int after)
{
    return (2 * sample + (size_t)after) * (size_t)c->blocks;
}

static int clock_step(struct cuda_device *cuda, struct err *err)
{
    uint64_t step = 0;

    if (cuda_check(cuda_kernel_timer_step(cuda->parts, STEP_READINGS, cuda->stream),
                   "reading the global timer", err) < 0 ||
        cuda_download(&cuda->dev, &step, cuda->parts, sizeof(step), err) < 0)
        return -1;
    /* A timer that never moved: no figure will pass probe_mhz(). */
    cuda->clock.step_ns = step > 0 ? (double)step : 1e9;
    return 0;
}

int cuda_clock_open(struct cuda_device *cuda, struct err *err)
{
    struct cuda_clock *c = &cuda->clock;
    void *readings, *host = NULL;
    size_t bytes;

    c->blocks = cuda->dev.info.multiprocessors;
    bytes = clock_place(c, CUDA_PROBED_MAX, 0) * sizeof(*c->readings);
    if (cuda_alloc(&cuda->dev, bytes, &readings, err) < 0)
        return -1;
    c->readings = readings;
    if (cuda_check(cudaMallocHost(&host, bytes), "cudaMallocHost", err) < 0)
        return -1;
    c->host = host;
    return clock_step(cuda, err);
}

void cuda_clock_close(struct cuda_device *cuda)
{
    cuda_free(&cuda->dev, cuda->clock.readings);
    if (cuda->clock.host)
        (void)cudaFreeHost(cuda->clock.host);
}

int cuda_clock_enqueue(struct cuda_device *cuda, size_t sample, int after, struct err *err)
{
    struct cuda_clock *c = &cuda->clock;

    return cuda_check(
        cuda_kernel_probe(c->readings + clock_place(c, sample, after), c->blocks, cuda->stream),
        "a clock probe", err);
}

int cuda_clock_fetch(struct cuda_device *cuda, size_t nr, struct err *err)
{
    struct cuda_clock *c = &cuda->clock;

    if (nr == 0)
        return 0;
    return cuda_download(&cuda->dev, c->host, c->readings,
                         clock_place(c, nr, 0) * sizeof(*c->readings), err);
}

double cuda_clock_mhz(const struct cuda_device *cuda, size_t sample)
{
    const struct cuda_clock *c = &cuda->clock;

    return probe_mhz(c->host + clock_place(c, sample, 0), c->host + clock_place(c, sample, 1),
                     (size_t)c->blocks, c->step_ns);
}
