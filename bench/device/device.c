/*
 * device.c - the front of device.h: dispatch by kind, and the state of a round.
 */
#include "device.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device_internal.h"

int device_open(struct device **dev, const struct device_request *request, struct err *err)
{
    *dev = NULL;
    switch (request->kind) {
    case SAB_DEVICE_CPU:
        return cpu_open(dev, request, err);
    case SAB_DEVICE_CUDA:
#ifdef SAB_HAVE_CUDA
        return cuda_open(dev, request, err);
#else
        return err_set(err, ERR_ENVIRONMENT,
                       "device 'cuda' is not to be had: this program was built without CUDA, "
                       "configure with -DSAB_CUDA=ON and a CUDA toolkit, or use device 'cpu'");
#endif
    default:
        return err_set(err, ERR_BUG, "unknown kind of device %d", (int)request->kind);
    }
}

void device_close(struct device *dev)
{
    if (!dev)
        return;
    free(dev->round.slot);
    dev->ops->close(dev);
}

const struct device_info *device_info(const struct device *dev)
{
    return &dev->info;
}

void *device_stream(struct device *dev)
{
    return dev->ops->stream(dev);
}

int device_alloc(struct device *dev, uint64_t bytes, void **ptr, struct err *err)
{
    *ptr = NULL;
    return dev->ops->alloc(dev, bytes, ptr, err);
}

void device_free(struct device *dev, void *ptr)
{
    if (ptr)
        dev->ops->free(dev, ptr);
}

int device_upload(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err)
{
    return bytes ? dev->ops->upload(dev, dst, src, bytes, err) : 0;
}

int device_download(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err)
{
    return bytes ? dev->ops->download(dev, dst, src, bytes, err) : 0;
}

int device_copy(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err)
{
    return bytes ? dev->ops->copy(dev, dst, src, bytes, err) : 0;
}

int device_fill(struct device *dev, void *dst, int byte, uint64_t bytes, struct err *err)
{
    return bytes ? dev->ops->fill(dev, dst, byte, bytes, err) : 0;
}

int device_generate(struct device *dev, const struct recipe *r, void *dst, struct err *err)
{
    if (r->kind == RECIPE_NONE || r->kind >= RECIPE_KIND_NR)
        return err_set(err, ERR_BUG, "recipe kind %u fills nothing", (unsigned)r->kind);
    if (recipe_by_row(r) && r->dtype != SAB_I32)
        return err_set(err, ERR_BUG, "recipe kind %u fills i32 rows only", (unsigned)r->kind);
    if (device_recipe_elements(r) == 0)
        return 0;
    return dev->ops->generate(dev, r, dst, err);
}

int device_shift_ids(struct device *dev, int32_t *dst, const int32_t *src, int64_t n, int64_t group,
                     int64_t add, struct err *err)
{
    return n > 0 ? dev->ops->shift_ids(dev, dst, src, n, group, add, err) : 0;
}

int device_sync(struct device *dev, struct err *err)
{
    return dev->ops->sync(dev, err);
}

int device_count_other(struct device *dev, const void *ptr, int byte, uint64_t bytes,
                       uint64_t *count, int64_t *first, struct err *err)
{
    *count = 0;
    *first = -1;
    return bytes ? dev->ops->count_other(dev, ptr, byte & 0xff, bytes, count, first, err) : 0;
}

int device_digest(struct device *dev, const void *ptr, uint64_t bytes, uint64_t *digest,
                  struct err *err)
{
    return dev->ops->digest(dev, ptr, bytes, digest, err);
}

int device_compare(struct device *dev, int32_t dtype, const void *got, const void *ref, int64_t n,
                   struct device_difference *out, struct err *err)
{
    if (numfmt_size(dtype) == 0)
        return err_set(err, ERR_BUG, "dtype %d cannot be compared", (int)dtype);
    return dev->ops->compare(dev, dtype, got, ref, n, out, err);
}

