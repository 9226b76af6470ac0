/*
 * gpu_scene.h - what the descriptor scenarios of the Sage contract (section 7.3) share: tensor sets
 * whose exact answer is one constant, workspaces, and calls in the sense of that section, each of
 * them a plan and a launch.
 *
 * Until scene_prove() has seen one right call, whatever goes wrong is SCENE_BROKEN: the rig's
 * fault, which no expectation of a failure covers.
 */
#ifndef TESTS_GPU_GPU_SCENE_H
#define TESTS_GPU_GPU_SCENE_H

#include <math.h>

#include "gpu_rig.h"

/* A child's exit statuses. */
enum scene_outcome { SCENE_PASS = 0, SCENE_FAIL = 10, SCENE_BROKEN = 12 };

#define SCENE_BYTES     512 /* of a workspace */
#define SCENE_OUT_BYTES (64 * 128 * 2)
#define SCENE_FILL      0xa5
#define SCENE_MAX_PLANS 256
#define SCENE_MAX_SETS  4

/* A constant as V holds it and as the output does. */
struct scene_value {
    int e4m3;
    uint16_t bf16;
};
static const struct scene_value scene_one = {0x38, 0x3f80}, scene_minus_one = {0xb8, 0xbf80},
                                scene_half = {0x30, 0x3f00};
enum { SCENE_17 = 0, SCENE_19, SCENE_23, SCENE_POISONS };
static const uint16_t scene_poisons[SCENE_POISONS] = {0x4188, 0x4198, 0x41b8};

struct scene_set {
    struct sab_tensor tensor[SAB_TENSORS_NR_sage_fwd];
    struct scene_value value;
};

struct scene {
    struct rig rig;
    const struct sab_kernel *row;
    uint32_t choice;
    bool needs_workspace;
    bool armed; /* one call was right */
    void *stream;
    void *plan[SCENE_MAX_PLANS];
    size_t plans_nr;
    struct scene_set set[SCENE_MAX_SETS];
    size_t sets_nr;
    void *poison[SCENE_POISONS];
};

