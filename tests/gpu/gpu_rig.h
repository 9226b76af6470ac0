/*
 * gpu_rig.h - one problem on the GPU between guards, and one kernel on it: planned on poison, right
 * once, and then bit for bit the same again, on another stream, from a graph, beside other traffic.
 */
#ifndef TESTS_GPU_GPU_RIG_H
#define TESTS_GPU_GPU_RIG_H

#include <fnmatch.h>
#include <limits.h>
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
    int64_t pad;             /* elements between the rows of inputs whose strides are free */
    const uint32_t *choices; /* of the kernel's options; NULL: the defaults */
    struct sab_buffer workspace;
    bool keeps_workspace; /* by a choice: it is not overwritten between launches */
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

static inline bool rig_is_free(const struct rig_problem *rp, uint32_t t)
{
    return strcmp(rp->p.spec->tensors[t].strided, "free") == 0;
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
        if (rp->pad && rig_is_free(rp, t))
            rig_pad(to, rp->pad);
        /* scores: a row stride that is a multiple of 4 whatever the columns */
        if (strcmp(rp->p.spec->tensors[t].strided, "rows4") == 0 && o->shape[o->rank - 1] % 4)
            rig_pad(to, 4 - o->shape[o->rank - 1] % 4);
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

static inline void rig_problem_close(struct rig *rig, struct rig_problem *rp)
{
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++) {
        device_free(rig->dev, rp->base[t]);
        free(rp->out[t]);
    }
    memset(rp, 0, sizeof(*rp));
}

static inline int rig_guards(struct rig *rig, struct rig_problem *rp, struct err *err)
{
    for (uint32_t t = 0; rp->guard && t < rp->p.spec->tensors_nr; t++) {
        const char *side[2] = {rp->base[t], (const char *)rp->tensor[t].data + rig_bytes(rp, t)};
        uint64_t count = 0;
        int64_t first;

        for (int i = 0; rp->base[t] && i < 2; i++) {
            if (device_count_other(rig->dev, side[i], RIG_GUARD_BYTE, rp->guard, &count, &first,
                                   err) < 0)
                return -1;
            if (count)
                return err_set(err, ERR_WRONG, "%llu bytes written %s '%s'",
                               (unsigned long long)count, i ? "behind" : "before",
                               rp->p.spec->tensors[t].name);
        }
    }
    return 0;
}

static inline int rig_digest(struct rig *rig, struct rig_problem *rp, uint64_t *digest,
                             struct err *err)
{
    uint64_t one;

    *digest = 0;
    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++) {
        if (!rig_is_output(rp, t))
            continue;
        if (device_digest(rig->dev, rp->tensor[t].data, rig_bytes(rp, t), &one, err) < 0)
            return -1;
        *digest = *digest * 0x9e3779b97f4a7c15u + one;
    }
    return 0;
}

enum rig_way { RIG_STREAM = 0, RIG_SIDE, RIG_GRAPH, RIG_BESIDE };
static const char *const rig_ways[] = {"again", "on another stream", "from a graph",
                                       "beside copies"};

static inline int rig_cuda(int rc, const char *what, struct err *err)
{
    return rc ? err_set(err, ERR_CRASH, "%s: %s", what, gpu_error(rc)) : 0;
}

static inline int rig_launch(const struct sab_kernel *row, void *plan, void *stream,
                             struct err *err)
{
    char text[512] = "";
    struct sab_message msg = {text, sizeof(text)};

    return row->launch(plan, stream, &msg) == SAB_OK ? 0 : err_set(err, ERR_CRASH, "%s", text);
}

static inline int rig_replay(struct rig *rig, const struct sab_kernel *row, void *plan,
                             struct err *err)
{
    void *graph = NULL;
    int rc = rig_cuda(gpu_capture_begin(rig->side), "capture", err);

    if (rc == 0) {
        rc = rig_launch(row, plan, rig->side, err);
        if (gpu_capture_end(rig->side, &graph) != 0 && rc == 0)
            rc = err_set(err, ERR_CRASH, "what it enqueues cannot be captured");
    }
    if (rc == 0)
        rc = rig_cuda(gpu_graph_launch(graph, rig->side), "replay", err);
    if (rc == 0)
        rc = rig_cuda(gpu_stream_wait(rig->side), "replay", err);
    gpu_graph_free(graph);
    return rc;
}

