/*
 * tensor_map.cu - the driver's encoder, fetched through the runtime: a process without libcuda can
 * still load the library.
 */
#include "tensor_map.h"

#include <cudaTypedefs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_check.h"

/* The encoder appeared with CUDA 12.0; asking for that version keeps its signature fixed. */
static int find_encoder(PFN_cuTensorMapEncodeTiled_v12000 *encode, struct sab_message *msg)
{
    void *address = NULL;
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000,
                                                         cudaEnableDefault, &found);

    if (error != cudaSuccess)
        return sab_cuda_check(error, "look up cuTensorMapEncodeTiled", msg);
    if (found != cudaDriverEntryPointSuccess || !address)
        return sab_say(
            msg, SAB_FAILED,
            "the driver has no cuTensorMapEncodeTiled of CUDA 12.0: a newer driver is needed");
    *encode = (PFN_cuTensorMapEncodeTiled_v12000)address;
    return SAB_OK;
}

static void write_numbers(char *text, size_t size, const uint64_t *numbers, uint32_t nr)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < nr && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%llu", i ? ", " : "",
                                 (unsigned long long)numbers[i]);
}

int sab_map_encode(CUtensorMap *map, const struct sab_map_shape *shape, struct sab_message *msg)
{
    const cuuint32_t steps[SAB_MAP_MAX_RANK] = {1, 1, 1, 1, 1};
    PFN_cuTensorMapEncodeTiled_v12000 encode = NULL;
    char sizes[112], strides[112];
    cuuint64_t size[SAB_MAP_MAX_RANK], stride[SAB_MAP_MAX_RANK];
    int status = find_encoder(&encode, msg);

    if (status != SAB_OK)
        return status;
    for (uint32_t i = 0; i < shape->rank; i++) {
        size[i] = shape->size[i];
        stride[i] = shape->stride_bytes[i];
    }
    memset(map, 0, sizeof(*map));
    CUresult result = encode(map, shape->type, shape->rank, shape->base, size, stride + 1,
                             shape->box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, shape->swizzle,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS)
        return SAB_OK;
    write_numbers(sizes, sizeof(sizes), shape->size, shape->rank);
    write_numbers(strides, sizeof(strides), shape->stride_bytes + 1, shape->rank - 1);
    return sab_say(
        msg, SAB_FAILED,
        "the tensor map of %s was refused (driver error %d): sizes %s (fastest first), byte "
        "strides %s",
        shape->name, (int)result, sizes, strides);
}

void *sab_map_plan_alloc(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
