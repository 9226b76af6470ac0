/*
 * cuda_open.c - opening device cuda, and what it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_internal.h"

static void version_text(int version, char *text, size_t size)
{
    snprintf(text, size, "%d.%d", version / 1000, version / 10 % 100);
}

static void uuid_text(const cudaUUID_t *uuid, char *text, size_t size)
{
    static const int dash_before[] = {4, 6, 8, 10};
    size_t used = (size_t)snprintf(text, size, "GPU-");
    size_t next = 0;

    for (int i = 0; i < 16 && used + 4 < size; i++) {
        if (next < 4 && i == dash_before[next]) {
            text[used++] = '-';
            next++;
        }
        used += (size_t)snprintf(text + used, size - used, "%02x", (unsigned char)uuid->bytes[i]);
    }
}

static int read_info(struct cuda_device *cuda, struct err *err)
{
    struct device_info *info = &cuda->dev.info;
    struct cudaDeviceProp p;
    size_t available = 0, total = 0;
    int version;

    if (cuda_check(cudaGetDeviceProperties(&p, 0), "cudaGetDeviceProperties", err) < 0 ||
        cuda_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo", err) < 0 ||
        cuda_check(cudaDeviceGetPCIBusId(info->pci, (int)sizeof(info->pci), 0),
                   "cudaDeviceGetPCIBusId", err) < 0)
        return -1;
    snprintf(info->name, sizeof(info->name), "%.*s", (int)sizeof(info->name) - 1, p.name);
    uuid_text(&p.uuid, info->uuid, sizeof(info->uuid));
    info->arch = 10 * p.major + p.minor;
    info->multiprocessors = p.multiProcessorCount;
    info->memory_bytes = total;
    info->memory_free_bytes = available;
    info->cache_bytes = (uint64_t)p.l2CacheSize;
    if (cuda_check(cudaDriverGetVersion(&version), "cudaDriverGetVersion", err) < 0)
        return -1;
    version_text(version, info->cuda_driver, sizeof(info->cuda_driver));
    if (cuda_check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion", err) < 0)
        return -1;
    version_text(version, info->cuda_runtime, sizeof(info->cuda_runtime));
    if (cuda->cupti)
        cupti_timer_version(cuda->cupti, info->cupti, sizeof(info->cupti));
    info->ecc = info->persistence = info->mig = info->display = -1;
    if (cuda->nvml)
        nvml_describe(cuda->nvml, info);
    return 0;
}

/* cudaGetDeviceCount() would only say that the driver is insufficient. */
static int check_driver(struct err *err)
{
    char has[16], wants[16];
    int driver = 0, runtime = 0;

    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0 ||
        cudaRuntimeGetVersion(&runtime) != cudaSuccess || driver / 1000 >= runtime / 1000)
        return 0;
    version_text(driver, has, sizeof(has));
    version_text(runtime, wants, sizeof(wants));
    return err_set(err, ERR_ENVIRONMENT,
                   DEVICE_DRIVER_OLD ": it serves CUDA %s, this program was built with %s, update "
                                     "the driver or build with an older toolkit",
                   has, wants);
}

/* Before our own context is one of them. The GPU that will be opened is the first visible one. */
static void count_processes(struct cuda_device *cuda, struct device_listing *gpu)
{
    cuda->dev.info.processes = -1;
    gpu->uuid[0] = '\0';
    if (cuda->nvml && device_list_cuda(gpu, 1) > 0)
        cuda->dev.info.processes = nvml_processes(cuda->nvml, gpu->uuid);
}

static int open_context(struct cuda_device *cuda, const struct device_request *request,
                        struct err *err)
{
    int nr = 0;

    if (check_driver(err) < 0)
        return -1;
    /* Initialises the driver, makes no context: CUPTI must be there before that. */
    if (cuda_check(cudaGetDeviceCount(&nr), "cudaGetDeviceCount", err) < 0)
        return -1;
    if (nr < 1)
        return err_set(err, ERR_ENVIRONMENT, "device 'cuda' is not to be had: no GPU is visible");
    if (request->timer == DEVICE_TIMER_CUPTI && cupti_timer_open(&cuda->cupti, err) < 0)
        return -1;
    if (cuda_check(cudaSetDevice(0), "cudaSetDevice", err) < 0 ||
        cuda_check(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking),
                   "cudaStreamCreateWithFlags", err) < 0)
        return -1;
    return cuda_reset_persisting(err);
}