int64_t device_recipe_elements(const struct recipe *r)
{
    int64_t n = 1;

    for (int32_t i = 0; i < r->rank; i++)
        n *= r->shape[i];
    return n;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

int device_round_begin(struct device *dev, struct err *err)
{
    struct device_round *round = &dev->round;

    if (round->open)
        return err_set(err, ERR_BUG, "round begun inside a round");
    if (dev->ops->round_begin(dev, err) < 0)
        return -1;
    round->open = true;
    round->inside = false;
    round->nr = 0;
    return 0;
}

static struct device_slot *round_add(struct device_round *round, uint64_t id, struct err *err)
{
    struct device_slot *slot;

    if (round->nr == round->alloc) {
        size_t alloc = round->alloc ? 2 * round->alloc : 64;
        struct device_slot *grown = realloc(round->slot, alloc * sizeof(*grown));

        if (!grown) {
            err_memory(err);
            return NULL;
        }
        round->slot = grown;
        round->alloc = alloc;
    }
    slot = &round->slot[round->nr++];
    memset(slot, 0, sizeof(*slot));
    slot->extra = id == DEVICE_SAMPLE_EXTRA;
    slot->sample.id = id;
    slot->sample.idle_before_ns = round->idle_ns;
    slot->sample.span_ns = slot->sample.busy_ns = slot->sample.start_ns = NAN;
    slot->sample.run_mhz = slot->sample.scrub_ns = slot->sample.enqueue_ns = NAN;
    round->idle_ns = 0;
    return slot;
}

int device_sample_begin(struct device *dev, uint64_t id, enum device_cache cache,
                        const struct device_prepare *prepare, size_t prepare_nr,
                        const struct device_span *touch, size_t touch_nr, struct err *err)
{
    const struct device_before before = {cache, prepare, prepare_nr, touch, touch_nr};
    struct device_round *round = &dev->round;
    struct device_slot *slot;

    if (!round->open || round->inside)
        return err_set(err, ERR_BUG, "sample begun %s",
                       round->open ? "inside a sample" : "outside a round");
    slot = round_add(round, id, err);
    if (!slot)
        return -1;
    /* Set first: nothing may stand between the last act of the backend and the launch. */
    round->inside = true;
    if (dev->ops->sample_begin(dev, slot, &before, err) == 0)
        return 0;
    round->inside = false;
    round->nr--;
    return -1;
}

int device_sample_part(struct device *dev, size_t part, struct err *err)
{
    struct device_round *round = &dev->round;
    struct device_sample *s;

    if (!round->open || !round->inside)
        return err_set(err, ERR_BUG, "part %zu of a sample that was never begun", part);
    s = &round->slot[round->nr - 1].sample;
    if (part != s->parts_nr || part >= DEVICE_PARTS_MAX)
        return err_set(err, ERR_BUG, "part %zu of a sample begun out of turn", part);
    s->part[part] = (struct device_part){NAN, NAN};
    s->parts_nr++;
    return dev->ops->sample_part(dev, &round->slot[round->nr - 1], part, err);
}

int device_sample_end(struct device *dev, struct err *err)
{
    struct device_round *round = &dev->round;

    if (!round->open || !round->inside)
        return err_set(err, ERR_BUG, "sample ended that was never begun");
    round->inside = false;
    return dev->ops->sample_end(dev, &round->slot[round->nr - 1], err);
}

int device_round_end(struct device *dev, struct device_sample *samples, size_t nr, struct err *err)
{
    struct device_round *round = &dev->round;
    size_t kept = 0;
    int rc;

    if (!round->open)
        return err_set(err, ERR_BUG, "round ended that was never begun");
    /* A launch that failed leaves its sample open. */
    if (round->inside)
        dev->ops->sample_end(dev, &round->slot[round->nr - 1], NULL);
    round->open = round->inside = false;
    rc = dev->ops->round_end(dev, err);
    if (rc != 0 || nr == 0)
        return rc;
    for (size_t i = 0; i < round->nr; i++) {
        if (round->slot[i].extra)
            continue;
        if (kept < nr)
            samples[kept] = round->slot[i].sample;
        kept++;
    }
    if (kept != nr)
        return err_set(err, ERR_BUG, "round of %zu samples ended as one of %zu", kept, nr);
    return 0;
}

const char *device_activity_name(const struct device *dev, size_t i)
{
    return dev->ops->activity_name(dev, i);
}

/* ---- time and conditions ----------------------------------------------------------------------
 */

double device_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double device_now_ns(const struct device *dev)
{
    (void)dev;
    return device_clock_ns();
}

void device_idle(struct device *dev, double ns)
{
    double begin;
    struct timespec pause;

    if (!(ns > 0))
        return;
    dev->ops->idle(dev);
    begin = device_clock_ns();
    pause.tv_sec = (time_t)(ns / 1e9);
    pause.tv_nsec = (long)(ns - (double)pause.tv_sec * 1e9);
    /* Woken early by a signal is woken: an interrupted run must not wait out its pause. */
    nanosleep(&pause, NULL);
    dev->round.idle_ns += device_clock_ns() - begin;
}

void device_conditions_at(struct device *dev, double start_ns, struct device_conditions *out)
{
    out->sm_mhz = out->mem_mhz = out->power_w = out->temp_c = NAN;
    out->throttle_bits = 0;
    dev->ops->conditions_at(dev, start_ns, out);
}

/* NVML's clock event reasons (nvml.h, nvmlClocksEventReason*): hardware slowdown 0x8, software
 * thermal slowdown 0x20, hardware thermal slowdown 0x40, power brake 0x80. The software power cap
 * 0x4 is only recorded. */
#define REASONS_VOID 0xe8u

bool device_throttled(uint64_t throttle_bits)
{
    return (throttle_bits & REASONS_VOID) != 0;
}
