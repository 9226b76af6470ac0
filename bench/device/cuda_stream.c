/*
 * cuda_stream.c - streams, captures and traffic on device cuda.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_internal.h"
#include "stream.h"

/* Passes over the scrub's buffer that are enqueued at once: milliseconds. */
#define TRAFFIC_PASSES 16

static int stream_make(struct device *dev, void **stream, struct err *err)
{
    cudaStream_t made = NULL;

    (void)dev;
    if (cuda_check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking),
                   "cudaStreamCreateWithFlags", err) < 0)
        return -1;
    *stream = made;
    return 0;
}

static void stream_free(struct device *dev, void *stream)
{
    (void)dev;
    (void)cudaStreamDestroy(stream);
}

static void *stream_use(struct device *dev, void *stream)
{
    struct cuda_device *cuda = cuda_of(dev);
    void *before = cuda->stream;

    cuda->stream = stream;
    return before;
}

static int stream_busy(struct device *dev, void *stream, double ns, struct err *err)
{
    (void)dev;
    return cuda_check(cuda_kernel_busy((uint64_t)ns, stream ? stream : cudaStreamLegacy),
                      "keeping a stream busy", err);
}

static int stream_done(struct device *dev, void *stream, bool *done, struct err *err)
{
    const cudaError_t rc = cudaStreamQuery(stream);

    (void)dev;
    *done = rc != cudaErrorNotReady;
    return *done ? cuda_check(rc, "cudaStreamQuery", err) : 0;
}

static int stream_follow(struct device *dev, void *stream, void *first, struct err *err)
{
    cudaEvent_t event = NULL;
    cudaError_t rc = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);

    (void)dev;
    if (rc == cudaSuccess)
        rc = cudaEventRecord(event, first);
    if (rc == cudaSuccess)
        rc = cudaStreamWaitEvent(stream, event, 0);
    if (event)
        (void)cudaEventDestroy(event);
    return cuda_check(rc, "ordering two streams", err);
}

static int sync_all(struct device *dev, struct err *err)
{
    (void)dev;
    if (cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", err) < 0)
        return -1;
    return cuda_check(cudaGetLastError(), "an earlier call", err);
}

/* Global: what is forbidden while some thread captures breaks the capture, cudaMalloc() for one. */
static int capture_begin(struct device *dev, struct err *err)
{
    return cuda_check(cudaStreamBeginCapture(cuda_of(dev)->stream, cudaStreamCaptureModeGlobal),
                      "cudaStreamBeginCapture", err);
}

static int count_nodes(cudaGraph_t captured, struct device_graph *graph, struct err *err)
{
    cudaGraphNode_t *node;
    size_t nr = 0;
    int ret;

    if (cuda_check(cudaGraphGetNodes(captured, NULL, &nr), "cudaGraphGetNodes", err) < 0)
        return -1;
    graph->nodes = nr;
    if (!nr)
        return 0;
    node = calloc(nr, sizeof(*node));
    if (!node)
        return err_memory(err);
    ret = cuda_check(cudaGraphGetNodes(captured, node, &nr), "cudaGraphGetNodes", err);
    for (size_t i = 0; !ret && i < nr; i++) {
        enum cudaGraphNodeType type;

        ret = cuda_check(cudaGraphNodeGetType(node[i], &type), "cudaGraphNodeGetType", err);
        if (!ret && (type == cudaGraphNodeTypeMemAlloc || type == cudaGraphNodeTypeMemFree))
            graph->allocations++;
    }
    free(node);
    return ret;
}

static int capture_end(struct device *dev, struct device_graph *graph, struct err *err)
{
    cudaGraph_t captured = NULL;
    cudaGraphExec_t exec = NULL;
    cudaError_t rc = cudaStreamEndCapture(cuda_of(dev)->stream, &captured);
    int ret;

    if (rc != cudaSuccess) {
        (void)cudaGetLastError();
        if (captured)
            (void)cudaGraphDestroy(captured);
        err_set(err, ERR_WRONG, "the capture was broken by a call that it forbids (%s)",
                cudaGetErrorName(rc));
        return 1;
    }
    ret = count_nodes(captured, graph, err);
    if (!ret)
        ret = cuda_check(cudaGraphInstantiate(&exec, captured, 0), "cudaGraphInstantiate", err);
    (void)cudaGraphDestroy(captured);
    graph->exec = exec;
    return ret;
}

static int graph_launch(struct device *dev, const struct device_graph *graph, struct err *err)
{
    return cuda_check(cudaGraphLaunch(graph->exec, cuda_of(dev)->stream), "cudaGraphLaunch", err);
}

static void graph_free(struct device *dev, struct device_graph *graph)
{
    (void)dev;
    (void)cudaGraphExecDestroy(graph->exec);
}

static int free_bytes(struct device *dev, uint64_t *bytes, struct err *err)
{
    size_t available = 0, total = 0;

    (void)dev;
    if (cuda_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo", err) < 0)
        return -1;
    *bytes = available;
    return 0;
}

const struct device_stream_vtable cuda_streams = {
    .make = stream_make,
    .free = stream_free,
    .use = stream_use,
    .busy = stream_busy,
    .done = stream_done,
    .follow = stream_follow,
    .sync_all = sync_all,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .graph_launch = graph_launch,
    .graph_free = graph_free,
    .free_bytes = free_bytes,
};

/* ---- traffic: on a stream of its own, over the buffer that scrubs modify ---- */

struct device_traffic {
    cudaStream_t stream;
};

static int traffic_start(struct device *dev, struct device_traffic **traffic, struct err *err)
{
    struct device_traffic *t = calloc(1, sizeof(*t));
    void *stream;

    if (!t)
        return err_memory(err);
    if (stream_make(dev, &stream, err) < 0) {
        free(t);
        return -1;
    }
    t->stream = stream;
    *traffic = t;
    return 0;
}

/* One block a multiprocessor leaves room for the kernel under test. */
static int traffic_feed(struct device *dev, struct device_traffic *traffic, struct err *err)
{
    const struct cuda_scrub *s = &cuda_of(dev)->scrub;
    bool done;

    if (stream_done(dev, traffic->stream, &done, err) < 0)
        return -1;
    for (int i = 0; done && i < TRAFFIC_PASSES; i++)
        if (cuda_check(cuda_kernel_modify(s->modified, s->bytes, dev->info.multiprocessors,
                                          traffic->stream),
                       "traffic on memory", err) < 0)
            return -1;
    return 0;
}

static int traffic_stop(struct device *dev, struct device_traffic *traffic, struct err *err)
{
    int ret = cuda_check(cudaStreamSynchronize(traffic->stream), "cudaStreamSynchronize", err);

    stream_free(dev, traffic->stream);
    free(traffic);
    return ret;
}

const struct device_traffic_vtable cuda_traffic = {
    .start = traffic_start,
    .feed = traffic_feed,
    .stop = traffic_stop,
};
