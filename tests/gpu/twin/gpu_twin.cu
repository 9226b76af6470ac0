/*
 * gpu_twin.cu - a shared library with its own static CUDA runtime and one kernel. Built twice, it
 * stands for two builds of a kernel library in one process.
 */
#include <cuda_runtime.h>

__global__ void twin_kernel(int *out)
{
    *out = (int)(blockIdx.x + threadIdx.x);
}

/* `out` is 4 bytes of device memory. Returns 0 or the CUDA error of this library's own runtime. */
extern "C" __attribute__((visibility("default"))) int gpu_twin_launch(void *out, void *stream)
{
    twin_kernel<<<1, 1, 0, (cudaStream_t)stream>>>((int *)out);
    return (int)cudaGetLastError();
}
