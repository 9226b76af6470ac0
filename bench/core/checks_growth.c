/*
 * checks_growth.c - what a process holds after many plans and launches.
 */
#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_rig.h"
#include "verify_internal.h"

/* Three ranges of so many plans: in the first one-off allocations are made, in one of the others at
 * least everything must stay as it was. */
#define PLANS       256
#define PLANS_CUDA  1024
#define PLANS_LEAST 16
#define RANGE_S     2.0 /* behind those, a range ends after so long */
/* Device memory is what the device has free, to which other processes add and take: where it
 * shrinks, so many more ranges have to agree. */
#define RANGES_MORE 6
/* Host seconds that launches may take in all. */
#define LAUNCH_S      0.06
#define LAUNCH_S_CUDA 2.0
/* What grows by less a plan is noise. */
#define HEAP_BYTES_A_PLAN 16.0
#define DEVICE_BYTES      1048576.0
/* Fresh workspace addresses come out of a pool of this size. */
#define POOL_BYTES ((uint64_t)64 << 20)
#define POOL_ALIGN 512u

#ifdef SAB_SANITIZED
/* Of the sanitizer's run-time library, whose header is another package's. */
extern size_t __sanitizer_get_current_allocated_bytes(void);
#endif

struct holdings {
    double heap, device; /* bytes in use */
    double files, threads;
};

static double count_entries(const char *dir)
{
    DIR *d = opendir(dir);
    double n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static int take_stock(struct rig *rig, struct holdings *h, struct err *err)
{
    uint64_t available;

    if (device_free_bytes(rig->dev, &available, err))
        return -1;
    h->device = -(double)available;
#ifdef SAB_SANITIZED
    h->heap = (double)__sanitizer_get_current_allocated_bytes();
#else
    const struct mallinfo2 info = mallinfo2();

    h->heap = (double)info.uordblks + (double)info.hblkhd;
#endif
    h->files = count_entries("/proc/self/fd");
    h->threads = count_entries("/proc/self/task");
    return 0;
}

struct pool {
    char *data;
    uint64_t stride, slots, next;
    int launch_every;
};

static int pool_open(struct rig *rig, struct pool *p, int plans, struct err *err)
{
    const struct arm_run *arm = rig->side[RIG_A].arm;
    const double budget = device_has_streams(rig->dev) ? LAUNCH_S_CUDA : LAUNCH_S;
    uint64_t largest = 0;
    void *data;

    memset(p, 0, sizeof(*p));
    p->launch_every = (int)fmin(plans, ceil(3.0 * plans * rig->launch_s / budget));
    if (p->launch_every < 1)
        p->launch_every = 1;
    for (size_t i = 0; i < arm->steps_nr; i++)
        if (arm->step[i].workspace_bytes > largest)
            largest = arm->step[i].workspace_bytes;
    if (!largest)
        return 0;
    p->stride = (largest + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    p->slots = POOL_BYTES / p->stride;
    if (p->slots < arm->steps_nr)
        p->slots = arm->steps_nr;
    if (device_alloc(rig->dev, p->slots * p->stride + WORK_GUARD_BYTES, &data, err))
        return -1;
    p->data = data;
    return 0;
}

/* A plan on workspaces at new addresses, launched now and then, freed. */
static int one_plan(struct rig *rig, struct pool *p, int at, struct check_result *res,
                    struct err *err)
{
    struct arm_run arm = *rig->side[RIG_A].arm;
    int ret;

    for (size_t i = 0; i < arm.steps_nr; i++) {
        arm.step[i].plan = NULL;
        /* WORK_GUARD_BYTES are in front of every workspace: those of the first slot are the pool's.
         */
        if (arm.step[i].workspace && p->slots)
            arm.step[i].workspace = p->data + p->next++ % p->slots * p->stride;
    }
    ret = rig_plan(rig, &arm, "one of many plans", res, err);
    if (!ret && at % p->launch_every == 0)
        ret = rig_enqueue(rig, &arm, res, err);
    if (!ret)
        ret = device_sync(rig->dev, err);
    if (ret >= 0)
        rig_plan_free(&arm);
    return ret;
}

/* Ends early where plans are slow; *done says after how many. */
static int one_range(struct rig *rig, struct pool *p, int plans, struct holdings *grown, int *done,
                     struct check_result *res, struct err *err)
{
    const double begin = verify_now_s();
    struct holdings before, after;

    *done = 0;
    if (take_stock(rig, &before, err))
        return -1;
    while (*done < plans && (*done < PLANS_LEAST || verify_now_s() - begin < RANGE_S)) {
        int ret = one_plan(rig, p, (*done)++, res, err);

        if (ret)
            return ret;
    }
    if (take_stock(rig, &after, err))
        return -1;
    *grown = (struct holdings){after.heap - before.heap, after.device - before.device,
                               after.files - before.files, after.threads - before.threads};
    return 0;
}

static int judge_growth(const struct holdings *g, int plans, struct check_result *res)
{
    if (g->heap >= HEAP_BYTES_A_PLAN * plans)
        return check_fail(res, "host memory grows by %.0f bytes a plan", g->heap / plans);
    if (g->device >= DEVICE_BYTES)
        return check_fail(res, "device memory grows by %.0f bytes a plan", g->device / plans);
    if (g->files >= plans / 2.0)
        return check_fail(res, "%.0f files were left open by %d plans", g->files, plans);
    if (g->threads >= plans / 2.0)
        return check_fail(res, "%.0f threads were left by %d plans", g->threads, plans);
    return 0;
}

static void keep_least(struct holdings *least, const struct holdings *g)
{
    *least = (struct holdings){fmin(least->heap, g->heap), fmin(least->device, g->device),
                               fmin(least->files, g->files), fmin(least->threads, g->threads)};
}

/* The ranges behind the first; *most is the most plans of one. */
static int all_ranges(struct rig *rig, struct pool *pool, int plans, struct holdings *least,
                      int *most, struct check_result *res, struct err *err)
{
    *least = (struct holdings){INFINITY, INFINITY, INFINITY, INFINITY};
    *most = 0;
    for (int i = 0; i < 2 || (i < 2 + RANGES_MORE && least->device >= DEVICE_BYTES); i++) {
        struct holdings grown;
        int done, ret = one_range(rig, pool, plans, &grown, &done, res, err);

        if (ret)
            return ret;
        keep_least(least, &grown);
        *most = done > *most ? done : *most;
    }
    return 0;
}

int check_no_growth(struct rig *rig, struct check_result *res, struct err *err)
{
    const int plans = device_has_streams(rig->dev) ? PLANS_CUDA : PLANS;
    struct holdings warm, least;
    struct pool pool;
    int done, most;
    int ret = rig_need(rig, RIG_A, res, err);

    if (ret)
        return ret;
    if (pool_open(rig, &pool, plans, err))
        return -1;
    ret = one_range(rig, &pool, plans, &warm, &done, res, err);
    if (!ret)
        ret = all_ranges(rig, &pool, plans, &least, &most, res, err);
    device_free(rig->dev, pool.data);
    return ret ? ret : judge_growth(&least, most, res);
}
