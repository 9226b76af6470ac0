/* host_device.h - marks an inline function of a C header that kernels call too. */
#ifndef SAB_HOST_DEVICE_H
#define SAB_HOST_DEVICE_H

#ifdef __CUDACC__
#    define SAB_HOST_DEVICE static __host__ __device__ __forceinline__
#else
#    define SAB_HOST_DEVICE static inline
#endif

#endif
