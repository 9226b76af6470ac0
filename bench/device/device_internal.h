/*
 * device_internal.h - what a kind of device implements, and the state that all kinds share.
 * Included by the files of this folder only.
 */
#ifndef BENCH_DEVICE_DEVICE_INTERNAL_H
#define BENCH_DEVICE_DEVICE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

/* One sample of the round that is open. The backend fills `sample` but for id and idle_before_ns,
 * at sample_end or at round_end. */
struct device_slot {
    struct device_sample sample;
    bool extra; /* DEVICE_SAMPLE_EXTRA: not returned */
};

struct device_round {
    bool open;   /* between round_begin and round_end */
    bool inside; /* between sample_begin and sample_end */
    struct device_slot *slot;
    size_t nr, alloc;
    double idle_ns; /* pause since the last sample */
};

/* Work of one sample before its launch; the pointers are those of device_sample_begin(). */
struct device_before {
    enum device_cache cache;
    const struct device_prepare *prepare;
    size_t prepare_nr;
    const struct device_span *touch;
    size_t touch_nr;
};

struct device_graph;
struct device_traffic;

/* stream.h; device cpu has none of these. */
struct device_stream_vtable {
    int (*make)(struct device *dev, void **stream, struct err *err);
    void (*free)(struct device *dev, void *stream);
    void *(*use)(struct device *dev, void *stream);
    int (*busy)(struct device *dev, void *stream, double ns, struct err *err);
    int (*done)(struct device *dev, void *stream, bool *done, struct err *err);
    int (*follow)(struct device *dev, void *stream, void *first, struct err *err);
    int (*sync_all)(struct device *dev, struct err *err);
    int (*capture_begin)(struct device *dev, struct err *err);
    int (*capture_end)(struct device *dev, struct device_graph *graph, struct err *err);
    int (*graph_launch)(struct device *dev, const struct device_graph *graph, struct err *err);
    void (*graph_free)(struct device *dev, struct device_graph *graph);
    int (*free_bytes)(struct device *dev, uint64_t *bytes, struct err *err);
};

struct device_traffic_vtable {
    int (*start)(struct device *dev, struct device_traffic **traffic, struct err *err);
    int (*feed)(struct device *dev, struct device_traffic *traffic, struct err *err);
    int (*stop)(struct device *dev, struct device_traffic *traffic, struct err *err);
};

struct device_vtable {
    void (*close)(struct device *dev);
    void *(*stream)(struct device *dev);
    int (*alloc)(struct device *dev, uint64_t bytes, void **ptr, struct err *err);
    void (*free)(struct device *dev, void *ptr);
    int (*upload)(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err);
    int (*download)(struct device *dev, void *dst, const void *src, uint64_t bytes,
                    struct err *err);
    int (*copy)(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err);
    int (*fill)(struct device *dev, void *dst, int byte, uint64_t bytes, struct err *err);
    int (*generate)(struct device *dev, const struct recipe *r, void *dst, struct err *err);
    int (*shift_ids)(struct device *dev, int32_t *dst, const int32_t *src, int64_t n, int64_t group,
                     int64_t add, struct err *err);
    int (*sync)(struct device *dev, struct err *err);
    int (*count_other)(struct device *dev, const void *ptr, int byte, uint64_t bytes,
                       uint64_t *count, int64_t *first, struct err *err);
    int (*digest)(struct device *dev, const void *ptr, uint64_t bytes, uint64_t *digest,
                  struct err *err);
    int (*compare)(struct device *dev, int32_t dtype, const void *got, const void *ref, int64_t n,
                   struct device_difference *out, struct err *err);
    int (*round_begin)(struct device *dev, struct err *err);
    int (*sample_begin)(struct device *dev, struct device_slot *slot,
                        const struct device_before *before, struct err *err);
    int (*sample_part)(struct device *dev, struct device_slot *slot, size_t part, struct err *err);
    int (*sample_end)(struct device *dev, struct device_slot *slot, struct err *err);
    int (*round_end)(struct device *dev, struct err *err);
    const char *(*activity_name)(const struct device *dev, size_t i);
    void (*idle)(struct device *dev); /* before a pause: waits for the work enqueued */
    void (*conditions_at)(struct device *dev, double start_ns, struct device_conditions *out);
    const struct device_stream_vtable *streams; /* NULL on cpu */
    const struct device_traffic_vtable *traffic;
};

/* First member of every kind's own struct. */
struct device {
    const struct device_vtable *ops;
    struct device_info info;
    struct device_round round;
};

int cpu_open(struct device **dev, const struct device_request *request, struct err *err);
#ifdef SAB_HAVE_CUDA
int cuda_open(struct device **dev, const struct device_request *request, struct err *err);
#endif

/* CLOCK_MONOTONIC_RAW in ns: the time line of every stamp that leaves this folder. */
double device_clock_ns(void);
/* Elements of a recipe's tensor; 0 dimensions hold one element. */
int64_t device_recipe_elements(const struct recipe *r);

#endif
