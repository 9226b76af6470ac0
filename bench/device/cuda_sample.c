/*
 * cuda_sample.c - rounds and samples of device cuda.
 *
 * Order on the stream: [delay] preparation, scrub | probe | launch | probe. Each part has its own
 * id; spans come from the launch's id alone. Nothing between begin and end waits for the GPU.
 */
#include <math.h>
#include <stdlib.h>

#include "cuda_internal.h"

/* Until a round has shown how long enqueueing takes. */
#define LEAD_FIRST_NS  200e3
#define LEAD_MARGIN_NS 10e3
#define LEAD_FACTOR    1.5
#define LEAD_DECAY     0.9
#define TICK_LAUNCHES  96
#define TICK_STEP_NS   37 /* no multiple of a likely tick */

int cuda_round_begin(struct device *dev, struct err *err)
{
    struct cuda_device *cuda = cuda_of(dev);

    if (cuda_reset_persisting(err) < 0)
        return -1;
    if (cuda->lead.host_ns <= 0)
        cuda->lead.host_ns = LEAD_FIRST_NS;
    cuda->first_serial = cuda->serial;
    return cuda->cupti ? cupti_timer_clear(cuda->cupti, err) : 0;
}

static struct cuda_mark *mark_at(struct cuda_device *cuda, size_t i, struct err *err)
{
    if (i >= cuda->marks_alloc) {
        const size_t alloc = cuda->marks_alloc ? 2 * cuda->marks_alloc : 256;
        struct cuda_mark *grown = realloc(cuda->mark, alloc * sizeof(*grown));

        if (!grown) {
            err_memory(err);
            return NULL;
        }
        cuda->mark = grown;
        cuda->marks_alloc = alloc;
    }
    cuda->mark[i] = (struct cuda_mark){.end_ns = NAN, .probed = i < CUDA_PROBED_MAX, .launches = 1};
    return &cuda->mark[i];
}

static int part_push(struct cuda_device *cuda, unsigned part, struct err *err)
{
    return cuda->cupti ? cupti_timer_push(cuda->cupti, cuda_part_id(cuda->serial, part), err) : 0;
}

static int part_pop(struct cuda_device *cuda, struct err *err)
{
    return cuda->cupti ? cupti_timer_pop(cuda->cupti, err) : 0;
}

/* Ends a part that failed or not with rc; the first error is the one that is told. */
static int part_close(struct cuda_device *cuda, int rc, struct err *err)
{
    return part_pop(cuda, rc < 0 ? NULL : err) < 0 ? -1 : rc;
}

static int enqueue_prepare(struct cuda_device *cuda, const struct device_before *before,
                           int *activities, struct err *err)
{
    for (size_t i = 0; i < before->prepare_nr; i++) {
        const struct device_prepare *p = &before->prepare[i];
        int rc;

        if (p->bytes == 0)
            continue;
        rc = p->kind == DEVICE_PREPARE_COPY ? cuda_copy(&cuda->dev, p->dst, p->src, p->bytes, err)
                                            : cuda_fill(&cuda->dev, p->dst, p->byte, p->bytes, err);
        if (rc < 0)
            return -1;
        ++*activities;
    }
    return cuda_scrub_enqueue(cuda, before->cache, activities, err);
}

static int enqueue_probe(struct cuda_device *cuda, const struct cuda_mark *mark, int after,
                         struct err *err)
{
    if (!cuda->cupti || !mark->probed)
        return 0;
    if (part_push(cuda, CUDA_PROBE, err) < 0)
        return -1;
    return part_close(
        cuda, cuda_clock_enqueue(cuda, (size_t)(cuda->serial - cuda->first_serial), after, err),
        err);
}

static int enqueue_lead(struct cuda_device *cuda, enum device_cache cache, struct err *err)
{
    const double front = cache == DEVICE_WARM ? 0 : cuda->lead.front_ns;
    const double short_ns = LEAD_FACTOR * cuda->lead.host_ns + LEAD_MARGIN_NS - front;

    if (!cuda->cupti || short_ns <= 0)
        return 0;
    if (part_push(cuda, CUDA_DELAY, err) < 0)
        return -1;
    return part_close(
        cuda, cuda_check(cuda_kernel_delay((uint64_t)short_ns, cuda->stream), "the lead", err),
        err);
}

