/*
 * cpu_traffic.c - a thread that copies between two buffers larger than most caches, until it is
 * told to stop.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_internal.h"
#include "stream.h"

#define TRAFFIC_BYTES ((size_t)32 << 20)
/* Between two looks at the flag. */
#define TRAFFIC_PIECE ((size_t)1 << 20)

struct device_traffic {
    pthread_t thread;
    atomic_bool stop;
    unsigned char *from, *to;
};

static void *traffic_main(void *arg)
{
    struct device_traffic *t = arg;

    for (size_t at = 0; !atomic_load(&t->stop); at = (at + TRAFFIC_PIECE) % TRAFFIC_BYTES) {
        memcpy(t->to + at, t->from + at, TRAFFIC_PIECE);
        t->from[at]++;
    }
    return NULL;
}

static void traffic_release(struct device_traffic *t)
{
    free(t->from);
    free(t->to);
    free(t);
}

static int traffic_start(struct device *dev, struct device_traffic **traffic, struct err *err)
{
    struct device_traffic *t = calloc(1, sizeof(*t));

    (void)dev;
    if (!t)
        return err_memory(err);
    atomic_init(&t->stop, false);
    t->from = calloc(1, TRAFFIC_BYTES);
    t->to = calloc(1, TRAFFIC_BYTES);
    if (!t->from || !t->to) {
        traffic_release(t);
        return err_memory(err);
    }
    if (pthread_create(&t->thread, NULL, traffic_main, t)) {
        traffic_release(t);
        return err_set(err, ERR_ENVIRONMENT, "no thread for traffic on memory");
    }
    *traffic = t;
    return 0;
}

static int traffic_feed(struct device *dev, struct device_traffic *traffic, struct err *err)
{
    (void)dev;
    (void)traffic;
    (void)err;
    return 0;
}

static int traffic_stop(struct device *dev, struct device_traffic *traffic, struct err *err)
{
    (void)dev;
    (void)err;
    atomic_store(&traffic->stop, true);
    pthread_join(traffic->thread, NULL);
    traffic_release(traffic);
    return 0;
}

const struct device_traffic_vtable cpu_traffic = {
    .start = traffic_start,
    .feed = traffic_feed,
    .stop = traffic_stop,
};
