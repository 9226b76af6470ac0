/*
 * cupti_timer.c - see cupti_timer.h.
 *
 * External correlation records are made for API records only (cupti_activity.h at
 * cuptiActivityPushExternalCorrelationId), so the runtime and driver kinds are on as well: a kernel
 * library may call either. Their own records are dropped unread.
 */
#include "cupti_timer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_api.h"
#include "device_internal.h"

#define BUFFER_BYTES ((size_t)512 << 10)
#define BUFFER_ALIGN 8u
#define BUFFERS_KEPT 16
#define OFFSET_TRIES 16
#define CORRELATION  CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0

struct cupti_timer {
    struct cupti_api api;
    pthread_mutex_t lock; /* guards everything below: callbacks come from CUPTI's threads */
    struct activity_log log;
    uint64_t dropped;
    uint64_t broken; /* buffers that could not be read */
    uint8_t *spare[BUFFERS_KEPT];
    size_t spares_nr;
};

static const CUpti_ActivityKind cupti_kinds[] = {
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
};
#define KINDS_NR (sizeof(cupti_kinds) / sizeof(cupti_kinds[0]))

/* CUPTI's buffer callbacks have no argument of the client's: this is how they find the timer. */
static struct cupti_timer *cupti_current;

/* ---- buffers ----------------------------------------------------------------------------------
 */

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    struct cupti_timer *t = cupti_current;

    *buffer = NULL;
    *size = 0;
    *records = 0; /* as many as fit */
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    if (t->spares_nr > 0)
        *buffer = t->spare[--t->spares_nr];
    pthread_mutex_unlock(&t->lock);
    if (!*buffer)
        *buffer = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
    if (*buffer)
        *size = BUFFER_BYTES;
}

static void take_kernel(struct activity_log *log, const CUpti_ActivityKernel10 *k)
{
    const struct activity a = {k->start, k->end, k->correlationId, ACTIVITY_KERNEL, k->name, 0};

    activity_log_add(log, &a);
}

static void take_copy(struct activity_log *log, uint64_t start, uint64_t end, uint32_t correlation)
{
    const struct activity a = {start, end, correlation, ACTIVITY_COPY, "memcpy", 0};

    activity_log_add(log, &a);
}

static void take_fill(struct activity_log *log, const CUpti_ActivityMemset4 *m)
{
    const struct activity a = {m->start, m->end, m->correlationId, ACTIVITY_FILL, "memset", 0};

    activity_log_add(log, &a);
}

