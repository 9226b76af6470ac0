/*
 * mma_maps.h - what the kernels of bsa_fwd do alike on the host: tensor maps, and loading a kernel
 * before its first launch.
 */
#ifndef BSA_FWD_MMA_MAPS_H
#define BSA_FWD_MMA_MAPS_H

#include <cuda.h>

#include "bsa_call.h"

/* Tiles of 64 rows of 128 channels, in two halves of 64 channels behind each other, with the
 * 128-byte swizzle. Coordinates: 0, row, 0, head of all batches. Rows behind the sequence read as
 * zero. */
struct bsa_maps {
    CUtensorMap q, k, v;
};

int bsa_maps_encode(struct bsa_maps *maps, const struct bsa_call *call, struct sab_message *msg);

/* Sets the kernel up and makes the driver load it, so that a first launch can be captured. `name`
 * is for messages. */
int bsa_load_kernel(const void *kernel, int shared_bytes, const char *name,
                    struct sab_message *msg);

#endif
