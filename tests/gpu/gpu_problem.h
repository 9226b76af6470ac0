/*
 * gpu_problem.h - one problem on the GPU, its tensors and workspace between guards, and what of its
 * outputs is looked at.
 */
#ifndef TESTS_GPU_GPU_PROBLEM_H
#define TESTS_GPU_GPU_PROBLEM_H

#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_choices.h"
#include "gpu_kernels.h"
#include "gpu_streams.h"
#include "gpu_tap.h"
#include "library.h"
#include "opmodel.h"

#define RIG_GUARD        4096
#define RIG_GUARD_BYTE   0x5c
#define RIG_POISON       0xff /* NaN in every real type */
#define RIG_REPEATS      20
#define RIG_TRAFFIC      (256ull << 20)
#define RIG_ORACLE_FLOPS 1e9
#define RIG_JITTER       1e-4 /* relative L2 */

struct rig {
    struct tap tap;
    struct device *dev;
    struct library lib;
    void *side;       /* a stream */
    void *traffic[2]; /* buffers of RIG_TRAFFIC bytes; NULL where quick */
    const char *only; /* pattern over the names of what is run */
    bool quick;       /* once, small, and without guards: for a sanitizer, which sees bounds */
    int skipped;
};

struct rig_problem {
    struct op_problem p;
    struct sab_tensor tensor[SAB_MAX_TENSORS];
    void *base[SAB_MAX_TENSORS];
    void *out[SAB_MAX_TENSORS]; /* outputs of the first launch, on the host */
    uint64_t guard;
    int64_t pad;             /* elements between rows whose strides are free, at least */
    const uint32_t *choices; /* of the kernel's options; NULL: the defaults */
    struct sab_buffer workspace;
    void *workspace_base; /* NULL where there is none, or a lent one */
    bool keeps_workspace; /* by a choice: it is not overwritten between launches */
    /* Device copies of outputs whose bits may differ from launch to launch; NULL for the others. */
    void *kept[SAB_MAX_TENSORS];
};

/* Gives the inputs of a problem their contents. Returns negative with err set. */
typedef int (*rig_fill_fn)(struct rig *rig, struct rig_problem *rp, void *ctx, struct err *err);

static inline bool rig_wants(const struct rig *rig, const char *name)
{
    return !rig->only || fnmatch(rig->only, name, 0) == 0;
}

/* The library named, or that beside the program's folder; false, and said, where there is none. */
static inline bool rig_library_path(const char *named, char real[PATH_MAX])
{
    char exe[PATH_MAX] = "", path[PATH_MAX + 32];
    const ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    if (len > 0 && strrchr(exe, '/'))
        *strrchr(exe, '/') = '\0';
    snprintf(path, sizeof(path), "%s/../lib/libsab_kernels.so", exe);
    if (realpath(named ? named : path, real))
        return true;
    printf("Bail out! no library '%s'\n", named ? named : path);
    return false;
}

/* PROGRAM [--quick] [--only GLOB] [LIBRARY]: the library is that beside the program's folder. */
static inline int rig_open(struct rig *rig, int argc, char **argv)
{
    const struct device_request request = {.kind = SAB_DEVICE_CUDA, .timer = DEVICE_TIMER_NONE};
    char real[PATH_MAX];
    const char *named = NULL;
    struct device_listing list[1];
    struct err err = ERR_INIT;

    memset(rig, 0, sizeof(*rig));
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            rig->quick = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            rig->only = argv[++i];
        else
            named = argv[i];
    }
    if (device_list_cuda(list, 1) == 0) {
        printf("1..0 # SKIP no GPU\n");
        return TAP_SKIPPED;
    }
    if (!rig_library_path(named, real))
        return 1;
    if (library_open(&rig->lib, real, &err) < 0 || device_open(&rig->dev, &request, &err) < 0 ||
        (!rig->quick && (device_alloc(rig->dev, RIG_TRAFFIC, &rig->traffic[0], &err) < 0 ||
                         device_alloc(rig->dev, RIG_TRAFFIC, &rig->traffic[1], &err) < 0))) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    if (gpu_stream_make(&rig->side) != 0) {
        printf("Bail out! no second stream\n");
        return 1;
    }
    printf("# %s of %s on %s\n", rig->lib.table->describe, real, device_info(rig->dev)->name);
    return 0;
}

static inline int rig_close(struct rig *rig)
{
    gpu_stream_free(rig->side);
    device_free(rig->dev, rig->traffic[0]);
    device_free(rig->dev, rig->traffic[1]);
    library_close(&rig->lib);
    device_close(rig->dev);
    if (rig->skipped)
        printf("# %d not served\n", rig->skipped);
    return tap_end(&rig->tap);
}

