/*
 * cuda_memory.c - memory of device cuda, and the calls that read it back.
 */
#include <stdio.h>

#include "cuda_internal.h"
#include "difference.h"
#include "digest.h"

int cuda_check(cudaError_t rc, const char *what, struct err *err)
{
    switch (rc) {
    case cudaSuccess:
        return 0;
    case cudaErrorMemoryAllocation:
        return err_set(err, ERR_MEMORY, "out of device memory at %s", what);
    case cudaErrorNoKernelImageForDevice:
        return err_set(err, ERR_ENVIRONMENT,
                       "this program holds no code for the present GPU, build with "
                       "CMAKE_CUDA_ARCHITECTURES naming it");
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorDevicesUnavailable:
    case cudaErrorInitializationError:
        return err_set(err, ERR_ENVIRONMENT, "device 'cuda' is not to be had: %s at %s",
                       cudaGetErrorString(rc), what);
    default:
        return err_set(err, ERR_CRASH, "CUDA error %d (%s) at %s: %s", (int)rc,
                       cudaGetErrorName(rc), what, cudaGetErrorString(rc));
    }
}

int cuda_alloc(struct device *dev, uint64_t bytes, void **ptr, struct err *err)
{
    size_t available = 0, total = 0;
    cudaError_t rc;

    (void)dev;
    rc = cudaMalloc(ptr, bytes ? (size_t)bytes : 1);
    if (rc != cudaErrorMemoryAllocation)
        return cuda_check(rc, "cudaMalloc", err);
    cudaGetLastError(); /* an allocation that failed leaves the context sound */
    *ptr = NULL;
    if (cudaMemGetInfo(&available, &total) != cudaSuccess)
        available = 0;
    return err_set(err, ERR_MEMORY, "out of device memory: %llu bytes asked for, %zu free",
                   (unsigned long long)bytes, available);
}

void cuda_free(struct device *dev, void *ptr)
{
    (void)dev;
    /* What an earlier fault left behind is reported by the next sync. */
    (void)cudaFree(ptr);
}

int cuda_sync(struct device *dev, struct err *err)
{
    if (cuda_check(cudaStreamSynchronize(cuda_of(dev)->stream), "cudaStreamSynchronize", err) < 0)
        return -1;
    return cuda_check(cudaGetLastError(), "an earlier call", err);
}

static int copy_async(struct device *dev, void *dst, const void *src, uint64_t bytes,
                      enum cudaMemcpyKind kind, struct err *err)
{
    return cuda_check(cudaMemcpyAsync(dst, src, (size_t)bytes, kind, cuda_of(dev)->stream),
                      "cudaMemcpyAsync", err);
}

int cuda_upload(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err)
{
    if (copy_async(dev, dst, src, bytes, cudaMemcpyHostToDevice, err) < 0)
        return -1;
    return cuda_sync(dev, err);
}

int cuda_download(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err)
{
    if (copy_async(dev, dst, src, bytes, cudaMemcpyDeviceToHost, err) < 0)
        return -1;
    return cuda_sync(dev, err);
}

int cuda_copy(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err)
{
    return copy_async(dev, dst, src, bytes, cudaMemcpyDeviceToDevice, err);
}

int cuda_fill(struct device *dev, void *dst, int byte, uint64_t bytes, struct err *err)
{
    return cuda_check(cudaMemsetAsync(dst, byte, (size_t)bytes, cuda_of(dev)->stream),
                      "cudaMemsetAsync", err);
}

int cuda_generate(struct device *dev, const struct recipe *r, void *dst, struct err *err)
{
    return cuda_check(cuda_kernel_generate(r, dst, device_recipe_elements(r), cuda_of(dev)->stream),
                      "generating a tensor", err);
}

int cuda_shift_ids(struct device *dev, int32_t *dst, const int32_t *src, int64_t n, int64_t group,
                   int64_t add, struct err *err)
{
    return cuda_check(cuda_kernel_shift_ids(dst, src, n, group, add, cuda_of(dev)->stream),
                      "converting ids", err);
}

/* Brings the part results of a kernel that was enqueued with status `rc` to the host. */
static int fetch_parts(struct cuda_device *cuda, cudaError_t rc, size_t part_bytes,
                       const char *what, struct err *err)
{
    if (cuda_check(rc, what, err) < 0)
        return -1;
    return cuda_download(&cuda->dev, cuda->parts_host, cuda->parts, CUDA_PARTS * part_bytes, err);
}

int cuda_count_other(struct device *dev, const void *ptr, int byte, uint64_t bytes, uint64_t *count,
                     int64_t *first, struct err *err)
{
    struct cuda_device *cuda = cuda_of(dev);
    const struct cuda_count_part *part = cuda->parts_host;
    uint64_t lowest = UINT64_MAX;

    if (fetch_parts(cuda, cuda_kernel_count_other(ptr, byte, bytes, cuda->parts, cuda->stream),
                    sizeof(*part), "counting bytes", err) < 0)
        return -1;
    for (int i = 0; i < CUDA_PARTS; i++) {
        *count += part[i].count;
        if (part[i].first < lowest)
            lowest = part[i].first;
    }
    *first = lowest == UINT64_MAX ? -1 : (int64_t)lowest;
    return 0;
}

int cuda_digest(struct device *dev, const void *ptr, uint64_t bytes, uint64_t *digest,
                struct err *err)
{
    struct cuda_device *cuda = cuda_of(dev);
    const uint64_t *part = cuda->parts_host;

    if (fetch_parts(cuda, cuda_kernel_digest(ptr, bytes, cuda->parts, cuda->stream), sizeof(*part),
                    "digesting", err) < 0)
        return -1;
    *digest = digest_length(bytes);
    for (int i = 0; i < CUDA_PARTS; i++)
        *digest += part[i];
    return 0;
}

int cuda_compare(struct device *dev, int32_t dtype, const void *got, const void *ref, int64_t n,
                 struct device_difference *out, struct err *err)
{
    struct cuda_device *cuda = cuda_of(dev);
    const struct device_difference *part = cuda->parts_host;

    difference_init(out);
    if (n <= 0)
        return 0;
    if (fetch_parts(cuda, cuda_kernel_compare(dtype, got, ref, n, cuda->parts, cuda->stream),
                    sizeof(*part), "comparing", err) < 0)
        return -1;
    for (int i = 0; i < CUDA_PARTS; i++)
        difference_merge(out, &part[i]);
    return 0;
}
