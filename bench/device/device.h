/*
 * device.h - the only door to hardware: memory, input generation, scrubs, timed samples,
 * conditions.
 *
 * One `struct device` is one processor in one worker process: device cpu, or one CUDA GPU (always
 * ordinal 0: the parent sets CUDA_VISIBLE_DEVICES to one UUID). Calls come from one thread.
 * Everything on device cuda is enqueued on device_stream() unless said otherwise.
 *
 * CUDA parts are compiled only with SAB_HAVE_CUDA; libcuda, CUPTI and NVML are found at run time.
 */
#ifndef BENCH_DEVICE_DEVICE_H
#define BENCH_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "recipe.h"
#include "sab.h"

struct device;

enum device_cache { DEVICE_COLD = 0, DEVICE_DIRTY, DEVICE_WARM };
enum device_timer { DEVICE_TIMER_NONE = 0, DEVICE_TIMER_CUPTI, DEVICE_TIMER_MONOTONIC };

struct device_info {
    enum sab_device kind;
    char name[128]; /* "NVIDIA H200", or the CPU's model name */
    char uuid[64];  /* "GPU-..."; "" on cpu */
    char pci[32];
    int arch; /* 10*major + minor; 0 on cpu */
    int multiprocessors;
    int threads; /* device cpu: threads that a kernel gets */
    uint64_t memory_bytes, memory_free_bytes;
    uint64_t cache_bytes; /* L2 of a GPU, last-level cache of a CPU */
    char driver[32];      /* "580.159" ; "" on cpu */
    char cuda_driver[16]; /* "13.0" */
    char cuda_runtime[16];
    char cupti[16];
    enum device_timer timer; /* used */
    double tick_ns;          /* measured step of the timer's stamps */
    double clock_max_mhz;    /* NVML's maximum; 0 unknown */
    double power_limit_w;
    double power_default_w;        /* the limit that the GPU is made for; 0 unknown */
    double sm_mhz_lo, sm_mhz_hi;   /* SM clock, of an idle GPU that was looked at; 0: it was not */
    uint64_t throttle_bits;        /* NVML's clock event reasons meanwhile */
    int processes;                 /* of others that have the GPU open; -1 unknown */
    int ecc;                       /* 1 on, 0 off, -1 unknown */
    int persistence, mig, display; /* likewise */
    char scrub[64]; /* how the cache is made cold: "rmw 120 MiB + read 120 MiB", "clflushopt" */
};

/* What GPUs there are, without creating a context (NVML, or the driver in a pinch). Returns the
 * number found (0 without a driver; never an error), fills at most `max`. */
struct device_listing {
    char name[128];
    char uuid[64];
    char pci[32];
    int arch;
};
int device_list_cuda(struct device_listing *list, int max);

struct device_request {
    enum sab_device kind;
    int threads;             /* device cpu; 0: every core that the process may use */
    enum device_timer timer; /* DEVICE_TIMER_NONE: no timing (check, ncu) */
    bool look;               /* watch the idle clocks for a moment, up to 2 s */
    bool conditions;         /* poll clocks, power, temperature in a thread */
    uint64_t seed;           /* of the scrub's data */
};

/* How the messages of device_open() begin where the user can do something about it. */
#define DEVICE_DRIVER_OLD      "the driver is older than CUDA"
#define DEVICE_CUPTI_MISSING   "timer 'cupti' is not to be had: no usable libcupti"
#define DEVICE_CUPTI_VERSION   "timer 'cupti' is not to be had: the libcupti found"
#define DEVICE_CUPTI_TAKEN     "timer 'cupti' is taken"
#define DEVICE_CUPTI_FORBIDDEN "timer 'cupti' is not permitted here"

/* ERR_ENVIRONMENT where the device or the timer asked for is not to be had; there is no fallback.
 */
int device_open(struct device **dev, const struct device_request *request, struct err *err);
void device_close(struct device *dev); /* NULL is fine */
const struct device_info *device_info(const struct device *dev);
void *device_stream(struct device *dev); /* a cudaStream_t; NULL on cpu */

/* Memory, 256-byte aligned (4096 on cpu). ERR_MEMORY when there is none. */
int device_alloc(struct device *dev, uint64_t bytes, void **ptr, struct err *err);
void device_free(struct device *dev, void *ptr);
int device_upload(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err);
int device_download(struct device *dev, void *dst, const void *src, uint64_t bytes,
                    struct err *err);
int device_copy(struct device *dev, void *dst, const void *src, uint64_t bytes, struct err *err);
int device_fill(struct device *dev, void *dst, int byte, uint64_t bytes, struct err *err);
/* Enqueues dst[i] = src[i], plus `add` for every `group` elements before i where src[i] is not
 * negative. */
int device_shift_ids(struct device *dev, int32_t *dst, const int32_t *src, int64_t n, int64_t group,
                     int64_t add, struct err *err);
