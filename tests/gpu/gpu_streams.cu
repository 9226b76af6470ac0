#include "gpu_streams.h"

#include <cuda_runtime.h>

int gpu_stream_make(void **stream)
{
    cudaStream_t made = NULL;
    cudaError_t rc = cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);

    *stream = made;
    return (int)rc;
}

int gpu_stream_wait(void *stream)
{
    return (int)cudaStreamSynchronize((cudaStream_t)stream);
}

void gpu_stream_free(void *stream)
{
    if (stream)
        cudaStreamDestroy((cudaStream_t)stream);
}

int gpu_stream_follow(void *stream, void *first)
{
    cudaEvent_t event = NULL;
    cudaError_t rc = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);

    if (rc == cudaSuccess)
        rc = cudaEventRecord(event, (cudaStream_t)first);
    if (rc == cudaSuccess)
        rc = cudaStreamWaitEvent((cudaStream_t)stream, event, 0);
    if (event)
        cudaEventDestroy(event);
    return (int)rc;
}

int gpu_capture_begin(void *stream)
{
    return (int)cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal);
}

int gpu_capture_end(void *stream, void **graph)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t captured = NULL;
    cudaError_t rc = cudaStreamEndCapture((cudaStream_t)stream, &captured);

    if (rc == cudaSuccess)
        rc = cudaGraphInstantiate(&exec, captured, 0);
    if (captured)
        cudaGraphDestroy(captured);
    *graph = exec;
    return (int)rc;
}

int gpu_copy(void *dst, const void *src, uint64_t bytes, void *stream)
{
    return (int)cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
}

int gpu_stream_busy(void *stream)
{
    return cudaStreamQuery((cudaStream_t)stream) == cudaErrorNotReady;
}
