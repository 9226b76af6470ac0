/*
 * gpu_scenarios.h - the eight descriptor scenarios of the Sage contract (section 7.3), and the
 * hazard that an unsafe choice is known for by each of them.
 */
#ifndef TESTS_GPU_GPU_SCENARIOS_H
#define TESTS_GPU_GPU_SCENARIOS_H

#include <malloc.h>

#include "gpu_scene.h"

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const int rc_ = (call);                                                                    \
        if (rc_ != SCENE_PASS)                                                                     \
            return rc_;                                                                            \
    } while (0)

/* The workspace is zeroed between two calls, without the host waiting. */
static int zeroed(struct scene *s)
{
    struct scene_set *set = scene_add_set(s, scene_one);
    void *workspace = scene_alloc(s, SCENE_BYTES, SCENE_FILL);

    if (!set || !workspace)
        return SCENE_BROKEN;
    TRY(scene_call(s, set, workspace, s->stream));
    TRY(scene_cuda(s, gpu_memset(workspace, 0, SCENE_BYTES, s->stream), "zero"));
    TRY(scene_poison(s, set, SCENE_17, s->stream));
    TRY(scene_call(s, set, workspace, s->stream));
    TRY(scene_wait(s, s->stream));
    TRY(scene_expect(s, set, set->value.bf16));
    return scene_untouched(s, workspace, 0);
}

/* The workspace of B holds what A's does. */
static int stale_valid(struct scene *s)
{
    struct scene_set *a = scene_add_set(s, scene_one), *b = scene_add_set(s, scene_minus_one);
    void *of_a = scene_alloc(s, SCENE_BYTES, SCENE_FILL);
    void *of_b = scene_alloc(s, SCENE_BYTES, SCENE_FILL);

    if (!a || !b || !of_a || !of_b)
        return SCENE_BROKEN;
    TRY(scene_call(s, a, of_a, s->stream));
    TRY(scene_call(s, b, of_b, s->stream));
    TRY(scene_cuda(s, gpu_copy(of_b, of_a, SCENE_BYTES, s->stream), "copy"));
    TRY(scene_poison(s, a, SCENE_19, s->stream));
    TRY(scene_poison(s, b, SCENE_17, s->stream));
    TRY(scene_call(s, b, of_b, s->stream));
    TRY(scene_wait(s, s->stream));
    TRY(scene_expect(s, b, b->value.bf16));
    TRY(scene_expect(s, a, scene_poisons[SCENE_19]));
    TRY(scene_untouched(s, of_a, SCENE_FILL));
    return scene_untouched(s, of_b, SCENE_FILL);
}

/* The storage around a workspace is put to other use, and then a workspace lies there again. */
static int recycled_view(struct scene *s)
{
    enum { STORAGE = 65536, VIEW_AT = 4096 };
    struct scene_set *set = scene_add_set(s, scene_one);
    char *storage = scene_alloc(s, STORAGE, SCENE_FILL);

    if (!set || !storage)
        return SCENE_BROKEN;
    TRY(scene_call(s, set, storage + VIEW_AT, s->stream));
    TRY(scene_wait(s, s->stream));
    TRY(scene_expect(s, set, set->value.bf16));
    scene_forget_plans(s);
    TRY(scene_cuda(s, gpu_memset(storage, 0, STORAGE, s->stream), "zero"));
    TRY(scene_poison(s, set, SCENE_17, s->stream));
    TRY(scene_wait(s, s->stream));
    TRY(scene_call(s, set, storage + VIEW_AT, s->stream));
    TRY(scene_wait(s, s->stream));
    TRY(scene_expect(s, set, set->value.bf16));
    return scene_untouched(s, storage + VIEW_AT, 0);
}

static int capture(struct scene *s, void *plan, void *stream, void **graph)
{
    TRY(scene_cuda(s, gpu_capture_begin(stream), "begin of the capture"));
    TRY(scene_launch(s, plan, stream));
    return scene_cuda(s, gpu_capture_end(stream, graph), "end of the capture");
}

/* One round: an eager call of the third set, then both graphs, the workspace filled anew each time.
 */