int cuda_sample_begin(struct device *dev, struct device_slot *slot,
                      const struct device_before *before, struct err *err)
{
    struct cuda_device *cuda = cuda_of(dev);
    struct cuda_mark *mark = mark_at(cuda, (size_t)(cuda->serial - cuda->first_serial), err);
    int rc;

    if (!mark)
        return -1;
    cuda->lead.begin_ns = device_clock_ns();
    if (enqueue_lead(cuda, before->cache, err) < 0)
        return -1;
    if (part_push(cuda, CUDA_PREPARE, err) < 0)
        return -1;
    rc = part_close(cuda, enqueue_prepare(cuda, before, &mark->prepared, err), err);
    if (rc < 0 || enqueue_probe(cuda, mark, 0, err) < 0)
        return -1;
    cuda_range_push(cuda->nvtx, slot->sample.id);
    if (part_push(cuda, CUDA_LAUNCH, err) < 0) {
        cuda_range_pop(cuda->nvtx);
        return -1;
    }
    slot->sample.enqueue_ns = -device_clock_ns();
    return 0;
}

/* The first part is open since the sample began. */
int cuda_sample_part(struct device *dev, struct device_slot *slot, size_t part, struct err *err)
{
    struct cuda_device *cuda = cuda_of(dev);

    (void)slot;
    if (part == 0)
        return 0;
    cuda->mark[cuda->serial - cuda->first_serial].launches = (unsigned)part + 1;
    if (part_pop(cuda, err) < 0)
        return -1;
    return part_push(cuda, CUDA_LAUNCH + (unsigned)part, err);
}

int cuda_sample_end(struct device *dev, struct device_slot *slot, struct err *err)
{
    struct cuda_device *cuda = cuda_of(dev);
    struct cuda_mark *mark = &cuda->mark[cuda->serial - cuda->first_serial];
    struct cuda_lead *lead = &cuda->lead;
    int rc;

    mark->end_ns = device_clock_ns();
    slot->sample.enqueue_ns += mark->end_ns;
    lead->host_ns *= LEAD_DECAY;
    if (mark->end_ns - lead->begin_ns > lead->host_ns)
        lead->host_ns = mark->end_ns - lead->begin_ns;
    rc = part_pop(cuda, err);
    cuda_range_pop(cuda->nvtx);
    if (rc == 0)
        rc = enqueue_probe(cuda, mark, 1, err);
    cuda->serial++;
    return rc;
}

/* ---- the end of a round -----------------------------------------------------------------------
 */

static int count_of(const struct activity_log *log, uint64_t id)
{
    const struct activity_total *t = activity_log_find(log, id);

    return t ? t->nr - t->unstamped : 0;
}

static const struct activity_total *launch_find(const struct activity_log *log, uint64_t serial,
                                                unsigned launch)
{
    return activity_log_find(log, cuda_part_id(serial, CUDA_LAUNCH + launch));
}

static int unstamped_of(const struct activity_log *log, uint64_t serial, unsigned launches)
{
    int nr = 0;

    for (unsigned i = 0; i < launches; i++) {
        const struct activity_total *t = launch_find(log, serial, i);

        nr += t ? t->unstamped : 0;
    }
    return nr;
}

/* All launches of a sample together; false where nothing ran. */
static bool launches_total(const struct activity_log *log, uint64_t serial, unsigned launches,
                           struct activity_total *sum)
{
    *sum = (struct activity_total){.id = cuda_part_id(serial, CUDA_LAUNCH)};
    for (unsigned i = 0; i < launches; i++) {
        const struct activity_total *t = launch_find(log, serial, i);

        if (!t)
            continue;
        if (!sum->nr || t->start_ns < sum->start_ns)
            sum->start_ns = t->start_ns;
        if (t->end_ns > sum->end_ns)
            sum->end_ns = t->end_ns;
        sum->busy_ns += t->busy_ns;
        sum->set += t->set;
        sum->nr += t->nr;
    }
    return sum->nr > 0;
}

/* Whether every activity of our own making is there, with stamps: what we enqueued is known, so
 * that a record lost without a word shows. */
static bool complete(const struct cuda_device *cuda)
{
    const struct activity_log *log = cupti_timer_log(cuda->cupti);

    for (uint64_t s = cuda->first_serial; s < cuda->serial; s++) {
        const struct cuda_mark *mark = &cuda->mark[s - cuda->first_serial];

        /* More is fine: a fill may run as several pieces. */
        if (count_of(log, cuda_part_id(s, CUDA_PREPARE)) < mark->prepared ||
            count_of(log, cuda_part_id(s, CUDA_PROBE)) < (mark->probed ? 2 : 0) ||
            unstamped_of(log, s, mark->launches) > 0)
            return false;
    }
    return true;
}

