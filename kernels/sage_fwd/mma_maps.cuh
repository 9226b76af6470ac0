/*
 * mma_maps.cuh - where a kernel finds its tensor maps, and what must happen before it uses them.
 */
#ifndef SAGE_MMA_MAPS_CUH
#define SAGE_MMA_MAPS_CUH

#include "mma_args.h"
#include "stage.cuh"

namespace sage
{

__device__ __forceinline__ const sage_mma_maps &maps_of(const sage_mma_by_value &args)
{
    return args;
}

__device__ __forceinline__ const sage_mma_maps &maps_of(const sage_mma_in_memory &args)
{
    return *args.maps;
}

/* The thread that asks for the first boxes, before it does; other threads ask behind a barrier of
 * the block. Parameters need nothing. */
__device__ __forceinline__ void acquire_maps(const sage_mma_by_value &)
{
}

/* Memory was written by a copy or by another kernel, through the generic proxy; what the tensor-map
 * proxy holds of it may be older. The host's copy asks for system scope. */
__device__ __forceinline__ void acquire_maps(const sage_mma_in_memory &args)
{
    sab::map_acquire(&args.maps->q);
    sab::map_acquire(&args.maps->k);
    sab::map_acquire(&args.maps->v);
}

__device__ __forceinline__ void prefetch_maps(const sage_mma_by_value &args)
{
    sab::map_prefetch(&args.k);
    sab::map_prefetch(&args.v);
    sab::map_prefetch(&args.q);
}

/* A prefetch would go ahead of the fence and fetch what the fence then throws away. */
__device__ __forceinline__ void prefetch_maps(const sage_mma_in_memory &)
{
}

} // namespace sage

#endif
