/*
 * nvml_internal.h - NVML's functions, declared by hand so that no toolkit is needed to build.
 *
 * Prototypes and constants: NVML API Reference. Only interfaces that NVML keeps stable: plain
 * handles, numbers and one struct with a version in its function's name.
 */
#ifndef BENCH_DEVICE_NVML_INTERNAL_H
#define BENCH_DEVICE_NVML_INTERNAL_H

#include "nvml.h"

#define NVML_OK              0
#define NVML_CLOCK_SM        1
#define NVML_CLOCK_MEM       2
#define NVML_TEMPERATURE_GPU 0

struct nvml_gpu; /* opaque to us */

/* nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3. */
struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

/* nvmlProcessInfo_t of the functions with _v3. */
struct nvml_process {
    unsigned pid;
    unsigned long long memory_bytes;
    unsigned gpu_instance, compute_instance;
};

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned size);
    int (*count)(unsigned *nr);
    int (*by_index)(unsigned i, struct nvml_gpu **gpu);
    int (*by_uuid)(const char *uuid, struct nvml_gpu **gpu);
    int (*name)(struct nvml_gpu *gpu, char *text, unsigned size);
    int (*uuid)(struct nvml_gpu *gpu, char *text, unsigned size);
    int (*pci)(struct nvml_gpu *gpu, struct nvml_pci *pci);
    int (*capability)(struct nvml_gpu *gpu, int *major, int *minor);
    int (*clock)(struct nvml_gpu *gpu, int type, unsigned *mhz);
    int (*clock_max)(struct nvml_gpu *gpu, int type, unsigned *mhz);
    int (*power)(struct nvml_gpu *gpu, unsigned *mw);
    int (*power_limit)(struct nvml_gpu *gpu, unsigned *mw);
    int (*power_default)(struct nvml_gpu *gpu, unsigned *mw);
    int (*compute_processes)(struct nvml_gpu *gpu, unsigned *nr, struct nvml_process *list);
    int (*graphics_processes)(struct nvml_gpu *gpu, unsigned *nr, struct nvml_process *list);
    int (*temperature)(struct nvml_gpu *gpu, int sensor, unsigned *celsius);
    int (*reasons)(struct nvml_gpu *gpu, unsigned long long *bits);
    int (*ecc)(struct nvml_gpu *gpu, int *current, int *pending);
    int (*persistence)(struct nvml_gpu *gpu, int *mode);
    int (*mig)(struct nvml_gpu *gpu, unsigned *current, unsigned *pending);
    int (*display)(struct nvml_gpu *gpu, int *active);
};

#endif
