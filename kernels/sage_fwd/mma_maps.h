/*
 * mma_maps.h - brings tensor maps to a workspace in device memory, in the two ways of
 * contracts/sage.md section 7.2.
 */
#ifndef SAGE_MMA_MAPS_H
#define SAGE_MMA_MAPS_H

#include "descriptor_call.h"
#include "mma_args.h"

/* What a workspace holds. The last place is that of the reference's map of the output, which is
 * stored without TMA here; it is zero. */
struct sage_mma_workspace {
    struct sage_mma_maps maps;
    uint8_t unused[SAGE_DESCRIPTOR_BYTES - sizeof(struct sage_mma_maps)];
};
static_assert(sizeof(struct sage_mma_workspace) == SAGE_DESCRIPTOR_BYTES);

/* ABI 1, in plan(): looks the address up, and copies where the table says that it must, ordered
 * with no stream of the caller's. Returns when the bytes are there. */
int sage_maps_cache(const struct sage_mma_workspace *maps, void *workspace, int32_t device,
                    struct sab_message *msg);

/* ABI 2. load: in plan(), so that a first launch can be captured. upload: in launch(), enqueues one
 * kernel that has the maps among its parameters, so that a captured graph node owns them. */
int sage_maps_load_upload(struct sab_message *msg);
int sage_maps_upload(const struct sage_mma_workspace *maps, void *workspace, void *stream,
                     struct sab_message *msg);

#endif