static inline bool rig_is_output(const struct rig_problem *rp, uint32_t t)
{
    return rp->base[t] && rp->tensor[t].role != SAB_IN;
}

/* Bytes that a tensor spans, gaps between its rows included. */
static inline uint64_t rig_bytes(const struct rig_problem *rp, uint32_t t)
{
    const int64_t bytes = rp->base[t] ? sab_tensor_bytes(&rp->tensor[t]) : 0;

    return bytes > 0 ? (uint64_t)bytes : 0;
}

/* Elements between the rows of a tensor. A row stride of scores is a multiple of 4 ("rows4"), or
 * the columns themselves or a larger multiple of 4 ("rows"). */
static inline int64_t rig_gap(const struct rig_problem *rp, uint32_t t)
{
    const char *strided = rp->p.spec->tensors[t].strided;
    const struct op_tensor *o = &rp->p.tensor[t];
    const int64_t odd = o->rank > 0 ? o->shape[o->rank - 1] % 4 : 0;

    if (strcmp(strided, "free") == 0)
        return rp->pad;
    if (strncmp(strided, "rows", 4) != 0 || (rp->pad == 0 && strcmp(strided, "rows") == 0))
        return 0;
    return (odd ? 4 - odd : 0) + (rp->pad + 3) / 4 * 4;
}

/* Rows `pad` elements apart, what lies above them packed. */
static inline void rig_pad(struct sab_tensor *t, int64_t pad)
{
    int64_t stride = t->shape[t->rank - 1] + pad;

    for (int32_t d = t->rank - 2; d >= 0; d--) {
        t->stride[d] = stride;
        stride *= t->shape[d];
    }
}

static inline int rig_fill(struct rig *rig, struct rig_problem *rp, bool outputs, int byte,
                           struct err *err)
{
    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++)
        if (rp->base[t] && rig_is_output(rp, t) == outputs &&
            device_fill(rig->dev, rp->tensor[t].data, byte, rig_bytes(rp, t), err) < 0)
            return -1;
    return 0;
}

/* Allocates the tensors of rp->p, all bytes poisoned. */
static inline int rig_problem_open(struct rig *rig, struct rig_problem *rp, struct err *err)
{
    rp->guard = rig->quick ? 0 : RIG_GUARD;
    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++) {
        const struct op_tensor *o = &rp->p.tensor[t];
        struct sab_tensor *to = &rp->tensor[t];
        uint64_t bytes = 2 * rp->guard;

        *to = (struct sab_tensor){.dtype = o->dtype,
                                  .rank = o->rank,
                                  .role = rp->p.spec->tensors[t].role,
                                  .memory = SAB_MEMORY_DEVICE,
                                  .alignment = 256};
        memcpy(to->shape, o->shape, sizeof(to->shape));
        if (o->dtype == SAB_NONE)
            continue;
        sab_contiguous(to);
        if (rig_gap(rp, t) > 0)
            rig_pad(to, rig_gap(rp, t));
        bytes += (uint64_t)sab_tensor_bytes(to);
        if (device_alloc(rig->dev, bytes ? bytes : 1, &rp->base[t], err) < 0 ||
            device_fill(rig->dev, rp->base[t], RIG_GUARD_BYTE, bytes, err) < 0)
            return -1;
        to->data = (char *)rp->base[t] + rp->guard;
        rp->out[t] = to->role == SAB_IN ? NULL : malloc(o->bytes + 1);
        if (to->role != SAB_IN && !rp->out[t])
            return err_memory(err);
    }
    return rig_fill(rig, rp, false, 0xa5, err) < 0 || rig_fill(rig, rp, true, RIG_POISON, err) < 0
               ? -1
               : 0;
}

/* Unless one is lent, which is not smaller: in rp->workspace already. */
static inline int rig_workspace_open(struct rig *rig, struct rig_problem *rp, uint64_t bytes,
                                     struct err *err)
{
    const uint64_t all = bytes + 2 * rp->guard;

    if (rp->workspace.data)
        return rp->workspace.bytes >= bytes
                   ? 0
                   : err_set(err, ERR_BUG, "%llu bytes of workspace are lent, %llu are needed",
                             (unsigned long long)rp->workspace.bytes, (unsigned long long)bytes);
    rp->workspace = (struct sab_buffer){.bytes = bytes, .memory = SAB_MEMORY_DEVICE};
    if (bytes == 0)
        return 0;
    if (device_alloc(rig->dev, all, &rp->workspace_base, err) < 0 ||
        device_fill(rig->dev, rp->workspace_base, RIG_GUARD_BYTE, all, err) < 0)
        return -1;
    rp->workspace.data = (char *)rp->workspace_base + rp->guard;
    return device_fill(rig->dev, rp->workspace.data, 0xa5, bytes, err);
}