/* Says what went wrong; the outcome that it is. */
__attribute__((format(printf, 2, 3))) static inline int scene_say(const struct scene *s,
                                                                  const char *format, ...)
{
    va_list args;

    printf("#   ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    return s->armed ? SCENE_FAIL : SCENE_BROKEN;
}

static inline int scene_cuda(const struct scene *s, int rc, const char *what)
{
    return rc ? scene_say(s, "%s: %s", what, gpu_error(rc)) : SCENE_PASS;
}

static inline int scene_wait(const struct scene *s, void *stream)
{
    return scene_cuda(s, gpu_stream_wait(stream), "the stream");
}

/* `bytes` of device memory filled with a byte, which is there when it returns. NULL: said. */
static inline void *scene_alloc(struct scene *s, uint64_t bytes, int byte)
{
    struct err err = ERR_INIT;
    void *p = NULL;

    if (device_alloc(s->rig.dev, bytes, &p, &err) < 0 ||
        device_fill(s->rig.dev, p, byte, bytes, &err) < 0 || device_sync(s->rig.dev, &err) < 0) {
        scene_say(s, "%s", err.text);
        return NULL;
    }
    return p;
}

static inline void *scene_upload(struct scene *s, const void *host, uint64_t bytes)
{
    struct err err = ERR_INIT;
    void *p = scene_alloc(s, bytes, 0);

    if (p && (device_upload(s->rig.dev, p, host, bytes, &err) < 0 ||
              device_sync(s->rig.dev, &err) < 0)) {
        scene_say(s, "%s", err.text);
        return NULL;
    }
    return p;
}

static inline bool scene_give(struct scene_set *set, uint32_t place, int32_t dtype,
                              const int64_t shape[4], void *data)
{
    struct sab_tensor *t = &set->tensor[place];

    *t = (struct sab_tensor){.data = data,
                             .rank = 4,
                             .dtype = dtype,
                             .role = place == SAB_T_sage_fwd_out ? SAB_OUT : SAB_IN,
                             .memory = SAB_MEMORY_DEVICE,
                             .alignment = 256};
    while (t->rank > 0 && shape[t->rank - 1] == 0)
        t->rank--;
    for (int32_t d = 0; d < t->rank; d++)
        t->shape[d] = shape[d];
    sab_contiguous(t);
    return data != NULL;
}

#define SCENE_GIVE(set, name, dtype, data, ...)                                                    \
    scene_give(set, SAB_T_sage_fwd_##name, dtype, (const int64_t[4]){__VA_ARGS__}, data)

/* B=H=1, Sq=64, Sk=128, Q=K=0, V=c, all scales 1, index [0,1]: the answer is c everywhere. NULL:
 * said. */
static inline struct scene_set *scene_add_set(struct scene *s, struct scene_value value)
{
    struct scene_set *set = &s->set[s->sets_nr++];
    static const int32_t index[2] = {0, 1};
    float ones[128];
    bool good;

    for (int i = 0; i < 128; i++)
        ones[i] = 1.0f;
    set->value = value;
    good =
        SCENE_GIVE(set, q_int8, SAB_I8, scene_alloc(s, 64 * 128, 0), 1, 1, 64, 128) &&
        SCENE_GIVE(set, k_int8, SAB_I8, scene_alloc(s, 128 * 128, 0), 1, 1, 128, 128) &&
        SCENE_GIVE(set, v_fp8, SAB_E4M3, scene_alloc(s, 128 * 128, value.e4m3), 1, 1, 128, 128) &&
        SCENE_GIVE(set, q_scale, SAB_F32, scene_upload(s, ones, 16), 1, 1, 4) &&
        SCENE_GIVE(set, k_scale, SAB_F32, scene_upload(s, ones, 8), 1, 1, 2) &&
        SCENE_GIVE(set, v_scale, SAB_F32, scene_upload(s, ones, 512), 1, 1, 128) &&
        SCENE_GIVE(set, q2k_block_index, SAB_I32, scene_upload(s, index, 8), 1, 1, 1, 2) &&
        SCENE_GIVE(set, out, SAB_BF16, scene_alloc(s, SCENE_OUT_BYTES, RIG_POISON), 1, 1, 64, 128);
    return good ? set : NULL;
}

static inline void *scene_out(const struct scene_set *set)
{
    return set->tensor[SAB_T_sage_fwd_out].data;
}

/* Uniform and contiguous, n = 2. A SAB status; the message is in text. */
static inline int scene_plan_status(struct scene *s, const struct scene_set *set,
                                    const struct sab_buffer *workspace, void **plan, char *text,
                                    size_t size)
{
    const union sab_value params[SAB_PARAMS_NR_sage_fwd] = {
        [SAB_P_sage_fwd_block_sparse_num] = {.i = 2},
        [SAB_P_sage_fwd_softmax_scale] = {.f = 1 / sqrt(128)},
        [SAB_P_sage_fwd_uniform_block_count] = {.i = 1},
        [SAB_P_sage_fwd_contiguous_block_indices] = {.i = 1}};
    const struct sab_problem problem = {.struct_size = sizeof(problem),
                                        .tensors_nr = SAB_TENSORS_NR_sage_fwd,
                                        .params_nr = SAB_PARAMS_NR_sage_fwd,
                                        .choices_nr = 1,
                                        .tensors = set->tensor,
                                        .params = params,
                                        .choices = &s->choice,
                                        .arch = device_info(s->rig.dev)->arch,
                                        .multiprocessors =
                                            device_info(s->rig.dev)->multiprocessors};
    struct sab_message msg = {text, size};
    int status;

    *plan = NULL;
    text[0] = '\0';
    status = s->row->plan(&problem, workspace, plan, &msg);
    if (status == SAB_OK)
        s->plan[s->plans_nr++] = *plan;
    return status;
}

static inline int scene_plan(struct scene *s, const struct scene_set *set,
                             const struct sab_buffer *workspace, void **plan)
{
    char text[512];
    const int status = scene_plan_status(s, set, workspace, plan, text, sizeof(text));

    return status == SAB_OK ? SCENE_PASS
                            : scene_say(s, "plan: %s: %s", sab_status_name(status), text);
}

static inline int scene_launch(struct scene *s, void *plan, void *stream)
{
    struct err err = ERR_INIT;
    int rc = SCENE_PASS;

    if (rig_launch(s->row, plan, stream, &err) < 0)
        rc = scene_say(s, "launch: %s", err.text);
    err_clear(&err);
    return rc;
}

static inline struct sab_buffer scene_workspace(void *data)
{
    return (struct sab_buffer){data, SCENE_BYTES, SAB_MEMORY_DEVICE, 0};
}

/* One call on the 512 bytes at `data`. Waits for nothing. */
static inline int scene_call(struct scene *s, const struct scene_set *set, void *data, void *stream)
{
    const struct sab_buffer workspace = scene_workspace(data);
    void *plan;
    const int rc = scene_plan(s, set, &workspace, &plan);

    return rc ? rc : scene_launch(s, plan, stream);
}

/* When what was launched has ended. */
static inline void scene_forget_plans(struct scene *s)
{
    while (s->plans_nr > 0)
        s->row->free(s->plan[--s->plans_nr]);
}

static inline int scene_poison(struct scene *s, const struct scene_set *set, int poison,
                               void *stream)
{
    return scene_cuda(s, gpu_copy(scene_out(set), s->poison[poison], SCENE_OUT_BYTES, stream),
                      "poison");
}

/* The output holds `bf16` everywhere. What writes it has ended. */
static inline int scene_expect(struct scene *s, const struct scene_set *set, uint16_t bf16)
{
    uint16_t *out = malloc(SCENE_OUT_BYTES);
    struct err err = ERR_INIT;
    int rc = SCENE_PASS;

    if (!out || device_download(s->rig.dev, out, scene_out(set), SCENE_OUT_BYTES, &err) < 0)
        rc = scene_say(s, "output: %s", out ? err.text : "no memory");
    for (int i = 0; rc == SCENE_PASS && i < SCENE_OUT_BYTES / 2; i++)
        if (out[i] != bf16)
            rc = scene_say(s, "output of set %d is 0x%04x at %d, due is 0x%04x",
                           (int)(set - s->set), out[i], i, bf16);
    free(out);
    err_clear(&err);
    return rc;
}

/* A workspace that the choice has no use for holds what was written there last. */
static inline int scene_untouched(struct scene *s, const void *workspace, int byte)
{
    struct err err = ERR_INIT;
    uint64_t count = 0;
    int64_t first;

    if (s->needs_workspace)
        return SCENE_PASS;
    if (device_count_other(s->rig.dev, workspace, byte, SCENE_BYTES, &count, &first, &err) < 0)
        return scene_say(s, "workspace: %s", err.text);
    return count
               ? scene_say(s, "%llu bytes of the workspace have changed", (unsigned long long)count)
               : SCENE_PASS;
}

/* One right call of a set and a workspace of its own; from here on what goes wrong is the
 * scenario's. */
static inline int scene_prove(struct scene *s)
{
    struct scene_set *set = scene_add_set(s, scene_half);
    void *workspace = scene_alloc(s, SCENE_BYTES, SCENE_FILL);
    int rc = set && workspace ? scene_call(s, set, workspace, s->stream) : SCENE_BROKEN;

    for (int i = 0; rc == SCENE_PASS && i < SCENE_POISONS; i++) {
        uint16_t host[SCENE_OUT_BYTES / 2];

        for (size_t k = 0; k < SCENE_OUT_BYTES / 2; k++)
            host[k] = scene_poisons[i];
        s->poison[i] = scene_upload(s, host, SCENE_OUT_BYTES);
        rc = s->poison[i] ? SCENE_PASS : SCENE_BROKEN;
    }
    if (rc == SCENE_PASS)
        rc = scene_wait(s, s->stream);
    if (rc == SCENE_PASS)
        rc = scene_expect(s, set, scene_half.bf16);
    s->armed = rc == SCENE_PASS;
    return rc;
}

#endif
