/*
 * session_lanes.c - the devices of a run: chosen, asked what they are, and given their cases.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "link.h"
#include "session.h"

/* Opening a device takes a second or two; one that takes this long hangs. */
#define DEVICE_ANSWER_MS 60000
#define POLL_MS          200

/* ---- chosen ---- */

static int choose_cuda(struct session *s, const char *want, struct err *err)
{
    struct device_listing list[LANES_MAX];
    int found = device_list_cuda(list, LANES_MAX);
    size_t at[LANES_MAX], nr;

    if (lanes_choose(want, list, found > 0 ? (size_t)found : 0, at, &nr, err))
        return -1;
    if (nr > 1 && s->request->mode == JOB_CHECK) {
        session_note(s, "device = %s: every check runs on the first of the %zu GPUs", want, nr);
        nr = 1;
    }
    s->kind = SAB_DEVICE_CUDA;
    s->lanes_nr = nr;
    for (size_t k = 0; k < nr; k++)
        snprintf(s->lane[k].uuid, sizeof(s->lane[k].uuid), "%s", list[at[k]].uuid);
    return 0;
}

/* auto: a GPU where there is one and an arm for it, else the CPU. */
int session_choose_device(struct session *s, const char *serving_library, struct err *err)
{
    const char *want = s->plan.set.device;
    struct err quiet = ERR_INIT;

    s->kind = SAB_DEVICE_CPU;
    s->lanes_nr = 1;
    if (!strcmp(want, "cpu"))
        return 0;
    if (strcmp(want, "auto"))
        return choose_cuda(s, want, err);
    if (arm_set_serves(&s->plan, SAB_DEVICE_CUDA, serving_library) &&
        !choose_cuda(s, "cuda", &quiet))
        return 0;
    s->kind = SAB_DEVICE_CPU;
    s->lanes_nr = 1;
    return 0;
}

/* ---- asked ---- */

static int hear_info(struct session *s, struct link *l, struct device_info *info, struct err *err)
{
    struct answer a;
    int ret = -1, got, left_ms = DEVICE_ANSWER_MS;

    while ((got = link_next(l, POLL_MS, &a, err)) >= 0) {
        if (!got && s->request->interrupted && *s->request->interrupted)
            return err_set(err, ERR_INTERRUPTED, "interrupted before anything was measured");
        left_ms -= got ? 0 : POLL_MS;
        if (!got && left_ms <= 0)
            return err_set(err, ERR_ENVIRONMENT, "the device did not answer within %d s",
                           DEVICE_ANSWER_MS / 1000);
        if (!got)
            continue;
        enum answer_kind kind = a.kind;
        if (kind == ANSWER_INFO) {
            *info = a.info;
            ret = 0;
        }
        if (kind == ANSWER_FATAL)
            err_set(err, a.error_kind, "%s", a.text);
        answer_release(&a);
        if (kind == ANSWER_BYE || kind == ANSWER_FATAL)
            break;
    }
    return ret;
}

static int ask_lane(struct session *s, struct session_lane *lane, struct err *err)
{
    struct job job;
    struct link l;
    int ret = -1;

    if (!session_job(s, &job, JOB_INFO, err) &&
        !link_start(&l, s->request->exe, lane->uuid, &job, err)) {
        ret = hear_info(s, &l, &lane->info, err);
        link_close(&l);
    }
    job_release(&job);
    return ret;
}

int session_device(struct session *s, struct err *err)
{
    for (size_t k = 0; k < s->lanes_nr; k++)
        if (ask_lane(s, &s->lane[k], err))
            return s->lanes_nr > 1 ? err_prefix(err, "%s", s->lane[k].uuid) : -1;
    s->info = s->lane[0].info;
    return session_floors(s, err);
}

void session_uuids(const struct session *s, struct strbuf *sb)
{
    for (size_t k = 0; k < s->lanes_nr; k++)
        strbuf_addf(sb, "%s%s", k ? "," : "", s->lane[k].info.uuid);
}

/* ---- given their cases ---- */

/* Measuring time of a whole case, as far as it can be told. */
static int cost_of(const struct session *s, const struct plan_case *item, double *cost_s,
                   struct err *err)
{
    struct chain *chain = malloc(sizeof(*chain));
    double round_s = 0;
    size_t racing = 0;
    int ret = chain ? 0 : err_memory(err);

    for (size_t i = 0; !ret && i < s->arms.nr; i++) {
        const struct arm_entry *e = &s->arms.item[i];
        struct arm_steps steps;
        struct estimate est;
        char text[512];
        bool across;

        arm_entry_steps(e, &s->plan, item, &steps);
        if (!steps.nr)
            continue;
        ret = plan_arm_chain(&s->plan, &s->plan.arm[e->plan_arm], item, chain, &across, err) ||
              estimate_arm(&s->plan, chain, &steps, &s->info, &est, text, sizeof(text), err);
        if (ret || est.status != ESTIMATE_OK)
            continue;
        racing++;
        round_s += est.sample_s;
    }
    free(chain);
    *cost_s = racing ? fmin(s->plan.set.max_time_s,
                            round_s * s->plan.set.processes * estimate_rounds(&s->plan, racing))
                     : 0;
    return ret ? -1 : 0;
}

/* The lane whose GPU a case began on, or -1. */
static int lane_begun(const struct session *s, const char *case_id)
{
    for (size_t i = 0; i < s->store.cases.nr; i++) {
        const struct case_row *row = &s->store.cases.row[i];
        for (size_t k = 0; row->device_uuid && k < s->lanes_nr; k++)
            if (!strcmp(row->case_id, case_id) && !strcmp(row->device_uuid, s->lane[k].info.uuid))
                return (int)k;
    }
    return -1;
}

int session_assign(struct session *s, struct err *err)
{
    double *cost_s;
    int *fixed, ret = 0;

    if (s->lanes_nr < 2)
        return 0; /* lane_of is all 0 */
    cost_s = calloc(s->plan.nr + 1, sizeof(*cost_s));
    fixed = calloc(s->plan.nr + 1, sizeof(*fixed));
    if (!cost_s || !fixed)
        ret = err_memory(err);
    for (size_t i = 0; !ret && i < s->plan.nr; i++) {
        fixed[i] = lane_begun(s, s->plan.item[i].id);
        ret = cost_of(s, &s->plan.item[i], &cost_s[i], err);
    }
    if (!ret)
        lanes_assign(cost_s, fixed, s->plan.nr, s->lanes_nr, s->lane_of);
    free(cost_s);
    free(fixed);
    return ret;
}