static inline void rig_problem_close(struct rig *rig, struct rig_problem *rp)
{
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++) {
        device_free(rig->dev, rp->base[t]);
        device_free(rig->dev, rp->kept[t]);
        free(rp->out[t]);
    }
    device_free(rig->dev, rp->workspace_base);
    memset(rp, 0, sizeof(*rp));
}

/* The guards before and behind `bytes` at base + guard. */
static inline int rig_guard_of(struct rig *rig, const struct rig_problem *rp, const char *base,
                               uint64_t bytes, const char *name, struct err *err)
{
    const char *side[2] = {base, base + rp->guard + bytes};

    for (int i = 0; i < 2; i++) {
        uint64_t count = 0;
        int64_t first;

        if (device_count_other(rig->dev, side[i], RIG_GUARD_BYTE, rp->guard, &count, &first, err) <
            0)
            return -1;
        if (count)
            return err_set(err, ERR_WRONG, "%llu bytes written %s '%s'", (unsigned long long)count,
                           i ? "behind" : "before", name);
    }
    return 0;
}

static inline int rig_guards(struct rig *rig, struct rig_problem *rp, struct err *err)
{
    for (uint32_t t = 0; rp->guard && t < rp->p.spec->tensors_nr; t++)
        if (rp->base[t] && rig_guard_of(rig, rp, rp->base[t], rig_bytes(rp, t),
                                        rp->p.spec->tensors[t].name, err) < 0)
            return -1;
    return rp->guard && rp->workspace_base
               ? rig_guard_of(rig, rp, rp->workspace_base, rp->workspace.bytes, "workspace", err)
               : 0;
}

/* Outputs hold their poison, and the workspace a byte. */
static inline int rig_untouched(struct rig *rig, const struct rig_problem *rp, int byte,
                                struct err *err)
{
    uint64_t count = 0;
    int64_t first;

    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++) {
        if (!rig_is_output(rp, t))
            continue;
        if (device_count_other(rig->dev, rp->tensor[t].data, RIG_POISON, rig_bytes(rp, t), &count,
                               &first, err) < 0)
            return -1;
        if (count)
            return err_set(err, ERR_WRONG, "%llu bytes of '%s' were written",
                           (unsigned long long)count, rp->p.spec->tensors[t].name);
    }
    if (rp->workspace.data && device_count_other(rig->dev, rp->workspace.data, byte,
                                                 rp->workspace.bytes, &count, &first, err) < 0)
        return -1;
    return count ? err_set(err, ERR_WRONG, "%llu bytes of the workspace were written",
                           (unsigned long long)count)
                 : 0;
}

/* Of the outputs whose bits must not differ. */
static inline int rig_digest(struct rig *rig, struct rig_problem *rp, uint64_t *digest,
                             struct err *err)
{
    uint64_t one;

    *digest = 0;
    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++) {
        if (!rig_is_output(rp, t) || rp->kept[t])
            continue;
        if (device_digest(rig->dev, rp->tensor[t].data, rig_bytes(rp, t), &one, err) < 0)
            return -1;
        *digest = *digest * 0x9e3779b97f4a7c15u + one;
    }
    return 0;
}

/* A copy of an output whose bits may differ from launch to launch, for rig_near(). */
static inline int rig_keep(struct rig *rig, struct rig_problem *rp, uint32_t t, struct err *err)
{
    const uint64_t bytes = rp->p.tensor[t].bytes;

    return device_alloc(rig->dev, bytes, &rp->kept[t], err) < 0 ||
                   device_copy(rig->dev, rp->kept[t], rp->tensor[t].data, bytes, err) < 0
               ? -1
               : device_sync(rig->dev, err);
}

/* Outputs that are kept lie within RIG_JITTER of what they were then. */
static inline int rig_near(struct rig *rig, const struct rig_problem *rp, struct err *err)
{
    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++) {
        const struct op_tensor *o = &rp->p.tensor[t];
        struct device_difference d;

        if (!rp->kept[t])
            continue;
        if (device_compare(rig->dev, o->dtype, rp->tensor[t].data, rp->kept[t], o->elements, &d,
                           err) < 0)
            return -1;
        if (d.pattern || !(d.sum_err2 <= RIG_JITTER * RIG_JITTER * d.sum_ref2))
            return err_set(err, ERR_WRONG,
                           "'%s' is off by relative L2 %.3g, at most %g is due, %lld elements "
                           "differ in NaN or infinity",
                           rp->p.spec->tensors[t].name, sqrt(d.sum_err2 / d.sum_ref2), RIG_JITTER,
                           (long long)d.pattern);
    }
    return 0;
}

#endif