/* A workspace is overwritten between launches, unless a choice asks for one that is not. */
static inline int rig_spoil(struct rig *rig, const struct rig_problem *rp, int byte,
                            struct err *err)
{
    return rp->workspace.data && !rp->keeps_workspace
               ? device_fill(rig->dev, rp->workspace.data, byte, rp->workspace.bytes, err)
               : 0;
}

/* Launches once more over poison, in one of the ways; the bits must be those of before. */
static inline int rig_repeat(struct rig *rig, struct rig_problem *rp, const struct sab_kernel *row,
                             void *plan, enum rig_way way, uint64_t want, struct err *err)
{
    uint64_t got = 0;
    int rc = rig_fill(rig, rp, true, RIG_POISON, err);

    if (rc == 0)
        rc = rig_spoil(rig, rp, 0x5a, err);
    if (rc == 0 && way != RIG_STREAM)
        rc = device_sync(rig->dev, err);
    for (int i = 0; rc == 0 && way == RIG_BESIDE && i < 4; i++)
        rc = rig_cuda(gpu_copy(rig->traffic[i & 1], rig->traffic[~i & 1], RIG_TRAFFIC, rig->side),
                      "copy", err);
    if (rc == 0 && way == RIG_GRAPH)
        rc = rig_replay(rig, row, plan, err);
    else if (rc == 0)
        rc = rig_launch(row, plan, way == RIG_SIDE ? rig->side : device_stream(rig->dev), err);
    if (rc == 0 && way == RIG_SIDE)
        rc = rig_cuda(gpu_stream_wait(rig->side), "side stream", err);
    if (rc == 0)
        rc = rig_digest(rig, rp, &got, err);
    if (rc == 0 && way == RIG_BESIDE)
        rc = rig_cuda(gpu_stream_wait(rig->side), "copies", err);
    if (rc < 0)
        return err_prefix(err, "%s", rig_ways[way]);
    return got == want ? 0 : err_set(err, ERR_WRONG, "other bits when run %s", rig_ways[way]);
}

static inline int rig_repeats(struct rig *rig, struct rig_problem *rp, const struct sab_kernel *row,
                              void *plan, struct err *err)
{
    uint64_t want;

    if (rig_digest(rig, rp, &want, err) < 0)
        return -1;
    for (int i = 0; i < RIG_REPEATS; i++)
        if (rig_repeat(rig, rp, row, plan, RIG_STREAM, want, err) < 0)
            return -1;
    for (int i = 0; i < RIG_REPEATS; i++)
        if (rig_repeat(rig, rp, row, plan, RIG_BESIDE, want, err) < 0)
            return -1;
    if (rig_repeat(rig, rp, row, plan, RIG_SIDE, want, err) < 0)
        return -1;
    return rig_repeat(rig, rp, row, plan, RIG_GRAPH, want, err);
}

static inline void rig_sab_problem(const struct rig *rig, const struct rig_problem *rp,
                                   const struct sab_kernel *row, const uint32_t *choices,
                                   struct sab_problem *out)
{
    *out = (struct sab_problem){.struct_size = sizeof(*out),
                                .tensors_nr = rp->p.spec->tensors_nr,
                                .params_nr = rp->p.spec->params_nr,
                                .choices_nr = row->options_nr,
                                .tensors = rp->tensor,
                                .params = rp->p.param,
                                .choices = choices,
                                .arch = device_info(rig->dev)->arch,
                                .multiprocessors = device_info(rig->dev)->multiprocessors};
}

/* An output to the host, its rows packed. */
static inline int rig_bring(struct rig *rig, const struct rig_problem *rp, uint32_t t,
                            struct err *err)
{
    const struct sab_tensor *from = &rp->tensor[t];
    const size_t size = sab_dtype_size(from->dtype);
    const size_t row = (size_t)(from->rank > 0 ? from->shape[from->rank - 1] : 1) * size;
    const size_t bytes = rig_bytes(rp, t), packed = rp->p.tensor[t].bytes;
    char *host;
    int rc;

