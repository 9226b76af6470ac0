/*
 * nvml_poll.c - a thread that keeps a GPU's recent conditions.
 *
 * NVML is not the running clock: it averages, and reports the clock that was granted. It stands
 * beside the clock probes, never in their place.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "device_internal.h"
#include "nvml.h"
#include "nvml_internal.h"

#define POLL_PERIOD_NS 5000000
#define POLL_RING      4096
#define POLL_NEAR_NS   50e6

struct reading {
    double at_ns;
    struct device_conditions c;
};

struct nvml_poll {
    struct nvml *nvml;
    struct nvml_gpu *gpu;
    pthread_t thread;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t wake;
    bool stop;
    size_t nr; /* readings taken in all; the last POLL_RING are kept */
    struct reading ring[POLL_RING];
};

static void read_conditions(const struct nvml_poll *poll, struct device_conditions *c)
{
    const struct nvml *n = poll->nvml;
    unsigned long long bits;
    unsigned value;

    c->sm_mhz = c->mem_mhz = c->power_w = c->temp_c = NAN;
    c->throttle_bits = 0;
    if (n->clock && n->clock(poll->gpu, NVML_CLOCK_SM, &value) == NVML_OK)
        c->sm_mhz = value;
    if (n->clock && n->clock(poll->gpu, NVML_CLOCK_MEM, &value) == NVML_OK)
        c->mem_mhz = value;
    if (n->power && n->power(poll->gpu, &value) == NVML_OK)
        c->power_w = value / 1e3;
    if (n->temperature && n->temperature(poll->gpu, NVML_TEMPERATURE_GPU, &value) == NVML_OK)
        c->temp_c = value;
    if (n->reasons && n->reasons(poll->gpu, &bits) == NVML_OK)
        c->throttle_bits = bits;
}

/* Sleeps for one period or until told to stop; the lock is held before and after. */
static void poll_sleep(struct nvml_poll *poll)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_PERIOD_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&poll->wake, &poll->lock, &until);
}

static void *poll_main(void *arg)
{
    struct nvml_poll *poll = arg;

    pthread_mutex_lock(&poll->lock);
    while (!poll->stop) {
        struct reading now;
        double begin;

        pthread_mutex_unlock(&poll->lock);
        begin = device_clock_ns();
        read_conditions(poll, &now.c);
        now.at_ns = (begin + device_clock_ns()) / 2;
        pthread_mutex_lock(&poll->lock);
        poll->ring[poll->nr++ % POLL_RING] = now;
        if (!poll->stop)
            poll_sleep(poll);
    }
    pthread_mutex_unlock(&poll->lock);
    return NULL;
}

static int poll_thread(struct nvml_poll *poll)
{
    sigset_t all, before;
    int rc;

    /* Signals are the main thread's business. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&poll->thread, NULL, poll_main, poll);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

struct nvml_poll *nvml_poll_start(struct nvml *n, const char *uuid)
{
    struct nvml_poll *poll = calloc(1, sizeof(*poll));
    pthread_condattr_t attr;

    if (!poll)
        return NULL;
    poll->nvml = n;
    if (n->by_uuid(uuid, &poll->gpu) != NVML_OK) {
        free(poll);
        return NULL;
    }
    pthread_mutex_init(&poll->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&poll->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (poll_thread(poll) != 0) {
        pthread_cond_destroy(&poll->wake);
        pthread_mutex_destroy(&poll->lock);
        free(poll);
        return NULL;
    }
    return poll;
}

void nvml_poll_stop(struct nvml_poll *poll)
{
    if (!poll)
        return;
    pthread_mutex_lock(&poll->lock);
    poll->stop = true;
    pthread_cond_signal(&poll->wake);
    pthread_mutex_unlock(&poll->lock);
    pthread_join(poll->thread, NULL);
    pthread_cond_destroy(&poll->wake);
    pthread_mutex_destroy(&poll->lock);
    free(poll);
}

void nvml_poll_at(struct nvml_poll *poll, double at_ns, struct device_conditions *out)
{
    double best = POLL_NEAR_NS;

    pthread_mutex_lock(&poll->lock);
    for (size_t i = 0; i < poll->nr && i < POLL_RING; i++) {
        const double away = fabs(poll->ring[i].at_ns - at_ns);

        if (away <= best) {
            best = away;
            *out = poll->ring[i].c;
        }
    }
    pthread_mutex_unlock(&poll->lock);
}