static int replay_round(struct scene *s, struct scene_set *const set[3], void *const graph[2],
                        void *workspace, void *side)
{
    TRY(scene_call(s, set[2], workspace, side));
    TRY(scene_wait(s, side));
    TRY(scene_expect(s, set[2], set[2]->value.bf16));
    TRY(scene_poison(s, set[0], SCENE_23, side));
    TRY(scene_poison(s, set[1], SCENE_19, side));
    TRY(scene_poison(s, set[2], SCENE_17, side));
    TRY(scene_cuda(s, gpu_memset(workspace, 0, SCENE_BYTES, side), "zero"));
    TRY(scene_cuda(s, gpu_graph_launch(graph[1], side), "replay of the second"));
    TRY(scene_wait(s, side));
    TRY(scene_expect(s, set[1], set[1]->value.bf16));
    TRY(scene_expect(s, set[0], scene_poisons[SCENE_23]));
    TRY(scene_expect(s, set[2], scene_poisons[SCENE_17]));
    TRY(scene_untouched(s, workspace, 0));
    TRY(scene_cuda(s, gpu_memset(workspace, SCENE_FILL, SCENE_BYTES, side), "refill"));
    TRY(scene_cuda(s, gpu_graph_launch(graph[0], side), "replay of the first"));
    TRY(scene_wait(s, side));
    TRY(scene_expect(s, set[0], set[0]->value.bf16));
    TRY(scene_expect(s, set[1], set[1]->value.bf16));
    TRY(scene_expect(s, set[2], scene_poisons[SCENE_17]));
    return scene_untouched(s, workspace, SCENE_FILL);
}

/* Two graphs, one of a set that was warmed and one of a set that was never launched, and eager
 * calls of a third, on one workspace. */
static int graph_replay(struct scene *s)
{
    struct scene_set *set[3] = {scene_add_set(s, scene_one), scene_add_set(s, scene_minus_one),
                                scene_add_set(s, scene_half)};
    void *workspace = scene_alloc(s, SCENE_BYTES, SCENE_FILL), *side = s->rig.side;
    const struct sab_buffer buffer = scene_workspace(workspace);
    void *plan[2], *graph[2] = {NULL, NULL};

    if (!set[0] || !set[1] || !set[2] || !workspace)
        return SCENE_BROKEN;
    TRY(scene_plan(s, set[0], &buffer, &plan[0]));
    TRY(scene_launch(s, plan[0], side));
    TRY(scene_wait(s, side));
    TRY(scene_expect(s, set[0], set[0]->value.bf16));
    TRY(scene_plan(s, set[1], &buffer, &plan[1]));
    TRY(capture(s, plan[0], side, &graph[0]));
    TRY(capture(s, plan[1], side, &graph[1]));
    for (int round = 0; round < 3; round++)
        TRY(replay_round(s, set, graph, workspace, side));
    gpu_graph_free(graph[0]);
    gpu_graph_free(graph[1]);
    return SCENE_PASS;
}

/* Two streams share a workspace, one behind the other. */
static int ordered_streams(struct scene *s)
{
    struct scene_set *a = scene_add_set(s, scene_one), *b = scene_add_set(s, scene_minus_one);
    void *workspace = scene_alloc(s, SCENE_BYTES, SCENE_FILL), *producer = s->rig.side;

    if (!a || !b || !workspace)
        return SCENE_BROKEN;
    TRY(scene_call(s, a, workspace, producer));
    TRY(scene_cuda(s, gpu_memset(workspace, 0, SCENE_BYTES, producer), "zero"));
    TRY(scene_cuda(s, gpu_stream_follow(s->stream, producer), "order of the streams"));
    TRY(scene_call(s, b, workspace, s->stream));
    TRY(scene_wait(s, s->stream));
    TRY(scene_expect(s, a, a->value.bf16));
    TRY(scene_expect(s, b, b->value.bf16));
    return scene_untouched(s, workspace, 0);
}

/* Section 12: where a workspace is needed, one that is none is refused, and nothing has run. */
static int call_with(struct scene *s, const struct scene_set *set, const char *name,
                     const struct sab_buffer *workspace, bool legal)
{
    char text[512];
    void *plan;
    int status;

    TRY(scene_poison(s, set, SCENE_17, s->stream));
    TRY(scene_wait(s, s->stream));
    if (legal || !s->needs_workspace) {
        TRY(scene_plan(s, set, workspace, &plan));
        TRY(scene_launch(s, plan, s->stream));
        TRY(scene_wait(s, s->stream));
        return scene_expect(s, set, set->value.bf16);
    }
    status = scene_plan_status(s, set, workspace, &plan, text, sizeof(text));
    if (status != SAB_INVALID)
        return scene_say(s, "the %s workspace is answered %s, due is invalid", name,
                         sab_status_name(status));
    printf("#   refused, as is due: %s\n", text);
    TRY(scene_wait(s, s->stream));
    return scene_expect(s, set, scene_poisons[SCENE_17]);
}

