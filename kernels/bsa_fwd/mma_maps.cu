#include "mma_maps.h"

#include <cuda_runtime.h>
#include <stdio.h>

#include "cuda_check.h"
#include "tensor_map.h"

static int encode(CUtensorMap *map, const char *name, const uint16_t *base, int64_t tokens,
                  int64_t heads, struct sab_message *msg)
{
    const uint64_t row_bytes = sizeof(uint16_t) * BSA_HEAD_DIM;
    struct sab_map_shape shape = {};

    shape.name = name;
    shape.base = const_cast<uint16_t *>(base);
    shape.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    shape.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    shape.rank = 4;
    const uint64_t size[4] = {BSA_HEAD_DIM / 2, (uint64_t)tokens, 2, (uint64_t)heads};
    const uint64_t stride[4] = {sizeof(uint16_t), row_bytes, row_bytes / 2,
                                row_bytes * (uint64_t)tokens};
    const uint32_t box[4] = {BSA_HEAD_DIM / 2, BSA_BLOCK, 2, 1};
    for (int i = 0; i < 4; i++) {
        shape.size[i] = size[i];
        shape.stride_bytes[i] = stride[i];
        shape.box[i] = box[i];
    }
    return sab_map_encode(map, &shape, msg);
}

int bsa_maps_encode(struct bsa_maps *maps, const struct bsa_call *call, struct sab_message *msg)
{
    const int64_t kv_heads = call->batch * call->kv_heads;
    int status = encode(&maps->q, "q", call->q, call->seqlen_q, call->batch * call->heads, msg);

    if (status == SAB_OK)
        status = encode(&maps->k, "k", call->k, call->seqlen_k, kv_heads, msg);
    if (status == SAB_OK)
        status = encode(&maps->v, "v", call->v, call->seqlen_k, kv_heads, msg);
    return status;
}

/* SAB_OK for cudaSuccess, else a message that names the kernel. */
static int check(cudaError_t error, const char *what, const char *name, struct sab_message *msg)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "%s %s", what, name);
    return sab_cuda_check(error, text, msg);
}

int bsa_load_kernel(const void *kernel, int shared_bytes, const char *name, struct sab_message *msg)
{
    struct cudaFuncAttributes attributes;
    int status = check(cudaFuncGetAttributes(&attributes, kernel), "load the kernel of", name, msg);

    if (status == SAB_OK)
        status = check(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
            "set the shared memory of", name, msg);
    if (status == SAB_OK)
        status = check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                            cudaSharedmemCarveoutMaxShared),
                       "set the shared memory carve-out of", name, msg);
    return status;
}
