/*
 * nvml.c - opening NVML, and what does not change: the list of GPUs and their settings.
 */
#include "nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "foreign.h"
#include "nvml_internal.h"

struct nvml *nvml_open(void)
{
    static const char *const path[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
    struct nvml *n = calloc(1, sizeof(*n));
    char why[256];

    if (!n)
        return NULL;
    {
        const struct foreign_symbol symbol[] = {
            {"nvmlInit_v2", NULL, false, &n->init},
            {"nvmlShutdown", NULL, false, &n->shutdown},
            {"nvmlSystemGetDriverVersion", NULL, true, &n->driver},
            {"nvmlDeviceGetCount_v2", NULL, false, &n->count},
            {"nvmlDeviceGetHandleByIndex_v2", NULL, false, &n->by_index},
            {"nvmlDeviceGetHandleByUUID", NULL, false, &n->by_uuid},
            {"nvmlDeviceGetName", NULL, false, &n->name},
            {"nvmlDeviceGetUUID", NULL, false, &n->uuid},
            {"nvmlDeviceGetPciInfo_v3", NULL, true, &n->pci},
            {"nvmlDeviceGetCudaComputeCapability", NULL, true, &n->capability},
            {"nvmlDeviceGetClockInfo", NULL, true, &n->clock},
            {"nvmlDeviceGetMaxClockInfo", NULL, true, &n->clock_max},
            {"nvmlDeviceGetPowerUsage", NULL, true, &n->power},
            {"nvmlDeviceGetEnforcedPowerLimit", NULL, true, &n->power_limit},
            {"nvmlDeviceGetPowerManagementDefaultLimit", NULL, true, &n->power_default},
            {"nvmlDeviceGetComputeRunningProcesses_v3", NULL, true, &n->compute_processes},
            {"nvmlDeviceGetGraphicsRunningProcesses_v3", NULL, true, &n->graphics_processes},
            {"nvmlDeviceGetTemperature", NULL, true, &n->temperature},
            {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
             true, &n->reasons},
            {"nvmlDeviceGetEccMode", NULL, true, &n->ecc},
            {"nvmlDeviceGetPersistenceMode", NULL, true, &n->persistence},
            {"nvmlDeviceGetMigMode", NULL, true, &n->mig},
            {"nvmlDeviceGetDisplayActive", NULL, true, &n->display},
        };

        if (!foreign_open(path, symbol, sizeof(symbol) / sizeof(symbol[0]), why, sizeof(why)) ||
            n->init() != NVML_OK) {
            free(n);
            return NULL;
        }
    }
    return n;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    n->shutdown();
    free(n);
}

static void list_one(struct nvml *n, struct nvml_gpu *gpu, struct device_listing *item)
{
    struct nvml_pci pci;
    int major, minor;

    memset(item, 0, sizeof(*item));
    if (n->name(gpu, item->name, sizeof(item->name)) != NVML_OK)
        item->name[0] = '\0';
    if (n->uuid(gpu, item->uuid, sizeof(item->uuid)) != NVML_OK)
        item->uuid[0] = '\0';
    memset(&pci, 0, sizeof(pci));
    if (n->pci && n->pci(gpu, &pci) == NVML_OK)
        snprintf(item->pci, sizeof(item->pci), "%.*s", (int)sizeof(pci.bus_id) - 1, pci.bus_id);
    if (n->capability && n->capability(gpu, &major, &minor) == NVML_OK)
        item->arch = 10 * major + minor;
}

int nvml_list(struct nvml *n, struct device_listing *list, int max)
{
    unsigned nr = 0;
    int used = 0;

    if (n->count(&nr) != NVML_OK)
        return 0;
    for (unsigned i = 0; i < nr; i++) {
        struct nvml_gpu *gpu;

        if (n->by_index(i, &gpu) != NVML_OK)
            continue;
        if (used < max)
            list_one(n, gpu, &list[used]);
        used++;
    }
    return used;
}

void nvml_describe(struct nvml *n, struct device_info *info)
{
    struct nvml_gpu *gpu;
    unsigned value, pending;
    int mode, other;

    if (n->driver && n->driver(info->driver, sizeof(info->driver)) != NVML_OK)
        info->driver[0] = '\0';
    if (n->by_uuid(info->uuid, &gpu) != NVML_OK)
        return;
    if (n->clock_max && n->clock_max(gpu, NVML_CLOCK_SM, &value) == NVML_OK)
        info->clock_max_mhz = value;
    if (n->power_limit && n->power_limit(gpu, &value) == NVML_OK)
        info->power_limit_w = value / 1e3;
    if (n->power_default && n->power_default(gpu, &value) == NVML_OK)
        info->power_default_w = value / 1e3;
    if (n->ecc && n->ecc(gpu, &mode, &other) == NVML_OK)
        info->ecc = mode != 0;
    if (n->persistence && n->persistence(gpu, &mode) == NVML_OK)
        info->persistence = mode != 0;
    if (n->mig && n->mig(gpu, &value, &pending) == NVML_OK)
        info->mig = value != 0;
    if (n->display && n->display(gpu, &mode) == NVML_OK)
        info->display = mode != 0;
}

#define PROCESSES_MAX 64

/* One program may stand in both lists. */
int nvml_processes(struct nvml *n, const char *uuid)
{
    int (*const ask[])(struct nvml_gpu *, unsigned *,
                       struct nvml_process *) = {n->compute_processes, n->graphics_processes};
    struct nvml_process list[2 * PROCESSES_MAX];
    struct nvml_gpu *gpu;
    unsigned used = 0;
    bool known = false;

    if (n->by_uuid(uuid, &gpu) != NVML_OK)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        struct nvml_process *more = list + used;
        unsigned nr = PROCESSES_MAX;

        if (!ask[i] || ask[i](gpu, &nr, more) != NVML_OK)
            continue;
        known = true;
        for (unsigned k = 0; k < nr; k++) {
            unsigned at = 0;
            while (at < used && list[at].pid != more[k].pid)
                at++;
            if (at == used)
                list[used++] = more[k];
        }
    }
    return known ? (int)used : -1;
}