static int collect(struct cuda_device *cuda, struct err *err)
{
    for (int forced = 0; forced < 2; forced++) {
        if (cupti_timer_collect(cuda->cupti, forced, err) < 0)
            return -1;
        if (complete(cuda))
            return 0;
    }
    err_set(err, ERR_ENVIRONMENT,
            "timer 'cupti' gave no stamps for a part of what was enqueued, the round is void");
    return 1;
}

static void fill_parts(const struct activity_log *log, uint64_t serial, struct device_sample *s)
{
    for (unsigned i = 0; i < s->parts_nr; i++) {
        const struct activity_total *t = launch_find(log, serial, i);

        s->part[i].span_ns = t ? (double)(t->end_ns - t->start_ns) : 0;
        s->part[i].busy_ns = t ? (double)t->busy_ns : 0;
    }
}

static void fill_sample(struct cuda_device *cuda, size_t i, double offset_ns,
                        struct device_sample *s)
{
    const struct activity_log *log = cupti_timer_log(cuda->cupti);
    const uint64_t serial = cuda->first_serial + i;
    struct activity_total launch;
    const struct activity_total *front = activity_log_find(log, cuda_part_id(serial, CUDA_PREPARE));

    s->scrub_ns = front ? (double)(front->end_ns - front->start_ns) : 0;
    if (cuda->lead.front_ns < 0 || s->scrub_ns < cuda->lead.front_ns)
        cuda->lead.front_ns = s->scrub_ns;
    if (cuda->mark[i].probed)
        s->run_mhz = cuda_clock_mhz(cuda, i);
    fill_parts(log, serial, s);
    if (!launches_total(log, serial, cuda->mark[i].launches, &launch))
        return;
    s->span_ns = (double)(launch.end_ns - launch.start_ns);
    s->busy_ns = (double)launch.busy_ns;
    s->activities = launch.nr;
    s->activity_set = launch.set;
    s->start_ns = (double)launch.start_ns + offset_ns;
    s->late = launch.nr > 1 && s->start_ns < cuda->mark[i].end_ns;
}

int cuda_round_end(struct device *dev, struct err *err)
{
    struct cuda_device *cuda = cuda_of(dev);
    const size_t nr = (size_t)(cuda->serial - cuda->first_serial);
    double offset_ns = 0;

    /* The whole device: a kernel that broke the contract may have used another stream. */
    if (cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", err) < 0)
        return -1;
    if (!cuda->cupti || nr == 0)
        return 0;
    if (cuda_clock_fetch(cuda, nr < CUDA_PROBED_MAX ? nr : CUDA_PROBED_MAX, err) < 0)
        return -1;
    if (cupti_timer_offset_ns(cuda->cupti, &offset_ns, err) < 0)
        return -1;
    const int lost = collect(cuda, err);
    if (lost != 0)
        return lost;
    cuda->lead.front_ns = -1;
    for (size_t i = 0; i < nr; i++)
        fill_sample(cuda, i, offset_ns, &dev->round.slot[i].sample);
    return 0;
}

const char *cuda_activity_name(const struct device *dev, size_t i)
{
    const struct cuda_device *cuda = (const struct cuda_device *)dev;
    const struct activity_log *log;

    if (!cuda->cupti)
        return NULL;
    log = cupti_timer_log(cuda->cupti);
    for (size_t k = 0; k < log->nr; k++) {
        if (log->item[k].id == ACTIVITY_NO_ID || !cuda_is_launch(log->item[k].id))
            continue;
        if (i-- == 0)
            return log->item[k].name;
    }
    return NULL;
}

int cuda_tick_measure(struct cuda_device *cuda, double *tick_ns, struct err *err)
{
    if (cupti_timer_clear(cuda->cupti, err) < 0)
        return -1;
    for (uint64_t i = 0; i < TICK_LAUNCHES; i++)
        if (cuda_check(cuda_kernel_delay(i * TICK_STEP_NS, cuda->stream), "measuring the tick",
                       err) < 0)
            return -1;
    if (cuda_sync(&cuda->dev, err) < 0)
        return -1;
    for (int forced = 0; forced < 2; forced++) {
        if (cupti_timer_collect(cuda->cupti, forced, err) < 0)
            return -1;
        *tick_ns = (double)activity_log_tick_ns(cupti_timer_log(cuda->cupti));
        if (*tick_ns > 0)
            return 0;
    }
    return err_set(err, ERR_ENVIRONMENT,
                   "timer 'cupti' gave no stamps for kernels that ran, is profiling allowed here");
}
