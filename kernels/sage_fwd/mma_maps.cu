#include "mma_maps.h"

#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <pthread.h>

#include "cuda_check.h"
#include "mma_table.h"
#include "stage.cuh"

/*
 * A table of the whole process is what ABI 1 is about: what outlives a call and is believed by
 * address. Nothing else here has a state of its own.
 */
static struct sage_table table;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static int find_buffer_id(const void *address, uint64_t *id, struct sab_message *msg)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *entry = NULL;
    unsigned long long value = 0;
    int status = sab_cuda_check(cudaGetDriverEntryPointByVersion("cuPointerGetAttribute", &entry,
                                                                 4000, cudaEnableDefault, &found),
                                "look up cuPointerGetAttribute", msg);

    if (status != SAB_OK)
        return status;
    if (found != cudaDriverEntryPointSuccess || !entry)
        return sab_say(msg, SAB_FAILED, "the driver has no cuPointerGetAttribute");
    CUresult result = reinterpret_cast<PFN_cuPointerGetAttribute_v4000>(entry)(
        &value, CU_POINTER_ATTRIBUTE_BUFFER_ID, reinterpret_cast<CUdeviceptr>(address));
    if (result != CUDA_SUCCESS)
        return sab_say(msg, SAB_FAILED, "the workspace at %p has no buffer id (driver error %d)",
                       address, (int)result);
    *id = value;
    return SAB_OK;
}

/* The copy returns when its source may go; the wait, when its destination is written. */
static int copy_maps(void *workspace, const struct sage_mma_workspace *maps,
                     struct sab_message *msg)
{
    int status = sab_cuda_check(cudaMemcpy(workspace, maps, sizeof(*maps), cudaMemcpyHostToDevice),
                                "copy tensor maps to the workspace", msg);

    if (status == SAB_OK)
        status =
            sab_cuda_check(cudaStreamSynchronize(cudaStreamLegacy), "wait for tensor maps", msg);
    return status;
}

int sage_maps_cache(const struct sage_mma_workspace *maps, void *workspace, int32_t device,
                    struct sab_message *msg)
{
    struct sage_table_upload upload = {device, reinterpret_cast<uintptr_t>(workspace), 0, maps};
    int status = find_buffer_id(workspace, &upload.buffer_id, msg);

    if (status != SAB_OK)
        return status;
    (void)pthread_mutex_lock(&table_lock);
    if (!sage_table_knows(&table, &upload)) {
        status = copy_maps(workspace, maps, msg);
        if (status == SAB_OK)
            status = sage_table_note(&table, &upload, msg);
    }
    (void)pthread_mutex_unlock(&table_lock);
    return status;
}

namespace sage
{

/* One warp, 16 bytes a thread. */
static constexpr unsigned upload_threads = SAGE_DESCRIPTOR_BYTES / sizeof(uint4);

static __global__ void __launch_bounds__(upload_threads)
    upload_maps(const __grid_constant__ sage_mma_workspace from, uint4 *to)
{
    to[threadIdx.x] = reinterpret_cast<const uint4 *>(&from)[threadIdx.x];
    sab::maps_release();
}

} // namespace sage

int sage_maps_load_upload(struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;

    return sab_cuda_check(
        cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(sage::upload_maps)),
        "load the kernel that uploads tensor maps", msg);
}

int sage_maps_upload(const struct sage_mma_workspace *maps, void *workspace, void *stream,
                     struct sab_message *msg)
{
    void *arguments[] = {const_cast<struct sage_mma_workspace *>(maps), &workspace};

    return sab_cuda_check(cudaLaunchKernel(reinterpret_cast<const void *>(sage::upload_maps), 1,
                                           sage::upload_threads, arguments, 0,
                                           static_cast<cudaStream_t>(stream)),
                          "launch the upload of tensor maps", msg);
}
