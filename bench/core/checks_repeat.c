/*
 * checks_repeat.c - the same call again: after itself, after other contents, beside another plan,
 * beside traffic.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_rig.h"
#include "verify_internal.h"

#define REPEATS         2
#define REPEATS_CUDA    8
#define TRAFFIC_REPEATS 2

/* Where no equal bits are promised, each answer is held against the oracle; but for a kernel whose
 * first one (repeat -1) was wrong already: *wrong, and no failure of this check. */
static int judge_again(struct rig *rig, int repeat, bool *wrong, struct check_result *res,
                       struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A];

    for (size_t i = 0; i < a->arm->steps_nr; i++) {
        const struct step_run *step = &a->arm->step[i];
        struct judgement j;
        bool complete;

        if (!verify_has_outputs(step->work))
            continue;
        if (verify_judge(a->run, step->work, step->kernel, &j, &complete, err))
            return -1;
        if (j.pass)
            continue;
        *wrong = repeat < 0;
        if (*wrong)
            return 0;
        if (j.at >= 0)
            rig_point(a->arm, step, j.tensor, j.at, j.got, j.want, res);
        return check_fail(res, "launch %d: %s", repeat + 2, j.text);
    }
    return 0;
}

static int repeat_once(struct rig *rig, int i, bool promised, bool *wrong, struct check_result *res,
                       struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A];
    int ret = rig_launch(rig, a->arm, -1, res, err);
    char when[64];
    double one;

    if (ret)
        return ret;
    if (rig_distance(a->arm, &a->kept, &one, err))
        return -1;
    res->jitter = fmax(res->jitter, one);
    (void)snprintf(when, sizeof(when), "launch %d on the same inputs", i + 2);
    if (promised)
        return rig_same(rig, a->arm, &a->kept, when, res, err);
    return *wrong ? 0 : judge_again(rig, i, wrong, res, err);
}

int check_repeat(struct rig *rig, struct check_result *res, struct err *err)
{
    const int repeats = device_has_streams(rig->dev) ? REPEATS_CUDA : REPEATS;
    struct rig_side *a = &rig->side[RIG_A];
    bool promised, wrong = false;
    int ret = rig_need(rig, RIG_A, res, err);

    if (ret)
        return ret;
    promised = rig_promises_bits(a->arm, a->arm->steps_nr - 1);
    res->jitter = 0;
    if (!promised) {
        if (rig_outputs_restore(a->arm, &a->kept, err))
            return -1;
        ret = judge_again(rig, -1, &wrong, res, err);
    }
    for (int i = 0; !ret && i < repeats; i++)
        ret = repeat_once(rig, i, promised, &wrong, res, err);
    if (!ret)
        (void)snprintf(res->text, sizeof(res->text), "%s",
                       promised ? "equal bits, as promised" : "no equal bits are promised");
    return ret;
}

/* A plan that has looked at contents answers for those that it saw. */
int check_contents(struct rig *rig, struct check_result *res, struct err *err)
{
    struct rig_side *a = &rig->side[RIG_A], *b = &rig->side[RIG_B];
    int ret = rig_need(rig, RIG_A, res, err);

    if (!ret)
        ret = rig_need(rig, RIG_B, res, err);
    if (!ret)
        ret = rig_sides_differ(rig, res, err);
    if (!ret)
        ret = rig_take_inputs(rig, b, a, err);
    if (!ret)
        ret = rig_launch(rig, a->arm, -1, res, err);
    if (!ret)
        ret = rig_same(rig, a->arm, &b->kept, "the inputs changed between launches of one plan",
                       res, err);
    if (ret)
        return ret;
    /* And a new plan on the same addresses does not answer for the old contents. */
    rig_plan_free(a->arm);
    ret = rig_plan(rig, a->arm, "a second plan on the same tensors", res, err);
    if (!ret)
        ret = rig_launch(rig, a->arm, -1, res, err);
    if (!ret)
        ret = rig_same(rig, a->arm, &b->kept,
                       "a second plan on the same addresses, with new inputs", res, err);
    return ret;
}

int check_two_plans(struct rig *rig, struct check_result *res, struct err *err)
{
    static const char when[] = "with two plans alive, launched in turn";
    struct rig_side *b = &rig->side[RIG_B];
    int ret = rig_need(rig, RIG_A, res, err);

    if (!ret)
        ret = rig_need(rig, RIG_B, res, err);
    if (!ret)
        ret = rig_again(rig, RIG_A, when, res, err);
    if (!ret)
        ret = rig_again(rig, RIG_B, when, res, err);
    if (ret)
        return ret;
    rig_plan_free(b->arm);
    ret = rig_again(rig, RIG_A, "after another plan was freed", res, err);
    return ret ? ret : rig_plan(rig, b->arm, "a second plan", res, err);
}

static int beside_traffic(struct rig *rig, struct device_traffic *traffic, struct check_result *res,
                          struct err *err)
{
    const int repeats = device_has_streams(rig->dev) ? REPEATS_CUDA : TRAFFIC_REPEATS;

    for (int i = 0; i < repeats; i++) {
        int ret;

        if (device_traffic_feed(rig->dev, traffic, err))
            return -1;
        ret = rig_again(rig, RIG_A, "beside traffic on the memory", res, err);
        if (ret)
            return ret;
    }
    return 0;
}

int check_traffic(struct rig *rig, struct check_result *res, struct err *err)
{
    struct device_traffic *traffic;
    struct err late = ERR_INIT;
    int ret = rig_need(rig, RIG_A, res, err);

    if (ret)
        return ret;
    if (device_traffic_start(rig->dev, &traffic, err))
        return -1;
    ret = beside_traffic(rig, traffic, res, err);
    if (device_traffic_stop(rig->dev, traffic, &late) && ret >= 0)
        ret = err_set(err, late.kind, "%s", late.text);
    return ret;
}

int check_quiet(struct rig *rig, struct check_result *res, struct err *err)
{
    int ret = rig_need(rig, RIG_A, res, err);
    char text[160] = "";
    struct stat st;

    if (ret)
        return ret;
    if (rig->print_fd < 0)
        return check_na(res, "what is printed cannot be caught here");
    /* What a library holds in a buffer of its own comes out with its stream's. */
    (void)fflush(NULL);
    if (fstat(rig->print_fd, &st))
        return err_errno(err, ERR_ENVIRONMENT, "cannot look at what was printed");
    if (!st.st_size)
        return 0;
    ssize_t n = pread(rig->print_fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return check_fail(res, "%lld bytes were printed: '%s'", (long long)st.st_size, text);
}