    if (bytes == packed)
        return device_download(rig->dev, rp->out[t], from->data, bytes, err);
    host = malloc(bytes + 1);
    if (!host)
        return err_memory(err);
    rc = device_download(rig->dev, host, from->data, bytes, err);
    for (size_t i = 0; rc == 0 && i < packed / row; i++)
        memcpy((char *)rp->out[t] + i * row, host + i * (size_t)from->stride[from->rank - 2] * size,
               row);
    free(host);
    return rc;
}

static inline int rig_with_plan(struct rig *rig, struct rig_problem *rp,
                                const struct sab_kernel *row, void *plan, rig_fill_fn fill,
                                void *ctx, struct err *err)
{
    if (fill(rig, rp, ctx, err) < 0 || rig_spoil(rig, rp, 0xa5, err) < 0 ||
        rig_launch(row, plan, device_stream(rig->dev), err) < 0 || device_sync(rig->dev, err) < 0)
        return -1;
    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++)
        if (rig_is_output(rp, t) && rig_bring(rig, rp, t, err) < 0)
            return -1;
    if (!rig->quick && (row->flags & SAB_KERNEL_DETERMINISTIC) &&
        rig_repeats(rig, rp, row, plan, err) < 0)
        return -1;
    return rig_guards(rig, rp, err);
}

/*
 * Plans on poisoned inputs, fills them, launches, brings the outputs home and repeats. Returns 0,
 * 1 for a problem that the kernel does not serve (err says why), negative for anything wrong.
 */
static inline int rig_run(struct rig *rig, struct rig_problem *rp, const struct sab_kernel *row,
                          rig_fill_fn fill, void *ctx, struct err *err)
{
    uint32_t choices[SAB_MAX_OPTIONS];
    char text[512] = "";
    struct sab_message msg = {text, sizeof(text)};
    struct sab_problem problem;
    void *plan = NULL;
    int status, rc = -1;

    library_default_choices(row, choices);
    if (rp->choices)
        memcpy(choices, rp->choices, row->options_nr * sizeof(choices[0]));
    rp->workspace = (struct sab_buffer){.memory = SAB_MEMORY_DEVICE};
    rp->keeps_workspace = rig_choice_flags(row, choices) & SAB_CHOICE_KEEPS_WORKSPACE;
    if (rig_problem_open(rig, rp, err) < 0)
        return -1;
    rig_sab_problem(rig, rp, row, choices, &problem);
    status = row->supports(&problem, &msg);
    if (status == SAB_OK)
        status = row->workspace_size(&problem, &rp->workspace.bytes, &msg);
    if (status == SAB_OK && rp->workspace.bytes &&
        (device_alloc(rig->dev, rp->workspace.bytes, &rp->workspace.data, err) < 0 ||
         device_fill(rig->dev, rp->workspace.data, 0xa5, rp->workspace.bytes, err) < 0))
        return -1;
    if (device_sync(rig->dev, err) < 0) /* a plan is ordered with no stream */
        return -1;
    if (status == SAB_OK)
        status = row->plan(&problem, &rp->workspace, &plan, &msg);
    if (status == SAB_OK)
        rc = rig_with_plan(rig, rp, row, plan, fill, ctx, err);
    else
        err_set(err, ERR_WRONG, "%s: %s", sab_status_name(status), text);
    if (status == SAB_OK)
        row->free(plan);
    device_free(rig->dev, rp->workspace.data);
    rp->workspace.data = NULL;
    return status == SAB_UNSUPPORTED ? 1 : rc;
}

/* The CUDA kernels of one operator, or of all (op NULL); NULL behind the last. */
static inline const struct sab_kernel *rig_kernel(const struct rig *rig, const char *op, size_t *at)
{
    while (*at < rig->lib.kernels_nr) {
        const struct library_kernel *k = &rig->lib.kernels[(*at)++];

        if (!k->refusal && k->row->device == SAB_DEVICE_CUDA && (!op || !strcmp(op, k->row->op)))
            return k->row;
    }
    return NULL;
}

#endif
