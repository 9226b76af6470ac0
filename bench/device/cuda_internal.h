/*
 * cuda_internal.h - the parts of device cuda. The only code of bench that calls the CUDA runtime.
 */
#ifndef BENCH_DEVICE_CUDA_INTERNAL_H
#define BENCH_DEVICE_CUDA_INTERNAL_H

#include <cuda_runtime_api.h>

#include "cuda_kernels.h"
#include "cupti_timer.h"
#include "device_internal.h"
#include "nvml.h"
#include "probe.h"

/* Samples of one round whose running clock is kept; later ones get NAN. */
#define CUDA_PROBED_MAX 1024

/* Two buffers of seeded random data, each at least twice L2. */
struct cuda_scrub {
    void *modified, *read;
    uint32_t *sink;
    uint64_t bytes; /* of each */
    int blocks;
};

struct cuda_clock {
    struct probe_reading *readings; /* device: [sample][before, after][block] */
    struct probe_reading *host;     /* pinned, the same */
    int blocks;
    double step_ns; /* of the global timer */
};

/*
 * Keeps the GPU behind the host: a launch of several activities whose enqueueing takes longer than
 * the work in front of it would show host latency inside its span. Where scrubs are too short for
 * that, a delay that ends by itself is enqueued before the preparation.
 */
struct cuda_lead {
    double
        host_ns; /* decaying maximum of host time from the first enqueue to the launch's return */
    double front_ns; /* smallest device time of preparation and scrub in the last round */
    double begin_ns; /* host time when the sample began */
};

/* What round_end() must know of a sample, by its place in the round. */
struct cuda_mark {
    int prepared;      /* activities enqueued as preparation and scrub */
    double end_ns;     /* host time when the launch call had returned */
    unsigned launches; /* ids that its launches have */
    bool probed;
};

struct cuda_device {
    struct device dev;
    cudaStream_t stream;
    struct cuda_scrub scrub;
    struct cuda_clock clock;
    struct cuda_lead lead;
    struct cupti_timer *cupti; /* NULL: DEVICE_TIMER_NONE */
    struct nvml *nvml;
    struct nvml_poll *poll;
    void *nvtx;               /* domain */
    void *parts, *parts_host; /* CUDA_PARTS of the largest part */
    struct cuda_mark *mark;
    size_t marks_alloc;
    uint64_t serial;       /* ids of this process's samples so far */
    uint64_t first_serial; /* of the round */
};

/* Ids of the parts of sample `serial`: never reused in a process. CUDA_LAUNCH and those behind it
 * are the launches of a sample, one id each. */
enum cuda_part { CUDA_PREPARE = 0, CUDA_PROBE, CUDA_DELAY, CUDA_LAUNCH };
#define CUDA_PART_BITS 4
static inline uint64_t cuda_part_id(uint64_t serial, unsigned part)
{
    return serial << CUDA_PART_BITS | part;
}
static inline bool cuda_is_launch(uint64_t id)
{
    return (id & ((1u << CUDA_PART_BITS) - 1)) >= CUDA_LAUNCH;
}

static inline struct cuda_device *cuda_of(struct device *dev)
{
    return (struct cuda_device *)dev;
}

/* Fills `err` and returns -1 unless rc is cudaSuccess. */
int cuda_check(cudaError_t rc, const char *what, struct err *err);

/* ---- cuda_memory.c ---- */
int cuda_alloc(struct device *dev, uint64_t bytes, void **ptr, struct err *err);
void cuda_free(struct device *dev, void *ptr);
int cuda_upload(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err);
int cuda_download(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err);
int cuda_copy(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err);
int cuda_fill(struct device *dev, void *dst, int byte, uint64_t bytes, struct err *err);
int cuda_generate(struct device *dev, const struct recipe *r, void *dst, struct err *err);
int cuda_sync(struct device *dev, struct err *err);
int cuda_shift_ids(struct device *dev, int32_t *dst, const int32_t *src, int64_t n, int64_t group,
                   int64_t add, struct err *err);
int cuda_count_other(struct device *dev, const void *ptr, int byte, uint64_t bytes, uint64_t *count,
                     int64_t *first, struct err *err);
int cuda_digest(struct device *dev, const void *ptr, uint64_t bytes, uint64_t *digest,
                struct err *err);
int cuda_compare(struct device *dev, int32_t dtype, const void *got, const void *ref, int64_t n,
                 struct device_difference *out, struct err *err);

/* ---- cuda_cold.c ---- */
int cuda_scrub_open(struct cuda_device *cuda, uint64_t seed, struct err *err);
void cuda_scrub_close(struct cuda_device *cuda);
/* Enqueues what makes the cache cold, dirty or leaves it warm; *launches kernels are added. */
int cuda_scrub_enqueue(struct cuda_device *cuda, enum device_cache cache, int *launches,
                       struct err *err);
/* Persisting lines would survive a scrub. */
int cuda_reset_persisting(struct err *err);
int cuda_clock_open(struct cuda_device *cuda, struct err *err);
void cuda_clock_close(struct cuda_device *cuda);
/* `after` is 0 or 1. */
int cuda_clock_enqueue(struct cuda_device *cuda, size_t sample, int after, struct err *err);
/* Fetches the readings of the first `nr` samples; waits. */
int cuda_clock_fetch(struct cuda_device *cuda, size_t nr, struct err *err);
double cuda_clock_mhz(const struct cuda_device *cuda, size_t sample);

/* ---- cuda_sample.c ---- */
int cuda_round_begin(struct device *dev, struct err *err);
int cuda_sample_begin(struct device *dev, struct device_slot *slot,
                      const struct device_before *before, struct err *err);
int cuda_sample_part(struct device *dev, struct device_slot *slot, size_t part, struct err *err);
int cuda_sample_end(struct device *dev, struct device_slot *slot, struct err *err);
int cuda_round_end(struct device *dev, struct err *err);
const char *cuda_activity_name(const struct device *dev, size_t i);
/* Measures the step of the timer's stamps with kernels of different lengths. */
int cuda_tick_measure(struct cuda_device *cuda, double *tick_ns, struct err *err);

/* ---- cuda_stream.c ---- */
extern const struct device_stream_vtable cuda_streams;
extern const struct device_traffic_vtable cuda_traffic;

/* ---- cuda_range.c: NVTX ---- */
void *cuda_range_open(void);
void cuda_range_push(void *domain, uint64_t id);
void cuda_range_pop(void *domain);

#endif
