/*
 * checks_stream.c - the stream that a launch was given, and captures. Devices with streams only.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check_rig.h"
#include "verify_internal.h"

/* Long against any honest return from launch(), short for whoever waits. */
#define BUSY_NS     5e7
#define AMBIENT_NS  1e8
#define AMBIENT_MAX 2e9
#define LATE_NS     2e7

#define POISON_A 0x6b
#define POISON_B 0x71

typedef int side_fn(struct rig *rig, void *side, struct check_result *res, struct err *err);

/* Plays on a stream that nothing is ordered with; whatever came of it, the device is quiet and on
 * its own stream again behind it. */
static int on_side_stream(struct rig *rig, side_fn *play, struct check_result *res, struct err *err)
{
    struct err late = ERR_INIT;
    void *side, *before;
    int ret;

    if (device_sync(rig->dev, err) || device_stream_make(rig->dev, &side, err))
        return -1;
    before = device_use_stream(rig->dev, side);
    ret = play(rig, side, res, err);
    device_use_stream(rig->dev, before);
    if (device_sync_all(rig->dev, &late) && ret >= 0)
        ret = err_set(err, late.kind, "%s", late.text);
    device_stream_free(rig->dev, side);
    return ret;
}

/* Captures one launch on the present stream. */
static int capture(struct rig *rig, struct arm_run *arm, struct device_graph *graph,
                   struct check_result *res, struct err *err)
{
    struct err why = ERR_INIT;
    int ret, ended;

    if (device_capture_begin(rig->dev, err))
        return -1;
    ret = rig_enqueue(rig, arm, res, err);
    ended = device_capture_end(rig->dev, graph, &why);
    if (ended < 0)
        return err_set(err, why.kind, "%s", why.text);
    if (ret > 0) {
        char text[CHECK_TEXT_MAX];

        (void)snprintf(text, sizeof(text), "%s", res->text);
        return check_fail(res, "under capture: %.900s", text);
    }
    return ret < 0 || !ended ? ret : check_fail(res, "%s", why.text);
}

/* ---- launch only enqueues ---- */

static int play_enqueues(struct rig *rig, void *side, struct check_result *res, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A];
    struct device_graph graph = {NULL, 0, 0};
    double begin, took_s;
    bool done;
    int ret;

    if (arm_poison(a->arm, -1, err) || device_stream_busy(rig->dev, side, BUSY_NS, err))
        return -1;
    begin = verify_now_s();
    ret = rig_enqueue(rig, a->arm, res, err);
    took_s = verify_now_s() - begin;
    if (ret)
        return ret;
    if (device_stream_done(rig->dev, side, &done, err))
        return -1;
    if (done || took_s > BUSY_NS / 1e9)
        return check_fail(res,
                          "launch took %.1f ms to return and waited for what was on the stream: it "
                          "synchronises, or allocates",
                          took_s * 1e3);
    if (device_sync(rig->dev, err))
        return -1;
    ret = rig_same(rig, a->arm, &a->kept, "behind a busy stream", res, err);
    if (!ret)
        ret = capture(rig, a->arm, &graph, res, err);
    if (!ret && graph.allocations)
        ret = check_fail(res, "launch allocates: %zu of the %zu nodes of its graph do",
                         graph.allocations, graph.nodes);
    if (!ret && !graph.nodes && verify_has_outputs(arm_last(a->arm)->work))
        ret = check_fail(res, "a capture of the stream caught nothing: launch works elsewhere");
    device_graph_free(rig->dev, &graph);
    return ret;
}

int check_enqueues(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);

    return ret ? ret : on_side_stream(rig, play_enqueues, res, err);
}

/* ---- the ambient stream ---- */

static int play_ambient(struct rig *rig, void *side, struct check_result *res, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A], *b = &rig->side[RIG_B];
    const double ns = fmin(AMBIENT_MAX, fmax(AMBIENT_NS, 4e9 * rig->launch_s));
    bool done;
    int ret;

    if (arm_poison(a->arm, -1, err) || device_sync(rig->dev, err) ||
        device_stream_busy(rig->dev, NULL, ns, err))
        return -1;
    ret = rig_enqueue(rig, a->arm, res, err);
    if (ret)
        return ret;
    if (device_sync(rig->dev, err) || device_stream_done(rig->dev, NULL, &done, err))
        return -1;
    if (done && 4 * rig->launch_s * 1e9 < AMBIENT_MAX)
        return check_fail(res, "the launch waited for the default stream");
    ret = rig_same(rig, a->arm, &a->kept, "while the default stream was busy", res, err);
    if (ret)
        return ret;
    if (device_sync_all(rig->dev, err))
        return -1;
    ret = rig_same(rig, a->arm, &a->kept, "after the default stream's work had ended", res, err);
    if (ret)
        return ret;
    /* Inputs that come late on the stream, and the launch right behind them. */
    if (arm_poison(a->arm, -1, err) || device_stream_busy(rig->dev, side, LATE_NS, err) ||
        rig_take_inputs(rig, b, a, err))
        return -1;
    ret = rig_enqueue(rig, a->arm, res, err);
    if (!ret)
        ret = device_sync_all(rig->dev, err);
    return ret ? ret
               : rig_same(rig, a->arm, &b->kept, "behind inputs that came late on the stream", res,
                          err);
}

