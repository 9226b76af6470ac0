/*
 * session_budget.c - whether a case gets another replicate (DESIGN 4, harness.md 3.8).
 */
#include "estimate.h"
#include "session.h"

static size_t racing_arms(const struct session *s, const struct plan_case *item)
{
    size_t nr = 0;
    for (size_t i = 0; i < s->arms.nr; i++)
        if (plan_arm_serves(&s->plan.arm[s->arms.item[i].plan_arm], item))
            nr++;
    return nr;
}

int session_out_of_budget(struct session *s, size_t i, struct err *err)
{
    s->finished[i] = true;
    return store_budget(&s->store, s->plan.item[i].id, err);
}

int session_decide(struct session *s, size_t i, int done, double wall_s, struct err *err)
{
    const struct plan_settings *set = &s->plan.set;
    const char *id = s->plan.item[i].id;
    bool another_fits = s->used_s[i] + wall_s <= set->max_time_s;
    if (done < set->processes)
        return another_fits ? 0 : session_out_of_budget(s, i, err);
    bool extends = !set->rounds_named || set->max_rounds_named;
    if (!extends || summary_precise(&s->store.cases, id)) {
        s->finished[i] = true;
        return 0;
    }
    int rounds = estimate_rounds(&s->plan, racing_arms(s, &s->plan.item[i]));
    if (!another_fits || (done + 1) * rounds > set->max_rounds || done >= ROWS_PROCESSES_MAX)
        return session_out_of_budget(s, i, err);
    return 0;
}

int session_decide_resumed(struct session *s, struct err *err)
{
    for (size_t i = 0; i < s->plan.nr; i++)
        if (!s->finished[i] && s->sealed[i] &&
            session_decide(s, i, s->sealed[i], s->used_s[i] / s->sealed[i], err))
            return -1;
    return 0;
}
