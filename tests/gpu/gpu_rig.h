/*
 * gpu_rig.h - one kernel on a problem of gpu_problem.h: planned on poison, right once, and then bit
 * for bit the same again, on another stream, from a graph, beside other traffic.
 */
#ifndef TESTS_GPU_GPU_RIG_H
#define TESTS_GPU_GPU_RIG_H

#include "gpu_problem.h"

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

/* A launch on the side stream as a graph, which has not run. */
static inline int rig_capture(struct rig *rig, const struct sab_kernel *row, void *plan,
                              void **graph, struct err *err)
{
    int rc = rig_cuda(gpu_capture_begin(rig->side), "capture", err);

    *graph = NULL;
    if (rc == 0) {
        rc = rig_launch(row, plan, rig->side, err);
        if (gpu_capture_end(rig->side, graph) != 0 && rc == 0)
            rc = err_set(err, ERR_CRASH, "what it enqueues cannot be captured");
    }
    return rc;
}

/* Runs a graph on the side stream, to its end. */
static inline int rig_run_graph(struct rig *rig, void *graph, struct err *err)
{
    int rc = rig_cuda(gpu_graph_launch(graph, rig->side), "replay", err);

    return rc == 0 ? rig_cuda(gpu_stream_wait(rig->side), "replay", err) : rc;
}

static inline int rig_replay(struct rig *rig, const struct sab_kernel *row, void *plan,
                             struct err *err)
{
    void *graph = NULL;
    int rc = rig_capture(rig, row, plan, &graph, err);

    if (rc == 0)
        rc = rig_run_graph(rig, graph, err);
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

/* Launches once more over poison, in one of the ways; the bits must be those of before, or near
 * them where an output is kept. */
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
    if (rc == 0)
        rc = rig_near(rig, rp, err);
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

/* An output to the host, its rows packed; what lies between them is still poison. */
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
    const size_t stride = (size_t)from->stride[from->rank - 2] * size;
    for (size_t i = 0; rc == 0 && i < packed / row; i++)
        memcpy((char *)rp->out[t] + i * row, host + i * stride, row);
    for (size_t at = 0; rc == 0 && at < bytes; at++)
        if (at % stride >= row && (unsigned char)host[at] != RIG_POISON)
            rc = err_set(err, ERR_WRONG, "byte %zu between the rows of '%s' was written", at,
                         rp->p.spec->tensors[t].name);
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

/* A plan on poisoned inputs. Returns 0, 1 for a problem that the kernel does not serve (err says
 * why), negative for anything wrong. rig_problem_close() is due in any case, and before it free()
 * of a plan. */
static inline int rig_plan(struct rig *rig, struct rig_problem *rp, const struct sab_kernel *row,
                           void **plan, struct err *err)
{
    uint32_t choices[SAB_MAX_OPTIONS];
    char text[512] = "";
    struct sab_message msg = {text, sizeof(text)};
    struct sab_problem problem;
    uint64_t bytes = 0;
    int status;

    library_default_choices(row, choices);
    if (rp->choices)
        memcpy(choices, rp->choices, row->options_nr * sizeof(choices[0]));
    rp->keeps_workspace = rig_choice_flags(row, choices) & SAB_CHOICE_KEEPS_WORKSPACE;
    if (rig_problem_open(rig, rp, err) < 0)
        return -1;
    rig_sab_problem(rig, rp, row, choices, &problem);
    status = row->supports(&problem, &msg);
    if (status == SAB_OK)
        status = row->workspace_size(&problem, &bytes, &msg);
    if (status == SAB_OK && rig_workspace_open(rig, rp, bytes, err) < 0)
        return -1;
    if (device_sync(rig->dev, err) < 0) /* a plan is ordered with no stream */
        return -1;
    if (status == SAB_OK)
        status = row->plan(&problem, &rp->workspace, plan, &msg);
    if (status == SAB_OK)
        return 0;
    err_set(err, ERR_WRONG, "%s: %s", sab_status_name(status), text);
    return status == SAB_UNSUPPORTED ? 1 : -1;
}

/* Plans, fills the inputs, launches, brings the outputs home and repeats. Returns as rig_plan(). */
static inline int rig_run(struct rig *rig, struct rig_problem *rp, const struct sab_kernel *row,
                          rig_fill_fn fill, void *ctx, struct err *err)
{
    void *plan = NULL;
    int rc = rig_plan(rig, rp, row, &plan, err);

    if (rc == 0) {
        rc = rig_with_plan(rig, rp, row, plan, fill, ctx, err);
        row->free(plan);
    }
    return rc;
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