#define LOOK_MS     20
#define LOOK_MAX    100 /* readings */
#define LOOK_WINDOW 10  /* readings within which the clock must stand still */
#define LOOK_SHARE  0.03

static void extremes(const double *mhz, size_t nr, double *lo, double *hi)
{
    *lo = *hi = mhz[0];
    for (size_t i = 1; i < nr; i++) {
        *lo = mhz[i] < *lo ? mhz[i] : *lo;
        *hi = mhz[i] > *hi ? mhz[i] : *hi;
    }
}

void nvml_look(struct nvml *n, struct device_info *info)
{
    static const struct timespec nap = {.tv_nsec = LOOK_MS * 1000000};
    double mhz[LOOK_MAX];
    struct nvml_gpu *gpu;

    if (n->by_uuid(info->uuid, &gpu) != NVML_OK || !n->clock)
        return;
    for (size_t nr = 0; nr < LOOK_MAX; nanosleep(&nap, NULL)) {
        unsigned long long bits = 0;
        unsigned value;

        if (n->clock(gpu, NVML_CLOCK_SM, &value) != NVML_OK)
            return;
        mhz[nr++] = value;
        if (n->reasons && n->reasons(gpu, &bits) == NVML_OK)
            info->throttle_bits |= bits;
        if (nr < LOOK_WINDOW)
            continue;
        extremes(mhz + nr - LOOK_WINDOW, LOOK_WINDOW, &info->sm_mhz_lo, &info->sm_mhz_hi);
        if (info->sm_mhz_hi - info->sm_mhz_lo <= LOOK_SHARE * info->sm_mhz_hi)
            return;
    }
}
