/*
 * cuda_scrub.cu - the GPU code around a sample: scrubs, clock probes, delays.
 */
#include "cuda_kernels.h"

#include <cuda/ptx>

#define THREADS 256

__global__ void __launch_bounds__(THREADS) scrub_modify(uint4 *data, uint64_t nr)
{
    for (uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x; at < nr;
         at += (uint64_t)gridDim.x * THREADS) {
        uint4 v = __ldcg(&data[at]);

        /* Odd factors and any summand: a bijection of words, so that entropy is kept. */
        v.x = v.x * 2654435761u + 1u;
        v.y = v.y * 2246822519u + 3u;
        v.z = v.z * 3266489917u + 5u;
        v.w = v.w * 668265263u + 7u;
        __stcg(&data[at], v);
    }
}

__global__ void __launch_bounds__(THREADS)
    scrub_read(const uint4 *data, uint64_t nr, uint32_t *sink)
{
    uint32_t sum = 0;

    for (uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x; at < nr;
         at += (uint64_t)gridDim.x * THREADS) {
        const uint4 v = __ldcg(&data[at]);

        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    /* The compiler must believe that the sum is needed. */
    if (sum == 0x5ab5c4b3u)
        *sink = sum;
}

__global__ void __launch_bounds__(32) clock_probe(struct probe_reading *out)
{
    struct probe_reading r;

    if (threadIdx.x != 0)
        return;
    r.time_ns = cuda::ptx::get_sreg_globaltimer();
    r.clock = cuda::ptx::get_sreg_clock64();
    r.sm = cuda::ptx::get_sreg_smid();
    r.unused = 0;
    out[blockIdx.x] = r;
}

__device__ __forceinline__ void wait_one_thread(uint64_t ns)
{
    const uint64_t begin = cuda::ptx::get_sreg_globaltimer();

    if (threadIdx.x != 0)
        return;
    while (cuda::ptx::get_sreg_globaltimer() - begin < ns)
        __nanosleep(20);
}

__global__ void __launch_bounds__(32) delay(uint64_t ns)
{
    wait_one_thread(ns);
}

__global__ void __launch_bounds__(32) busy(uint64_t ns)
{
    wait_one_thread(ns);
}

__global__ void __launch_bounds__(32) timer_step(uint64_t *step_ns, int readings)
{
    uint64_t smallest = 0, last;

    if (threadIdx.x != 0)
        return;
    last = cuda::ptx::get_sreg_globaltimer();
    for (int i = 0; i < readings; i++) {
        const uint64_t now = cuda::ptx::get_sreg_globaltimer();

        if (now != last && (smallest == 0 || now - last < smallest))
            smallest = now - last;
        last = now;
    }
    *step_ns = smallest;
}

extern "C" cudaError_t cuda_kernel_modify(void *data, uint64_t bytes, int blocks,
                                          cudaStream_t stream)
{
    scrub_modify<<<blocks, THREADS, 0, stream>>>((uint4 *)data, bytes / sizeof(uint4));
    return cudaGetLastError();
}

extern "C" cudaError_t cuda_kernel_read(const void *data, uint64_t bytes, uint32_t *sink,
                                        int blocks, cudaStream_t stream)
{
    scrub_read<<<blocks, THREADS, 0, stream>>>((const uint4 *)data, bytes / sizeof(uint4), sink);
    return cudaGetLastError();
}

extern "C" cudaError_t cuda_kernel_probe(struct probe_reading *out, int blocks, cudaStream_t stream)
{
    clock_probe<<<blocks, 32, 0, stream>>>(out);
    return cudaGetLastError();
}

extern "C" cudaError_t cuda_kernel_delay(uint64_t ns, cudaStream_t stream)
{
    delay<<<1, 32, 0, stream>>>(ns);
    return cudaGetLastError();
}

extern "C" cudaError_t cuda_kernel_busy(uint64_t ns, cudaStream_t stream)
{
    const cudaError_t rc = cudaFuncSetAttribute(
        busy, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);

    if (rc != cudaSuccess)
        return rc;
    busy<<<1, 32, 0, stream>>>(ns);
    return cudaGetLastError();
}

extern "C" cudaError_t cuda_kernel_timer_step(uint64_t *step_ns, int readings, cudaStream_t stream)
{
    timer_step<<<1, 32, 0, stream>>>(step_ns, readings);
    return cudaGetLastError();
}