/* Fills a tensor by its recipe; same bits on every device. */
int device_generate(struct device *dev, const struct recipe *r, void *dst, struct err *err);
/* Waits for everything enqueued; reports what failed meanwhile. */
int device_sync(struct device *dev, struct err *err);
/* Number of bytes in [ptr, ptr+bytes) that differ from `byte`, and the offset of the first (or -1).
 */
int device_count_other(struct device *dev, const void *ptr, int byte, uint64_t bytes,
                       uint64_t *count, int64_t *first, struct err *err);
/* Order-independent 64-bit digest of the bytes and their places; equal on every device. */
int device_digest(struct device *dev, const void *ptr, uint64_t bytes, uint64_t *digest,
                  struct err *err);

struct device_difference {
    double max_abs, sum_err2, sum_ref2, sum_got2, sum_dot; /* over elements finite in both */
    double mixed;                                          /* largest |got - ref| / (1 + |ref|) */
    int64_t max_at;                                        /* linear index of max_abs */
    int64_t pattern;       /* elements whose infinity or NaN state differs */
    int64_t pattern_first; /* first of them, or -1 */
    int64_t bits;          /* elements whose bits differ */
};
/* Compares n elements of one dtype, both on the device. Deterministic. */
int device_compare(struct device *dev, int32_t dtype, const void *got, const void *ref, int64_t n,
                   struct device_difference *out, struct err *err);

/* ---- timed samples -------------------------------------------------------------------------- */

/* What to restore before a sample, in order, before the scrub. */
enum device_prepare_kind { DEVICE_PREPARE_FILL = 0, DEVICE_PREPARE_COPY };
struct device_prepare {
    enum device_prepare_kind kind;
    void *dst;
    const void *src; /* COPY */
    int byte;        /* FILL */
    uint64_t bytes;
};

struct device_span {
    const void *data;
    uint64_t bytes;
};

/* One of several launches that make one sample. */
#define DEVICE_PARTS_MAX 8
struct device_part {
    double span_ns; /* over its own activities */
    double busy_ns;
};

struct device_sample {
    uint64_t id;
    double span_ns; /* max(end) - min(start) over the launch's activities */
    double busy_ns; /* sum of their durations */
    int activities;
    uint64_t activity_set; /* hash of the multiset (kind, kernel name) */
    double start_ns;       /* on device_now_ns()'s time line */
    double enqueue_ns;     /* host time inside the launch call */
    double idle_before_ns; /* pause that stood before this sample, 0 within a burst */
    double run_mhz;        /* running clock around the launch; NAN unknown */
    double scrub_ns;       /* device time of preparation and scrub */
    bool late; /* several activities, the first of which began before the launch call returned: host
                  latency may stand in the span */
    struct device_part part[DEVICE_PARTS_MAX];
    size_t parts_nr; /* 0: nobody asked for parts */
};

/*
 * One round is: device_round_begin, then for each slot device_sample_begin, the kernel's launch,
 * device_sample_end, then device_round_end. sample_begin enqueues the preparation, the scrub (by
 * `cache`) and the first clock probe; sample_end the second probe. Nothing between them
 * synchronises. `touch` names every buffer that the launch may touch: device cpu flushes them by
 * address. round_end waits, flushes the timer and returns the samples in the order in which they
 * were begun. Returns 1 when the timer lost records: the round is void, to be run
 * again; err says what was lost. ERR_CRASH when the device failed. A round is given up by
 * device_round_end(dev, NULL, 0, err), also from inside a sample whose launch failed.
 */
int device_round_begin(struct device *dev, struct err *err);
int device_sample_begin(struct device *dev, uint64_t id, enum device_cache cache,
                        const struct device_prepare *prepare, size_t prepare_nr,
                        const struct device_span *touch, size_t touch_nr, struct err *err);
int device_sample_end(struct device *dev, struct err *err);
/* Inside a sample, before each of several launches: what is enqueued from here on is its part
 * `part`, counted from 0 in order. Its times stand beside those of the whole. */
int device_sample_part(struct device *dev, size_t part, struct err *err);
int device_round_end(struct device *dev, struct device_sample *samples, size_t nr, struct err *err);

/* A scrub and launch that is no sample: sample_begin/sample_end with this id inside a round. It is
 * not returned by round_end. */
#define DEVICE_SAMPLE_EXTRA UINT64_MAX

/* Name of a kernel activity of the last round, by index, or NULL: for display only. */
const char *device_activity_name(const struct device *dev, size_t i);

double device_now_ns(const struct device *dev);
/* Waits for what is enqueued, then sleeps; idle_before_ns of the next sample says how long. A
 * signal ends the sleep early. */
void device_idle(struct device *dev, double ns);

/* ---- conditions ------------------------------------------------------------------------------ */

/* Readings joined by time; NAN (or 0 bits) where nothing is known. */
struct device_conditions {
    double sm_mhz, mem_mhz, power_w, temp_c;
    uint64_t throttle_bits; /* NVML's clock event reasons */
};
void device_conditions_at(struct device *dev, double start_ns, struct device_conditions *out);
/* Reasons that void a round: thermal, hardware slowdown, power brake. */
bool device_throttled(uint64_t throttle_bits);

#endif
