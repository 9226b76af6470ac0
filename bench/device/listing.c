/*
 * listing.c - device_list_cuda(): what GPUs there are, without a context.
 *
 * Through NVML, or where that is missing through the driver. NVML does not know of
 * CUDA_VISIBLE_DEVICES, so it is applied here: what the user hid stays hidden.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "foreign.h"
#include "nvml.h"

#define LISTING_MAX 64

/* The driver's attributes (cuda.h, CUdevice_attribute). */
#define DRIVER_MAJOR 75
#define DRIVER_MINOR 76

struct driver {
    int (*init)(unsigned flags);
    int (*count)(int *nr);
    int (*get)(int *gpu, int i);
    int (*name)(char *text, int size, int gpu);
    int (*uuid)(unsigned char bytes[16], int gpu);
    int (*pci)(char *text, int size, int gpu);
    int (*attribute)(int *value, int what, int gpu);
};

static bool driver_open(struct driver *d)
{
    static const char *const path[] = {"libcuda.so.1", NULL};
    const struct foreign_symbol symbol[] = {
        {"cuInit", NULL, false, &d->init},
        {"cuDeviceGetCount", NULL, false, &d->count},
        {"cuDeviceGet", NULL, false, &d->get},
        {"cuDeviceGetName", NULL, false, &d->name},
        {"cuDeviceGetUuid_v2", "cuDeviceGetUuid", false, &d->uuid},
        {"cuDeviceGetPCIBusId", NULL, false, &d->pci},
        {"cuDeviceGetAttribute", NULL, false, &d->attribute},
    };
    char why[256];

    return foreign_open(path, symbol, sizeof(symbol) / sizeof(symbol[0]), why, sizeof(why)) &&
           d->init(0) == 0;
}

static void format_uuid(const unsigned char b[16], char *text, size_t size)
{
    snprintf(text, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

/* The driver applies CUDA_VISIBLE_DEVICES itself. */
static int driver_list(struct device_listing *list, int max)
{
    struct driver d;
    int nr = 0, used = 0;

    if (!driver_open(&d) || d.count(&nr) != 0)
        return 0;
    for (int i = 0; i < nr; i++) {
        struct device_listing item;
        unsigned char bytes[16];
        int gpu, major = 0, minor = 0;

        if (d.get(&gpu, i) != 0 || d.uuid(bytes, gpu) != 0)
            continue;
        memset(&item, 0, sizeof(item));
        format_uuid(bytes, item.uuid, sizeof(item.uuid));
        if (d.name(item.name, (int)sizeof(item.name), gpu) != 0)
            item.name[0] = '\0';
        if (d.pci(item.pci, (int)sizeof(item.pci), gpu) != 0)
            item.pci[0] = '\0';
        if (d.attribute(&major, DRIVER_MAJOR, gpu) == 0 &&
            d.attribute(&minor, DRIVER_MINOR, gpu) == 0)
            item.arch = 10 * major + minor;
        if (used < max)
            list[used] = item;
        used++;
    }
    return used;
}

/* Place of the GPU that one entry of CUDA_VISIBLE_DEVICES names: a number, or the beginning of one
 * UUID. -1: none, and the entries behind it count no more (CUDA C Programming Guide, environment
 * variables). */
static int visible_find(const char *entry, size_t len, const struct device_listing *all, int nr)
{
    int found = -1;
    char *end;
    long i;

    if (len > 4 && strncmp(entry, "GPU-", 4) == 0) {
        for (int k = 0; k < nr; k++) {
            if (strncmp(all[k].uuid, entry, len) != 0)
                continue;
            if (found >= 0)
                return -1;
            found = k;
        }
        return found;
    }
    i = strtol(entry, &end, 10);
    return len > 0 && end == entry + len && i >= 0 && i < nr ? (int)i : -1;
}

static int visible_filter(const char *visible, const struct device_listing *all, int nr,
                          struct device_listing *list, int max)
{
    int used = 0;

    for (const char *at = visible;; at++) {
        const size_t len = strcspn(at, ",");
        const size_t blank = strspn(at, " ");
        size_t end = len;
        int i = -1;

        while (end > blank && at[end - 1] == ' ')
            end--;
        if (blank < end)
            i = visible_find(at + blank, end - blank, all, nr);
        if (i < 0)
            return used;
        if (used < max)
            list[used] = all[i];
        used++;
        at += len;
        if (*at == '\0')
            return used;
    }
}

int device_list_cuda(struct device_listing *list, int max)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    struct device_listing all[LISTING_MAX];
    struct nvml *nvml = nvml_open();
    int nr;

    if (!nvml)
        return driver_list(list, max);
    nr = nvml_list(nvml, all, LISTING_MAX);
    nvml_close(nvml);
    if (nr > LISTING_MAX)
        nr = LISTING_MAX;
    if (visible)
        return visible_filter(visible, all, nr, list, max);
    if (nr > 0 && max > 0)
        memcpy(list, all, sizeof(*list) * (size_t)(nr < max ? nr : max));
    return nr;
}
