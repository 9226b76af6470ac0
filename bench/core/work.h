/*
 * work.h - one problem in a worker: its tensors on the device, and what judges them.
 *
 * Arms that run the same case share one work: the same buffers, the same bytes. A step of a
 * pipeline is a work whose inputs may be tensors of an earlier one. Every tensor lies between two
 * guard zones.
 */
#ifndef BENCH_CORE_WORK_H
#define BENCH_CORE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chain.h"
#include "device.h"
#include "err.h"
#include "library.h"
#include "opmodel.h"

#define WORK_GUARD_BYTES 4096
#define WORK_GUARD_BYTE  0x5c

/* Reference values for one set of kernel attributes. */
struct work_oracle {
    char *signature; /* "fold=last_to_first;p_scale=256"; "" for a kernel that declares none */
    uint64_t inputs; /* work_inputs_digest() of what they were made from */
    struct op_slices slices;
};

/* A tensor of the work of an earlier step. With a shift the work has ids of its own, made from
 * those of the earlier step before every launch. */
struct work_feed {
    struct work *from; /* NULL: the tensor is the work's own */
    uint32_t tensor;
    struct id_shift shift;
};

struct work {
    struct device *dev;
    struct op_case c;
    struct op_problem p;
    struct sab_tensor tensor[SAB_MAX_TENSORS];
    struct work_feed feed[SAB_MAX_TENSORS];
    bool fed; /* some input is the output of an earlier step: not known before that has run */
    void *base[SAB_MAX_TENSORS]; /* allocations; tensor data begins WORK_GUARD_BYTES behind. NULL
                                    for what another work owns */
    void *reference[SAB_MAX_TENSORS]; /* outputs of the reference kernel, or NULL */
    void *baseline[SAB_MAX_TENSORS];  /* outputs of the baseline arm's gate run, or NULL */
    bool reference_ready, baseline_ready;
    const void *baseline_arm; /* whose outputs those are */
    struct work_oracle *oracle;
    size_t oracles_nr;
    bool made[SAB_MAX_TENSORS]; /* inputs that another operator's kernel wrote: verify_made.h */
};

/* Bytes of all tensors of a chain, each once, with their guards. */
uint64_t work_bytes(const struct chain *chain);

/* Describes the case and allocates; inputs hold 0xA5 until work_generate(). `feed` has one entry a
 * tensor, NULL: the work owns them all. ERR_MEMORY when the device has no room. */
int work_open(struct work *w, struct device *dev, const struct op_case *c,
              const struct work_feed *feed, struct err *err);
void work_close(struct work *w);
/* Enqueues the conversion of ids that earlier steps wrote, where there is any. */
int work_convert(struct work *w, struct err *err);
/* Fills the inputs that have a recipe. */
int work_generate(struct work *w, struct err *err);
int work_guards_write(struct work *w, struct err *err);
/* Names the first broken guard in `text` (size bytes), "" when all are whole. */
int work_guards_check(struct work *w, char *text, size_t size, struct err *err);
/* Fills every output with the byte, and restores what is inout. */
int work_poison(struct work *w, int byte, struct err *err);
/* A byte that is no legal answer of this dtype: NaN where there is one. */
int work_poison_byte(int32_t dtype);

/* A problem over the work's tensors. `with_data` false: metadata only, all pointers NULL. `tensors`
 * has room for SAB_MAX_TENSORS and must outlive `out`. */
void work_problem(const struct work *w, const struct device_info *info, const uint32_t *choices,
                  uint32_t choices_nr, struct sab_tensor *tensors, struct sab_problem *out);
/* The same from a described case alone, for support queries without a device. */
void work_metadata(const struct op_problem *p, const struct device_info *info,
                   const uint32_t *choices, uint32_t choices_nr, struct sab_tensor *tensors,
                   struct sab_problem *out);

/* Digest of the inputs that earlier steps wrote; 0 where there are none. */
int work_inputs_digest(const struct work *w, uint64_t *digest, struct err *err);

/* The oracle's values for a kernel's attributes, computed on first use within `budget_s` of host
 * work and kept in `scratch` ("" for nowhere) for later workers. Where earlier steps wrote inputs,
 * the values are those for what stands there now, computed anew when that has changed. */
int work_oracle_get(struct work *w, const struct sab_kernel *kernel, const char *scratch,
                    double budget_s, const struct op_slices **out, struct err *err);
/* Judges by the model's `examine` what the bars have passed; nothing where it has none. */
int work_examine(struct work *w, const struct op_slices *slices, judge_read_fn read,
                 struct judgement *out, struct err *err);
/* The same operator on the inputs as they were before earlier steps quantised them; *out is NULL
 * where the model has no such thing or the inputs are not quantised here. */
int work_accuracy_get(struct work *w, const char *scratch, double budget_s,
                      const struct op_slices **out, struct err *err);

#endif
