/*
 * stream.c - the front of stream.h: dispatch by kind.
 */
#include "stream.h"

#include "device_internal.h"

bool device_has_streams(const struct device *dev)
{
    return dev->ops->streams != NULL;
}

static int no_streams(struct err *err)
{
    return err_set(err, ERR_BUG, "device cpu has no streams");
}

int device_stream_make(struct device *dev, void **stream, struct err *err)
{
    *stream = NULL;
    return dev->ops->streams ? dev->ops->streams->make(dev, stream, err) : no_streams(err);
}

void device_stream_free(struct device *dev, void *stream)
{
    if (dev->ops->streams && stream)
        dev->ops->streams->free(dev, stream);
}

void *device_use_stream(struct device *dev, void *stream)
{
    return dev->ops->streams ? dev->ops->streams->use(dev, stream) : NULL;
}

int device_stream_busy(struct device *dev, void *stream, double ns, struct err *err)
{
    return dev->ops->streams ? dev->ops->streams->busy(dev, stream, ns, err) : no_streams(err);
}

int device_stream_done(struct device *dev, void *stream, bool *done, struct err *err)
{
    *done = true;
    return dev->ops->streams ? dev->ops->streams->done(dev, stream, done, err) : no_streams(err);
}

int device_stream_follow(struct device *dev, void *stream, void *first, struct err *err)
{
    return dev->ops->streams ? dev->ops->streams->follow(dev, stream, first, err) : no_streams(err);
}

int device_sync_all(struct device *dev, struct err *err)
{
    return dev->ops->streams ? dev->ops->streams->sync_all(dev, err) : device_sync(dev, err);
}

int device_capture_begin(struct device *dev, struct err *err)
{
    return dev->ops->streams ? dev->ops->streams->capture_begin(dev, err) : no_streams(err);
}

int device_capture_end(struct device *dev, struct device_graph *graph, struct err *err)
{
    *graph = (struct device_graph){NULL, 0, 0};
    return dev->ops->streams ? dev->ops->streams->capture_end(dev, graph, err) : no_streams(err);
}

int device_graph_launch(struct device *dev, const struct device_graph *graph, struct err *err)
{
    return dev->ops->streams ? dev->ops->streams->graph_launch(dev, graph, err) : no_streams(err);
}

void device_graph_free(struct device *dev, struct device_graph *graph)
{
    if (dev->ops->streams && graph->exec)
        dev->ops->streams->graph_free(dev, graph);
    *graph = (struct device_graph){NULL, 0, 0};
}

int device_free_bytes(struct device *dev, uint64_t *bytes, struct err *err)
{
    *bytes = 0;
    return dev->ops->streams ? dev->ops->streams->free_bytes(dev, bytes, err) : 0;
}

int device_traffic_start(struct device *dev, struct device_traffic **traffic, struct err *err)
{
    *traffic = NULL;
    return dev->ops->traffic->start(dev, traffic, err);
}

int device_traffic_feed(struct device *dev, struct device_traffic *traffic, struct err *err)
{
    return dev->ops->traffic->feed(dev, traffic, err);
}

int device_traffic_stop(struct device *dev, struct device_traffic *traffic, struct err *err)
{
    return traffic ? dev->ops->traffic->stop(dev, traffic, err) : 0;
}