static int empty(struct scene *s)
{
    struct scene_set *set = scene_add_set(s, scene_one);
    struct sab_buffer none = scene_workspace(scene_alloc(s, SCENE_BYTES, SCENE_FILL));

    none.bytes = 0;
    return set && none.data ? call_with(s, set, "empty", &none, false) : SCENE_BROKEN;
}

/* The answer is one constant, so equal bits are those that call_with() expects. A workspace has no
 * type here: f32 is one that holds numbers. */
static int degenerate(struct scene *s)
{
    static const float number[SCENE_BYTES / 4] = {1.0f, -1.0f};
    static char host[2 * SCENE_BYTES];
    struct scene_set *set = scene_add_set(s, scene_one);
    char *data = scene_alloc(s, 2 * SCENE_BYTES, SCENE_FILL);
    struct sab_buffer f32 = scene_workspace(scene_upload(s, number, sizeof(number)));
    struct sab_buffer aligned = scene_workspace(data), none = scene_workspace(data);
    struct sab_buffer odd = scene_workspace(data + 1), of_host = scene_workspace(host);

    if (!set || !data || !f32.data)
        return SCENE_BROKEN;
    none.bytes = 0;
    of_host.memory = SAB_MEMORY_HOST;
    TRY(call_with(s, set, "aligned", &aligned, true));
    TRY(call_with(s, set, "empty", &none, false));
    TRY(call_with(s, set, "odd", &odd, false));
    TRY(call_with(s, set, "f32", &f32, true));
    TRY(call_with(s, set, "host", &of_host, false));
    return call_with(s, set, "absent", NULL, false);
}

static uint64_t heap_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Calls with a fresh address each. What the driver keeps is there after the first of them. */
static int no_growth(struct scene *s)
{
    enum { WARM = 1000, CALLS = 100000, BATCH = 250, LIMIT = 1 << 20 };
    struct scene_set *set = scene_add_set(s, scene_one);
    char *storage = scene_alloc(s, (uint64_t)(WARM + CALLS) * SCENE_BYTES, SCENE_FILL);
    uint64_t before = 0, after;

    if (!set || !storage)
        return SCENE_BROKEN;
    scene_forget_plans(s);
    for (int i = 0; i < WARM + CALLS; i++) {
        TRY(scene_call(s, set, storage + (size_t)i * SCENE_BYTES, s->stream));
        if ((i + 1) % BATCH != 0)
            continue;
        TRY(scene_wait(s, s->stream));
        scene_forget_plans(s);
        if (i + 1 == WARM)
            before = heap_bytes();
    }
    after = heap_bytes();
    TRY(scene_expect(s, set, set->value.bf16));
    printf("#   host memory: %lld bytes more after %d calls\n", (long long)(after - before), CALLS);
    return after > before + LIMIT ? scene_say(s, "host memory grows by %.0f bytes a call",
                                              (double)(after - before) / CALLS)
                                  : SCENE_PASS;
}

static const struct scenario {
    const char *name;
    uint32_t hazard;
    int (*play)(struct scene *s);
} scenarios[] = {
    {"zeroed", SAB_HAZARD_ZEROED, zeroed},
    {"stale_valid", SAB_HAZARD_STALE_VALID, stale_valid},
    {"recycled_view", SAB_HAZARD_RECYCLED_VIEW, recycled_view},
    {"graph_replay", SAB_HAZARD_GRAPH_REPLAY, graph_replay},
    {"ordered_streams", SAB_HAZARD_ORDERED_STREAMS, ordered_streams},
    {"empty", SAB_HAZARD_EMPTY, empty},
    {"degenerate", SAB_HAZARD_DEGENERATE, degenerate},
    {"no_growth", SAB_HAZARD_NO_GROWTH, no_growth},
};

#define SCENARIOS_NR (sizeof(scenarios) / sizeof(scenarios[0]))

#endif