static void take_record(struct activity_log *log, CUpti_Activity *record)
{
    void *r = record;

    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        take_kernel(log, r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const CUpti_ActivityMemcpy6 *m = r;

        take_copy(log, m->start, m->end, m->correlationId);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const CUpti_ActivityMemcpyPtoP4 *m = r;

        take_copy(log, m->start, m->end, m->correlationId);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET:
        take_fill(log, r);
        break;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const CUpti_ActivityExternalCorrelation *e = r;

        if (e->externalKind == CORRELATION)
            activity_log_link(log, e->correlationId, e->externalId);
        break;
    }
    default:
        break;
    }
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t size, size_t valid)
{
    struct cupti_timer *t = cupti_current;
    CUpti_Activity *record = NULL;
    CUptiResult rc = CUPTI_SUCCESS;
    size_t dropped = 0;

    (void)size;
    if (!t) {
        free(buffer);
        return;
    }
    pthread_mutex_lock(&t->lock);
    while (valid > 0 && (rc = t->api.next(buffer, valid, &record)) == CUPTI_SUCCESS)
        take_record(&t->log, record);
    if (rc != CUPTI_SUCCESS && rc != CUPTI_ERROR_MAX_LIMIT_REACHED)
        t->broken++;
    if (t->api.dropped(context, stream, &dropped) == CUPTI_SUCCESS)
        t->dropped += dropped;
    else
        t->broken++;
    if (t->spares_nr < BUFFERS_KEPT) {
        t->spare[t->spares_nr++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&t->lock);
    free(buffer);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static int kinds_enable(struct cupti_timer *t, struct err *err)
{
    CUptiResult rc = t->api.register_callbacks(buffer_requested, buffer_completed);

    if (rc != CUPTI_SUCCESS)
        return cupti_api_explain(&t->api, rc, "cuptiActivityRegisterCallbacks", err);
    for (size_t i = 0; i < KINDS_NR; i++) {
        rc = t->api.enable(cupti_kinds[i]);
        if (rc != CUPTI_SUCCESS)
            return cupti_api_explain(&t->api, rc, "cuptiActivityEnable", err);
    }
    return 0;
}

int cupti_timer_open(struct cupti_timer **timer, struct err *err)
{
    struct cupti_timer *t;

    *timer = NULL;
    if (cupti_current)
        return err_set(err, ERR_BUG, "timer 'cupti' opened twice in one process");
    t = calloc(1, sizeof(*t));
    if (!t)
        return err_memory(err);
    pthread_mutex_init(&t->lock, NULL);
    activity_log_init(&t->log);
    if (cupti_api_open(&t->api, err) < 0) {
        pthread_mutex_destroy(&t->lock);
        free(t);
        return -1;
    }
    cupti_current = t;
    if (kinds_enable(t, err) < 0) {
        cupti_timer_close(t);
        return -1;
    }
    *timer = t;
    return 0;
}

void cupti_timer_close(struct cupti_timer *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < KINDS_NR; i++)
        t->api.disable(cupti_kinds[i]);
    /* Buffers that CUPTI holds come back by this; one that comes later is freed unread. */
    t->api.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    pthread_mutex_lock(&t->lock);
    cupti_current = NULL;
    pthread_mutex_unlock(&t->lock);
    while (t->spares_nr > 0)
        free(t->spare[--t->spares_nr]);
    activity_log_release(&t->log);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void cupti_timer_version(const struct cupti_timer *t, char *text, size_t size)
{
    snprintf(text, size, "%u.%u.%u", t->api.version / 10000, t->api.version / 100 % 100,
             t->api.version % 100);
}

/* ---- use --------------------------------------------------------------------------------------
 */

int cupti_timer_push(struct cupti_timer *t, uint64_t id, struct err *err)
{
    const CUptiResult rc = t->api.push(CORRELATION, id);

    return rc == CUPTI_SUCCESS
               ? 0
               : cupti_api_explain(&t->api, rc, "cuptiActivityPushExternalCorrelationId", err);
}

int cupti_timer_pop(struct cupti_timer *t, struct err *err)
{
    uint64_t id;
    const CUptiResult rc = t->api.pop(CORRELATION, &id);

    return rc == CUPTI_SUCCESS
               ? 0
               : cupti_api_explain(&t->api, rc, "cuptiActivityPopExternalCorrelationId", err);
}

int cupti_timer_clear(struct cupti_timer *t, struct err *err)
{
    const CUptiResult rc = t->api.flush_all(0);

    if (rc != CUPTI_SUCCESS)
        return cupti_api_explain(&t->api, rc, "cuptiActivityFlushAll", err);
    pthread_mutex_lock(&t->lock);
    activity_log_clear(&t->log);
    t->dropped = t->broken = 0;
    pthread_mutex_unlock(&t->lock);
    return 0;
}

int cupti_timer_collect(struct cupti_timer *t, bool forced, struct err *err)
{
    const CUptiResult rc = t->api.flush_all(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    int result;

    if (rc != CUPTI_SUCCESS)
        return cupti_api_explain(&t->api, rc, "cuptiActivityFlushAll", err);
    pthread_mutex_lock(&t->lock);
    if (t->dropped > 0 || t->broken > 0)
        result = err_set(err, ERR_ENVIRONMENT,
                         "timer 'cupti' lost records (%llu dropped, %llu buffers unreadable), the "
                         "round is void",
                         (unsigned long long)t->dropped, (unsigned long long)t->broken);
    else
        result = activity_log_close(&t->log, err);
    pthread_mutex_unlock(&t->lock);
    return result;
}

const struct activity_log *cupti_timer_log(const struct cupti_timer *t)
{
    return &t->log;
}

int cupti_timer_offset_ns(struct cupti_timer *t, double *offset_ns, struct err *err)
{
    double best = 0;

    for (int i = 0; i < OFFSET_TRIES; i++) {
        const double before = device_clock_ns();
        uint64_t stamp;
        const CUptiResult rc = t->api.timestamp(&stamp);
        const double after = device_clock_ns();

        if (rc != CUPTI_SUCCESS)
            return cupti_api_explain(&t->api, rc, "cuptiGetTimestamp", err);
        if (i == 0 || after - before < best) {
            best = after - before;
            *offset_ns = before + best / 2 - (double)stamp;
        }
    }
    return 0;
}