static int open_parts(struct cuda_device *cuda, struct err *err)
{
    const size_t bytes = CUDA_PARTS * sizeof(struct device_difference);

    if (cuda_alloc(&cuda->dev, bytes, &cuda->parts, err) < 0)
        return -1;
    return cuda_check(cudaMallocHost(&cuda->parts_host, bytes), "cudaMallocHost", err);
}

static int open_all(struct cuda_device *cuda, const struct device_request *request, struct err *err)
{
    struct device_listing gpu;

    cuda->nvml = nvml_open();
    count_processes(cuda, &gpu);
    if (open_context(cuda, request, err) < 0 || read_info(cuda, err) < 0)
        return -1;
    if (strcmp(gpu.uuid, cuda->dev.info.uuid) != 0)
        cuda->dev.info.processes = -1;
    if (open_parts(cuda, err) < 0 || cuda_scrub_open(cuda, request->seed, err) < 0)
        return -1;
    if (request->timer == DEVICE_TIMER_CUPTI &&
        (cuda_clock_open(cuda, err) < 0 ||
         cuda_tick_measure(cuda, &cuda->dev.info.tick_ns, err) < 0))
        return -1;
    cuda->dev.info.timer = request->timer;
    if (request->look && cuda->nvml)
        nvml_look(cuda->nvml, &cuda->dev.info);
    if (request->conditions && cuda->nvml)
        cuda->poll = nvml_poll_start(cuda->nvml, cuda->dev.info.uuid);
    cuda->nvtx = cuda_range_open();
    return cuda_sync(&cuda->dev, err);
}

/* After a fault of the context the frees fail, which is fine: the process is about to end. */
static void cuda_close(struct device *dev)
{
    struct cuda_device *cuda = cuda_of(dev);

    nvml_poll_stop(cuda->poll);
    nvml_close(cuda->nvml);
    if (cuda->stream)
        (void)cudaStreamSynchronize(cuda->stream);
    cupti_timer_close(cuda->cupti);
    cuda_clock_close(cuda);
    cuda_scrub_close(cuda);
    cuda_free(dev, cuda->parts);
    if (cuda->parts_host)
        (void)cudaFreeHost(cuda->parts_host);
    if (cuda->stream)
        (void)cudaStreamDestroy(cuda->stream);
    free(cuda->mark);
    free(cuda);
}

static void *cuda_stream(struct device *dev)
{
    return cuda_of(dev)->stream;
}

static void cuda_idle(struct device *dev)
{
    /* A fault shows at the end of the round. */
    (void)cudaStreamSynchronize(cuda_of(dev)->stream);
}

static void cuda_conditions_at(struct device *dev, double start_ns, struct device_conditions *out)
{
    if (cuda_of(dev)->poll)
        nvml_poll_at(cuda_of(dev)->poll, start_ns, out);
}

static const struct device_vtable cuda_vtable = {
    .close = cuda_close,
    .stream = cuda_stream,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .generate = cuda_generate,
    .sync = cuda_sync,
    .shift_ids = cuda_shift_ids,
    .count_other = cuda_count_other,
    .digest = cuda_digest,
    .compare = cuda_compare,
    .round_begin = cuda_round_begin,
    .sample_begin = cuda_sample_begin,
    .sample_part = cuda_sample_part,
    .sample_end = cuda_sample_end,
    .round_end = cuda_round_end,
    .activity_name = cuda_activity_name,
    .idle = cuda_idle,
    .conditions_at = cuda_conditions_at,
    .streams = &cuda_streams,
    .traffic = &cuda_traffic,
};

int cuda_open(struct device **dev, const struct device_request *request, struct err *err)
{
    struct cuda_device *cuda;

    if (request->timer == DEVICE_TIMER_MONOTONIC)
        return err_set(err, ERR_ENVIRONMENT,
                       "timer 'monotonic' is not to be had on device cuda: it would time the host, "
                       "use 'auto' or 'cupti'");
    cuda = calloc(1, sizeof(*cuda));
    if (!cuda)
        return err_memory(err);
    cuda->dev.ops = &cuda_vtable;
    cuda->dev.info.kind = SAB_DEVICE_CUDA;
    if (open_all(cuda, request, err) < 0) {
        /* No case runs yet that could have crashed. */
        if (err && err->kind == ERR_CRASH)
            err->kind = ERR_ENVIRONMENT;
        cuda_close(&cuda->dev);
        return -1;
    }
    *dev = &cuda->dev;
    return 0;
}
