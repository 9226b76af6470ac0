/* cuda.h - in the place of the driver's header where device code runs on the host: a tensor map. */
#ifndef TEST_CUDA_HOST_CUDA_H
#define TEST_CUDA_HOST_CUDA_H

#include <stdint.h>

/* Rows of 128 elements, in boxes of 128 bytes by `box`. */
typedef struct CUtensorMap {
    const void *base;
    int64_t rows;
    int32_t element_bytes, box;
} CUtensorMap;

#endif
