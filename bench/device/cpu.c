/*
 * cpu.c - device cpu: host memory, launches timed by the monotonic raw clock.
 *
 * A launch returns when its outputs are written, so that its span is the time between the end of
 * the scrub and its return, and it counts as one activity.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_internal.h"

#define CPU_ALIGNMENT 4096u
/* Hash of the one activity that a launch is. */
#define CPU_ACTIVITY_SET 0x637075u

static struct cpu_device *cpu_of(struct device *dev)
{
    return (struct cpu_device *)dev;
}

static void cpu_close(struct device *dev)
{
    struct cpu_device *cpu = cpu_of(dev);

    cpu_cache_release(&cpu->cache);
    free(cpu);
}

static void *cpu_stream(struct device *dev)
{
    (void)dev;
    return NULL;
}

static int cpu_alloc(struct device *dev, uint64_t bytes, void **ptr, struct err *err)
{
    (void)dev;
    if (bytes <= SIZE_MAX - CPU_ALIGNMENT)
        *ptr = aligned_alloc(CPU_ALIGNMENT, (size_t)(bytes / CPU_ALIGNMENT + 1) * CPU_ALIGNMENT);
    if (!*ptr)
        return err_set(err, ERR_MEMORY, "out of memory: %llu bytes asked for on device cpu",
                       (unsigned long long)bytes);
    return 0;
}

static void cpu_free(struct device *dev, void *ptr)
{
    (void)dev;
    free(ptr);
}

static int cpu_copy(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err)
{
    (void)dev;
    (void)err;
    memmove(dst, src, (size_t)bytes);
    return 0;
}

static int cpu_fill(struct device *dev, void *dst, int byte, uint64_t bytes, struct err *err)
{
    (void)dev;
    (void)err;
    memset(dst, byte, (size_t)bytes);
    return 0;
}

static int cpu_sync(struct device *dev, struct err *err)
{
    (void)dev;
    (void)err;
    return 0;
}

static int cpu_round_begin(struct device *dev, struct err *err)
{
    (void)dev;
    (void)err;
    return 0;
}

static int cpu_sample_begin(struct device *dev, struct device_slot *slot,
                            const struct device_before *before, struct err *err)
{
    struct cpu_device *cpu = cpu_of(dev);
    const double begin = device_clock_ns();

    for (size_t i = 0; i < before->prepare_nr; i++) {
        const struct device_prepare *p = &before->prepare[i];

        if (p->bytes == 0)
            continue;
        if (p->kind == DEVICE_PREPARE_COPY)
            memmove(p->dst, p->src, (size_t)p->bytes);
        else
            memset(p->dst, p->byte, (size_t)p->bytes);
    }
    if (cpu_cache_scrub(&cpu->cache, before->cache, before->touch, before->touch_nr,
                        dev->info.threads, err) < 0)
        return -1;
    slot->sample.scrub_ns = device_clock_ns() - begin;
    if (cpu->timed) {
        cpu->before_mhz = cpu_clock_mhz(dev->info.tick_ns);
        cpu->start_ns = device_clock_ns();
    }
    return 0;
}

/* Ends the part that is open, if one is. */
static void part_close(const struct cpu_device *cpu, struct device_sample *s, size_t open)
{
    if (open > 0)
        s->part[open - 1].span_ns = s->part[open - 1].busy_ns =
            device_clock_ns() - cpu->part_start_ns;
}

static int cpu_sample_part(struct device *dev, struct device_slot *slot, size_t part,
                           struct err *err)
{
    struct cpu_device *cpu = cpu_of(dev);

    (void)err;
    if (!cpu->timed)
        return 0;
    part_close(cpu, &slot->sample, part);
    cpu->part_start_ns = device_clock_ns();
    return 0;
}

static int cpu_sample_end(struct device *dev, struct device_slot *slot, struct err *err)
{
    struct cpu_device *cpu = cpu_of(dev);
    struct device_sample *s = &slot->sample;

    (void)err;
    if (!cpu->timed)
        return 0;
    part_close(cpu, s, s->parts_nr);
    s->span_ns = s->busy_ns = s->enqueue_ns = device_clock_ns() - cpu->start_ns;
    s->start_ns = cpu->start_ns;
    s->activities = s->parts_nr ? (int)s->parts_nr : 1;
    s->activity_set = CPU_ACTIVITY_SET;
    s->run_mhz = (cpu->before_mhz + cpu_clock_mhz(dev->info.tick_ns)) / 2;
    return 0;
}

static int cpu_round_end(struct device *dev, struct err *err)
{
    (void)dev;
    (void)err;
    return 0;
}

static const char *cpu_activity_name(const struct device *dev, size_t i)
{
    (void)dev;
    (void)i;
    return NULL;
}

static void cpu_idle(struct device *dev)
{
    (void)dev;
}

static void cpu_conditions_at(struct device *dev, double start_ns, struct device_conditions *out)
{
    (void)dev;
    (void)start_ns;
    (void)out;
}

static const struct device_vtable cpu_vtable = {
    .close = cpu_close,
    .stream = cpu_stream,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .generate = cpu_generate,
    .sync = cpu_sync,
    .shift_ids = cpu_shift_ids,
    .count_other = cpu_count_other,
    .digest = cpu_digest,
    .compare = cpu_compare,
    .round_begin = cpu_round_begin,
    .sample_begin = cpu_sample_begin,
    .sample_part = cpu_sample_part,
    .sample_end = cpu_sample_end,
    .round_end = cpu_round_end,
    .activity_name = cpu_activity_name,
    .idle = cpu_idle,
    .conditions_at = cpu_conditions_at,
    .traffic = &cpu_traffic,
};

int cpu_open(struct device **dev, const struct device_request *request, struct err *err)
{
    struct cpu_device *cpu;

    if (request->timer == DEVICE_TIMER_CUPTI)
        return err_set(err, ERR_ENVIRONMENT,
                       "timer 'cupti' is not to be had on device cpu, use 'auto' or 'monotonic'");
    if (request->threads < 0)
        return err_set(err, ERR_BUG, "%d threads asked for", request->threads);
    cpu = calloc(1, sizeof(*cpu));
    if (!cpu)
        return err_memory(err);
    cpu->dev.ops = &cpu_vtable;
    cpu->timed = request->timer == DEVICE_TIMER_MONOTONIC;
    cpu_info_read(&cpu->dev.info);
    if (request->threads > 0)
        cpu->dev.info.threads = request->threads;
    cpu->dev.info.timer = request->timer;
    if (cpu->timed)
        cpu->dev.info.tick_ns = cpu_clock_tick_ns();
    cpu_cache_init(&cpu->cache, cpu->dev.info.cache_bytes);
    cpu_cache_describe(&cpu->cache, cpu->dev.info.scrub, sizeof(cpu->dev.info.scrub));
    *dev = &cpu->dev;
    return 0;
}
