/*
 * tensor_map.h - encodes tiled TMA tensor maps without linking to libcuda.
 */
#ifndef SAB_TENSOR_MAP_H
#define SAB_TENSOR_MAP_H

#include <cuda.h>

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SAB_MAP_MAX_RANK 5

/* Dimensions run fastest first, as in the driver's interface. Elements are never interleaved, out
 * of range elements read as zero, and no L2 promotion is asked for. */
struct sab_map_shape {
    const char *name; /* of the tensor, for messages */
    void *base;       /* device address, a multiple of 16 */
    CUtensorMapDataType type;
    CUtensorMapSwizzle swizzle;
    uint32_t rank;
    uint64_t size[SAB_MAP_MAX_RANK];         /* elements, 1 to 2^32 */
    uint64_t stride_bytes[SAB_MAP_MAX_RANK]; /* [0] is the element size and not read; the others are
                                                multiples of 16 below 2^40 */
    uint32_t box[SAB_MAP_MAX_RANK]; /* elements, 1 to 256; a box asked for between multiples
                                     * of 16 bytes of its rows faults on an H200 as an
                                     * illegal instruction */
};

/* Fills `map`, whose bytes are zeroed first, so that equal arguments give equal bytes. Returns
 * SAB_OK or SAB_FAILED with a message that names the tensor, its sizes and its strides. */
int sab_map_encode(CUtensorMap *map, const struct sab_map_shape *shape, struct sab_message *msg);

/* Memory for a plan that holds maps, which ask for multiples of 64 bytes where malloc() promises
 * 16; not zeroed, freed with free(). NULL: no memory. */
void *sab_map_plan_alloc(size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
