/*
 * activity.c - see activity.h.
 */
#include "activity.h"

#include <stdlib.h>
#include <string.h>

#include "rng.h"

void activity_log_init(struct activity_log *log)
{
    memset(log, 0, sizeof(*log));
}

void activity_log_release(struct activity_log *log)
{
    free(log->item);
    free(log->link);
    free(log->total);
    activity_log_init(log);
}

void activity_log_clear(struct activity_log *log)
{
    log->nr = log->links_nr = log->totals_nr = 0;
    log->oom = false;
}

/* Room for one more of `size` bytes in an array; false without memory. */
static bool grow(void **array, size_t nr, size_t *alloc, size_t size)
{
    size_t more = *alloc ? 2 * *alloc : 256;
    void *grown;

    if (nr < *alloc)
        return true;
    grown = realloc(*array, more * size);
    if (!grown)
        return false;
    *array = grown;
    *alloc = more;
    return true;
}

void activity_log_add(struct activity_log *log, const struct activity *a)
{
    void *array = log->item;

    if (!grow(&array, log->nr, &log->alloc, sizeof(*log->item))) {
        log->oom = true;
        return;
    }
    log->item = array;
    log->item[log->nr] = *a;
    log->item[log->nr++].id = ACTIVITY_NO_ID;
}

void activity_log_link(struct activity_log *log, uint32_t correlation, uint64_t id)
{
    void *array = log->link;

    if (!grow(&array, log->links_nr, &log->links_alloc, sizeof(*log->link))) {
        log->oom = true;
        return;
    }
    log->link = array;
    log->link[log->links_nr].correlation = correlation;
    log->link[log->links_nr++].id = id;
}

static int by_correlation(const void *a, const void *b)
{
    const uint32_t x = ((const struct activity_link *)a)->correlation;
    const uint32_t y = ((const struct activity_link *)b)->correlation;

    return (x > y) - (x < y);
}

static int by_id_and_start(const void *a, const void *b)
{
    const struct activity *x = a, *y = b;

    if (x->id != y->id)
        return (x->id > y->id) - (x->id < y->id);
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static uint64_t find_id(const struct activity_log *log, uint32_t correlation)
{
    const struct activity_link key = {correlation, 0};
    const struct activity_link *found;

    if (log->links_nr == 0)
        return ACTIVITY_NO_ID;
    found = bsearch(&key, log->link, log->links_nr, sizeof(key), by_correlation);
    return found ? found->id : ACTIVITY_NO_ID;
}

static void total_add(struct activity_total *t, const struct activity *a)
{
    if (a->start_ns == 0 || a->end_ns < a->start_ns) {
        t->unstamped++;
    } else {
        if (t->start_ns == 0 || a->start_ns < t->start_ns)
            t->start_ns = a->start_ns;
        if (a->end_ns > t->end_ns)
            t->end_ns = a->end_ns;
        t->busy_ns += a->end_ns - a->start_ns;
    }
    /* A sum, so that the order in which activities ran does not show. */
    t->set += rng_seed_of((uint64_t)a->kind, a->name ? a->name : "");
    t->nr++;
}

int activity_log_close(struct activity_log *log, struct err *err)
{
    struct activity_total *total;

    if (log->oom)
        return err_memory(err);
    log->totals_nr = 0;
    if (log->nr == 0)
        return 0;
    if (log->links_nr > 0)
        qsort(log->link, log->links_nr, sizeof(*log->link), by_correlation);
    for (size_t i = 0; i < log->nr; i++)
        log->item[i].id = find_id(log, log->item[i].correlation);
    qsort(log->item, log->nr, sizeof(*log->item), by_id_and_start);

    total = realloc(log->total, log->nr * sizeof(*total));
    if (!total)
        return err_memory(err);
    log->total = total;
    for (size_t i = 0; i < log->nr && log->item[i].id != ACTIVITY_NO_ID; i++) {
        if (i == 0 || log->item[i].id != log->item[i - 1].id) {
            memset(&total[log->totals_nr], 0, sizeof(*total));
            total[log->totals_nr++].id = log->item[i].id;
        }
        total_add(&total[log->totals_nr - 1], &log->item[i]);
    }
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const uint64_t x = ((const struct activity_total *)a)->id;
    const uint64_t y = ((const struct activity_total *)b)->id;

    return (x > y) - (x < y);
}

const struct activity_total *activity_log_find(const struct activity_log *log, uint64_t id)
{
    struct activity_total key;

    if (log->totals_nr == 0)
        return NULL;
    memset(&key, 0, sizeof(key));
    key.id = id;
    return bsearch(&key, log->total, log->totals_nr, sizeof(key), by_id);
}

/* Stamps are converted from the device's clock and come out up to a nanosecond beside their grid.
 */
#define TICK_SLACK_NS   1
#define TICK_LARGEST_NS 2048

static uint64_t duration_ns(const struct activity_log *log, size_t i)
{
    return log->item[i].end_ns - log->item[i].start_ns;
}

static bool on_grid(const struct activity_log *log, uint64_t step)
{
    for (size_t i = 0; i < log->nr; i++) {
        const uint64_t d = duration_ns(log, i), rest = d % step;

        if (d < 4 * step || (rest > TICK_SLACK_NS && step - rest > TICK_SLACK_NS))
            return false;
    }
    return true;
}

/* Smallest difference between two durations that differ, 0 where none do. */
static uint64_t nearest_ns(const struct activity_log *log)
{
    uint64_t nearest = 0;

    for (size_t i = 0; i < log->nr; i++) {
        for (size_t k = 0; k < i; k++) {
            const uint64_t d = duration_ns(log, i), e = duration_ns(log, k);
            const uint64_t apart = d > e ? d - e : e - d;

            if (apart > 0 && (nearest == 0 || apart < nearest))
                nearest = apart;
        }
    }
    return nearest;
}

uint64_t activity_log_tick_ns(const struct activity_log *log)
{
    const uint64_t nearest = nearest_ns(log);

    if (nearest == 0)
        return 0;
    /* Below four times the slack everything is on the grid. */
    for (uint64_t step = TICK_LARGEST_NS; step > 4 * TICK_SLACK_NS; step--)
        if (on_grid(log, step))
            return step;
    return nearest;
}