int check_ambient(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);

    if (!ret)
        ret = rig_need(rig, RIG_B, res, err);
    return ret ? ret : on_side_stream(rig, play_ambient, res, err);
}

/* ---- one workspace, two streams ---- */

/* B's arm with a plan of its own on A's workspaces. The caller frees the plan. */
static int plan_b_on_a(struct rig *rig, struct arm_run *other, struct check_result *res,
                       struct err *err)
{
    const struct arm_run *a = rig->side[RIG_A].arm;

    *other = *rig->side[RIG_B].arm;
    for (size_t i = 0; i < other->steps_nr; i++) {
        other->step[i].plan = NULL;
        other->step[i].workspace = a->step[i].workspace;
    }
    return rig_plan(rig, other, "a second plan on one workspace", res, err);
}

static int play_ordered(struct rig *rig, void *producer, struct check_result *res, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A], *b = &rig->side[RIG_B];
    struct arm_run other;
    void *consumer = NULL;
    int ret = plan_b_on_a(rig, &other, res, err);

    if (!ret && (device_stream_make(rig->dev, &consumer, err) || arm_poison(a->arm, -1, err) ||
                 device_stream_busy(rig->dev, producer, LATE_NS, err)))
        ret = -1;
    if (!ret)
        ret = rig_enqueue(rig, a->arm, res, err);
    if (!ret && (rig_fill_workspace(rig, a->arm, 0, err) ||
                 device_stream_follow(rig->dev, consumer, producer, err)))
        ret = -1;
    if (!ret) {
        device_use_stream(rig->dev, consumer);
        ret = arm_poison(&other, -1, err) ? -1 : rig_enqueue(rig, &other, res, err);
        device_use_stream(rig->dev, producer);
    }
    if (!ret)
        ret = device_sync_all(rig->dev, err);
    if (!ret)
        ret = rig_same(rig, a->arm, &a->kept, "on the stream in front", res, err);
    if (!ret)
        ret = rig_same(rig, &other, &b->kept, "on the stream behind, with the same workspace", res,
                       err);
    if (ret >= 0)
        rig_plan_free(&other);
    device_stream_free(rig->dev, consumer);
    return ret;
}

int check_ordered_streams(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);

    if (!ret)
        ret = rig_need(rig, RIG_B, res, err);
    return ret ? ret : on_side_stream(rig, play_ordered, res, err);
}

/* ---- capture and replay ---- */

struct replay {
    struct arm_run *eager, *a, *b; /* b shares a's workspace and was never launched */
    struct device_graph graph_a, graph_b;
};

static int replay_one(struct rig *rig, struct arm_run *arm, const struct device_graph *graph,
                      const struct rig_outputs *kept, int workspace, const char *when,
                      struct check_result *res, struct err *err)
{
    if (rig_fill_workspace(rig, arm, workspace, err) || device_graph_launch(rig->dev, graph, err) ||
        device_sync(rig->dev, err))
        return -1;
    return rig_same(rig, arm, kept, when, res, err);
}

static int replay_round(struct rig *rig, struct replay *r, struct check_result *res,
                        struct err *err)
{
    const struct rig_outputs *kept_a = &rig->side[RIG_A].kept, *kept_b = &rig->side[RIG_B].kept;
    int ret = rig_launch(rig, r->eager, -1, res, err);

    if (!ret)
        ret = rig_same(rig, r->eager, kept_b, "an eager launch between replays", res, err);
    if (ret)
        return ret;
    if (arm_poison(r->a, POISON_A, err) || arm_poison(r->b, POISON_B, err))
        return -1;
    ret = replay_one(rig, r->b, &r->graph_b, kept_b, 0x00, "a replay, its workspace zeroed before",
                     res, err);
    if (!ret)
        ret = rig_untouched(rig, r->a, POISON_A, "while another graph was replayed", res, err);
    if (ret)
        return ret;
    if (arm_poison(r->b, POISON_B, err))
        return -1;
    ret = replay_one(rig, r->a, &r->graph_a, kept_a, 0xa5,
                     "a replay, its workspace overwritten before", res, err);
    if (!ret)
        ret = rig_untouched(rig, r->b, POISON_B, "while another graph was replayed", res, err);
    return ret;
}

static int play_replay(struct rig *rig, void *side, struct check_result *res, struct err *err)
{
    struct arm_run other;
    struct replay r = {.eager = rig->side[RIG_B].arm, .a = rig->side[RIG_A].arm, .b = &other};
    int ret = plan_b_on_a(rig, &other, res, err);

    (void)side;
    if (!ret)
        ret = capture(rig, r.a, &r.graph_a, res, err);
    if (!ret)
        ret = capture(rig, r.b, &r.graph_b, res, err);
    for (int round = 0; !ret && round < 3; round++)
        ret = replay_round(rig, &r, res, err);
    device_graph_free(rig->dev, &r.graph_a);
    device_graph_free(rig->dev, &r.graph_b);
    if (ret >= 0)
        rig_plan_free(&other);
    return ret;
}

int check_graph_replay(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);

    if (!ret)
        ret = rig_need(rig, RIG_B, res, err);
    return ret ? ret : on_side_stream(rig, play_replay, res, err);
}
