/*
 * stream.h - what the checks of a kernel's contract need of a device beyond device.h: streams of
 * one's own, captures, and traffic on its memory.
 *
 * A stream is a cudaStream_t. Device cpu has none (device_has_streams() is false): there the calls
 * on streams and captures are ERR_BUG, the others work everywhere.
 */
#ifndef BENCH_DEVICE_STREAM_H
#define BENCH_DEVICE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

bool device_has_streams(const struct device *dev);

/* A stream that nothing else is ordered with. The caller frees it. */
int device_stream_make(struct device *dev, void **stream, struct err *err);
void device_stream_free(struct device *dev, void *stream);
/* Whatever device.h enqueues or waits for is on `stream` from here on, and device_stream() names
 * it. Returns the stream before. On cpu: NULL, nothing changes. */
void *device_use_stream(struct device *dev, void *stream);
/* Keeps a stream busy for about `ns`; NULL: the ambient one, the legacy default stream. */
int device_stream_busy(struct device *dev, void *stream, double ns, struct err *err);
/* Whether everything on the stream has ended. */
int device_stream_done(struct device *dev, void *stream, bool *done, struct err *err);
/* What is enqueued on `stream` from here on waits for what is on `first` now. */
int device_stream_follow(struct device *dev, void *stream, void *first, struct err *err);
/* Waits for everything, on whatever stream it is. */
int device_sync_all(struct device *dev, struct err *err);

/* A captured launch. */
struct device_graph {
    void *exec;
    size_t nodes;
    size_t allocations; /* nodes that allocate or free memory */
};
/* What is enqueued on the present stream between the two becomes a graph and does not run. Calls
 * that a capture forbids, an allocation among them, break it: device_capture_end() then returns 1
 * with the reason in err, and the device is sound. */
int device_capture_begin(struct device *dev, struct err *err);
int device_capture_end(struct device *dev, struct device_graph *graph, struct err *err);
int device_graph_launch(struct device *dev, const struct device_graph *graph, struct err *err);
void device_graph_free(struct device *dev, struct device_graph *graph); /* a zeroed one is fine */

/* Free bytes of the device's memory now; 0 on cpu. */
int device_free_bytes(struct device *dev, uint64_t *bytes, struct err *err);

/* Reads and writes of memory that belongs to nobody, beside whatever else runs, until it is
 * stopped. device_traffic_feed() sees to it that there is some now: call it before each launch. */
struct device_traffic;
int device_traffic_start(struct device *dev, struct device_traffic **traffic, struct err *err);
int device_traffic_feed(struct device *dev, struct device_traffic *traffic, struct err *err);
int device_traffic_stop(struct device *dev, struct device_traffic *traffic, struct err *err);

#endif
